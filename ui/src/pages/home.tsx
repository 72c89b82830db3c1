// The last day at a glance, and ways into the lists.
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { overview, waits } from '../api/queries'
import type { ExecutionItem, FailureGroup, Overview } from '../api/types'
import { classes } from '../design/classes'
import { shortId, shortStarter } from '../design/copy'
import { errorWords } from '../design/error-details'
import { Late } from '../design/late'
import { count } from '../design/number'
import { Empty, QueryView } from '../design/states'
import { markOf, StatusBadge, StatusIcon, softOf, textOf } from '../design/status'
import { Ago, clock, duration, Took } from '../design/time'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'
import { WaitRows } from './approvals'

const SHOWN = [
  'running',
  'waiting',
  'pending',
  'paused',
  'completed',
  'failed',
  'stuck',
  'cancelled',
] as const
const ENDED = new Set<string>(['completed', 'failed', 'cancelled']) // the others are counted however old

export function HomePage() {
  useTitle('Home')
  const overviewQuery = useQuery(overview())
  return (
    <>
      <PageHead title="Home">
        <span className="text-xs text-ink-3">the last 24 hours</span>
      </PageHead>
      <QueryView query={overviewQuery}>
        {(answer) => (
          <div className="flex flex-col gap-4 px-4 pb-4">
            <ul className="grid grid-cols-4 gap-1.5 sm:gap-2 xl:grid-cols-8">
              {SHOWN.map((status) => (
                <li key={status}>
                  <Link
                    href={`/executions?status=${status}${ENDED.has(status) ? '&within=24h' : ''}`}
                    className="panel flex flex-col px-2 py-1.5 hover:border-line-strong sm:px-3 sm:py-2"
                  >
                    <span className="max-sm:text-2xs max-sm:[&_svg]:hidden">
                      <StatusBadge status={status} />
                    </span>
                    <span
                      className="text-xl font-semibold leading-7 tracking-tight sm:leading-8"
                      data-count={status}
                    >
                      {count(answer.counts[status])}
                    </span>
                  </Link>
                </li>
              ))}
            </ul>
            {SHOWN.every((status) => answer.counts[status] === 0) && (
              <div className="panel">
                <Empty title="Nothing has run in the last day">
                  Open{' '}
                  <Link href="/playbooks" className="text-accent hover:underline">
                    Playbooks
                  </Link>
                  , choose one and press Run.
                </Empty>
              </div>
            )}
            <Waiting />
            <Failures groups={answer.failures} />
            <Throughput overview={answer} />
            <div className="grid grid-cols-1 items-start gap-4 xl:grid-cols-2">
              <ExecutionList
                title="Under way, the oldest first"
                items={answer.active}
                more="/executions"
                none={answer.overdue_ms > 1000 ? '' : 'Nothing is under way.'}
                note={answer.overdue_ms > 1000 ? `work is due since ${duration(answer.overdue_ms)}` : ''}
              />
              <Slowest overview={answer} />
            </div>
          </div>
        )}
      </QueryView>
    </>
  )
}

const ASKED = 4

/** What waits for somebody, where whoever opens the page sees it first. */
function Waiting() {
  const items = useQuery(waits()).data?.items ?? []
  if (items.length === 0) return null
  return (
    <section className="panel" aria-label="Waiting for an answer">
      <h2 className="flex items-baseline justify-between border-b border-line px-3 py-1.5 font-medium">
        Waiting for an answer
        <Link href="/approvals" className="text-xs font-normal text-accent hover:underline">
          all {count(items.length)}
        </Link>
      </h2>
      <WaitRows items={items.slice(0, ASKED)} />
    </section>
  )
}

/** Where the failure of a group is best looked at. */
const placeOf = ({ newest, step, kind }: FailureGroup): string =>
  kind === 'iterations'
    ? `/executions/${newest.execution_id}/loops`
    : `/executions/${newest.execution_id}${step ? `/graph?step=${encodeURIComponent(step)}` : ''}`

