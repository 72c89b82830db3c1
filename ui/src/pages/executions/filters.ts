// The list's filters, kept in the address so that a list can be shared and reloaded.
import { useLocation, useSearch } from 'wouter'

export interface Filters {
  status: string
  path: string
  text: string
  within: string
  children: string
  by: string
  label: string
  cursor: string
}
const NONE: Filters = {
  status: '',
  path: '',
  text: '',
  within: '',
  children: '',
  by: '',
  label: '',
  cursor: '',
}
export const CLEAR: Partial<Filters> = NONE

export const WITHIN: Record<string, [string, number]> = {
  '15m': ['last 15 minutes', 900_000],
  '1h': ['last hour', 3_600_000],
  '24h': ['last day', 86_400_000],
  '7d': ['last week', 604_800_000],
}

export function useFilters(): [Filters, (change: Partial<Filters>) => void] {
  const search = useSearch()
  const [location, go] = useLocation()
  const parameters = Object.fromEntries(new URLSearchParams(search))
  const filters = { ...NONE, ...parameters }
  const change = (part: Partial<Filters>) => {
    const next = { ...filters, cursor: '', ...part }
    const pairs = Object.entries(next).filter(([, value]) => value)
    const text = new URLSearchParams(pairs).toString()
    go(location + (text ? `?${text}` : ''), { replace: true })
  }
  return [filters, change]
}

/** What the API is asked; a span of time is rounded to a minute so that answers can be kept. */
export function toQuery(filters: Filters): Record<string, string | number | boolean> {
  const span = WITHIN[filters.within]?.[1]
  const since = span ? new Date(Math.floor((Date.now() - span) / 60_000) * 60_000).toISOString() : ''
  return {
    status: filters.status,
    path: filters.path,
    text: filters.text,
    by: filters.by,
    label: filters.label,
    since,
    cursor: filters.cursor,
    limit: 50,
    ...(filters.children === 'no' ? { children: false } : {}),
  }
}

const SAVED = 'noetl:views'
export interface SavedView {
  name: string
  query: string
}

/** The address of filters without the place in the list. */
export const queryOf = (filters: Filters): string =>
  new URLSearchParams(
    Object.entries(filters).filter(([key, value]) => key in NONE && key !== 'cursor' && value),
  ).toString()

/** Filters under names of the reader's own, kept in this browser. */
export function savedViews(): SavedView[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(SAVED) ?? '[]')
    return Array.isArray(kept) ? kept.filter((view) => typeof view?.name === 'string') : []
  } catch {
    return []
  }
}

export const keepViews = (views: SavedView[]): void => localStorage.setItem(SAVED, JSON.stringify(views))
