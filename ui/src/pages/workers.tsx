// Who is alive, what they run, since when, how fast.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { workers } from '../api/queries'
import type { WorkerItem } from '../api/types'
import { Bar } from '../design/controls'
import { shortId } from '../design/copy'
import { count } from '../design/number'
import { Empty, QueryView } from '../design/states'
import { StatusBadge } from '../design/status'
import { ROW } from '../design/table'
import { Ago, duration, Took, useNow } from '../design/time'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'

const SILENT_MS = 30_000

export function WorkersPage() {
  useTitle('Workers')
  const workersQuery = useQuery(workers())
  return (
    <>
      <PageHead title="Workers and pools" />
      <QueryView query={workersQuery}>
        {({ items }) =>
          items.length === 0 ? (
            <div className="panel mx-4">
              <Empty title="No worker was heard of">
                Start one with <code>noetl worker start</code>.
              </Empty>
            </div>
          ) : (
            <div className="flex flex-col gap-4 px-4 pb-4">
              {[...new Set(items.map((item) => item.pool))].sort().map((pool) => (
                <Pool key={pool} pool={pool} items={items.filter((item) => item.pool === pool)} />
              ))}
            </div>
          )
        }
      </QueryView>
    </>
  )
}

function Pool({ pool, items }: { pool: string; items: WorkerItem[] }) {
  const running = items.reduce((sum, item) => sum + item.running, 0)
  const slots = items.reduce((sum, item) => sum + item.concurrency, 0)
  return (
    <section className="panel overflow-x-auto" aria-label={`Pool ${pool}`}>
      <h2 className="flex items-center gap-3 border-b border-line px-3 py-1.5 font-medium">
        {pool}{' '}
        <span className="text-xs font-normal text-ink-3">
          {items.length} {items.length === 1 ? 'worker' : 'workers'} · {running} of {slots} slots in use
        </span>
      </h2>
      <table className="w-full border-collapse max-sm:block sm:min-w-220 sm:table-fixed">
        <thead className="max-sm:hidden">
          <tr className="border-b border-line">
            <th className="th w-[24%]">Worker</th>
            <th className="th w-24">State</th>
            <th className="th w-36">Slots</th>
            <th className="th w-22 text-right">Finished</th>
            <th className="th w-24 text-right">Per minute</th>
            <th className="th w-28">Up for</th>
            <th className="th w-24">Heard of</th>
            <th className="th">Has in hand</th>
          </tr>
        </thead>
        <tbody className="max-sm:block">
          {items.map((item) => (
            <Row key={item.worker_id} item={item} />
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Row({ item }: { item: WorkerItem }) {
  const now = useNow()
  const silent = now - Date.parse(item.heard_at) > SILENT_MS
  const minutes = Math.max(1 / 60, (now - Date.parse(item.started_at)) / 60_000)
  return (
    <tr className={ROW}>
      <td
        className="td font-mono text-xs max-sm:w-full max-sm:[overflow-wrap:anywhere] sm:truncate"
        title={item.worker_id}
      >
        {item.worker_id}
        <span className="block font-sans text-ink-3 sm:truncate">
          {[item.host, item.version].filter(Boolean).join(' · ')}
        </span>
      </td>
      <td className="td">
        <StatusBadge
          status={silent ? 'failed' : item.draining ? 'paused' : item.running ? 'running' : 'idle'}
          label={silent ? 'silent' : item.draining ? 'draining' : item.running ? 'working' : 'idle'}
        />
      </td>
      <td className="td max-sm:min-w-40 max-sm:flex-1">
        <span className="text-xs">
          {item.running}/{item.concurrency}
          <Unit> slots</Unit>
        </span>
        <Bar value={item.running / Math.max(1, item.concurrency)} tone="bg-running" />
      </td>
      <td className="td sm:text-right">
        {count(item.finished)}
        <Unit> finished</Unit>
      </td>
      <td className="td sm:text-right">
        {(item.finished / minutes).toFixed(1)}
        <Unit> per minute</Unit>
      </td>
      <td className="td whitespace-nowrap">
        <Unit>up for </Unit>
        <Took from={item.started_at} to={null} />
      </td>
      <td className="td">
        <Unit>heard of </Unit>
        <Ago at={item.heard_at} />
      </td>
      <td className="td max-sm:w-full">
        {item.leases.slice(0, 5).map((lease) => (
          <span
            key={lease.execution_id + lease.step_run_id}
            className="mr-2 text-xs max-sm:block sm:whitespace-nowrap"
          >
            <Link
              href={`/executions/${lease.execution_id}`}
              className="font-mono text-accent hover:underline"
            >
              {shortId(lease.execution_id)}
            </Link>{' '}
            {lease.step_run_id}
            {lease.since && (
              <span
                className="text-ink-3"
                title={lease.age_ms === undefined ? undefined : `last heard of ${duration(lease.age_ms)} ago`}
              >
                {' '}
                · for <Took from={lease.since} to={null} />
              </span>
            )}
          </span>
        ))}
        {item.leases.length > 5 && (
          <span className="text-xs text-ink-3">and {item.leases.length - 5} more</span>
        )}
        {item.leases.length === 0 && (
          <span className="text-ink-3">
            <span className="max-sm:hidden">–</span>
            <Unit>has nothing in hand</Unit>
          </span>
        )}
      </td>
    </tr>
  )
}

/** What a column's head says, where there is no room for columns. */
function Unit({ children }: { children: ReactNode }) {
  return <span className="text-ink-3 sm:hidden">{children}</span>
}
