// An arc: drawn by what became of it, its guard beside it, what the guard saw in a card.
import { BaseEdge, type Edge, EdgeLabelRenderer, type EdgeProps } from '@xyflow/react'
import { useLayoutEffect, useRef, useState } from 'react'
import type { ArcProgress, GraphArc, Refusal } from '../api/types'
import { classes } from '../design/classes'
import { StatusIcon } from '../design/status'
import { type ArcState, arcText, guardLabel, guardText, shortJson } from './labels'
import { curve, middle, type Route } from './layout'

export interface ArcData extends Record<string, unknown> {
  arc: GraphArc
  progress: ArcProgress | undefined
  state: ArcState
  refusals: Refusal[]
  route: Route
  live: boolean
}
export type ArcEdge = Edge<ArcData, 'arc'>

const LOOK: Record<ArcState, { stroke: string; width: number; dash?: string; icon: string }> = {
  unknown: { stroke: 'var(--line-strong)', width: 1.25, icon: 'idle' },
  taken: { stroke: 'var(--done)', width: 2, icon: 'done' },
  not_taken: { stroke: 'var(--line-strong)', width: 1.25, dash: '5 4', icon: 'cancelled' },
  not_asked: { stroke: 'var(--line-strong)', width: 1.25, dash: '1.5 4', icon: 'idle' },
  refused: { stroke: 'var(--failed)', width: 1.75, dash: '7 3', icon: 'refused' },
}

export function ArcView({ id, data, markerEnd }: EdgeProps<ArcEdge>) {
  const [open, setOpen] = useState(false)
  if (!data) return null
  const look = LOOK[data.state]
  const at = middle(data.route)
  const text = guardLabel(data.arc.when)
  const path = curve(data.route.points)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside opens the same card by focus
    <g
      data-arc={`${data.arc.from}->${data.arc.to}`}
      data-arc-state={data.state}
      onMouseEnter={() => setOpen(true)}
      onMouseLeave={() => setOpen(false)}
    >
      <BaseEdge
        id={id}
        path={path}
        {...(markerEnd ? { markerEnd } : {})}
        interactionWidth={18}
        style={{
          stroke: look.stroke,
          strokeWidth: look.width,
          ...(look.dash ? { strokeDasharray: look.dash } : {}),
        }}
      />
      <EdgeLabelRenderer>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside opens the same card by focus */}
        <div
          className="nodrag nopan pointer-events-auto absolute"
          style={{ transform: `translate(-50%, -50%) translate(${at.x}px,${at.y}px)`, zIndex: open ? 20 : 1 }}
          onMouseEnter={() => setOpen(true)}
          onMouseLeave={() => setOpen(false)}
        >
          {(text || data.live) && (
            <button
              type="button"
              aria-label={`arc from ${data.arc.from} to ${data.arc.to}`}
              onFocus={() => setOpen(true)}
              onBlur={() => setOpen(false)}
              className="flex max-w-52 items-center gap-1 rounded bg-panel px-1 text-2xs text-ink-2"
            >
              {data.live && data.state !== 'unknown' && <StatusIcon status={look.icon} size={11} />}
              {text && <span className="truncate font-mono">{text}</span>}
              {data.progress && data.progress.taken > 1 && <span>×{data.progress.taken}</span>}
            </button>
          )}
          {open && data.live && <ArcCard data={data} />}
        </div>
      </EdgeLabelRenderer>
    </g>
  )
}

function ArcCard({ data }: { data: ArcData }) {
  const card = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState({ up: false, aside: 0 })
  useLayoutEffect(() => {
    const frame = card.current?.closest('[data-graph]')?.getBoundingClientRect()
    if (!card.current || !frame) return
    const box = card.current.getBoundingClientRect()
    const zoom = box.width / card.current.offsetWidth
    const aside = Math.max(0, frame.left + 4 - box.left) - Math.max(0, box.right + 4 - frame.right)
    setAt({ up: box.bottom > frame.bottom, aside: aside / zoom })
  }, [])
  const values = Object.entries(data.progress?.seen ?? {})
  return (
    <div
      ref={card}
      role="tooltip"
      className={classes(
        'panel absolute left-1/2 z-30 w-72 p-2.5 text-xs shadow-lg',
        at.up ? 'bottom-full mb-1' : 'top-full mt-1',
      )}
      style={{ transform: `translateX(calc(-50% + ${at.aside}px))` }}
    >
      <p className="break-words font-medium [overflow-wrap:anywhere]">
        {data.arc.from} → {data.arc.to}
      </p>
      <p className="text-ink-2">{arcText(data.state, data.progress, data.arc.when)}</p>
      {data.arc.when !== null && (
        <p className="mt-1.5 break-words rounded bg-sunken px-1.5 py-1 font-mono [overflow-wrap:anywhere]">
          {guardText(data.arc.when)}
        </p>
      )}
      {values.length > 0 && (
        <dl className="mt-1.5 grid grid-cols-[auto_minmax(0,1fr)] gap-x-2 font-mono">
          {values.map(([path, value]) => (
            <div key={path} className="contents">
              <dt className="text-ink-3">{path}</dt>
              <dd className="break-words [overflow-wrap:anywhere]">{shortJson(value, 120)}</dd>
            </div>
          ))}
        </dl>
      )}
      {data.refusals.map((refusal) => (
        <p key={refusal.seq} className="mt-1.5 text-failed">
          event {refusal.seq}: refused{' '}
          {refusal.reason === 'join'
            ? 'by the join: it runs for the first token only'
            : `by admission ${refusal.rule === 'else' ? '(else)' : `rule ${refusal.rule}`}`}
          {refusal.guards?.map((guard, index) => (
            <span key={index} className="block font-mono text-ink-2">
              {Object.entries(guard.seen)
                .map(([path, value]) => `${path} = ${shortJson(value)}`)
                .join(', ')}
            </span>
          ))}
        </p>
      ))}
      {data.progress && <p className="mt-1.5 text-ink-3">decided at event {data.progress.seq}</p>}
    </div>
  )
}

export const edgeTypes = { arc: ArcView }