/** The executions of a playbook that ended as one of them did. */
const alike = ({ status, playbook }: ExecutionItem): string =>
  `/executions?status=${status}${ENDED.has(status) ? '&within=24h' : ''}&path=${encodeURIComponent(playbook.path)}`

function Failures({ groups }: { groups: FailureGroup[] }) {
  return (
    <section className="panel" aria-label="Failures">
      <h2 className="flex items-baseline justify-between border-b border-line px-3 py-1.5 font-medium">
        <span>
          Failures{' '}
          <span className="text-xs font-normal text-ink-3 max-sm:hidden">
            not retried yet, those that are alike together
          </span>
        </span>
        <Link href="/executions?status=failed" className="text-xs font-normal text-accent hover:underline">
          all
        </Link>
      </h2>
      {groups.length === 0 ? (
        <p className="px-3 py-4 text-ink-3">Nothing has failed that was not retried.</p>
      ) : (
        <ul>
          {groups.map((group) => (
            <FailureRow key={group.newest.execution_id} group={group} />
          ))}
        </ul>
      )}
    </section>
  )
}

function FailureRow({ group }: { group: FailureGroup }) {
  const { newest } = group
  const mark = group.kind === 'iterations' ? 'flawed' : newest.status
  const [kind, message] = errorWords({
    kind: mark === 'flawed' ? '' : group.kind,
    message: group.message,
  })
  return (
    <li className="flex items-start gap-x-2.5 border-b border-line px-3 py-1.5 last:border-0 max-sm:flex-wrap">
      <span className="mt-0.5">
        <StatusIcon status={mark} />
      </span>
      <div className="min-w-0 flex-1 max-sm:basis-[calc(100%-2.5rem)]">
        <p className="flex flex-wrap items-baseline gap-x-2">
          <Link href={placeOf(group)} className="font-medium [overflow-wrap:anywhere] hover:underline">
            {newest.playbook.path}
            {group.step && <span className="font-normal text-ink-2"> · {group.step}</span>}
          </Link>
          {newest.by && <span className="text-xs text-ink-3">by {shortStarter(newest.by)}</span>}
        </p>
        <p className="line-clamp-2 text-ink-2 [overflow-wrap:anywhere]" title={group.message}>
          {kind && `${kind}: `}
          {message}
        </p>
      </div>
      {group.count > 1 && (
        <Link
          href={alike(newest)}
          className={classes(
            'rounded-full px-1.5 max-sm:ml-6 text-xs font-medium hover:underline',
            softOf(mark),
            textOf(mark),
          )}
          title={`${count(group.count)} alike`}
        >
          ×{count(group.count)}
        </Link>
      )}
      <span className="w-20 shrink-0 text-right text-ink-3 max-sm:ml-auto">
        <Ago at={newest.ended_at ?? newest.requested_at} />
      </span>
    </li>
  )
}

type Bucket = Overview['buckets'][number]
const all = ({ completed, failed, cancelled, waiting, active }: Bucket): number =>
  completed + failed + cancelled + waiting + active

function Throughput({ overview }: { overview: Overview }) {
  const peak = Math.max(...overview.buckets.map((bucket) => all(bucket)))
  const most = Math.max(1, peak)
  const total = overview.buckets.reduce(
    (sum, bucket) => sum + bucket.completed + bucket.failed + bucket.cancelled,
    0,
  )
  return (
    <section className="panel p-3" aria-label="Throughput">
      <h2 className="mb-2 flex items-baseline justify-between font-medium">
        Throughput{' '}
        <span className="text-xs font-normal text-ink-3">
          {count(total)} ended · at most {count(peak)} begun in {Math.round(overview.bucket_ms / 60_000)} min
        </span>
      </h2>
      <div className="flex h-20 items-end gap-px">
        {overview.buckets.map((bucket) => (
          <div
            key={bucket.at}
            className="flex h-full min-w-0 flex-1 flex-col justify-end border-b-2 border-line hover:bg-sunken"
            title={[
              `${clock(bucket.at).slice(0, 5)}: ${bucket.completed} completed`,
              `${bucket.failed} failed`,
              `${bucket.cancelled} cancelled`,
              `${bucket.waiting} waiting`,
              `${bucket.active} under way`,
            ].join(', ')}
          >
            <BarSegment count={bucket.active} most={most} tone="bg-running" />
            <BarSegment count={bucket.waiting} most={most} tone="bg-waiting" />
            <BarSegment count={bucket.cancelled} most={most} tone="bg-idle" />
            <BarSegment count={bucket.failed} most={most} tone="bg-failed" />
            <BarSegment count={bucket.completed} most={most} tone="bg-done" />
          </div>
        ))}
      </div>
      <div className="mt-1 flex justify-between text-2xs text-ink-3">
        <span>24 h ago</span>
        <span>12 h ago</span>
        <span>now</span>
      </div>
    </section>
  )
}

