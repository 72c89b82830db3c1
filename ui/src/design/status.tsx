// States by colour and by shape: each icon has its own outline, so none depends on colour alone.
import type { JSX } from 'react'

type Tone = 'running' | 'done' | 'failed' | 'held' | 'waiting' | 'stuck' | 'idle'

const TONES: Record<string, Tone> = {
  pending: 'idle',
  planned: 'idle',
  queued: 'idle',
  idle: 'idle',
  cancelled: 'idle',
  cancelling: 'idle',
  skipped: 'idle',
  replaced: 'idle',
  starting: 'running',
  not_asked: 'idle',
  running: 'running',
  in_progress: 'running',
  completed: 'done',
  done: 'done',
  success: 'done',
  ok: 'done',
  kept: 'done',
  failed: 'failed',
  error: 'failed',
  refused: 'failed',
  paused: 'held',
  held: 'held',
  warning: 'held',
  flawed: 'held',
  waiting: 'waiting',
  stuck: 'stuck',
  info: 'idle',
}

export const toneOf = (status: string): Tone => TONES[status] ?? 'idle'

const TEXT: Record<Tone, string> = {
  running: 'text-running',
  done: 'text-done',
  failed: 'text-failed',
  held: 'text-held',
  waiting: 'text-waiting',
  stuck: 'text-stuck',
  idle: 'text-idle',
}
const SOFT: Record<Tone, string> = {
  running: 'bg-running-soft',
  done: 'bg-done-soft',
  failed: 'bg-failed-soft',
  held: 'bg-held-soft',
  waiting: 'bg-waiting-soft',
  stuck: 'bg-stuck-soft',
  idle: 'bg-idle-soft',
}
const SOLID: Record<Tone, string> = {
  running: 'bg-running',
  done: 'bg-done',
  failed: 'bg-failed',
  held: 'bg-held',
  waiting: 'bg-waiting',
  stuck: 'bg-stuck',
  idle: 'bg-idle',
}
const BORDER: Record<Tone, string> = {
  running: 'border-running',
  done: 'border-done',
  failed: 'border-failed',
  held: 'border-held',
  waiting: 'border-waiting',
  stuck: 'border-stuck',
  idle: 'border-line-strong',
}

export const textOf = (status: string): string => TEXT[toneOf(status)]
export const softOf = (status: string): string => SOFT[toneOf(status)]
export const solidOf = (status: string): string => SOLID[toneOf(status)]
export const borderOf = (status: string): string => BORDER[toneOf(status)]

const line = {
  fill: 'none',
  stroke: 'currentColor',
  strokeWidth: 1.75,
  strokeLinecap: 'round',
  strokeLinejoin: 'round',
} as const

const SHAPES: Record<string, JSX.Element> = {
  pending: <circle cx="8" cy="8" r="5.5" {...line} strokeDasharray="2 2.4" />,
  running: (
    <g className="turning">
      <circle cx="8" cy="8" r="5.5" {...line} opacity=".3" />
      <path d="M8 2.5A5.5 5.5 0 0 1 13.5 8" {...line} />
    </g>
  ),
  completed: (
    <g>
      <circle cx="8" cy="8" r="6.5" fill="currentColor" />
      <path d="m5.2 8.2 2 2 3.6-4" {...line} stroke="var(--panel)" />
    </g>
  ),
  failed: (
    <g>
      <path d="M8 1.2 14.8 8 8 14.8 1.2 8Z" fill="currentColor" />
      <path d="m6 6 4 4m0-4-4 4" {...line} stroke="var(--panel)" />
    </g>
  ),
  paused: (
    <g>
      <rect x="1.8" y="1.8" width="12.4" height="12.4" rx="2" fill="currentColor" />
      <path d="M6.3 5.2v5.6M9.7 5.2v5.6" {...line} stroke="var(--panel)" />
    </g>
  ),
  cancelled: (
    <g>
      <circle cx="8" cy="8" r="5.7" {...line} />
      <path d="m4.2 11.8 7.6-7.6" {...line} />
    </g>
  ),
  waiting: (
    <g>
      <path d="M4 2h8M4 14h8M5 2c0 4 6 4 6 12M11 2c0 4-6 4-6 12" {...line} />
    </g>
  ),
  held: (
    <g>
      <path d="M8 1.6 14.6 13.4H1.4Z" fill="currentColor" />
      <path d="M8 6v3.4M8 11.4v.1" {...line} stroke="var(--panel)" />
    </g>
  ),
  refused: (
    <g>
      <path d="M5.2 1.6h5.6l3.6 3.6v5.6l-3.6 3.6H5.2l-3.6-3.6V5.2Z" fill="currentColor" />
      <path d="M5 8h6" {...line} stroke="var(--panel)" />
    </g>
  ),
  flawed: (
    <g>
      <circle cx="8" cy="8" r="6.5" fill="currentColor" />
      <path d="M8 4.6v4.2M8 11.2v.1" {...line} stroke="var(--panel)" />
    </g>
  ),
  stuck: (
    <g>
      <rect x="2.6" y="7" width="10.8" height="7.4" rx="1.4" fill="currentColor" />
      <path d="M5 7V5a3 3 0 0 1 6 0v2" {...line} />
      <path d="M8 9.8v1.8" {...line} stroke="var(--panel)" />
    </g>
  ),
  idle: <circle cx="8" cy="8" r="2.4" fill="currentColor" opacity=".6" />,
  skipped: <path d="M3 8h8m-3-3 3 3-3 3M13.2 4.5v7" {...line} />,
  info: (
    <g>
      <circle cx="8" cy="8" r="6" {...line} />
      <path d="M8 7.5V11M8 5v.1" {...line} />
    </g>
  ),
}
const SAME: Record<string, string> = {
  done: 'completed',
  success: 'completed',
  ok: 'completed',
  kept: 'completed',
  queued: 'pending',
  cancelling: 'cancelled',
  error: 'failed',
  in_progress: 'running',
  warning: 'held',
  not_asked: 'idle',
}

/** How an execution is marked: one that completed without some of its iterations is not as green as the others. */
export const markOf = (status: string, failedIterations: number): string =>
  status === 'completed' && failedIterations > 0 ? 'flawed' : status

export function StatusIcon({ status, size = 14 }: { status: string; size?: number }) {
  const shape = SHAPES[status] ?? SHAPES[SAME[status] ?? 'idle']
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      className={`shrink-0 ${textOf(status)}`}
      aria-hidden="true"
    >
      {shape}
    </svg>
  )
}

export function StatusBadge({ status, label }: { status: string; label?: string }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 whitespace-nowrap align-middle font-medium ${textOf(status)}`}
      data-status={status}
    >
      <StatusIcon status={status} />
      {label ?? status}
    </span>
  )
}
