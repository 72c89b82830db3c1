// A step as a node: its state by colour and shape, its runs, its loop as one bar, its tokens.
import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo } from 'react'
import type { GraphStep, StepProgress, TokenProgress } from '../api/types'
import { classes } from '../design/classes'
import { Icon } from '../design/icons'
import { count } from '../design/number'
import { borderOf, StatusIcon, softOf, textOf } from '../design/status'
import { duration, Took } from '../design/time'
import { stepStatus } from './labels'
import { NODE_WIDTH } from './layout'

export interface StepData extends Record<string, unknown> {
  shape: GraphStep
  progress: StepProgress | null
  tokens: TokenProgress[]
  selected: boolean
  findings: number
  live: boolean
}
export type StepNode = Node<StepData, 'step'>

function StepBox({ data }: NodeProps<StepNode>) {
  const { shape, progress, tokens, selected, findings, live } = data
  const status = progress ? stepStatus(progress) : 'idle'
  const held = tokens.filter((token) => token.held)
  const growing = live && progress !== null && (status === 'running' || status === 'waiting')
  const coloured = progress !== null && status !== 'idle'
  // A loop that went on without some iterations is done, but not well.
  const mark = status === 'done' && (progress?.loop?.failed ?? 0) > 0 ? 'flawed' : status
  return (
    <div
      data-step={shape.step}
      data-state={status}
      style={{ width: NODE_WIDTH }}
      className={classes(
        'h-full rounded-md border bg-panel text-left shadow-[0_1px_2px_rgb(0_0_0/0.05)]',
        coloured ? borderOf(mark) : 'border-line-strong',
        progress && !coloured && 'border-dashed',
        selected && 'outline-2 outline-offset-2 outline-accent',
      )}
    >
      <Handle type="target" position={Position.Top} />
      <div className={`flex items-center gap-1.5 rounded-t-[5px] px-2 py-1 ${coloured ? softOf(mark) : ''}`}>
        {progress && <StatusIcon status={mark} />}
        <span className="min-w-0 flex-1 truncate text-sm font-medium" title={shape.desc ?? shape.step}>
          {shape.step}
        </span>
        {shape.entry && <span className="text-2xs text-ink-3">entry</span>}
        {progress && progress.runs > 1 && <span className="text-xs text-ink-2">×{progress.runs}</span>}
        {findings > 0 && <StatusIcon status="error" />}
      </div>
      <div className="flex items-center gap-1.5 px-2 pb-1 text-xs text-ink-3">
        {shape.loop && <Icon name="loop" size={12} />}
        {shape.admission && <Icon name="gate" size={12} />}
        {shape.join && <Icon name="join" size={12} />}
        <span className="min-w-0 flex-1 truncate" title={kinds(shape)}>
          {kinds(shape)}
        </span>
        {status === 'kept' && <span className="text-done">kept</span>}
        {progress && progress.retries > 0 && (
          <span className="text-held" title={`${progress.retries} retries`}>
            ↻{progress.retries}
          </span>
        )}
        {progress && progress.ended_at !== null && (
          <span className={textOf(mark)}>{duration(progress.duration_ms)}</span>
        )}
        {growing && progress.ended_at === null && (
          <span className={textOf(status)}>
            <Took from={progress.started_at} to={null} />
          </span>
        )}
      </div>
      {progress?.loop ? (
        <LoopBar loop={progress.loop} />
      ) : (
        progress &&
        shape.loop && (
          <div className="border-t border-line px-2 py-1 text-2xs text-ink-3">no iteration yet</div>
        )
      )}
      {held.length > 0 && (
        <div
          className="flex items-center gap-1.5 border-t border-line px-2 py-px text-xs text-held"
          data-held={held.length}
        >
          <StatusIcon status="held" size={12} />
          <span className="truncate">
            {held.length} held, waits for {held[0]?.hold?.waits_for.join(', ')}
          </span>
        </div>
      )}
      {tokens.length > held.length && (
        <div
          className="absolute -top-1.5 left-1/2 size-3 rounded-full border-2 border-panel bg-accent"
          title="a token is here"
        />
      )}
      <Handle type="source" position={Position.Bottom} />
    </div>
  )
}

function kinds(shape: GraphStep): string {
  if (shape.kinds.length === 0) return shape.end ? 'end' : 'routing'
  const runs: [string, number][] = []
  for (const kind of shape.kinds) {
    const last = runs.at(-1)
    if (last && last[0] === kind) last[1] += 1
    else runs.push([kind, 1])
  }
  const body = runs.map(([kind, count]) => (count > 1 ? `${kind} ×${count}` : kind)).join(' → ')
  return shape.loop ? `${body} · ${shape.loop}` : body
}

function LoopBar({ loop }: { loop: NonNullable<StepProgress['loop']> }) {
  const known = loop.total ?? loop.claimed ?? 0
  const share = (count: number) => `${known ? (count / known) * 100 : 0}%`
  return (
    <div
      className="border-t border-line px-2 py-1"
      data-loop={`${loop.done}/${loop.failed}/${loop.running}/${loop.queued}`}
    >
      <div className="flex h-1.5 overflow-hidden rounded-sm bg-sunken">
        <div className="min-w-0 shrink bg-done" style={{ width: share(loop.done) }} />
        <div
          className={`bg-failed ${loop.failed > 0 ? 'min-w-1' : ''}`}
          style={{ width: share(loop.failed) }}
        />
        <div className="bg-running" style={{ width: share(loop.running) }} />
      </div>
      {loop.running + loop.queued > 0 ? (
        <LoopProgress loop={loop} />
      ) : (
        <div className="truncate text-2xs text-ink-2">
          {count(loop.done)}/{count(known)} {loop.total === null ? 'of those claimed' : 'ok'}
          {loop.failed > 0 && <span className="text-failed"> · {count(loop.failed)} failed</span>}
        </div>
      )}
    </div>
  )
}

/** While a loop goes on there are up to four numbers, and no room for their names: each has its state's shape. */
function LoopProgress({ loop }: { loop: NonNullable<StepProgress['loop']> }) {
  const parts = (['done', 'failed', 'running', 'queued'] as const).filter((name) => loop[name] > 0)
  const words = parts.map((name) => `${count(loop[name])} ${name}`).join(', ')
  return (
    <div className="flex gap-2 truncate text-2xs text-ink-2" role="img" aria-label={words} title={words}>
      {parts.map((name) => (
        <span key={name} className={`inline-flex items-center gap-1 ${textOf(name)}`}>
          <StatusIcon status={name} size={10} />
          {count(loop[name])}
        </span>
      ))}
    </div>
  )
}

export const StepNodeView = memo(StepBox)
export const nodeTypes = { step: StepNodeView }