function BarSegment({ count, most, tone }: { count: number; most: number; tone: string }) {
  return count ? <div className={tone} style={{ height: `${Math.max(3, (count / most) * 100)}%` }} /> : null
}

function ExecutionList({
  title,
  items,
  more,
  none,
  note = '',
}: {
  title: string
  items: ExecutionItem[]
  more: string
  none: string
  note?: string
}) {
  return (
    <section className="panel" aria-label={title}>
      <h2 className="flex items-baseline justify-between border-b border-line px-3 py-1.5 font-medium">
        {title}
        {note && <span className="text-xs text-held">{note}</span>}
        <Link href={more} className="text-xs font-normal text-accent hover:underline">
          all
        </Link>
      </h2>
      {items.length === 0 ? (
        <p className="px-3 py-4 text-ink-3">{none}</p>
      ) : (
        <ul>
          {items.map((item) => (
            <li
              key={item.execution_id}
              className="flex items-center gap-2.5 border-b border-line px-3 py-1.5 last:border-0"
            >
              <StatusIcon status={markOf(item.status, item.failed_iterations)} />
              <Link
                href={`/executions/${item.execution_id}`}
                className="min-w-0 flex-1 truncate font-medium hover:underline"
              >
                {item.playbook.path}
              </Link>
              <span className="hidden font-mono text-xs text-ink-3 sm:inline">
                {shortId(item.execution_id)}
              </span>
              <Late expected={item.expected_ms} lateAt={item.late_at} endedAt={item.ended_at} />
              <span className="w-20 text-right">
                <Took from={item.requested_at} to={item.ended_at} ms={item.duration_ms} />
              </span>
              {item.ended_at && (
                <span className="w-20 text-right text-ink-3">
                  <Ago at={item.ended_at} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Slowest({ overview }: { overview: Overview }) {
  return (
    <section className="panel overflow-x-auto" aria-label="Slowest steps">
      <h2 className="border-b border-line px-3 py-1.5 font-medium">
        Slowest steps{' '}
        <span className="text-xs font-normal text-ink-3">of recent executions, without waits</span>
      </h2>
      {overview.slowest.length === 0 ? (
        <Empty title="No step has been timed yet" />
      ) : (
        <table className="w-full border-collapse">
          <thead>
            <tr className="border-b border-line">
              <th className="th">Step</th>
              <th className="th">Playbook</th>
              <th className="th text-right">Runs</th>
              <th className="th text-right">Mean</th>
              <th className="th text-right">Longest</th>
            </tr>
          </thead>
          <tbody>
            {overview.slowest.map((row) => (
              <tr key={row.path + row.step} className="border-b border-line last:border-0">
                <td className="td max-w-64 truncate font-medium" title={row.step}>
                  <Link
                    href={`/executions/${row.execution_id}/graph?step=${encodeURIComponent(row.step)}`}
                    className="hover:underline"
                  >
                    {row.step}
                  </Link>
                </td>
                <td className="td max-w-64 truncate text-ink-2" title={row.path}>
                  {row.path}
                </td>
                <td className="td text-right">{row.runs}</td>
                <td className="td text-right whitespace-nowrap">{duration(row.mean_ms)}</td>
                <td className="td text-right whitespace-nowrap">{duration(row.max_ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
