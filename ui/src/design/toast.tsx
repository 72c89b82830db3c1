// Short words about what an action did, kept for a few seconds and read out by screen readers.
import { useSyncExternalStore } from 'react'
import { StatusIcon } from './status'

interface Toast {
  id: number
  status: string
  text: string
}

let toasts: Toast[] = []
let next = 1
const listeners = new Set<() => void>()
const change = (list: Toast[]) => {
  toasts = list
  for (const notify of listeners) notify()
}

export function showToast(text: string, status = 'done'): void {
  const toast = { id: next++, status, text }
  change([...toasts.slice(-3), toast])
  window.setTimeout(() => change(toasts.filter((other) => other.id !== toast.id)), 6000)
}

export const showError = (error: unknown): void =>
  showToast(error instanceof Error ? error.message : String(error), 'failed')

export function Toasts() {
  const list = useSyncExternalStore(
    (notify) => {
      listeners.add(notify)
      return () => listeners.delete(notify)
    },
    () => toasts,
  )
  return (
    <div
      aria-live="polite"
      className="pointer-events-none fixed bottom-3 right-3 z-50 flex max-w-[calc(100vw-1.5rem)] flex-col gap-2"
    >
      {list.map((toast) => (
        <div key={toast.id} className="panel pointer-events-auto flex items-center gap-2 px-3 py-2 shadow-lg">
          <StatusIcon status={toast.status} /> <span className="break-words">{toast.text}</span>
        </div>
      ))}
    </div>
  )
}
