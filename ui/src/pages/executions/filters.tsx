// What the list is narrowed to.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { catalog } from '../../api/queries'
import { Button } from '../../design/controls'
import { type Filters, WITHIN } from './find'

const STATUSES = ['pending', 'running', 'waiting', 'paused', 'completed', 'failed', 'stuck', 'cancelled']

export function FilterBar({
  filters,
  change,
}: {
  filters: Filters
  change: (part: Partial<Filters>) => void
}) {
  const known = useQuery(catalog())
  const some = Boolean(filters.status || filters.path || filters.text || filters.within || filters.children)
  return (
    <div className="flex flex-wrap items-center gap-2 px-4 pb-2" role="search">
      <Typed
        label="Search ids and paths"
        value={filters.text}
        onChange={(text) => change({ text })}
        placeholder="Part of id or path ( / )"
        search
      />
      <select
        aria-label="Status"
        className="field"
        value={filters.status}
        onChange={(event) => change({ status: event.target.value })}
      >
        <option value="">any status</option>
        {STATUSES.map((status) => (
          <option key={status}>{status}</option>
        ))}
      </select>
      <Typed
        label="Playbook path"
        value={filters.path}
        onChange={(path) => change({ path })}
        placeholder="Playbook"
        list="known-paths"
      />
      <datalist id="known-paths">
        {known.data?.items.map((item) => (
          <option key={item.path} value={item.path} />
        ))}
      </datalist>
      <select
        aria-label="Time"
        className="field"
        value={filters.within}
        onChange={(event) => change({ within: event.target.value })}
      >
        <option value="">any time</option>
        {Object.entries(WITHIN).map(([key, [label]]) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
      <label className="flex items-center gap-1.5 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={filters.children === 'no'}
          onChange={(event) => change({ children: event.target.checked ? 'no' : '' })}
        />
        without children
      </label>
      {some && (
        <Button
          kind="quiet"
          onClick={() => change({ status: '', path: '', text: '', within: '', children: '' })}
        >
          Clear
        </Button>
      )}
    </div>
  )
}

/** A text field that tells after a short rest, not at every key. */
export function Typed({
  label,
  value,
  onChange,
  placeholder,
  search = false,
  className = 'w-44',
  list,
}: {
  label: string
  value: string
  onChange: (value: string) => void
  placeholder: string
  search?: boolean
  className?: string
  list?: string
}) {
  const [text, setText] = useState(value)
  const told = useRef(value) // what comes back of our own telling must not be put over what was typed since
  useEffect(() => {
    if (value !== told.current) {
      told.current = value
      setText(value)
    }
  }, [value])
  useEffect(() => {
    if (text === told.current) return
    const timer = window.setTimeout(() => {
      told.current = text
      onChange(text)
    }, 250)
    return () => window.clearTimeout(timer)
  }, [text, onChange])
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={placeholder}
      className={`field ${className}`}
      value={text}
      onChange={(event) => setText(event.target.value)}
      {...(search ? { 'data-search': '' } : {})}
      {...(list ? { list } : {})}
    />
  )
}
