// Times relative with the exact one on hover; durations short and aligned.
import { useSyncExternalStore } from 'react'

let now = Date.now()
const listeners = new Set<() => void>()
let timer: number | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    now = Date.now() // it stood still while nobody looked
    timer = window.setInterval(() => {
      now = Date.now()
      for (const notify of listeners) notify()
    }, 1000)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      window.clearInterval(timer)
      timer = undefined
    }
  }
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now)

const STEPS: [number, string][] = [
  [60, 's'],
  [60, 'min'],
  [24, 'h'],
  [Infinity, 'd'],
]

export function ago(moment: string | null, at: number): string {
  if (!moment) return '–'
  let amount = Math.round((at - Date.parse(moment)) / 1000)
  const future = amount < -1
  amount = Math.abs(amount)
  if (amount < 2) return 'just now'
  for (const [size, unit] of STEPS) {
    if (amount < size) return future ? `in ${amount} ${unit}` : `${amount} ${unit} ago`
    amount = Math.round(amount / size)
  }
  return ''
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${String(Math.floor((ms % 60_000) / 1000)).padStart(2, '0')} s`
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const two = (value: number): string => String(value).padStart(2, '0')

/** A moment where the reader is, and as it was recorded. */
export const exact = (moment: string): string => {
  const date = new Date(moment)
  const day = `${date.getDate()} ${MONTHS[date.getMonth()]} ${date.getFullYear()}`
  return `${day}, ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} (${moment})`
}

const TO_THE_SECOND = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
} as const

/** A moment to the second by the clocks of a time zone, with its name: `2026-11-19 02:30:00 CET`. */
export function zoned(moment: number | string, timeZone: string): string {
  const date = new Date(moment)
  try {
    return date.toLocaleString('sv-SE', { ...TO_THE_SECOND, timeZone, timeZoneName: 'short' })
  } catch {
    return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC` // a time zone that this browser does not know
  }
}

/** A text whose moments are told where the reader is, to the second. */
export const readable = (text: string): string =>
  text.replaceAll(
    /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g,
    (moment) => exact(moment).split(' (')[0] ?? moment,
  )

export function Ago({ at }: { at: string | null }) {
  const current = useNow()
  if (!at) return <span className="text-ink-3">–</span>
  return (
    <time dateTime={at} title={exact(at)} className="whitespace-nowrap">
      {ago(at, current)}
    </time>
  )
}

/** The time of day where the reader is, to the millisecond. */
export const clock = (moment: string): string => {
  const date = new Date(moment)
  const minutes = [date.getHours(), date.getMinutes()].map(two).join(':')
  return `${minutes}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** A duration that grows while the thing goes on. */
export function Took({ from, to, ms }: { from: string | null; to: string | null; ms?: number | null }) {
  const current = useNow()
  if (to && ms !== undefined && ms !== null) return <span>{duration(ms)}</span>
  if (!from) return <span className="text-ink-3">–</span>
  return <span>{duration((to ? Date.parse(to) : current) - Date.parse(from))}</span>
}
