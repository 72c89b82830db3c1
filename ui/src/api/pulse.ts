// The live line of one execution: a stream that says how far its log has come. It reconnects by itself.
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { address } from './client'

export type Link = 'connecting' | 'live' | 'lost' | 'ended'
export interface Pulse { seq: number; status: string; link: Link; retryAt: number | null }

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
const REFRESH_MS = 400

/** Follow an execution that is there; everything that was asked about it is asked again when its log grows. */
export function usePulse(id: string, there: boolean): Pulse {
  const client = useQueryClient()
  const [pulse, setPulse] = useState<Pulse>({ seq: 0, status: '', link: 'connecting', retryAt: null })

  useEffect(() => {
    if (!there) return
    let source: EventSource | null = null
    let timer: number | undefined
    let failures = 0
    let seen = 0
    let closed = false
    let fresh = true // nothing has happened since the page was opened

    let due: number | undefined
    let last = 0
    // At most every REFRESH_MS, and never cancelling an answer that is on its way.
    const refresh = () => {
      if (due !== undefined) return
      due = window.setTimeout(() => {
        due = undefined
        last = Date.now()
        void client.invalidateQueries({ queryKey: ['execution', id] }, { cancelRefetch: false })
      }, Math.max(0, last + REFRESH_MS - Date.now()))
    }
    const update = (part: Partial<Pulse>) => { if (!closed) setPulse((old) => ({ ...old, ...part })) }

    const connect = () => {
      update({ link: failures ? 'lost' : 'connecting', retryAt: null })
      source = new EventSource(address(`/executions/${id}/pulse`, { from: seen + 1 }))
      source.addEventListener('pulse', (message) => {
        const told = JSON.parse((message as MessageEvent<string>).data) as { seq: number; status: string }
        const moved = (seen > 0 && told.seq > seen) || failures > 0
        failures = 0
        seen = told.seq
        fresh = fresh && !moved
        update({ seq: told.seq, status: told.status, link: 'live', retryAt: null })
        if (moved) refresh()
      })
      source.addEventListener('end', () => { source?.close(); update({ link: 'ended' }); if (!fresh) refresh() })
      source.onerror = () => {
        source?.close()
        const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
        failures += 1
        update({ link: 'lost', retryAt: Date.now() + wait })
        timer = window.setTimeout(connect, wait)
      }
    }
    connect()
    return () => { closed = true; source?.close(); window.clearTimeout(timer); window.clearTimeout(due) }
  }, [client, id, there])

  return pulse
}
