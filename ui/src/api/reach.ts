// Whether the server answers at all, as the newest request has found it.
import { useSyncExternalStore } from 'react'

let lost = false
const listeners = new Set<() => void>()

/** A request was answered, or it was not. */
export function reached(well: boolean): void {
  if (lost === !well) return
  lost = !well
  for (const tell of listeners) tell()
}

export const useLost = (): boolean =>
  useSyncExternalStore(
    (tell) => {
      listeners.add(tell)
      return () => listeners.delete(tell)
    },
    () => lost,
  )
