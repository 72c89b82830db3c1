// Rows of executions with a bar that compares how long each took.
import { Link } from 'wouter'
import type { ExecutionItem } from '../../api/types'
import { Bar } from '../../design/controls'
import { shortId, shortStarter } from '../../design/copy'
import { Labels } from '../../design/labels'
import { Late } from '../../design/late'
import { count } from '../../design/number'
import { markOf, StatusBadge, StatusIcon, solidOf } from '../../design/status'
import { Ago, Took, useNow } from '../../design/time'

interface Props {
  items: ExecutionItem[]
  selection?: Set<string>
  pick?: (ids: string[], on: boolean) => void
  onPath?: (path: string) => void
  onBy?: (by: string) => void
  onLabel?: (label: string) => void
}

export function ExecutionTable({ items, selection, pick, onPath, onBy, onLabel }: Props) {
  const now = useNow()
  const length = (item: ExecutionItem) => {
    if (item.ended_at) return item.duration_ms ?? 0
    return item.requested_at ? now - Date.parse(item.requested_at) : 0
  }
  const longest = Math.max(1, ...items.map(length))
  const ids = items.map((item) => item.execution_id)
  const all = selection !== undefined && ids.every((id) => selection.has(id))
  return (
    <table className="w-full border-collapse">
      <thead className="border-b border-line">
        <tr>
          {pick && (
            <th className="th hidden w-8 sm:table-cell">
              <input
                type="checkbox"
                className="block accent-accent"
                aria-label="Choose all"
                checked={all}
                onChange={() => pick(ids, !all)}
              />
            </th>
          )}
          <th className="th w-px">
            <span className="sr-only sm:not-sr-only">Status</span>
          </th>
          <th className="th hidden sm:table-cell">Execution</th>
          <th className="th w-full sm:w-[36%]">Playbook</th>
          <th
            className="th sm:w-48"
            title="The bars grow with the logarithm, so that short and long ones can be compared"
          >
            Duration
          </th>
          <th className="th">Requested</th>
          <th className="th hidden text-right sm:table-cell">Steps</th>
          <th className="th hidden text-right sm:table-cell">Tasks</th>
          <th className="th hidden sm:table-cell">Started by</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.execution_id} className="border-b border-line last:border-0 hover:bg-sunken">
            {pick && (
              <td className="td hidden sm:table-cell">
                <input
                  type="checkbox"
                  className="block accent-accent"
                  aria-label={`Choose ${item.execution_id}`}
                  checked={selection?.has(item.execution_id) ?? false}
                  onChange={(event) => pick([item.execution_id], event.target.checked)}
                />
              </td>
            )}
            <td className="td">
              <StatusCell item={item} />
            </td>
            <td className="td hidden whitespace-nowrap font-mono text-xs sm:table-cell">
              <Link
                href={`/executions/${item.execution_id}`}
                className="text-accent hover:underline"
                title={item.execution_id}
              >
                {shortId(item.execution_id)}
              </Link>
            </td>
            <td className="td max-w-0">
              <PlaybookLink item={item} {...(onPath ? { onPath } : {})} />
              <Labels labels={item.labels} {...(onLabel ? { onChoose: onLabel } : {})} />
            </td>
            <td className="td">
              <div className="flex items-center gap-2">
                <span className="shrink-0 text-right whitespace-nowrap sm:w-21">
                  <Took from={item.requested_at} to={item.ended_at} ms={item.duration_ms} />
                </span>
                <Late expected={item.expected_ms} lateAt={item.late_at} endedAt={item.ended_at} />
                <div className="hidden min-w-12 flex-1 sm:block">
                  <Bar
                    value={Math.log1p(length(item)) / Math.log1p(longest)}
                    tone={solidOf(markOf(item.status, item.failed_iterations))}
                  />
                </div>
              </div>
            </td>
            <td className="td">
              <Ago at={item.requested_at} />
            </td>
            <td className="td hidden text-right text-ink-2 sm:table-cell">
              {item.counts ? count(item.counts.steps) : '–'}
            </td>
            <td className="td hidden text-right text-ink-2 sm:table-cell">
              {item.counts ? count(item.counts.tasks) : '–'}
            </td>
            <td className="td hidden text-xs text-ink-3 sm:table-cell">
              <Origin item={item} {...(onBy ? { onBy } : {})} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** The playbook; on a narrow screen, where ids have no room, the way into the execution. */
function PlaybookLink({ item, onPath }: { item: ExecutionItem; onPath?: (path: string) => void }) {
  const { path, version } = item.playbook
  return (
    <span className="flex items-baseline gap-1.5">
      <Link
        href={`/executions/${item.execution_id}`}
        className="truncate text-accent hover:underline sm:hidden"
        title={path}
      >
        {path}
      </Link>
      {onPath ? (
        <button
          type="button"
          className="hidden truncate text-left hover:underline sm:block"
          title={`${path}: show only this playbook`}
          onClick={() => onPath(path)}
        >
          {path}
        </button>
      ) : (
        <span className="hidden truncate sm:block" title={path}>
          {path}
        </span>
      )}
      {version !== null && <span className="hidden text-xs text-ink-3 sm:inline">v{version}</span>}
    </span>
  )
}

/** Who or what started it: a schedule, a trigger, a token by its name; else the execution it comes from. */
function Origin({ item, onBy }: { item: ExecutionItem; onBy?: (by: string) => void }) {
  const source = item.retry_of ?? item.continued_from ?? item.parent
  const by = item.parent || !item.by ? null : item.by
  return (
    <span className="flex flex-col">
      {by && (
        <button
          type="button"
          className="max-w-44 truncate text-left text-ink-2 hover:underline"
          title={`${by}: show only what was started so`}
          disabled={!onBy}
          onClick={() => onBy?.(by)}
        >
          {shortStarter(by)}
        </button>
      )}
      {source && <SourceLink item={item} source={source} />}
      {!by && !source && '–'}
    </span>
  )
}

function SourceLink({ item, source }: { item: ExecutionItem; source: string }) {
  return (
    <Link href={`/executions/${source}`} className="whitespace-nowrap hover:underline">
      {item.retry_of ? 'goes on from ' : item.continued_from ? 'continued from ' : 'child of '}
      <span className="font-mono">{shortId(source)}</span>
    </Link>
  )
}

function StatusCell({ item }: { item: ExecutionItem }) {
  const mark = markOf(item.status, item.failed_iterations)
  const failed =
    item.failed_iterations > 0
      ? `, ${count(item.failed_iterations)} ${item.failed_iterations === 1 ? 'iteration' : 'iterations'} failed`
      : ''
  return (
    <span title={`${item.status}${failed}`}>
      <span className="hidden sm:inline">
        <StatusBadge
          status={mark}
          label={mark === 'flawed' ? `completed, ${count(item.failed_iterations)} failed` : item.status}
        />
      </span>
      <span className="sm:hidden">
        <StatusIcon status={mark} />
      </span>
      <span className="sr-only sm:hidden">
        {item.status}
        {failed}
      </span>
    </span>
  )
}
