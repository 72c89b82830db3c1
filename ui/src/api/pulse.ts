// The live line of one execution: a stream that says how far its log has come. It reconnects by itself.
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { address } from './client'

export type Link = 'connecting' | 'live' | 'lost' | 'ended'
export interface Pulse {
  seq: number
  status: string
  link: Link
  retryAt: number | null
}

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
const REFRESH_MS = 400
const SOON_MS = 50

/** Follow an execution that goes on; everything that was asked about it is asked again when its log grows. */
export function usePulse(id: string, course: 'unknown' | 'going' | 'over'): Pulse {
  const client = useQueryClient()
  const [pulse, setPulse] = useState<Pulse>({ seq: 0, status: '', link: 'connecting', retryAt: null })

  useEffect(() => {
    if (course === 'over') setPulse((old) => ({ ...old, link: 'ended' }))
    if (course !== 'going') return
    let source: EventSource | null = null
    let timer: number | undefined
    let failures = 0
    let closed = false

    let due: number | undefined
    let last = 0
    const queryKey = ['execution', id]
    // Answers that are on their way may be older than what was just heard: they are awaited, then all is asked again.
    const ask = () => {
      due = client.isFetching({ queryKey }) > 0 ? window.setTimeout(ask, SOON_MS) : undefined
      if (due !== undefined) return
      last = Date.now()
      void client.invalidateQueries({ queryKey })
    }
    const refresh = () => {
      due ??= window.setTimeout(ask, Math.max(0, last + REFRESH_MS - Date.now()))
    }
    const update = (part: Partial<Pulse>) => {
      if (!closed) setPulse((old) => ({ ...old, ...part }))
    }

    const connect = () => {
      update({ link: failures ? 'lost' : 'connecting', retryAt: null })
      source = new EventSource(address('/executions/{execution_id}/pulse', { execution_id: id }))
      source.addEventListener('pulse', (message) => {
        const beat = JSON.parse((message as MessageEvent<string>).data) as { seq: number; status: string }
        failures = 0
        update({ seq: beat.seq, status: beat.status, link: 'live', retryAt: null })
        refresh()
      })
      source.addEventListener('end', () => {
        source?.close()
        update({ link: 'ended' })
        refresh()
      })
      source.onerror = () => {
        source?.close()
        const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
        failures += 1
        update({ link: 'lost', retryAt: Date.now() + wait })
        timer = window.setTimeout(connect, wait)
      }
    }
    connect()
    return () => {
      closed = true
      source?.close()
      window.clearTimeout(timer)
      window.clearTimeout(due)
    }
  }, [client, id, course])

  return pulse
}
