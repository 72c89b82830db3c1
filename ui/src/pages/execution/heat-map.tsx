// Ten thousand cells on one canvas: only what is in sight is drawn.
import { useEffect, useRef, useState } from 'react'
import type { LoopView } from '../../api/types'
import { classes } from '../../design/classes'
import { duration } from '../../design/time'
import { useDark } from '../../shell/use-theme'

export const MARKS: Record<string, string> = {
  p: 'queued',
  r: 'running',
  d: 'done',
  f: 'failed',
  k: 'kept',
  c: 'cancelled', // it ran when the loop was over
}
const CELL = 12
const GAP = 2
const COLOURS: Record<string, string> = {
  p: '--idle-soft',
  r: '--running',
  d: '--done',
  f: '--failed',
  k: '--done-soft',
  c: '--idle',
}

interface Props {
  view: LoopView
  by: 'state' | 'duration'
  selected: number | null
  choose: (index: number) => void
}

export function HeatMap({ view, by, selected, choose }: Props) {
  const frame = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const [box, setBox] = useState({ width: 0, height: 0, top: 0 })
  const [over, setOver] = useState<{ index: number; x: number; y: number } | null>(null)
  const dark = useDark()
  const columns = Math.max(1, Math.floor((box.width - 8) / (CELL + GAP)))
  const rows = Math.ceil(view.total / columns)

  useEffect(() => {
    const element = frame.current
    if (!element) return
    const measure = () =>
      setBox({ width: element.clientWidth, height: element.clientHeight, top: element.scrollTop })
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: what was in sight may not be in another height
  useEffect(() => {
    if (selected === null || !frame.current) return
    const top = Math.floor(selected / columns) * (CELL + GAP)
    const { scrollTop, clientHeight } = frame.current
    if (top < scrollTop || top + 2 * CELL > scrollTop + clientHeight)
      frame.current.scrollTop = top - clientHeight / 2
  }, [selected, columns, box.height])

  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read from the page, which has a theme
  useEffect(() => {
    if (canvas.current) paint(canvas.current, view, by, box, columns, selected)
  }, [view, by, box, columns, selected, dark])

  const at = (event: React.MouseEvent) => {
    const place = canvas.current?.getBoundingClientRect()
    if (!place) return null
    const column = Math.floor((event.clientX - place.left) / (CELL + GAP))
    const row = Math.floor((event.clientY - place.top + box.top) / (CELL + GAP))
    const index = row * columns + column
    return column < columns && index >= 0 && index < view.total
      ? { index, x: event.clientX - place.left, y: event.clientY - place.top }
      : null
  }
  const keys = (event: React.KeyboardEvent) => {
    const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }
    const move = by[event.key]
    if (move === undefined) return
    event.preventDefault()
    choose(Math.min(view.total - 1, Math.max(0, (selected ?? 0) + move)))
  }
  return (
    <div
      ref={frame}
      tabIndex={0}
      role="group"
      aria-label={`Heat map of ${view.total} iterations; arrow keys move`}
      onKeyDown={keys}
      className={classes(
        'panel relative max-h-full min-h-20 min-w-0 flex-1 self-start overflow-y-auto p-1',
        'max-lg:w-full max-lg:flex-none max-lg:max-h-96',
      )}
      data-heat-map
      data-columns={columns}
    >
      <div style={{ height: rows * (CELL + GAP) }}>
        <canvas
          ref={canvas}
          className="sticky top-0 block"
          onMouseMove={(event) => setOver(at(event))}
          onMouseLeave={() => setOver(null)}
          onClick={(event) => {
            const cell = at(event)
            if (cell) choose(cell.index)
          }}
        />
      </div>
      {over && (
        <div
          role="tooltip"
          className="panel pointer-events-none absolute z-10 whitespace-nowrap px-2 py-1 text-xs shadow-lg"
          style={{
            left: Math.min(over.x + 14, Math.max(0, box.width - 230)),
            top: over.y + box.top + (over.y > box.height - 56 ? -32 : 18),
          }}
        >
          <span className="font-medium">iteration {over.index}</span> · {MARKS[view.marks[over.index] ?? 'p']}
          {(view.took[over.index] ?? -1) >= 0 && ` · ${duration(view.took[over.index])}`}
        </div>
      )}
    </div>
  )
}

function paint(
  canvas: HTMLCanvasElement,
  view: LoopView,
  by: 'state' | 'duration',
  box: { width: number; height: number; top: number },
  columns: number,
  selected: number | null,
): void {
  const scale = window.devicePixelRatio || 1
  const width = Math.max(1, box.width - 8)
  const height = Math.max(1, box.height - 8)
  canvas.width = width * scale
  canvas.height = height * scale
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const pen = canvas.getContext('2d')
  if (!pen) return
  pen.scale(scale, scale)
  const style = getComputedStyle(document.documentElement)
  const colours = Object.fromEntries(
    Object.entries(COLOURS).map(([mark, name]) => [mark, style.getPropertyValue(name)]),
  )
  const accent = style.getPropertyValue('--accent')
  const surface = style.getPropertyValue('--panel')
  const longest = by === 'duration' ? view.took.reduce((most, ms) => Math.max(most, ms), 1) : 1
  const size = CELL + GAP
  const first = Math.floor(box.top / size)
  const last = Math.min(Math.ceil(view.total / columns), first + Math.ceil(height / size) + 1)
  for (let row = first; row < last; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const index = row * columns + column
      if (index >= view.total) break
      const mark = view.marks[index] ?? 'p'
      const x = column * size
      const y = row * size - box.top
      const took = view.took[index] ?? -1
      pen.globalAlpha =
        mark !== 'd' ? 1 : by === 'state' ? 0.5 : 0.15 + 0.85 * Math.sqrt(Math.max(0, took) / longest)
      pen.fillStyle = by === 'duration' && mark === 'd' ? accent : (colours[mark] ?? '')
      pen.fillRect(x, y, CELL, CELL)
      pen.globalAlpha = 1
      if (mark === 'f') cross(pen, x, y, surface)
      if (mark === 'r' || mark === 'c') {
        pen.fillStyle = surface
        pen.fillRect(x + 4, y + 4, CELL - 8, CELL - 8)
      }
      if (index === selected) {
        pen.strokeStyle = accent
        pen.lineWidth = 2
        pen.strokeRect(x - 1, y - 1, CELL + 2, CELL + 2)
      }
    }
  }
}

/** A failed cell has a cross, so that colour is not all that tells. */
function cross(pen: CanvasRenderingContext2D, x: number, y: number, colour: string): void {
  pen.strokeStyle = colour
  pen.lineWidth = 1.5
  pen.beginPath()
  pen.moveTo(x + 3, y + 3)
  pen.lineTo(x + CELL - 3, y + CELL - 3)
  pen.moveTo(x + CELL - 3, y + 3)
  pen.lineTo(x + 3, y + CELL - 3)
  pen.stroke()
}
