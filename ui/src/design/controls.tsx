// Buttons, dialogs and the like: thin dressings of the platform's own elements.
import { type ButtonHTMLAttributes, type ReactNode, useEffect, useRef, useState } from 'react'
import { classes } from './classes'
import { Icon } from './icons'
import { count } from './number'
import { type Scope, useRefusal } from './rights'

type Kind = 'plain' | 'primary' | 'danger' | 'quiet'
const KINDS: Record<Kind, string> = {
  plain: 'border border-line-strong bg-panel text-ink hover:bg-sunken',
  primary: 'border border-accent bg-accent text-on-accent hover:opacity-90',
  danger: 'border border-failed text-failed bg-panel hover:bg-failed-soft',
  quiet: 'border border-transparent text-ink-2 hover:bg-sunken hover:text-ink',
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind
  icon?: string
  needs?: Scope // without it the button is not for whoever looks
}

export function Button({ kind = 'plain', icon, needs, children, className = '', ...rest }: ButtonProps) {
  const refusal = useRefusal(needs)
  return (
    <button
      type="button"
      className={classes(
        'inline-flex h-7.5 items-center gap-1.5 whitespace-nowrap rounded-[5px] px-2.5 text-sm',
        'font-medium disabled:opacity-50',
        KINDS[kind],
        className,
      )}
      {...rest}
      {...(refusal ? { disabled: true, title: refusal } : {})}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** What cannot be undone is asked for twice. */
export function ConfirmButton({
  verb,
  name,
  needs,
  onConfirm,
}: {
  verb: string
  name: string
  needs: Scope
  onConfirm: () => void
}) {
  const [asked, setAsked] = useState(false)
  return asked ? (
    <Button
      kind="danger"
      aria-label={`Really ${verb.toLowerCase()} ${name}`}
      onClick={onConfirm}
      onBlur={() => setAsked(false)}
    >
      Really?
    </Button>
  ) : (
    <Button kind="quiet" needs={needs} aria-label={`${verb} ${name}`} onClick={() => setAsked(true)}>
      {verb}
    </Button>
  )
}

export function IconButton({
  icon,
  label,
  ...rest
}: { icon: string; label: string } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={classes(
        'inline-flex size-7 items-center justify-center rounded-[5px] text-ink-3',
        'hover:bg-sunken hover:text-ink disabled:opacity-40',
      )}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  )
}

export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: ReactNode
  onClose: () => void
  children: ReactNode
  wide?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = ref.current
    if (!dialog || dialog.open) return
    dialog.showModal()
    dialog.querySelector<HTMLElement>('[data-first]')?.focus() // else the button that closes it has the keys
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the key that closes a dialog is Escape, and it has a button
    <dialog
      ref={ref}
      onClose={onClose}
      onClick={(event) => event.target === ref.current && onClose()}
      className={classes(
        'm-auto max-h-[88vh] w-[calc(100vw-2rem)] overflow-auto',
        'rounded-lg border border-line bg-panel p-0 text-ink',
        wide ? 'max-w-3xl' : 'max-w-lg',
      )}
    >
      <div className="flex items-center justify-between gap-2 border-b border-line px-4 py-2.5">
        <h2 className="line-clamp-2 min-w-0 text-sm font-semibold [overflow-wrap:anywhere]">{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div className="p-4">{children}</div>
    </dialog>
  )
}

export function Tabs<T extends string>({
  tabs,
  value,
  onChange,
}: {
  tabs: readonly { id: T; label: string; count?: number | undefined }[]
  value: T
  onChange: (tab: T) => void
}) {
  const list = useRef<HTMLDivElement>(null)
  // Where there is no room for all of them, the chosen one is in sight.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the page shows which one is chosen
  useEffect(() => {
    const [frame, chosen] = [list.current, list.current?.querySelector<HTMLElement>('[aria-selected=true]')]
    if (frame && chosen) frame.scrollLeft = chosen.offsetLeft - (frame.clientWidth - chosen.offsetWidth) / 2
  }, [value])
  return (
    <div
      ref={list}
      role="tablist"
      className="relative flex gap-0.5 overflow-x-auto border-b border-line [scrollbar-width:none]"
    >
      {tabs.map((tab) => (
        <button
          key={tab.id}
          role="tab"
          type="button"
          aria-selected={tab.id === value}
          onClick={() => onChange(tab.id)}
          className={classes(
            '-mb-px whitespace-nowrap border-b-2 px-3 py-1.5 text-sm',
            tab.id === value
              ? 'border-accent font-medium text-ink'
              : 'border-transparent text-ink-3 hover:text-ink',
          )}
        >
          {tab.label}
          {tab.count !== undefined && <span className="ml-1.5 text-xs text-ink-3">{count(tab.count)}</span>}
        </button>
      ))}
    </div>
  )
}

export function Field({ label, hint, children }: { label: string; hint?: ReactNode; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: its control is the child
    <label className="flex min-w-0 flex-col gap-1">
      <span className="label-text">{label}</span>
      {children}
      {hint && <span className="text-xs text-ink-3">{hint}</span>}
    </label>
  )
}

export function Bar({ value, tone }: { value: number; tone: string }) {
  return (
    <div className="h-1 overflow-hidden rounded-full bg-sunken">
      <div
        className={`h-full rounded-full ${tone}`}
        style={{ width: `${Math.max(0, Math.min(1, value)) * 100}%` }}
      />
    </div>
  )
}
