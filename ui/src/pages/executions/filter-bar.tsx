// What the list is narrowed to.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { catalog } from '../../api/queries'
import type { CatalogEntry } from '../../api/types'
import { Button } from '../../design/controls'
import { labelTexts } from '../../design/labels'
import { CLEAR, type Filters, WITHIN } from './filters'
import { SavedViews } from './saved-views'

const STATUSES = ['pending', 'running', 'waiting', 'paused', 'completed', 'failed', 'stuck', 'cancelled']

export function FilterBar({
  filters,
  change,
}: {
  filters: Filters
  change: (part: Partial<Filters>) => void
}) {
  const catalogQuery = useQuery(catalog())
  const { cursor: _, ...narrowing } = filters
  const active = Object.values(narrowing).some(Boolean)
  const labels = labelsOf(catalogQuery.data?.items ?? [])
  return (
    <div className="flex flex-wrap items-center gap-2 px-4 pb-2" role="search">
      <DebouncedInput
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
      <DebouncedInput
        label="Playbook path"
        value={filters.path}
        onChange={(path) => change({ path })}
        placeholder="Playbook"
        list="known-paths"
      />
      <datalist id="known-paths">
        {catalogQuery.data?.items.map((item) => (
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
      <DebouncedInput
        label="Started by"
        value={filters.by}
        onChange={(by) => change({ by })}
        placeholder="Started by"
        className="w-32"
      />
      {(labels.length > 0 || filters.label) && (
        <select
          aria-label="Label"
          className="field max-w-44"
          value={filters.label}
          onChange={(event) => change({ label: event.target.value })}
        >
          <option value="">any label</option>
          {[...new Set([...labels, ...(filters.label ? [filters.label] : [])])].map((label) => (
            <option key={label}>{label}</option>
          ))}
        </select>
      )}
      <label className="flex items-center gap-1.5 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={filters.children === 'no'}
          onChange={(event) => change({ children: event.target.checked ? 'no' : '' })}
        />
        without children
      </label>
      {active && (
        <Button kind="quiet" onClick={() => change(CLEAR)}>
          Clear
        </Button>
      )}
      <SavedViews filters={filters} active={active} />
    </div>
  )
}

/** Every label of a playbook, each once and in order. */
const labelsOf = (items: CatalogEntry[]): string[] =>
  [...new Set(items.flatMap((item) => labelTexts(item.labels)))].sort()

/** A text field that tells after a short rest, not at every key. */
export function DebouncedInput({
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
  const reported = useRef(value) // what comes back of our own telling must not be put over what was typed since
  useEffect(() => {
    if (value !== reported.current) {
      reported.current = value
      setText(value)
    }
  }, [value])
  useEffect(() => {
    if (text === reported.current) return
    const timer = window.setTimeout(() => {
      reported.current = text
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
