// What a trigger waits for, and what it did last.
import { Link } from 'wouter'
import type { Body } from '../../api/client'
import type { Trigger } from '../../api/types'
import { CopyIcon, shortId } from '../../design/copy'
import { count } from '../../design/number'
import { Ago } from '../../design/time'

/** All of a trigger that can be changed, as it is; a secret that is not given stays. */
export function triggerBody(item: Trigger): Body<'/triggers/{name}', 'put'> {
  const { name, hook, created_at, by, last_at, last_execution, last_error, pending, ...body } = item
  return body
}

export function TriggerSource({ item }: { item: Trigger }) {
  const { filter, debounce, batch } = item
  const waits = [
    filter && `filter ${filter}`,
    debounce && `debounce ${debounce}`,
    batch && `batch of up to ${batch.max} within ${batch.within}`,
  ].filter(Boolean)
  return (
    <>
      <Place item={item} />
      {waits.map((wait) => (
        <span key={wait} className="block max-w-80 break-words font-sans text-ink-3">
          {wait}
        </span>
      ))}
    </>
  )
}

function Place({ item }: { item: Trigger }) {
  const { kind, hook, subject, queue } = item
  if (kind === 'playbook') return <EndSource item={item} />
  if (kind === 'object') {
    return (
      <>
        <span className="font-sans text-ink-3">objects in </span>
        {item.source}
        <span className="font-sans text-ink-3"> every {item.every}</span>
      </>
    )
  }
  if (!hook) {
    return (
      <>
        NATS {subject}
        {queue && <span className="text-ink-3"> queue {queue}</span>}
      </>
    )
  }
  return (
    <span className="inline-flex items-center">
      POST {hook}
      <CopyIcon text={`${window.location.origin}${hook}`} label="Copy the address" />
    </span>
  )
}

function EndSource({ item }: { item: Trigger }) {
  return (
    <>
      <span className="font-sans text-ink-3">{item.on.join(' or ')}: </span>
      {item.after.join(item.match === 'all' ? ' and ' : ' or ')}
    </>
  )
}

export function TriggerLast({ item }: { item: Trigger }) {
  return (
    <td className="td">
      <span className="text-ink-3 sm:hidden">last </span>
      <Ago at={item.last_at} />
      {item.last_execution && (
        <Link
          href={`/executions/${item.last_execution}`}
          className="ml-1.5 font-mono text-xs text-accent hover:underline"
        >
          {shortId(item.last_execution)}
        </Link>
      )}
      {item.last_error && (
        <span className="block max-w-80 break-words text-xs text-failed">{item.last_error}</span>
      )}
      {item.pending > 0 && (
        <span className="block text-xs text-ink-3">{count(item.pending)} not yet taken</span>
      )}
    </td>
  )
}
