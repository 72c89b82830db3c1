// The rows and the axis of the timeline.
import type { ReactNode } from 'react'
import type { RunLine, TaskBar } from '../../api/types'
import { classes } from '../../design/classes'
import { Icon } from '../../design/icons'
import { count } from '../../design/number'
import { StatusIcon, solidOf } from '../../design/status'
import { duration } from '../../design/time'
import { marks } from './axis'
import { Lanes } from './lanes'

export interface Span {
  from: number
  to: number
}
export type Line =
  | { kind: 'run'; run: RunLine }
  | { kind: 'task'; run: RunLine; task: TaskBar; retried: boolean; bars: TaskBar[] }
  | { kind: 'lanes'; run: RunLine }

const LAST_PART = 85 // of the axis, in hundredths: what is said there goes to the left of its mark
const ROOM = 26 // hundredths of the axis that words beside a bar need on a phone
const NAME_COLUMN = 'w-36 shrink-0 md:w-56'

const share = (at: number, span: Span): number => ((at - span.from) / (span.to - span.from)) * 100

export function Axis({ span }: { span: Span }) {
  return (
    <div className="sticky top-0 z-10 flex h-6 border-b border-line bg-panel">
      <div className={NAME_COLUMN} />
      <div className="relative flex-1 overflow-hidden" data-axis>
        {marks(span.from, span.to).map(({ at, text }, index) => (
          <span
            key={at}
            className={classes(
              'absolute top-1 whitespace-nowrap border-line text-2xs text-ink-3',
              index % 2 === 1 && 'max-sm:hidden', // there is room for every other one
              share(at, span) > LAST_PART ? '-translate-x-full border-r pr-1' : 'border-l pl-1',
            )}
            style={{ left: `${share(at, span)}%` }}
          >
            {text}
          </span>
        ))}
      </div>
    </div>
  )
}

interface RowProps {
  id: string
  line: Line
  span: Span
  end: number
  critical: boolean
  expanded: boolean
  toggle: () => void
  choose: () => void
}

export function BarRow({ id, line, span, end, critical, expanded, toggle, choose }: RowProps) {
  const { run } = line
  const more = run.tasks.length > 0 || run.loop !== undefined
  return (
    <div
      className={`flex h-full items-center border-b border-line ${line.kind === 'run' ? 'hover:bg-sunken' : ''}`}
      data-run={line.kind === 'run' ? run.run : undefined}
      data-critical={critical || undefined}
    >
      <div
        className={classes(
          NAME_COLUMN,
          'flex items-center gap-1 overflow-hidden pr-2',
          line.kind === 'run' ? 'pl-1 md:pl-3' : 'pl-6 md:pl-9',
        )}
      >
        {line.kind === 'run' ? (
          <>
            <button
              type="button"
              aria-label={run.loop ? `Iterations of ${run.run}` : `Tasks of ${run.run}`}
              aria-expanded={expanded}
              disabled={!more}
              onClick={toggle}
              className="text-ink-3 disabled:opacity-0"
            >
              <Icon name="chevron" size={11} className={expanded ? 'rotate-90' : ''} />
            </button>
            <StatusIcon
              status={run.status === 'done' && run.loop?.failed ? 'flawed' : run.status}
              size={12}
            />
            <button type="button" className="truncate hover:underline" title={run.run} onClick={choose}>
              {run.run}
            </button>
            {critical && (
              <span
                className="ml-auto size-1.5 shrink-0 rounded-full bg-accent"
                title="on the critical path"
              />
            )}
          </>
        ) : line.kind === 'lanes' ? (
          <button type="button" className="text-left text-xs text-accent hover:underline" onClick={choose}>
            each of {count(run.loop?.total ?? 0)} iterations
          </button>
        ) : (
          <span className="truncate text-xs text-ink-2">
            {line.task.task}
            {line.task.visit > 1 && ` visit ${line.task.visit}`}
            {line.retried && ` attempt ${line.task.attempt}`}
          </span>
        )}
      </div>
      <div className="relative h-full flex-1 overflow-hidden">
        {line.kind === 'run' && (
          <RunBars run={run} span={span} end={end} critical={critical} expanded={expanded} />
        )}
        {line.kind === 'lanes' && <Lanes id={id} run={run} span={span} end={end} />}
        {line.kind === 'task' &&
          line.bars.map((bar, index) => <TaskBlock key={index} task={bar} span={span} end={end} tall />)}
      </div>
    </div>
  )
}

function Block({
  from,
  to,
  span,
  className,
  title,
}: {
  from: number
  to: number
  span: Span
  className: string
  title: string
}) {
  const left = share(from, span)
  const width = Math.max(share(to, span) - left, 0)
  if (left > 100 || left + width < 0) return null
  return (
    <div
      className={`absolute min-w-0.5 rounded-[2px] ${className}`}
      style={{ left: `${left}%`, width: `${width}%` }}
      title={title}
    />
  )
}

