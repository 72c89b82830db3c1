// What tasks print, as they print it: a stream of lines that goes on where it was cut, and ends with the execution.
import { useEffect, useState } from 'react'
import { address } from './client'
import type { LogLine } from './types'

export type LinesLink = 'connecting' | 'live' | 'lost' | 'ended'
export interface LogLines {
  lines: LogLine[]
  dropped: number
  link: LinesLink
}

const KEPT = 20_000
const SHOW_MS = 100
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
const NOTHING: LogLines = { lines: [], dropped: 0, link: 'connecting' }

/** The lines of an execution, those of the executions that it started too if that is wanted; the newest are kept. */
export function useLogLines(id: string, children: boolean): LogLines {
  const [shown, setShown] = useState<LogLines>(NOTHING)

  useEffect(() => {
    let source: EventSource | null = null
    let due: number | undefined
    let retry: number | undefined
    let failures = 0
    let after = ''
    let lines: LogLine[] = []
    let dropped = 0
    let link: LinesLink = 'connecting'

    const show = () => {
      due ??= window.setTimeout(() => {
        due = undefined
        setShown({ lines, dropped, link })
      }, SHOW_MS)
    }
    const take = (message: MessageEvent<string>) => {
      const all = [...lines, ...(JSON.parse(message.data) as LogLine[])]
      dropped += Math.max(0, all.length - KEPT)
      lines = all.slice(-KEPT)
      after = message.lastEventId || after
      show()
    }
    const connect = () => {
      const query = { after, children: children || undefined }
      source = new EventSource(address('/executions/{execution_id}/logs/stream', { execution_id: id }, query))
      source.onopen = () => {
        failures = 0
        link = 'live'
        show()
      }
      source.addEventListener('lines', (message) => take(message as MessageEvent<string>))
      source.addEventListener('end', () => {
        source?.close()
        link = 'ended'
        show()
      })
      source.onerror = () => {
        source?.close()
        link = 'lost'
        show()
        retry = window.setTimeout(connect, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures))
        failures += 1
      }
    }

    setShown(NOTHING)
    connect()
    return () => {
      source?.close()
      window.clearTimeout(due)
      window.clearTimeout(retry)
    }
  }, [id, children])

  return shown
}

export const LEVELS = ['debug', 'info', 'warning', 'error', 'critical']

export interface LineFind {
  text: string
  place: string
  level: string
}

/** The step and the task of a line, as the selector names them. */
export const placeOf = (line: LogLine) => `${line.step}/${line.task}`

/** Whether a line is wanted: its text in any case, its step or task, its level or a worse one. */
export function matches(line: LogLine, { text, place, level }: LineFind): boolean {
  if (place && line.step !== place && placeOf(line) !== place) return false
  if (level && LEVELS.indexOf(line.level ?? 'info') < LEVELS.indexOf(level)) return false
  return !text || line.text.toLowerCase().includes(text.toLowerCase())
}

/** The steps of lines, each followed by its tasks when it has several. */
export function placesOf(lines: LogLine[]): string[] {
  const tasks = new Map<string, Set<string>>()
  for (const line of lines) {
    const known = tasks.get(line.step) ?? new Set()
    tasks.set(line.step, known.add(placeOf(line)))
  }
  return [...tasks].flatMap(([step, own]) => (own.size > 1 ? [step, ...own] : [step]))
}
