// Whether the server answers at all, as the newest request has found it.
import { useSyncExternalStore } from 'react'

let unreachable = false
const listeners = new Set<() => void>()

/** A request was answered, or it was not. */
export function reportReachable(reachable: boolean): void {
  if (unreachable === !reachable) return
  unreachable = !reachable
  for (const notify of listeners) notify()
}

export const useUnreachable = (): boolean =>
  useSyncExternalStore(
    (notify) => {
      listeners.add(notify)
      return () => listeners.delete(notify)
    },
    () => unreachable,
  )
