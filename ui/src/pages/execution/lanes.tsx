// The iterations of a loop on the time axis: packed into as few lanes as they need, drawn on a canvas.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { loop } from '../../api/queries'
import type { RunLine } from '../../api/types'
import { useDark } from '../../shell/use-theme'
import type { Span } from './gantt'
import { pack } from './lane-packing'

export const LANES_HEIGHT = 104
const COLOURS: Record<string, string> = { r: '--running', d: '--done', f: '--failed' }

export function Lanes({ id, run, span, end }: { id: string; run: RunLine; span: Span; end: number }) {
  const loopQuery = useQuery(loop(id, run.run))
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(0)
  const dark = useDark()
  const packing = useMemo(
    () => (loopQuery.data ? pack(loopQuery.data, run.scheduled, run.ended ?? end) : null),
    [loopQuery.data, run.scheduled, run.ended, end],
  )

  useEffect(() => {
    const element = canvas.current?.parentElement
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read from the page, which has a theme
  useEffect(() => {
    const pen = canvas.current?.getContext('2d')
    if (!canvas.current || !pen || !packing || width === 0) return
    const scale = window.devicePixelRatio || 1
    canvas.current.width = width * scale
    canvas.current.height = LANES_HEIGHT * scale
    canvas.current.style.width = `${width}px`
    canvas.current.style.height = `${LANES_HEIGHT}px`
    pen.scale(scale, scale)
    const style = getComputedStyle(document.documentElement)
    const height = Math.min(14, (LANES_HEIGHT - 8) / packing.lanes)
    const x = (at: number) => ((at - span.from) / (span.to - span.from)) * width
    for (const piece of packing.pieces) {
      const left = x(piece.from)
      const right = Math.max(x(piece.to), left + 1)
      if (right < 0 || left > width) continue
      pen.fillStyle = style.getPropertyValue(COLOURS[piece.mark] ?? '--idle')
      pen.globalAlpha = piece.mark === 'd' ? 0.6 : 1
      pen.fillRect(left, 4 + piece.lane * height, Math.max(1, right - left - 0.5), Math.max(1, height - 1))
    }
  }, [packing, width, span, dark])

  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={`${packing?.pieces.length ?? 0} iterations of ${run.run} in ${packing?.lanes ?? 0} lanes`}
      className="block"
    />
  )
}
