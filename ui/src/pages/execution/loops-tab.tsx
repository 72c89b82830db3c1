// Loops as heat maps: every iteration one cell, by state or by duration; jump to any; run the failed ones again.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { iteration, loop } from '../../api/queries'
import type { Execution, Json, LoopView } from '../../api/types'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { ErrorDetails, ErrorLine } from '../../design/error-details'
import { count } from '../../design/number'
import { Empty, QueryView } from '../../design/states'
import { StatusBadge } from '../../design/status'
import { duration } from '../../design/time'
import { FixLink, useAction } from './actions'
import { HeatMap, MARKS } from './heat-map'
import type { Open } from './page'
import { Preview } from './preview'
import { useParameter } from './url-parameters'

export function LoopsTab({
  id,
  runs,
  summary,
  open,
}: {
  id: string
  runs: string[]
  summary: Execution
  open: Open
}) {
  const [parameter, setParameter] = useParameter('run')
  const run = runs.includes(parameter) ? parameter : runs[0]
  if (!run)
    return (
      <Empty title="No loop has run">
        A step with <code>loop</code> shows its iterations here.
      </Empty>
    )
  return (
    <div className="flex min-h-0 flex-1 flex-col overflow-auto">
      <LoopPanel key={run} id={id} run={run} summary={summary} open={open}>
        <select
          aria-label="Loop run"
          className="field max-w-64"
          value={run}
          onChange={(event) => setParameter(event.target.value)}
        >
          {runs.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </LoopPanel>
    </div>
  )
}

function LoopPanel({
  id,
  run,
  summary,
  open,
  children,
}: {
  id: string
  run: string
  summary: Execution
  open: Open
  children: ReactNode
}) {
  const loopQuery = useQuery(loop(id, run))
  const [by, setBy] = useState<'state' | 'duration'>('state')
  const [chosen, setSelected] = useState<number | null>(null)
  const act = useAction(id)
  const [, go] = useLocation()
  const rerun = () =>
    act.mutate(
      {
        action: 'retry',
        body: { step: stepOf(run) },
        message: 'the failed iterations run again in a new execution',
      },
      { onSuccess: (execution) => go(`/executions/${execution.execution_id}/loops`) },
    )
  return (
    <QueryView query={loopQuery} what="Reading the iterations">
      {(answer) => {
        const view = settled(answer)
        const selected = chosen ?? firstFailed(view)
        return (
          <div className="flex min-h-0 flex-1 flex-col gap-2 px-4 py-2">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
              {children}
              <Counts view={view} />
              <div
                role="radiogroup"
                aria-label="Coloured by"
                className="flex rounded-[5px] border border-line-strong"
              >
                {(['state', 'duration'] as const).map((kind) => (
                  <button
                    key={kind}
                    type="button"
                    role="radio"
                    aria-checked={by === kind}
                    className={classes(
                      'px-2 py-0.5 text-xs first:rounded-l last:rounded-r',
                      by === kind ? 'bg-accent text-on-accent' : 'text-ink-2 hover:bg-sunken',
                    )}
                    onClick={() => setBy(kind)}
                  >
                    {kind}
                  </button>
                ))}
              </div>
              <Jump view={view} onJump={setSelected} />
              {view.counts.failed > 0 && summary.ended_at !== null && (
                <Button icon="retry" needs="run" disabled={act.isPending} onClick={rerun}>
                  Rerun {count(view.counts.failed)} failed
                </Button>
              )}
              {by === 'duration' && <Times view={view} />}
            </div>
            <div className="flex min-h-72 flex-1 flex-col gap-3 lg:min-h-0 lg:flex-row">
              <HeatMap view={view} by={by} selected={selected} choose={setSelected} />
              {selected !== null && (
                <Iteration
                  key={selected}
                  id={id}
                  view={view}
                  index={selected}
                  summary={summary}
                  open={open}
                />
              )}
            </div>
          </div>
        )
      }}
    </QueryView>
  )
}

/** A loop that is over runs nothing any more: what it had in hand was cut off. */
const settled = (view: LoopView): LoopView =>
  view.ended ? { ...view, marks: view.marks.replaceAll('r', 'c') } : view

/** What one came to see: of a loop in which iterations failed, the first of them. */
const firstFailed = (view: LoopView): number | null => {
  const index = view.marks.indexOf('f')
  return index >= 0 ? index : null
}

/** The step that a run belongs to. */
const stepOf = (run: string): string => run.slice(0, run.lastIndexOf('.'))

/** What became of iterations that a loop left as it ended. */
const LEFT: Record<string, string> = { running: 'cut off', queued: 'not begun' }

function Counts({ view }: { view: LoopView }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3" data-counts={JSON.stringify(view.counts)}>
      <span className="font-medium">
        {count(view.total)} {view.total === 1 ? 'iteration' : 'iterations'}
        {view.batches !== undefined &&
          ` in ${count(view.batches)} ${view.batches === 1 ? 'batch' : 'batches'}`}
        {view.batches !== undefined && !view.ended && ', claimed so far'}
      </span>
      {(['done', 'failed', 'running', 'queued', 'kept'] as const)
        .filter((name) => view.counts[name] > 0)
        .map((name) => (
          <StatusBadge
            key={name}
            status={view.ended && name === 'running' ? 'cancelled' : name}
            label={`${count(view.counts[name])} ${(view.ended && LEFT[name]) || name}`}
          />
        ))}
    </div>
  )
}

