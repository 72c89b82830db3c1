// A JSON value as a tree: rows only for what is open, long lists in parts, every value as text.
import { type ReactNode, useState } from 'react'
import type { Json } from '../api/types'
import { Icon } from './icons'

const PART = 100
const LONG = 400

export type Note = (path: string) => ReactNode

export function Tree({
  value,
  note,
  open = 1,
  root = '',
}: {
  value: Json
  note?: Note
  open?: number
  root?: string
}) {
  if (value === null || typeof value !== 'object') return <Leaf value={value} />
  const entries = Array.isArray(value)
    ? value.map((item, index) => [String(index), item] as const)
    : Object.entries(value)
  if (entries.length === 0)
    return (
      <span className="font-mono text-xs text-ink-3">{Array.isArray(value) ? '[ ] empty' : '{ } empty'}</span>
    )
  return (
    <Entries
      entries={entries}
      list={Array.isArray(value)}
      path={root}
      open={open}
      {...(note ? { note } : {})}
    />
  )
}

function Entries({
  entries,
  list,
  path,
  note,
  open,
}: {
  entries: readonly (readonly [string, Json])[]
  list: boolean
  path: string
  note?: Note
  open: number
}) {
  const [limit, setLimit] = useState(PART)
  return (
    <div role="group" className="min-w-0">
      {entries.slice(0, limit).map(([key, item]) => (
        <Entry
          key={key}
          name={key}
          value={item}
          list={list}
          path={path ? `${path}.${key}` : key}
          open={open}
          {...(note ? { note } : {})}
        />
      ))}
      {entries.length > limit && (
        <button
          type="button"
          className="py-0.5 text-xs text-accent hover:underline"
          onClick={() => setLimit(limit + PART * 10)}
        >
          {entries.length - limit} more…
        </button>
      )}
    </div>
  )
}

function Entry({
  name,
  value,
  list,
  path,
  note,
  open,
}: {
  name: string
  value: Json
  list: boolean
  path: string
  note?: Note
  open: number
}) {
  const [expanded, setExpanded] = useState(open > 0)
  const nested = value !== null && typeof value === 'object' && Object.keys(value).length > 0
  const label = <span className={list ? 'text-ink-3' : 'text-ink-2'}>{name}</span>
  if (!nested)
    return (
      <div className="flex min-w-0 items-baseline gap-2 py-px pl-3.5 font-mono text-xs">
        {label}
        <Leaf value={value} />
        {note?.(path)}
      </div>
    )
  return (
    <div className="min-w-0">
      <div className="flex items-baseline gap-1 py-px font-mono text-xs">
        <button
          type="button"
          aria-expanded={expanded}
          onClick={() => setExpanded(!expanded)}
          className="inline-flex items-center gap-1 rounded-sm text-left hover:bg-sunken"
        >
          <Icon name="chevron" size={10} className={`text-ink-3 ${expanded ? 'rotate-90' : ''}`} />
          {label}
          <span className="text-ink-3">
            {Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value as object).length}}`}
          </span>
        </button>
        {note?.(path)}
      </div>
      {expanded && (
        <div className="ml-1.5 border-l border-line pl-2.5">
          <Tree value={value} open={open - 1} root={path} {...(note ? { note } : {})} />
        </div>
      )}
    </div>
  )
}

function Leaf({ value }: { value: Json }) {
  const [whole, setWhole] = useState(false)
  if (value === null) return <span className="font-mono text-xs text-ink-3">null</span>
  if (typeof value === 'string') {
    const cut = !whole && value.length > LONG
    return (
      <span
        dir="auto"
        className="min-w-16 whitespace-pre-wrap break-words font-mono text-xs text-done [overflow-wrap:anywhere]"
      >
        {JSON.stringify(cut ? value.slice(0, LONG) : value)}
        {cut && (
          <button type="button" className="ml-1 text-accent hover:underline" onClick={() => setWhole(true)}>
            … all {value.length} characters
          </button>
        )}
      </span>
    )
  }
  if (typeof value === 'object')
    return <span className="font-mono text-xs text-ink-3">{Array.isArray(value) ? '[]' : '{}'}</span>
  return (
    <span className={`font-mono text-xs ${typeof value === 'boolean' ? 'text-waiting' : 'text-running'}`}>
      {String(value)}
    </span>
  )
}
