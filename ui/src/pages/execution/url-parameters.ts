// What a page keeps in the query of its address: any value by name, and `at`, the event that is looked at.
import { useLocation, useSearch } from 'wouter'

export function useMoment(): [number | undefined, (at: number | undefined) => void] {
  const search = useSearch()
  const [location, go] = useLocation()
  const parameter = Number(new URLSearchParams(search).get('at'))
  const at = Number.isInteger(parameter) && parameter > 0 ? parameter : undefined
  const move = (next: number | undefined) => {
    const query = new URLSearchParams(search)
    if (next === undefined) query.delete('at')
    else query.set('at', String(next))
    go(location + (query.size ? `?${query}` : ''), { replace: true })
  }
  return [at, move]
}

/** One value of the address's query. */
export function useParameter(name: string): [string, (value: string) => void] {
  const search = useSearch()
  const [location, go] = useLocation()
  const value = new URLSearchParams(search).get(name) ?? ''
  const change = (next: string) => {
    const query = new URLSearchParams(window.location.search)
    if (next) query.set(name, next)
    else query.delete(name)
    go(location + (query.size ? `?${query}` : ''), { replace: true })
  }
  return [value, change]
}