function Times({ view }: { view: LoopView }) {
  const durations = view.took.filter((ms) => ms >= 0).sort((a, b) => a - b)
  if (durations.length === 0) return null
  return (
    <span className="ml-auto text-xs whitespace-nowrap text-ink-3">
      median {duration(durations[Math.floor(durations.length / 2)])} · longest, the darkest,{' '}
      {duration(durations.at(-1))}
    </span>
  )
}

function Jump({ view, onJump }: { view: LoopView; onJump: (index: number) => void }) {
  const [text, setText] = useState('')
  const nextFailed = () => {
    const index = view.marks.indexOf('f')
    if (index >= 0) onJump(index)
  }
  const go = () => {
    const index = Number(text)
    if (Number.isInteger(index) && index >= 0 && index < view.total) onJump(index)
  }
  return (
    <form
      className="flex items-center gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        go()
      }}
    >
      <input
        data-search
        className="field w-22"
        inputMode="numeric"
        aria-label="Iteration number"
        placeholder="Jump to…"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit">Go</Button>
      {view.counts.failed > 0 && (
        <Button kind="quiet" onClick={nextFailed}>
          First failed
        </Button>
      )}
    </form>
  )
}

function Iteration({
  id,
  view,
  index,
  summary,
  open,
}: {
  id: string
  view: LoopView
  index: number
  summary: Execution
  open: Open
}) {
  const iterationQuery = useQuery(iteration(id, view.run, index, view.marks[index] ?? 'p'))
  const error = view.errors[index]
  const took = view.took[index] ?? -1
  const started = view.started[index] ?? -1
  return (
    <aside
      aria-label={`Iteration ${index}`}
      className="panel w-full shrink-0 self-start overflow-auto p-3 lg:max-h-full lg:w-96"
    >
      <h2 className="mb-1.5 flex items-center gap-2 font-semibold">
        Iteration {count(index)} <StatusBadge status={MARKS[view.marks[index] ?? 'p'] ?? 'queued'} />
      </h2>
      <dl className="grid grid-cols-[5.5rem_1fr] gap-y-0.5">
        <dt className="text-ink-3">started</dt>
        <dd>{started >= 0 ? `${duration(started)} after the run` : '–'}</dd>
        <dt className="text-ink-3">took</dt>
        <dd>{took >= 0 ? duration(took) : '–'}</dd>
        <dt className="text-ink-3">retries</dt>
        <dd>{view.retries[index] ?? 0}</dd>
      </dl>
      {error && (
        <p className="my-2 break-words rounded-md bg-failed-soft px-2 py-1.5 [overflow-wrap:anywhere]">
          <ErrorLine error={error} />
        </p>
      )}
      <QueryView query={iterationQuery} what="Reading the iteration">
        {(one) => (
          <>
            <Part title="Item">
              <Preview data={one.item as Json} stored={null} />
            </Part>
            {one.error && <ErrorDetails details={one.error.details} />}
            {view.marks[index] === 'd' && (
              <Part title="Output">
                <Preview data={one.output as Json} stored={one.ref} />
              </Part>
            )}
          </>
        )}
      </QueryView>
      <div className="mt-2 flex flex-wrap gap-1.5">
        {error && summary.ended_at !== null && <FixLink summary={summary} step={view.step} />}
        <Button onClick={() => open('events', { step: view.step, iteration: String(index) })}>
          Its events
        </Button>
        <Button onClick={() => open('logs', { step: view.step })}>Logs</Button>
      </div>
    </aside>
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="my-2 min-w-0">
      <h3 className="label-text mb-0.5">{title}</h3>
      <div className="max-h-72 overflow-auto rounded-md border border-line px-2 py-1.5">{children}</div>
    </section>
  )
}
