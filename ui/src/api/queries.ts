// Every reading a page makes, by name. Keys of one execution begin with ['execution', id], so its pulse renews them.
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { get, post, type Query } from './client'

const POLL_MS = 2000

export const executions = (find: Query<'/executions', 'get'>) =>
  queryOptions({
    queryKey: ['executions', find],
    queryFn: ({ signal }) => get('/executions', {}, find, signal),
    refetchInterval: POLL_MS,
    placeholderData: keepPreviousData,
  })

/** What an execution's page opens with; its pulse says when it is time to ask again. */
export const executionPage = (id: string) =>
  queryOptions({
    queryKey: ['execution', id, 'page'],
    queryFn: ({ signal }) => get('/executions/{execution_id}/page', { execution_id: id }, {}, signal),
    staleTime: Infinity,
  })

/** How an execution stands, without its graph and its course. */
export const execution = (id: string) =>
  queryOptions({
    queryKey: ['execution', id, 'summary'],
    queryFn: ({ signal }) => get('/executions/{execution_id}', { execution_id: id }, {}, signal),
  })

export const progress = (id: string, at: number) =>
  queryOptions({
    queryKey: ['past', id, 'progress', at],
    queryFn: ({ signal }) => get('/executions/{execution_id}/progress', { execution_id: id }, { at }, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  })

export const dataView = (id: string, at?: number) =>
  queryOptions({
    queryKey: at === undefined ? ['execution', id, 'data'] : ['past', id, 'data', at],
    queryFn: ({ signal }) => get('/executions/{execution_id}/data', { execution_id: id }, { at }, signal),
    placeholderData: keepPreviousData,
    staleTime: at === undefined ? 0 : Infinity,
  })

export const timeline = (id: string) =>
  queryOptions({
    queryKey: ['execution', id, 'timeline'],
    queryFn: ({ signal }) => get('/executions/{execution_id}/timeline', { execution_id: id }, {}, signal),
    placeholderData: keepPreviousData,
  })

export const loop = (id: string, run: string) =>
  queryOptions({
    queryKey: ['execution', id, 'loop', run],
    queryFn: ({ signal }) =>
      get('/executions/{execution_id}/loops/{run}', { execution_id: id, run }, {}, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  })

export interface EventFind {
  name?: string
  step?: string
  task?: string
  iteration?: string
  text?: string
}

export const EVENT_PAGE = 100

export const eventPage = (id: string, find: EventFind, page: number, upTo: number) =>
  queryOptions({
    queryKey: ['log', id, find, page, upTo],
    queryFn: ({ signal }) =>
      get(
        '/executions/{execution_id}/found',
        { execution_id: id },
        { ...find, offset: page * EVENT_PAGE, limit: EVENT_PAGE },
        signal,
      ),
    placeholderData: keepPreviousData,
    gcTime: 30_000,
  })

/** One iteration: its item, what it put out or why it failed. */
export const iteration = (id: string, run: string, index: number, mark: string) =>
  queryOptions({
    queryKey: ['execution', id, 'iteration', run, index, mark],
    queryFn: ({ signal }) =>
      get('/executions/{execution_id}/loops/{run}/{index}', { execution_id: id, run, index }, {}, signal),
    staleTime: Infinity,
  })

export const why = (id: string, step?: string) =>
  queryOptions({
    queryKey: ['execution', id, 'why', step ?? ''],
    queryFn: ({ signal }) => get('/executions/{execution_id}/why', { execution_id: id }, { step }, signal),
  })

export const diff = (a: string, b: string) =>
  queryOptions({
    queryKey: ['diff', a, b],
    queryFn: ({ signal }) =>
      get('/executions/{execution_id}/diff/{other_id}', { execution_id: a, other_id: b }, {}, signal),
    enabled: !!a && !!b,
  })

/** A part of a stored value: items of a list, or what a path selects. */
export const result = (key: string, part: { offset: number; limit: number } | { select: string }) =>
  queryOptions({
    queryKey: ['result', key, part],
    queryFn: ({ signal }) => {
      const [execution_id = '', digest = ''] = key.split('/')
      return get('/results/{execution_id}/{digest}', { execution_id, digest }, part, signal)
    },
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  })

export const catalog = () =>
  queryOptions({
    queryKey: ['catalog'],
    queryFn: ({ signal }) => get('/catalog', {}, { limit: 500 }, signal),
    refetchInterval: 5000,
  })

export const playbook = (path: string, version?: number) =>
  queryOptions({
    queryKey: ['catalog', path, version ?? 'newest'],
    queryFn: ({ signal }) => get('/catalog/{path}', { path }, { version }, signal),
  })

export const versions = (path: string) =>
  queryOptions({
    queryKey: ['catalog', path, 'versions'],
    queryFn: ({ signal }) => get('/catalog', {}, { path, limit: 200 }, signal),
  })

export const overview = () =>
  queryOptions({
    queryKey: ['overview'],
    queryFn: ({ signal }) => get('/overview', {}, {}, signal),
    refetchInterval: 4000,
    staleTime: 2000,
  })

/** What waits for somebody, in any execution. */
export const waits = () =>
  queryOptions({
    queryKey: ['waits'],
    queryFn: ({ signal }) => get('/waits', {}, {}, signal),
    refetchInterval: 5000,
  })

export const recentRuns = () =>
  queryOptions({
    queryKey: ['recent'],
    queryFn: ({ signal }) => get('/recent', {}, {}, signal),
    refetchInterval: 8000,
  })

export const tokens = () =>
  queryOptions({
    queryKey: ['tokens'],
    queryFn: ({ signal }) => get('/tokens', {}, { limit: 500 }, signal),
  })

export const workers = () =>
  queryOptions({
    queryKey: ['workers'],
    queryFn: ({ signal }) => get('/workers', {}, {}, signal),
    refetchInterval: POLL_MS,
  })

export const credentials = () =>
  queryOptions({ queryKey: ['credentials'], queryFn: ({ signal }) => get('/credentials', {}, {}, signal) })

export const credentialUses = () =>
  queryOptions({ queryKey: ['uses'], queryFn: ({ signal }) => get('/uses', {}, {}, signal) })

export const notifications = () =>
  queryOptions({
    queryKey: ['notifications'],
    queryFn: ({ signal }) => get('/notifications', {}, { limit: 500 }, signal),
    refetchInterval: 5000,
  })

export const deliveries = (state: 'pending' | 'delivered' | 'failed' | null) =>
  queryOptions({
    queryKey: ['deliveries', state],
    queryFn: ({ signal }) => get('/deliveries', {}, { state, limit: 100 }, signal),
    refetchInterval: 5000,
  })

export const schedules = () =>
  queryOptions({
    queryKey: ['schedules'],
    queryFn: ({ signal }) => get('/schedules', {}, { limit: 500 }, signal),
    refetchInterval: 5000,
  })

export const scheduleTicks = (name: string) =>
  queryOptions({
    queryKey: ['schedule-ticks', name], // not below `schedules`: a deleted one is not asked for again
    queryFn: ({ signal }) => get('/schedules/{name}/ticks', { name }, { limit: 30 }, signal),
    refetchInterval: 5000,
  })

export type ComingTimes = { cron?: string; timezone?: string; every_s?: number; schedule?: string }

/** The next ticks that times would have. */
export const comingTicks = (times: ComingTimes) =>
  queryOptions({
    queryKey: ['ticks', times],
    queryFn: ({ signal }) => get('/ticks', {}, times, signal),
    retry: false,
    placeholderData: (before) => before,
  })

/** The newest ticks of a backfill; they are others once its counts are. */
export const backfillTicks = (id: string, counts: Record<string, number>) =>
  queryOptions({
    queryKey: ['backfill-ticks', id, counts],
    queryFn: ({ signal }) =>
      get('/backfills/{backfill_id}/ticks', { backfill_id: id }, { limit: 60 }, signal),
    placeholderData: (before) => before,
  })

export const backfills = () =>
  queryOptions({
    queryKey: ['backfills'],
    queryFn: ({ signal }) => get('/backfills', {}, {}, signal),
    refetchInterval: 2000,
  })

export const triggers = () =>
  queryOptions({
    queryKey: ['triggers'],
    queryFn: ({ signal }) => get('/triggers', {}, { limit: 500 }, signal),
  })

export const tools = () =>
  queryOptions({
    queryKey: ['tools'],
    queryFn: ({ signal }) => get('/tools', {}, {}, signal),
    staleTime: Infinity,
  })

export const about = () =>
  queryOptions({
    queryKey: ['about'],
    queryFn: ({ signal }) => get('/about', {}, {}, signal),
    staleTime: 60_000,
  })

export const session = () =>
  queryOptions({
    queryKey: ['session'],
    queryFn: ({ signal }) => get('/session', {}, {}, signal),
    staleTime: Infinity,
    retry: false,
  })

export const loginWays = () =>
  queryOptions({
    queryKey: ['login-ways'],
    queryFn: ({ signal }) => get('/session/ways', {}, {}, signal),
    retry: false,
  })

export const schema = () =>
  queryOptions({
    queryKey: ['schema'],
    queryFn: ({ signal }) => get('/schema', {}, {}, signal),
    staleTime: Infinity,
  })

export const sketch = (text: string) =>
  queryOptions({
    queryKey: ['sketch', text],
    queryFn: () => post('/graph', {}, { playbook: text, strict: false }),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 10_000,
  })
