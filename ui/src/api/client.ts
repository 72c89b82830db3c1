// One place that speaks HTTP. Problems (RFC 9457) become `Problem` errors that pages show as they are.
import { taken } from './ahead'
import type { Diagnostic } from './types'

export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | null
  readonly diagnostics: Diagnostic[]

  constructor(status: number, body: { detail?: string; title?: string; code?: string; hint?: string | null; diagnostics?: Diagnostic[] }) {
    super(body.detail ?? body.title ?? `the server answered ${status}`)
    this.status = status
    this.code = body.code ?? ''
    this.hint = body.hint ?? null
    this.diagnostics = body.diagnostics ?? []
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>

export const API = '/api/v1'

export function address(path: string, query: Query = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString()
  return API + path + (text ? `?${text}` : '')
}

// What changes under a session carry; it is known once the server has said who we are.
let csrfToken: string | null = null
export const carry = (token: string | null): void => { csrfToken = token }
const csrf = (): Record<string, string> => (csrfToken ? { 'X-CSRF-Token': csrfToken } : {})

async function send<T>(method: string, path: string, query?: Query, body?: unknown, signal?: AbortSignal): Promise<T> {
  let answer: Response
  try {
    const init: RequestInit = { method, headers: { Accept: 'application/json', ...csrf() }, credentials: 'same-origin' }
    if (signal) init.signal = signal
    if (body !== undefined) {
      init.body = JSON.stringify(body)
      init.headers = { ...init.headers, 'Content-Type': 'application/json' }
    }
    const url = address(path, query)
    answer = (method === 'GET' && (await taken(url))) || (await fetch(url, init))
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new Problem(0, { detail: 'the server cannot be reached', hint: 'is it running? this page tries again by itself' })
  }
  if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})))
  return answer.status === 204 ? (undefined as T) : ((await answer.json()) as T)
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> => send<T>('GET', path, query, undefined, signal)
export const post = <T>(path: string, body: unknown = {}): Promise<T> => send<T>('POST', path, undefined, body)
export const put = <T>(path: string, body: unknown): Promise<T> => send<T>('PUT', path, undefined, body)
export const remove = <T>(path: string, query?: Query): Promise<T> => send<T>('DELETE', path, query)

/** A playbook's path as part of an address; slashes stay. */
export const catalogPath = (path: string): string => `/catalog/${path.split('/').map(encodeURIComponent).join('/')}`
