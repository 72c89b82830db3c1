// What became of the ticks of a schedule or a backfill: one mark for each, the newest at the right.
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { backfillTicks, scheduleTicks } from '../../api/queries'
import type { Backfill, Tick } from '../../api/types'
import { solidOf } from '../../design/status'
import { exact } from '../../design/time'

const words = (tick: Tick): string => `${exact(tick.tick)}: ${tick.status}${tick.why ? `, ${tick.why}` : ''}`

const SHAPES: Record<string, string> = {
  skipped: 'h-1.5',
  queued: 'h-2.5',
  refused: 'h-1.5',
  replaced: 'h-2.5',
  planned: 'h-1.5',
}

function TickMark({ tick }: { tick: Tick }) {
  const mark = `inline-block w-1.5 rounded-sm ${SHAPES[tick.status] ?? 'h-4'} ${solidOf(tick.status)}`
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

export function BackfillStrip({ item }: { item: Backfill }) {
  return <Strip of={item.id} ticks={useQuery(backfillTicks(item.id, item.counts)).data?.items ?? []} />
}

function Strip({ of, ticks }: { of: string; ticks: Tick[] }) {
  if (ticks.length === 0) return null
  return (
    <span className="mt-1 flex h-4 items-end gap-0.5" data-ticks={of}>
      {ticks.toReversed().map((tick) => (
        <TickMark key={tick.tick} tick={tick} />
      ))}
    </span>
  )
}