function RunBars({
  run,
  span,
  end,
  critical,
  expanded,
}: {
  run: RunLine
  span: Span
  end: number
  critical: boolean
  expanded: boolean
}) {
  const to = run.ended ?? end
  const started = run.started ?? to
  const took = duration(to - run.scheduled)
  const title = runTitle(run, took)
  const label = share(to, span)
  const part = (count: number) => started + (to - started) * (run.loop?.total ? count / run.loop.total : 1)
  return (
    <>
      <Block
        from={run.scheduled}
        to={started}
        span={span}
        className="top-[11px] h-1 bg-line-strong"
        title={`queued for ${duration(started - run.scheduled)}`}
      />
      <Block
        from={started}
        to={to}
        span={span}
        className={`${expanded ? 'top-[10px] h-1.5' : 'top-1.5 h-3.5'} ${solidOf(run.status)} opacity-25`}
        title={title}
      />
      {!expanded &&
        run.tasks.map((task, index) => <TaskBlock key={index} task={task} span={span} end={end} />)}
      {run.loop && (
        <Block
          from={started}
          to={part(run.loop.done)}
          span={span}
          className={`top-1.5 h-3.5 ${solidOf(run.status)}`}
          title={title}
        />
      )}
      {run.loop && run.loop.failed > 0 && (
        <Block
          from={part(run.loop.done)}
          to={part(run.loop.done + run.loop.failed)}
          span={span}
          className="top-1.5 h-3.5 bg-failed"
          title={title}
        />
      )}
      {run.tasks.length === 0 && !run.loop && (
        <Block
          from={started}
          to={to}
          span={span}
          className={`top-1.5 h-3.5 ${solidOf(run.status)}`}
          title={title}
        />
      )}
      {critical && (
        <Block
          from={run.scheduled}
          to={to}
          span={span}
          className="top-[22px] h-0.5 bg-accent"
          title="on the critical path"
        />
      )}
      {label >= 0 && share(run.scheduled, span) < 100 && (
        <BarLabel from={share(run.scheduled, span)} to={label} expanded={expanded}>
          {took}
          {run.loop && (
            <span className="max-sm:hidden">
              {` · ${count(run.loop.done)}/${count(run.loop.total)} ok`}
              {run.loop.failed > 0 && `, ${count(run.loop.failed)} failed`}
            </span>
          )}
        </BarLabel>
      )}
    </>
  )
}

function runTitle(run: RunLine, took: string): string {
  const { loop } = run
  const iterations = loop ? `, ${loop.done + loop.failed} of ${loop.total} iterations` : ''
  const failures = loop?.failed ? `, ${loop.failed} failed` : ''
  return `${run.run}: ${took}${iterations}${failures}${run.worker ? `, on ${run.worker}` : ''}`
}

/** How long it took, after the bar where there is room, else before it, else on it. */
function BarLabel({
  from,
  to,
  expanded,
  children,
}: {
  from: number
  to: number
  expanded: boolean
  children: ReactNode
}) {
  const line = 'absolute whitespace-nowrap text-2xs'
  if (to < 100 - ROOM)
    return (
      <span className={`${line} top-1 pl-1.5 text-ink-3`} style={{ left: `${to}%` }}>
        {children}
      </span>
    )
  if (from > ROOM)
    return (
      <span className={`${line} top-1 pr-1.5 text-ink-3`} style={{ right: `${100 - from}%` }}>
        {children}
      </span>
    )
  return (
    <span
      className={`${line} right-2 rounded-sm bg-panel px-1 text-ink-2 ${expanded ? '-top-0.5' : 'top-[5px]'}`}
    >
      {children}
    </span>
  )
}

const TONES: Record<string, string> = { wait: 'bg-waiting', child: 'bg-waiting', delay: 'bg-held' }

function TaskBlock({
  task,
  span,
  end,
  tall = false,
}: {
  task: TaskBar
  span: Span
  end: number
  tall?: boolean
}) {
  const to = task.ended ?? end
  const tone = TONES[task.what] ?? solidOf(task.status)
  const attempt = task.attempt > 1 ? ` attempt ${task.attempt}` : ''
  const what = task.what === 'delay' ? 'delay before the next attempt' : task.what
  const then = task.do && task.do !== 'continue' ? `, then ${task.do}` : ''
  const title = `${task.task}${attempt}: ${what} ${duration(to - task.started)}${then}`
  return (
    <Block
      from={task.started}
      to={to}
      span={span}
      className={`${tall ? 'top-[9px] h-2' : 'top-1.5 h-3.5'} ${tone}`}
      title={title}
    />
  )
}
