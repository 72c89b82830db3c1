// The log, any part of it at once: rows are fetched in pages as they come into sight.
import { useQueries, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { get } from '../../api/client'
import { EVENT_PAGE, type EventFind, eventPage } from '../../api/queries'
import type { Envelope } from '../../api/types'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { save } from '../../design/copy'
import { count } from '../../design/number'
import { Empty, Failure } from '../../design/states'
import { StatusIcon } from '../../design/status'
import { clock, exact } from '../../design/time'
import { showError } from '../../design/toast'
import { DebouncedInput } from '../executions/filter-bar'
import { EventDetail } from './event-detail'
import { useParameter } from './url-parameters'

const ROW = 26

export function EventsTab({ id, last, live }: { id: string; last: number; live: boolean }) {
  const [name, setName] = useParameter('name')
  const [step, setStep] = useParameter('step')
  const [task, setTask] = useParameter('task')
  const [iteration, setIteration] = useParameter('iteration')
  const [text, setText] = useParameter('text')
  const [seq, setSeq] = useParameter('seq')
  const [follow, setFollow] = useState(false)
  const find = useMemo<EventFind>(
    () => ({ name, step, task, iteration, text }),
    [name, step, task, iteration, text],
  )
  const filtered = Boolean(name || step || task || iteration || text)
  const first = useQuery({
    ...eventPage(id, find, 0, filtered ? last : 0),
    refetchInterval: live ? 1500 : false,
  })
  const total = filtered ? (first.data?.total ?? 0) : last

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2" role="search">
        <DebouncedInput
          label="Search in events"
          value={text}
          onChange={setText}
          placeholder="Search ( / )"
          search
          className="w-40"
        />
        <DebouncedInput
          label="Event name"
          value={name}
          onChange={setName}
          placeholder="Name, such as task.*"
          className="w-44"
        />
        <DebouncedInput label="Step" value={step} onChange={setStep} placeholder="Step" className="w-28" />
        <DebouncedInput label="Task" value={task} onChange={setTask} placeholder="Task" className="w-28" />
        <DebouncedInput
          label="Iteration"
          value={iteration}
          onChange={setIteration}
          placeholder="Iteration"
          className="w-24"
        />
        <span className="text-xs text-ink-3">
          {count(total)} {filtered ? 'match' : 'events'}
        </span>
        <span className="ml-auto flex items-center gap-2">
          {live && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                className="accent-accent"
                checked={follow}
                onChange={(event) => setFollow(event.target.checked)}
              />{' '}
              follow
            </label>
          )}
          <Button icon="download" onClick={() => void exportEvents(id).catch(showError)}>
            Export
          </Button>
        </span>
      </div>
      {first.error && <Failure error={first.error} />}
      <div className="flex min-h-72 flex-1 flex-col border-t border-line md:min-h-0 md:flex-row">
        {total === 0 && first.data ? (
          <div className="flex-1">
            <Empty title="No event matches" />
          </div>
        ) : (
          <EventRows
            id={id}
            find={find}
            total={total}
            filtered={filtered}
            selected={Number(seq) || null}
            choose={(selection) => setSeq(selection ? String(selection) : '')}
            follow={follow && live}
            last={last}
          />
        )}
        {seq && <EventDetail id={id} seq={Number(seq)} onClose={() => setSeq('')} />}
      </div>
    </div>
  )
}

interface RowsProps {
  id: string
  find: EventFind
  total: number
  filtered: boolean
  selected: number | null
  choose: (seq: number | null) => void
  follow: boolean
  last: number
}

function EventRows({ id, find, total, filtered, selected, choose, follow, last }: RowsProps) {
  const frame = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: total,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    overscan: 12,
  })
  const rows = virtual.getVirtualItems()
  const pages = [...new Set(rows.map((row) => Math.floor(row.index / EVENT_PAGE)))]
  const lastPage = Math.floor((last - 1) / EVENT_PAGE)
  // A full page never changes; only the newest is asked again as the log grows.
  const answers = useQueries({
    queries: pages.map((page) => ({
      ...eventPage(id, find, page, filtered || page === lastPage ? last : 0),
      staleTime: Infinity,
    })),
  })
  const items = new Map<number, Envelope>()
  for (const [index, page] of pages.entries())
    for (const [offset, item] of (answers[index]?.data?.items ?? []).entries())
      items.set(page * EVENT_PAGE + offset, item)

  useEffect(() => {
    if (follow) virtual.scrollToIndex(total - 1)
  }, [follow, total, virtual])
  useEffect(() => {
    if (selected && !filtered) virtual.scrollToIndex(selected - 1, { align: 'auto' })
  }, [selected, filtered, virtual])

  return (
    <div
      ref={frame}
      role="table"
      aria-label="Events"
      aria-rowcount={total}
      tabIndex={0}
      className="min-h-60 min-w-0 flex-1 overflow-auto bg-panel md:min-h-0"
    >
      <div className="relative sm:min-w-[520px]" style={{ height: virtual.getTotalSize() }}>
        {rows.map((row) => {
          const item = items.get(row.index)
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the button in the row does the same by key
            // biome-ignore lint/a11y/useFocusableInteractive: the button in the row has the focus
            <div
              key={row.key}
              role="row"
              className={classes(
                'absolute inset-x-0 flex items-center gap-3 border-b border-line px-4',
                item && item.seq === selected ? 'bg-accent-soft' : 'hover:bg-sunken',
              )}
              style={{ height: ROW, transform: `translateY(${row.start}px)` }}
              onClick={() => item && choose(item.seq)}
            >
              {item ? (
                <EventRow item={item} digits={String(last).length} />
              ) : (
                <span className="text-ink-3">…</span>
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}

function EventRow({ item, digits }: { item: Envelope; digits: number }) {
  const where = [
    item.step_run_id ?? item.step,
    item.iteration_id?.replace(item.step_run_id ?? '', ''),
    item.task_label,
  ]
    .filter(Boolean)
    .join(' ')
  return (
    <>
      <span
        role="cell"
        className="shrink-0 text-right font-mono text-xs text-ink-3"
        style={{ minWidth: `${digits}ch` }}
      >
        {item.seq}
      </span>
      <time
        role="cell"
        title={exact(item.ts)}
        className="hidden shrink-0 font-mono text-xs text-ink-3 sm:block"
      >
        {clock(item.ts)}
      </time>
      <StatusIcon status={item.status === 'in_progress' ? 'idle' : item.status} size={12} />
      <span role="cell" className="flex w-40 shrink-0 sm:w-52">
        <button
          type="button"
          className="min-w-0 truncate text-left font-mono text-xs hover:underline"
          title={item.name}
        >
          {item.name}
        </button>
      </span>
      <span role="cell" className="min-w-0 flex-1 truncate text-ink-2" title={where}>
        {where}
        {item.attempt && item.attempt > 1 ? <span className="text-held"> attempt {item.attempt}</span> : null}
      </span>
      <span role="cell" className="hidden shrink-0 text-xs text-ink-3 sm:block">
        {item.source}
      </span>
    </>
  )
}

/** Every event, one envelope per line, read page by page and saved as a file. */
async function exportEvents(id: string): Promise<void> {
  const lines: string[] = []
  let next: number | null = 1
  while (next !== null) {
    const answer: { items: Envelope[]; next: number | null } = await get(
      '/executions/{execution_id}/events',
      { execution_id: id },
      { from: next, limit: 5000 },
    )
    lines.push(...answer.items.map((item) => JSON.stringify(item)))
    next = answer.next
  }
  save(`${id}.ndjson`, `${lines.join('\n')}\n`, 'application/x-ndjson')
}
