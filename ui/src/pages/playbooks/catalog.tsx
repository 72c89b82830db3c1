// Registered playbooks: the newest version of each, how it went of late, and when it goes again.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { catalog, recentRuns, schedules } from '../../api/queries'
import type { CatalogEntry, ExecutionItem, Schedule } from '../../api/types'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { Icon } from '../../design/icons'
import { Labels, labelTexts } from '../../design/labels'
import { Empty, QueryView } from '../../design/states'
import { markOf, StatusIcon, solidOf } from '../../design/status'
import { Ago, duration } from '../../design/time'
import { PageHead } from '../../shell/layout'
import { useTitle } from '../../shell/title'
import { RunDialog } from './run-dialog'

export function CatalogPage() {
  useTitle('Playbooks')
  const catalogQuery = useQuery(catalog())
  const recentQuery = useQuery(recentRuns())
  const ticks = nextTicks(useQuery(schedules()).data?.items ?? [])
  const [text, setText] = useState('')
  const [running, setRunning] = useState<string | null>(null)
  const [, go] = useLocation()
  return (
    <>
      <PageHead title="Playbooks">
        <input
          type="search"
          data-search
          aria-label="Search playbooks"
          placeholder="Search ( / )"
          className="field"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button kind="primary" needs="write" onClick={() => go('/playbooks?new=1')}>
          New playbook
        </Button>
      </PageHead>
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <QueryView query={catalogQuery}>
          {(page) => {
            const items = page.items.filter((item) =>
              [item.path, item.description ?? '', ...labelTexts(item.labels)]
                .join(' ')
                .toLowerCase()
                .includes(text.toLowerCase()),
            )
            if (items.length === 0)
              return (
                <Empty title={text ? 'No playbook matches' : 'No playbook is registered'}>
                  {!text && (
                    <>
                      Write one here, or register files with <code>noetl register</code>.
                    </>
                  )}
                </Empty>
              )
            return (
              <table className="w-full border-collapse">
                <thead className="border-b border-line">
                  <tr>
                    <th className="th">Playbook</th>
                    <th className="th">Last runs</th>
                    <th className="th hidden md:table-cell">Next tick</th>
                    <th className="th hidden sm:table-cell">Version</th>
                    <th className="th hidden lg:table-cell">Registered</th>
                    <th className="th">
                      <span className="sr-only">What can be done</span>
                    </th>
                  </tr>
                </thead>
                {foldersOf(items).map(([folder, entries]) => (
                  <Folder
                    key={folder}
                    name={folder}
                    entries={entries}
                    alone={entries.length === items.length}
                    recent={recentQuery.data?.items ?? null}
                    ticks={ticks}
                    onRun={setRunning}
                  />
                ))}
              </table>
            )
          }}
        </QueryView>
      </div>
      {running && <RunDialog path={running} onClose={() => setRunning(null)} />}
    </>
  )
}

/** Playbooks by the folder of their path, both in order. */
function foldersOf(items: CatalogEntry[]): [string, CatalogEntry[]][] {
  const folders = new Map<string, CatalogEntry[]>()
  for (const item of items) {
    const folder = item.path.split('/').slice(0, -1).join('/')
    folders.set(folder, [...(folders.get(folder) ?? []), item])
  }
  return [...folders].sort(([a], [b]) => a.localeCompare(b))
}

/** When each playbook is started next by a schedule. */
function nextTicks(items: Schedule[]): Record<string, string> {
  const ticks: Record<string, string> = {}
  for (const { path, next_at: next, enabled } of items)
    if (enabled && next && (!ticks[path] || next < ticks[path])) ticks[path] = next
  return ticks
}

interface FolderProps {
  name: string
  entries: CatalogEntry[]
  alone: boolean
  recent: Record<string, ExecutionItem[]> | null // not known yet
  ticks: Record<string, string>
  onRun: (path: string) => void
}

