// A Gantt of runs: tasks, attempts, waits and delays inside; loops as one bar; the critical path marked;
// zoom by wheel or keys.
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { timeline } from '../../api/queries'
import type { RunLine, Timeline } from '../../api/types'
import { Button } from '../../design/controls'
import { count } from '../../design/number'
import { Empty, QueryView } from '../../design/states'
import { duration, useNow } from '../../design/time'
import { Axis, BarRow, type Line, type Span } from './gantt'
import { LANES_HEIGHT } from './lanes'
import type { Open } from './page'

export function TimelineTab({ id, open }: { id: string; open: Open }) {
  const timelineQuery = useQuery(timeline(id))
  return (
    <QueryView query={timelineQuery} what="Reading the times">
      {(data) =>
        data.runs.length === 0 ? (
          <Empty title="No step has run yet" />
        ) : (
          <Chart id={id} data={data} open={open} />
        )
      }
    </QueryView>
  )
}

function linesOf(runs: RunLine[], expanded: Set<string>): Line[] {
  return runs.flatMap((run) => [
    { kind: 'run' as const, run },
    ...(expanded.has(run.run) ? (run.loop ? [{ kind: 'lanes' as const, run }] : attempts(run)) : []),
  ])
}

/** One row for each attempt: the delay after it stands in the same row. */
function attempts(run: RunLine): Line[] {
  const rows = new Map<string, Extract<Line, { kind: 'task' }>>()
  const retried = new Set(
    run.tasks.filter((task) => task.attempt > 1).map((task) => `${task.address}/${task.task}.${task.visit}`),
  )
  for (const task of run.tasks) {
    const visit = `${task.address}/${task.task}.${task.visit}`
    const row = rows.get(`${visit}.${task.attempt}`)
    if (row) row.bars.push(task)
    else
      rows.set(`${visit}.${task.attempt}`, {
        kind: 'task',
        run,
        task,
        retried: retried.has(visit),
        bars: [task],
      })
  }
  return [...rows.values()]
}

function Chart({ id, data, open }: { id: string; data: Timeline; open: Open }) {
  const now = useNow()
  const end = Math.max(
    1,
    data.ended ? Date.parse(data.to) - Date.parse(data.from) : now - Date.parse(data.from),
  )
  const [zoom, setZoom] = useState<Span | null>(null)
  const [expanded, setExpanded] = useState<Set<string>>(
    () =>
      new Set(
        data.runs.length <= 12 ? data.runs.filter((run) => run.tasks.length > 1).map((run) => run.run) : [],
      ),
  )
  const [onlyCritical, setOnlyCritical] = useState(false)
  const critical = useMemo(() => new Set(data.critical), [data.critical])
  const frame = useRef<HTMLDivElement>(null)
  const span = zoom ?? { from: 0, to: end * 1.02 }
  const lines = linesOf(onlyCritical ? data.runs.filter((run) => critical.has(run.run)) : data.runs, expanded)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: (index) => (lines[index]?.kind === 'lanes' ? LANES_HEIGHT : 26),
    overscan: 10,
  })
  const shape = lines.map((line) => line.kind).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another kind have another height
  useEffect(() => virtual.measure(), [shape, virtual])
  const scale = (factor: number, centre = 0.5) => {
    const width = Math.min(end * 1.02, Math.max(1, (span.to - span.from) * factor))
    const middle = span.from + (span.to - span.from) * centre
    const from = Math.max(0, middle - width * centre)
    setZoom(width >= end ? null : { from, to: from + width })
  }

  const zoomAt = useRef(scale)
  zoomAt.current = scale
  useEffect(() => {
    const element = frame.current
    if (!element) return
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return
      event.preventDefault()
      const area = element.querySelector('[data-axis]')?.getBoundingClientRect()
      zoomAt.current(
        event.deltaY > 0 ? 1.25 : 0.8,
        area ? Math.min(1, Math.max(0, (event.clientX - area.left) / area.width)) : 0.5,
      )
    }
    element.addEventListener('wheel', wheel, { passive: false })
    return () => element.removeEventListener('wheel', wheel)
  }, [])

  const toggle = (run: string) => {
    const next = new Set(expanded)
    next.has(run) ? next.delete(run) : next.add(run)
    setExpanded(next)
  }
  return (
    <div className="flex min-h-72 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2">
        <Button title="Ctrl and wheel zooms where the pointer is" onClick={() => scale(0.5)}>
          Zoom in
        </Button>
        <Button onClick={() => scale(2)} disabled={!zoom}>
          Zoom out
        </Button>
        <Button onClick={() => setZoom(null)} disabled={!zoom}>
          All
        </Button>
        <label className="flex items-center gap-1.5">
          <input
            type="checkbox"
            className="accent-accent"
            checked={onlyCritical}
            onChange={(event) => setOnlyCritical(event.target.checked)}
          />{' '}
          critical path only
        </label>
        <span className="text-xs text-ink-3">
          {count(data.runs.length)} {data.runs.length === 1 ? 'run' : 'runs'} over {duration(end)}
          {data.left_out > 0 && `, ${count(data.left_out)} older ones left out`}
        </span>
        <Legend />
      </div>
      <div
        ref={frame}
        className="min-h-0 flex-1 overflow-auto border-t border-line bg-panel"
        role="region"
        tabIndex={0}
        aria-label="Timeline"
      >
        <div>
          <Axis span={span} />
          <div className="relative" style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map((row) => {
              const line = lines[row.index]
              return line ? (
                <div
                  key={row.key}
                  className="absolute inset-x-0"
                  style={{ height: row.size, transform: `translateY(${row.start}px)` }}
                >
                  <BarRow
                    id={id}
                    line={line}
                    span={span}
                    end={end}
                    critical={critical.has(line.run.run)}
                    expanded={expanded.has(line.run.run)}
                    toggle={() => toggle(line.run.run)}
                    choose={() =>
                      line.kind === 'lanes'
                        ? open('loops', { run: line.run.run })
                        : open('graph', { step: line.run.step })
                    }
                  />
                </div>
              ) : null
            })}
          </div>
        </div>
      </div>
    </div>
  )
}

function Legend() {
  const items = [
    ['bg-line-strong', 'queued'],
    ['bg-done', 'task'],
    ['bg-waiting', 'wait'],
    ['bg-held', 'delay before a retry'],
    ['bg-failed', 'failed'],
    ['bg-accent', 'critical path'],
  ]
  return (
    <span className="ml-auto flex flex-wrap gap-x-3 text-xs text-ink-3">
      {items.map(([tone, name]) => (
        <span key={name} className="inline-flex items-center gap-1">
          <span className={`inline-block h-1.5 w-3 rounded-sm ${tone}`} />
          {name}
        </span>
      ))}
    </span>
  )
}
