// Ticks of the past that are made up for: how far each backfill is, and what can be done about it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { post } from '../../api/client'
import { backfills, backfillTicks } from '../../api/queries'
import type { Backfill } from '../../api/types'
import { Button } from '../../design/controls'
import { StatusBadge, solidOf } from '../../design/status'
import { ROW, Table } from '../../design/table'
import { exact, zoned } from '../../design/time'
import { showError } from '../../design/toast'
import { Strip } from './ticks'

export function BackfillsPanel() {
  const query = useQuery(backfills())
  const items = query.data?.items ?? []
  if (items.length === 0) return null
  return (
    <section className="panel overflow-x-auto" aria-label="Backfills">
      <h2 className="border-b border-line px-3 py-1.5 font-medium">Backfills</h2>
      <Table heads={['Of', 'State', 'Span', 'Ticks', '']}>
        {items.map((item) => (
          <BackfillRow key={item.id} item={item} />
        ))}
      </Table>
    </section>
  )
}

type Wish = 'pause' | 'resume' | 'cancel'

function BackfillRow({ item }: { item: Backfill }) {
  const client = useQueryClient()
  const act = useMutation({
    mutationFn: (wish: Wish) => post(`/backfills/{backfill_id}/${wish}`, { backfill_id: item.id }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['backfills'] }),
    onError: showError,
  })
  const what = item.schedule ?? item.path
  const ticks = useQuery(backfillTicks(item.id, item.counts)).data?.items ?? []
  const short = WRONG.some((one) => item.counts[one]) || ticks.some((tick) => tick.failed_iterations > 0)
  const open = item.status === 'running' || item.status === 'paused'
  return (
    <tr className={ROW}>
      <td className="td font-medium">
        <Link
          href={`/executions?by=${encodeURIComponent(`backfill ${item.id}`)}`}
          title={`What this backfill of ${what} started`}
          className="hover:underline [overflow-wrap:anywhere]"
        >
          {what}
        </Link>
      </td>
      <td className="td">
        <StatusBadge status={item.status === 'done' && short ? 'flawed' : item.status} label={item.status} />
      </td>
      <td className="td whitespace-nowrap text-xs text-ink-2">
        <span title={`${exact(item.from)} – ${exact(item.to)}`}>
          {zoned(item.from, item.timezone).slice(0, 16)} – {zoned(item.to, item.timezone).slice(0, 16)}
        </span>
        <span className="block text-ink-3">{item.timezone}</span>
      </td>
      <td className="td w-1/3 max-sm:w-full">
        <Progress item={item} />
        <Strip of={item.id} ticks={ticks} />
      </td>
      <td className="td">
        <span className="flex gap-1 sm:justify-end">
          {item.status === 'running' && (
            <Button
              needs="run"
              aria-label={`Pause the backfill of ${what}`}
              onClick={() => act.mutate('pause')}
            >
              Pause
            </Button>
          )}
          {item.status === 'paused' && (
            <Button
              needs="run"
              aria-label={`Resume the backfill of ${what}`}
              onClick={() => act.mutate('resume')}
            >
              Resume
            </Button>
          )}
          {open && (
            <Button
              kind="quiet"
              needs="run"
              aria-label={`Cancel the backfill of ${what}`}
              onClick={() => act.mutate('cancel')}
            >
              Cancel
            </Button>
          )}
        </span>
      </td>
    </tr>
  )
}

/** What leaves a backfill that is over short of what it was for. */
const WRONG = ['failed', 'refused', 'stuck', 'cancelled']

const ORDER = [
  'completed',
  'failed',
  'refused',
  'cancelled',
  'stuck',
  'paused',
  'waiting',
  'running',
  'starting',
  'planned',
]

/** How many of its ticks stand how, as a bar and in words. */
function Progress({ item }: { item: Backfill }) {
  const parts = ORDER.filter((status) => item.counts[status])
  const text = parts.map((status) => `${item.counts[status]} ${status}`).join(', ')
  return (
    <>
      <span className="flex h-2 overflow-hidden rounded-sm bg-sunken" role="img" aria-label={text}>
        {parts
          .filter((status) => status !== 'planned')
          .map((status) => (
            <span
              key={status}
              className={solidOf(status)}
              style={{ width: `${(100 * (item.counts[status] ?? 0)) / item.total}%` }}
            />
          ))}
      </span>
      <span className="text-xs text-ink-3">
        {text} of {item.total}
      </span>
    </>
  )
}
