// The shapes of the REST API, as far as the pages read them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
export type Obj = { [key: string]: Json }

export type Status = 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled'

export interface PlaybookId { path: string; version: number | null; hash: string }

export interface ExecutionItem {
  execution_id: string
  status: Status
  playbook: PlaybookId
  requested_at: string | null
  started_at: string | null
  ended_at: string | null
  duration_ms: number | null
  parent: string | null
  retry_of: string | null
  counts?: Counts | null
}

export interface Counts { events: number; steps: number; tasks: number; iterations: number }

export interface Page<T> { items: T[]; cursor: string | null }

export interface RunError {
  kind: string
  message: string
  step?: string | null
  task?: string | null
  iteration?: string | null
  attempt?: number | null
  details?: Json
}

export interface Execution extends Omit<ExecutionItem, 'parent' | 'counts'> {
  output: Json
  error: RunError | null
  failures: { step: string; error: RunError; taken_by: string }[]
  ctx: Obj
  steps: Record<string, { runs: number; status: string }>
  counts: Counts
  parent: { execution_id: string; run?: string; path?: string } | string | null
  workload?: Json
  by?: string | null
}

export interface Envelope {
  event_id: string
  execution_id: string
  seq: number
  ts: string
  source: 'server' | 'worker'
  name: string
  entity: string
  entity_id: string
  status: 'in_progress' | 'success' | 'error' | 'paused'
  step?: string
  step_run_id?: string
  iteration_id?: string
  task_label?: string
  visit?: number
  attempt?: number
  worker_id?: string
  data: Obj
}

export interface LoopCounts { total: number; done: number; failed: number; running: number; queued: number }

export type StepStatus = 'idle' | 'queued' | 'running' | 'waiting' | 'done' | 'kept' | 'failed' | 'refused'

export interface StepProgress {
  status: StepStatus
  runs: number
  running: number
  done: number
  failed: number
  refused: number
  retries: number
  duration_ms: number
  started_at: string | null
  ended_at: string | null
  loop: LoopCounts | null
  error: RunError | null
}

export interface ArcProgress {
  from: string
  to: string
  order: number
  taken: number
  not_taken: number
  not_asked: number
  seq: number
  matched: boolean
  asked: boolean
  seen: Obj
  set: Json[]
}

export interface TokenProgress {
  id: string
  step: string
  from: string | null
  held: boolean
  hold: { seq: number; at: string; waits_for: string[] } | null
}

export interface Wait {
  run: string
  step: string
  address: string
  task: string
  since: string
  signal: string | null
  approval: string | null
  child: string | null
  path: string | null
  until: string | null
  expires: string | null
  schema?: Json
}

export interface Refusal { seq: number; from: string | null; step: string; reason: string | null; rule: number | string | null; guards: { value: boolean; seen: Obj }[] | null }

export interface Progress {
  execution_id: string
  seq: number
  at: string
  status: Status
  history: { seq: number; at: string; status: string; by?: string; why?: string }[]
  steps: Record<string, StepProgress>
  arcs: ArcProgress[]
  refused: Refusal[]
  tokens: TokenProgress[]
  waits: Wait[]
  error: RunError | null
}

export interface GraphStep {
  step: string
  desc: string | null
  kinds: string[]
  loop: string | null
  join: string | null
  admission: boolean
  entry: boolean
  end: boolean
  line: number
}

export interface GraphArc { from: string; to: string; when: string | null; mode: string; order: number; line: number }

export interface Graph { name: string; path: string; entry: string; steps: GraphStep[]; arcs: GraphArc[] }

export interface Opened { summary: Execution; progress: Progress; graph: Graph | null; loops: string[]; children: ExecutionItem[] }

export interface TaskBar {
  task: string
  visit: number
  attempt: number
  address: string
  started: number
  ended: number | null
  status: string
  do: string | null
  what: 'task' | 'wait' | 'child' | 'delay'
}

export interface RunLine {
  run: string
  step: string
  from: string[]
  status: string
  worker: string | null
  scheduled: number
  started: number | null
  ended: number | null
  tasks: TaskBar[]
  left_out: number
  loop?: { total: number; done: number; failed: number }
}

export interface Timeline { from: string; to: string; ended: boolean; left_out: number; critical: string[]; runs: RunLine[] }

export interface LoopView {
  run: string
  step: string
  scheduled_at: string
  total: number
  ended: boolean
  counts: Record<'queued' | 'running' | 'done' | 'failed' | 'kept', number>
  marks: string
  started: number[]
  took: number[]
  retries: Record<string, number>
  errors: Record<string, { kind: string | null; message: string | null; task: string | null; attempt: number | null }>
}

export interface StoredRef {
  type: string
  locator: { store: string; key: string }
  meta?: { content_type?: string; bytes?: number; sha256?: string; preview?: Json; schema_hint?: Json }
}

export interface RunOutput {
  seq: number
  at: string
  run: string
  step: string
  status: string
  data: Json
  ref: StoredRef | null
  bytes: number | null
  error: RunError | null
  loop: Obj
}

export interface Writer { seq: number; at: string; run: string | null; address: string | null; origin: string | null }

export interface DataView { seq: number; ctx: Obj; workload: Json; writers: Record<string, Writer>; outputs: RunOutput[] }

export interface LogLine { seq: number; at: string; run: string; address: string; task: string; attempt: number | null; text: string }

export interface Reason { seq: number; about: string; text: string; step: string | null; run: string | null; facts: Obj }

export interface Why { status: string; summary: string; reasons: Reason[] }

export interface Diagnostic { code: string; severity: 'error' | 'warning' | 'info'; message: string; line: number; column: number; path: string; hint: string | null }

export interface Findings { diagnostics: Diagnostic[]; errors: number; warnings: number; infos?: number; path?: string | null }

export interface CatalogEntry { path: string; version: number; hash: string; file: string | null; registered_at: string; text?: string }

export interface WorkerItem {
  worker_id: string
  pool: string
  concurrency: number
  running: number
  heard_at: string
  started_at: string
  version: string
  host: string
  draining: boolean
  leases: { execution_id: string; step_run_id: string; epoch?: number; since?: string }[]
  finished: number
}

export interface Schedule {
  name: string
  path: string
  version: number | null
  workload: Obj
  cron: string | null
  timezone: string
  every_s: number | null
  enabled: boolean
  catch_up: 'one' | 'skip'
  next_at: string | null
  last_at: string | null
  last_execution: string | null
  last_error: string | null
  by: string
}

export interface Trigger {
  name: string
  kind: 'webhook' | 'nats'
  path: string
  version: number | null
  workload: Obj
  as: string
  subject: string | null
  queue: string | null
  enabled: boolean
  hook: string | null
  secret?: string | null
  by: string
}

export interface Slice { data: Json; total: number | null; offset: number; content_type: string }

export interface Overview {
  since: string
  bucket_ms: number
  buckets: { at: string; completed: number; failed: number; cancelled: number; active: number }[]
  counts: Record<Status, number>
  failures: ExecutionItem[]
  active: ExecutionItem[]
  slowest: { path: string; step: string; runs: number; mean_ms: number; max_ms: number; execution_id: string }[]
  overdue_ms: number
}

export interface Diff {
  a: string
  b: string
  same: boolean
  status: [string, string] | null
  playbook: [string, string] | null
  workload: Change[]
  path: string[]
  ctx: Change[]
  outputs: Change[]
  error: [Json, Json] | null
  timing_ms: Record<string, [number | null, number | null]>
}

export interface Change { path: string; a?: Json; b?: Json }
