// Rows of executions with a bar that compares how long each took.
import { Link } from 'wouter'
import type { ExecutionItem } from '../../api/types'
import { shortId } from '../../design/copy'
import { Bar } from '../../design/controls'
import { solidOf, StatusBadge } from '../../design/status'
import { Ago, Took, useNow } from '../../design/time'
import { count } from '../../design/number'

interface Props { items: ExecutionItem[]; picked?: Set<string>; pick?: (ids: string[], on: boolean) => void; onPath?: (path: string) => void }

export function ExecutionTable({ items, picked, pick, onPath }: Props) {
  const now = useNow()
  const length = (item: ExecutionItem) => {
    if (item.ended_at) return item.duration_ms ?? 0
    return item.requested_at ? now - Date.parse(item.requested_at) : 0
  }
  const longest = Math.max(1, ...items.map(length))
  const ids = items.map((item) => item.execution_id)
  const all = picked !== undefined && ids.every((id) => picked.has(id))
  return (
    <table className="w-full border-collapse">
      <thead className="border-b border-line">
        <tr>
          {pick && <th className="th hidden w-8 sm:table-cell"><input type="checkbox" className="block accent-accent" aria-label="Choose all" checked={all} onChange={() => pick(ids, !all)} /></th>}
          <th className="th">Status</th>
          <th className="th">Execution</th>
          <th className="th">Playbook</th>
          <th className="th w-48" title="The bars grow with the logarithm, so that short and long ones can be compared">Duration</th>
          <th className="th">Requested</th>
          <th className="th text-right">Steps</th>
          <th className="th text-right">Tasks</th>
          <th className="th">From</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.execution_id} className="border-b border-line last:border-0 hover:bg-sunken">
            {pick && (
              <td className="td hidden sm:table-cell">
                <input type="checkbox" className="block accent-accent" aria-label={`Choose ${item.execution_id}`} checked={picked?.has(item.execution_id) ?? false} onChange={(event) => pick([item.execution_id], event.target.checked)} />
              </td>
            )}
            <td className="td"><StatusBadge status={item.status} /></td>
            <td className="td whitespace-nowrap font-mono text-xs">
              <Link href={`/executions/${item.execution_id}`} className="text-accent hover:underline" title={item.execution_id}>{shortId(item.execution_id)}</Link>
            </td>
            <td className="td">
              {onPath ? <button type="button" className="text-left hover:underline" title="Only this playbook" onClick={() => onPath(item.playbook.path)}>{item.playbook.path}</button> : item.playbook.path}
              {item.playbook.version !== null && <span className="ml-1.5 text-xs text-ink-3">v{item.playbook.version}</span>}
            </td>
            <td className="td">
              <div className="flex items-center gap-2">
                <span className="w-18 text-right whitespace-nowrap"><Took from={item.requested_at} to={item.ended_at} ms={item.duration_ms} /></span>
                <div className="min-w-12 flex-1"><Bar value={Math.log1p(length(item)) / Math.log1p(longest)} tone={solidOf(item.status)} /></div>
              </div>
            </td>
            <td className="td"><Ago at={item.requested_at} /></td>
            <td className="td text-right text-ink-2">{item.counts ? count(item.counts.steps) : '–'}</td>
            <td className="td text-right text-ink-2">{item.counts ? count(item.counts.tasks) : '–'}</td>
            <td className="td text-xs text-ink-3"><Origin item={item} /></td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Origin({ item }: { item: ExecutionItem }) {
  const source = item.retry_of ?? item.parent
  if (!source) return <>–</>
  return <Link href={`/executions/${source}`} className="whitespace-nowrap hover:underline">{item.retry_of ? 'goes on from ' : 'child of '}<span className="font-mono">{shortId(source)}</span></Link>
}
