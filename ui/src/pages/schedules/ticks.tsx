// What became of the ticks of a schedule or a backfill: one mark for each, the newest at the right.
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { scheduleTicks } from '../../api/queries'
import type { Tick } from '../../api/types'
import { count } from '../../design/number'
import { markOf, solidOf } from '../../design/status'
import { exact, readable } from '../../design/time'

const flaw = ({ failed_iterations: failed }: Tick): string =>
  failed ? `, ${count(failed)} ${failed === 1 ? 'iteration' : 'iterations'} failed` : ''

const words = (tick: Tick): string =>
  `${exact(tick.tick)}: ${tick.status}${flaw(tick)}${tick.why ? `, ${readable(tick.why)}` : ''}`

const SHAPES: Record<string, string> = {
  skipped: 'h-1.5',
  queued: 'h-2.5',
  refused: 'h-1.5',
  replaced: 'h-2.5',
  planned: 'h-1.5',
}

function TickMark({ tick }: { tick: Tick }) {
  const color = solidOf(markOf(tick.status, tick.failed_iterations))
  const mark = `inline-block w-1.5 rounded-sm ${SHAPES[tick.status] ?? 'h-4'} ${color}`
  return tick.execution ? (
    <Link
      href={`/executions/${tick.execution}`}
      title={words(tick)}
      aria-label={words(tick)}
      data-tick={tick.status}
      className={`${mark} hover:opacity-70`}
    />
  ) : (
    <span role="img" title={words(tick)} aria-label={words(tick)} data-tick={tick.status} className={mark} />
  )
}

export function TickStrip({ name }: { name: string }) {
  return <Strip of={name} ticks={useQuery(scheduleTicks(name)).data?.items ?? []} />
}

export function Strip({ of, ticks }: { of: string; ticks: Tick[] }) {
  if (ticks.length === 0) return null
  return (
    <span className="mt-1 flex h-4 items-end gap-0.5" data-ticks={of}>
      {ticks.toReversed().map((tick) => (
        <TickMark key={tick.tick} tick={tick} />
      ))}
    </span>
  )
}
