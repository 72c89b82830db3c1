// The frame around every page: where one can go, and the theme.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { session, waits } from '../api/queries'
import { classes } from '../design/classes'
import { IconButton } from '../design/controls'
import { Icon } from '../design/icons'
import { Toasts } from '../design/toast'
import { Shortcuts, showKeys } from './shortcuts'
import { choose } from './theme'
import { UnreachableBanner } from './unreachable-banner'
import { useDark } from './use-theme'

const PLACES = [
  ['/', 'Home', 'home'],
  ['/executions', 'Executions', 'runs'],
  ['/approvals', 'Approvals', 'question'],
  ['/playbooks', 'Playbooks', 'book'],
  ['/compare', 'Compare', 'compare'],
  ['/schedules', 'Schedules', 'clock'],
  ['/notifications', 'Notifications', 'bell'],
  ['/workers', 'Workers', 'workers'],
  ['/credentials', 'Credentials', 'key'],
  ['/tokens', 'Tokens', 'gate'],
  ['/settings', 'Settings', 'settings'],
] as const

export function Layout({ children }: { children: ReactNode }) {
  const [location] = useLocation()
  const [open, setOpen] = useState(false)
  const admin = useQuery(session()).data?.scopes.includes('admin')
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the menu
  useEffect(() => setOpen(false), [location])
  const isCurrent = (path: string) =>
    path === '/' ? location === '/' : location === path || location.startsWith(`${path}/`)
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2"
      >
        To the content
      </a>
      <header
        className={classes(
          'flex shrink-0 items-center justify-between border-b border-line bg-panel px-3 py-1.5',
          'md:w-44 md:flex-col md:items-stretch md:justify-start md:gap-3',
          'md:border-b-0 md:border-r md:px-2 md:py-3',
        )}
      >
        <Link href="/" className="flex items-center gap-2 px-1.5 font-semibold tracking-tight">
          <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
            <rect width="32" height="32" rx="8" fill="var(--accent)" />
            <path
              d="M9 23V9l14 14V9"
              fill="none"
              stroke="var(--on-accent)"
              strokeWidth="3"
              strokeLinecap="round"
              strokeLinejoin="round"
            />
          </svg>
          NoETL
        </Link>
        <nav
          aria-label="Pages"
          className={classes(
            open ? 'flex' : 'hidden',
            'absolute inset-x-0 top-10 z-40 flex-col border-b border-line bg-panel p-2',
            'md:static md:flex md:border-0 md:p-0',
          )}
        >
          {PLACES.filter(([path]) => path !== '/tokens' || admin).map(([path, name, icon]) => (
            <Link
              key={path}
              href={path}
              aria-current={isCurrent(path) ? 'page' : undefined}
              className={classes(
                'flex items-center gap-2.5 rounded-[5px] px-2 py-1.5',
                isCurrent(path)
                  ? 'bg-accent-soft font-medium text-accent'
                  : 'text-ink-2 hover:bg-sunken hover:text-ink',
              )}
            >
              <Icon name={icon} /> {name}
              {path === '/approvals' && <WaitCount />}
            </Link>
          ))}
          <a
            href="/docs/"
            className="flex items-center gap-2.5 rounded-[5px] px-2 py-1.5 text-ink-2 hover:bg-sunken hover:text-ink"
          >
            <Icon name="docs" /> Docs
          </a>
        </nav>
        <div className="flex items-center gap-1 md:mt-auto md:justify-between">
          <ThemeButton />
          <button
            type="button"
            className={classes(
              'hidden items-center gap-1.5 rounded-[5px] px-1.5 py-1 text-xs text-ink-3 md:inline-flex',
              'hover:bg-sunken hover:text-ink',
            )}
            onClick={showKeys}
          >
            Keys <kbd className="rounded border border-line-strong px-1">?</kbd>
          </button>
          <Link href="/approvals" className="flex items-center px-1 md:hidden">
            <WaitCount />
          </Link>
          <span className="md:hidden">
            <IconButton icon="menu" label="Pages" aria-expanded={open} onClick={() => setOpen(!open)} />
          </span>
        </div>
      </header>
      <main
        id="main"
        tabIndex={-1}
        className="flex min-h-0 min-w-0 flex-1 flex-col overflow-auto outline-none"
      >
        <UnreachableBanner />
        {children}
      </main>
      <Toasts />
      <Shortcuts />
    </div>
  )
}

/** How many questions wait for an answer; nothing when there are none. */
function WaitCount() {
  const many = useQuery(waits()).data?.items.length ?? 0
  if (many === 0) return null
  return (
    <span
      className="ml-auto rounded-full bg-waiting-soft px-1.5 text-xs font-medium text-waiting"
      title={`${many} ${many === 1 ? 'wait' : 'waits'} for an answer`}
      data-waits={many}
    >
      {many}
      <span className="sr-only"> {many === 1 ? 'waits' : 'wait'} for an answer</span>
    </span>
  )
}

function ThemeButton() {
  const dark = useDark()
  return (
    <IconButton
      icon={dark ? 'sun' : 'moon'}
      label={dark ? 'Light theme' : 'Dark theme'}
      onClick={() => choose(dark ? 'light' : 'dark')}
    />
  )
}

export function PageHead({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pb-2 pt-3">
      <h1 className="min-w-0 text-base font-semibold tracking-tight">{title}</h1>
      {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </div>
  )
}
