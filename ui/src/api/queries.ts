// Every reading a page makes, by name. Keys of one execution begin with ['execution', id], so its pulse renews them.
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { catalogPath, get, post, type Query } from './client'
import type {
  CatalogEntry, DataView, Diagnostic, Diff, Envelope, ExecutionItem, Graph, LogLine, LoopView, Obj, Opened, Overview, Page, Progress, Schedule, Slice,
  Timeline, Trigger, Why, WorkerItem,
} from './types'

const POLL_MS = 2000
const of = (id: string) => `/executions/${id}`

export const executions = (find: Query) =>
  queryOptions({
    queryKey: ['executions', find],
    queryFn: ({ signal }) => get<Page<ExecutionItem>>('/executions', find, signal),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

/** What an execution's page opens with; its pulse says when it is time to ask again. */
export const opened = (id: string) =>
  queryOptions({ queryKey: ['execution', id, 'page'], queryFn: ({ signal }) => get<Opened>(`${of(id)}/page`, {}, signal), staleTime: Infinity })

export const progress = (id: string, at: number) =>
  queryOptions({
    queryKey: ['past', id, 'progress', at],
    queryFn: ({ signal }) => get<Progress>(`${of(id)}/progress`, { at }, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  })

export const dataView = (id: string, at?: number) =>
  queryOptions({
    queryKey: at === undefined ? ['execution', id, 'data'] : ['past', id, 'data', at],
    queryFn: ({ signal }) => get<DataView>(`${of(id)}/data`, { at }, signal),
    placeholderData: keepPreviousData,
    staleTime: at === undefined ? 0 : Infinity,
  })

export const timeline = (id: string) =>
  queryOptions({
    queryKey: ['execution', id, 'timeline'],
    queryFn: ({ signal }) => get<Timeline>(`${of(id)}/timeline`, {}, signal),
    placeholderData: keepPreviousData,
  })

export const loop = (id: string, run: string) =>
  queryOptions({
    queryKey: ['execution', id, 'loop', run],
    queryFn: ({ signal }) => get<LoopView>(`${of(id)}/loops/${encodeURIComponent(run)}`, {}, signal),
    placeholderData: keepPreviousData,
  })

export interface EventFind { name?: string; step?: string; task?: string; iteration?: string; text?: string }

export const EVENT_PAGE = 100

export const eventPage = (id: string, find: EventFind, page: number, upTo: number) =>
  queryOptions({
    queryKey: ['log', id, find, page, upTo],
    queryFn: ({ signal }) =>
      get<{ total: number; items: Envelope[] }>(`${of(id)}/found`, { ...find, offset: page * EVENT_PAGE, limit: EVENT_PAGE }, signal),
    placeholderData: keepPreviousData,
    gcTime: 30_000,
  })

export const logs = (id: string, text: string, step: string) =>
  queryOptions({
    queryKey: ['execution', id, 'logs', text, step],
    queryFn: ({ signal }) => get<{ total: number; dropped: number; items: LogLine[] }>(`${of(id)}/lines`, { text, step, limit: 5000 }, signal),
    placeholderData: keepPreviousData,
  })

export const why = (id: string, step?: string) =>
  queryOptions({ queryKey: ['execution', id, 'why', step ?? ''], queryFn: ({ signal }) => get<Why>(`${of(id)}/why`, { step }, signal) })

export const diff = (a: string, b: string) =>
  queryOptions({ queryKey: ['diff', a, b], queryFn: ({ signal }) => get<Diff>(`/executions/${a}/diff/${b}`, {}, signal), enabled: !!a && !!b })

export const result = (key: string, offset: number, limit: number) =>
  queryOptions({
    queryKey: ['result', key, offset, limit],
    queryFn: ({ signal }) => get<Slice>(`/results/${key}`, { offset, limit }, signal),
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  })

export const catalog = () =>
  queryOptions({ queryKey: ['catalog'], queryFn: ({ signal }) => get<Page<CatalogEntry>>('/catalog', { limit: 500 }, signal), refetchInterval: 5000 })

export const playbook = (path: string, version?: number) =>
  queryOptions({
    queryKey: ['catalog', path, version ?? 'newest'],
    queryFn: ({ signal }) => get<CatalogEntry>(catalogPath(path), { version }, signal),
  })

export const versions = (path: string) =>
  queryOptions({
    queryKey: ['catalog', path, 'versions'],
    queryFn: ({ signal }) => get<Page<CatalogEntry>>('/catalog', { path, limit: 200 }, signal),
  })

export const overview = () =>
  queryOptions({ queryKey: ['overview'], queryFn: ({ signal }) => get<Overview>('/overview', {}, signal), refetchInterval: 4000, staleTime: 2000 })

export const workers = () =>
  queryOptions({ queryKey: ['workers'], queryFn: ({ signal }) => get<{ items: WorkerItem[] }>('/workers', {}, signal), refetchInterval: POLL_MS })

export const credentials = () =>
  queryOptions({ queryKey: ['credentials'], queryFn: ({ signal }) => get<{ items: { name: string; set_at: string }[] }>('/credentials', {}, signal) })

export const uses = () =>
  queryOptions({ queryKey: ['uses'], queryFn: ({ signal }) => get<{ items: Record<string, string[]> }>('/uses', {}, signal) })

export const schedules = () =>
  queryOptions({ queryKey: ['schedules'], queryFn: ({ signal }) => get<Page<Schedule>>('/schedules', { limit: 500 }, signal), refetchInterval: 5000 })

export const triggers = () =>
  queryOptions({ queryKey: ['triggers'], queryFn: ({ signal }) => get<Page<Trigger>>('/triggers', { limit: 500 }, signal) })

export const tools = () =>
  queryOptions({ queryKey: ['tools'], queryFn: ({ signal }) => get<{ items: Obj[] }>('/tools', {}, signal), staleTime: Infinity })

export const about = () =>
  queryOptions({ queryKey: ['about'], queryFn: ({ signal }) => get<Obj>('/about', {}, signal), staleTime: 60_000 })

export interface Session { name: string; scopes: string[]; prefixes: string[]; csrf: string | null }

export const session = () =>
  queryOptions({ queryKey: ['session'], queryFn: ({ signal }) => get<Session>('/session', {}, signal), staleTime: Infinity, retry: false })

export const schema = () =>
  queryOptions({ queryKey: ['schema'], queryFn: ({ signal }) => get<Obj>('/schema', {}, signal), staleTime: Infinity })

export interface Sketched { graph: Graph | null; diagnostics: Diagnostic[]; workload: Obj }

export const sketch = (text: string) =>
  queryOptions({ queryKey: ['sketch', text], queryFn: () => post<Sketched>('/graph', { playbook: text }), placeholderData: keepPreviousData, staleTime: Infinity, gcTime: 10_000 })
