// One place that speaks HTTP. A route is named as the OpenAPI document names it, and so are its parts, its query,
// its body and its answer. Problems (RFC 9457) become `Problem` errors that pages show as they are.

import type { components, paths } from './openapi'
import { takePrefetched } from './prefetch'
import { reportReachable } from './reachability'

type ProblemBody = Partial<components['schemas']['ProblemAnswer']>

export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly hint: string | null
  readonly diagnostics: components['schemas']['Finding'][]

  constructor(status: number, body: ProblemBody) {
    super(body.detail ?? body.title ?? `the server answered ${status}`)
    this.status = status
    this.code = body.code ?? ''
    this.hint = body.hint ?? null
    this.diagnostics = body.diagnostics ?? []
  }
}

export const API = '/api/v1'

type Method = 'get' | 'post' | 'put' | 'delete'
type Operation<P, M extends Method> = P extends keyof paths
  ? paths[P] extends Record<M, infer O>
    ? O
    : never
  : never
type Named<R> = `${typeof API}${R & string}`
/** The routes that know a method, as they are written after /api/v1. */
export type Route<M extends Method> = {
  [P in keyof paths]: P extends `${typeof API}${infer R}`
    ? paths[P] extends Record<M, object>
      ? R
      : never
    : never
}[keyof paths]
type Field<T, K extends string> = T extends { [key in K]?: infer V } ? V : never
type Good<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202)] : never
type Content<T> = T extends { content: { 'application/json': infer C } } ? C : undefined
export type Answer<R, M extends Method> = Content<Good<Operation<Named<R>, M>>>
export type Body<R, M extends Method> = Content<NonNullable<Field<Operation<Named<R>, M>, 'requestBody'>>>
type Parameters<R, M extends Method> = NonNullable<Field<Operation<Named<R>, M>, 'parameters'>>
export type Parts<R, M extends Method> =
  Field<Parameters<R, M>, 'path'> extends infer T ? ([T] extends [object] ? T : Record<never, never>) : never
export type Query<R, M extends Method> = Loose<NonNullable<Field<Parameters<R, M>, 'query'>>>
type Loose<T> = [T] extends [never] ? Record<never, never> : { [K in keyof T]?: T[K] | '' | null | undefined }

/** The address of a route; the slashes of a playbook's path stay, and what is not asked for is left out. */
export function address(route: string, parts: object = {}, query: object = {}): string {
  const filled = Object.entries(parts).reduce(
    (text, [name, value]) =>
      text.replace(
        `{${name}}`,
        name === 'path'
          ? String(value).split('/').map(encodeURIComponent).join('/')
          : encodeURIComponent(String(value)),
      ),
    route,
  )
  const pairs = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString()
  return API + filled + (text ? `?${text}` : '')
}

// What changes under a session carry; it is known once the server has said who we are.
let csrfToken: string | null = null
export const setCsrfToken = (token: string | null): void => {
  csrfToken = token
}
const csrf = (): Record<string, string> => (csrfToken ? { 'X-CSRF-Token': csrfToken } : {})

async function send(method: string, url: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  let answer: Response
  try {
    const init: RequestInit = {
      method,
      headers: { Accept: 'application/json', ...csrf() },
      credentials: 'same-origin',
    }
    if (signal) init.signal = signal
    if (body !== undefined) {
      init.body = JSON.stringify(body)
      init.headers = { ...init.headers, 'Content-Type': 'application/json' }
    }
    answer = (method === 'GET' && (await takePrefetched(url))) || (await fetch(url, init))
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    reportReachable(false)
    throw new Problem(0, {
      detail: 'the server cannot be reached',
      hint: 'is it running? this page tries again by itself',
    })
  }
  reportReachable(true)
  if (!answer.ok) throw new Problem(answer.status, await answer.json().catch(() => ({})))
  return answer.status === 204 ? undefined : answer.json()
}

export const get = <R extends Route<'get'>>(
  route: R,
  parts: Parts<R, 'get'>,
  query: Query<R, 'get'> = {},
  signal?: AbortSignal,
) => send('GET', address(route, parts, query), undefined, signal) as Promise<Answer<R, 'get'>>
export const post = <R extends Route<'post'>>(
  route: R,
  parts: Parts<R, 'post'>,
  ...[body]: [Body<R, 'post'>] extends [never] ? [] : [body: Body<R, 'post'>]
) => send('POST', address(route, parts), body ?? {}) as Promise<Answer<R, 'post'>>
export const put = <R extends Route<'put'>>(route: R, parts: Parts<R, 'put'>, body: Body<R, 'put'>) =>
  send('PUT', address(route, parts), body) as Promise<Answer<R, 'put'>>
export const remove = <R extends Route<'delete'>>(route: R, parts: Parts<R, 'delete'>) =>
  send('DELETE', address(route, parts)) as Promise<Answer<R, 'delete'>>