/** The playbooks of one folder, which can be closed; the only one needs no heading. */
function Folder({ name, entries, alone, recent, ticks, onRun }: FolderProps) {
  const [open, setOpen] = useState(true)
  return (
    <tbody>
      {!alone && (
        <tr className="border-b border-line bg-sunken">
          <th colSpan={6} className="max-w-0 px-2.5 py-1 text-left font-normal">
            <button
              type="button"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
              className="flex max-w-full items-center gap-1.5 text-xs text-ink-2 hover:text-ink"
              title={name}
            >
              <Icon name="chevron" size={10} className={open ? 'rotate-90' : ''} />
              <span className="truncate">{name || 'without a folder'}</span>{' '}
              <span className="text-ink-3">{entries.length}</span>
            </button>
          </th>
        </tr>
      )}
      {open &&
        entries.map((item) => (
          <PlaybookRow
            key={item.path}
            item={item}
            runs={recent && (recent[item.path] ?? [])}
            tick={ticks[item.path] ?? null}
            onRun={onRun}
          />
        ))}
    </tbody>
  )
}

function PlaybookRow({
  item,
  runs,
  tick,
  onRun,
}: {
  item: CatalogEntry
  runs: ExecutionItem[] | null
  tick: string | null
  onRun: (path: string) => void
}) {
  return (
    <tr className="border-b border-line last:border-0 hover:bg-sunken">
      <td className="td w-full max-w-0 min-w-32 sm:w-1/2">
        <Link
          href={`/playbooks/${item.path}`}
          title={item.file ? `${item.path}, from ${item.file}` : item.path}
          className="block truncate font-medium text-accent hover:underline"
        >
          {item.path}
        </Link>
        {item.description && (
          <p className="line-clamp-2 text-xs text-ink-3 [overflow-wrap:anywhere]" title={item.description}>
            {item.description}
          </p>
        )}
        <Labels labels={item.labels} />
      </td>
      <td className="td">
        <LastRuns runs={runs} />
      </td>
      <td className="td hidden whitespace-nowrap md:table-cell">
        {tick ? <Ago at={tick} /> : <span className="text-ink-3">–</span>}
      </td>
      <td className="td hidden text-ink-2 sm:table-cell">v{item.version}</td>
      <td className="td hidden lg:table-cell">
        <Ago at={item.registered_at} />
      </td>
      <td className="td">
        <span className="flex justify-end gap-1">
          <Link
            href={`/executions?path=${encodeURIComponent(item.path)}`}
            className={classes(
              'hidden h-7 items-center rounded px-2 text-ink-2 sm:inline-flex',
              'hover:bg-panel hover:text-ink',
            )}
          >
            Executions
          </Link>
          <Button icon="play" needs="run" aria-label={`Run ${item.path}`} onClick={() => onRun(item.path)}>
            <span className="max-sm:hidden">Run</span>
          </Button>
        </span>
      </td>
    </tr>
  )
}

const mark = (run: ExecutionItem): string => markOf(run.status, run.failed_iterations)

/** The newest run by its state, and those before it as a strip, the newest on the right. */
function LastRuns({ runs }: { runs: ExecutionItem[] | null }) {
  if (!runs) return <span className="text-ink-3">–</span>
  const [newest] = runs
  if (!newest) return <span className="whitespace-nowrap text-xs text-ink-3">not run yet</span>
  return (
    <span className="flex items-center gap-2.5">
      <Link
        href={`/executions/${newest.execution_id}`}
        className="inline-flex items-center gap-1.5 whitespace-nowrap text-xs text-ink-2 hover:underline"
        data-last={mark(newest)}
      >
        <StatusIcon status={mark(newest)} />
        <span className="sr-only">last run {newest.status}</span>
        <span className="max-sm:hidden">
          <Ago at={newest.requested_at} />
        </span>
      </Link>
      <span className="hidden items-end gap-0.5 md:flex">
        {[...runs].reverse().map((run) => (
          <Link
            key={run.execution_id}
            href={`/executions/${run.execution_id}`}
            aria-label={`run ${run.status}`}
            title={`${run.status}, ${duration(run.duration_ms)}${run.error ? `: ${run.error.message}` : ''}`}
            className={classes(
              'w-1.5 rounded-sm hover:opacity-70',
              solidOf(mark(run)),
              run.status === 'failed' ? 'h-4' : 'h-3',
            )}
          />
        ))}
      </span>
    </span>
  )
}
