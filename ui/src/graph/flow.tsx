// The workflow drawn: steps and arcs placed by dagre, coloured by what happened, panned and zoomed by xyflow.
import {
  Background,
  Controls,
  MarkerType,
  MiniMap,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  type Viewport,
} from '@xyflow/react'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Graph, Progress } from '../api/types'
import { toneOf } from '../design/status'
import { columnGraph } from './column'
import { type ArcEdge, edgeTypes } from './edges'
import { arcState, stepStatus } from './labels'
import {
  BODY_HEIGHT,
  HELD_HEIGHT,
  heightOf,
  type Layout,
  LOOP_HEIGHT,
  layoutGraph,
  NODE_WIDTH,
} from './layout'
import { nodeTypes, type StepNode } from './nodes'

interface Props {
  shape: Graph
  progress: Progress | null
  selected?: string | null
  onChoose?: (step: string | null) => void
  findings?: Record<string, number>
  live?: boolean // whether durations grow
}
interface Size {
  width: number
  height: number
}

const COLOURS: Record<string, string> = { taken: 'var(--done)', refused: 'var(--failed)' }
const LARGE_GRAPH_STEPS = 30 // steps; more than that get a map and a list to find one by
const LARGEST_ZOOM = 1.1
const LEGIBLE_ZOOM = 0.6 // a graph that would have to be smaller is not shown whole at first
const READING_ZOOM = 0.8
const MARGIN = 24
const CORNER = { width: 52, height: 112 } // the buttons stand there
const NARROW = 480 // a phone: nothing small can be read
const NARROW_LEGIBLE_ZOOM = 0.72
const MAP_SIDE = 132 // the longer one
const SMALL_MAP_FRAME = 260 // below this height a map would hide what it is of
const STATUS_PRIORITY = ['failed', 'running', 'waiting', 'held'] // what one wants to see first

function extraHeightsOf(shape: Graph, progress: Progress | null): Record<string, number> {
  const heights: Record<string, number> = {}
  for (const step of shape.steps) {
    const loop = step.loop !== null && progress !== null
    const held = progress?.tokens.some((token) => token.held && token.step === step.step) ?? false
    heights[step.step] = (loop ? LOOP_HEIGHT : 0) + (held ? HELD_HEIGHT : 0)
  }
  return heights
}

/** Where the graph begins, so that no room is left empty beside it; what fits stands in the middle. */
function clampOffset(offset: number, size: number, room: number, margin: number): number {
  if (size + 2 * margin <= room) return (room - size) / 2
  return Math.min(margin, Math.max(offset, room - size - margin))
}

const legibleZoom = (frame: Size): number => (frame.width < NARROW ? NARROW_LEGIBLE_ZOOM : LEGIBLE_ZOOM)

/** Where not all of it can be read at once: a map and a list lead to the rest. */
const isCut = ({ width, height }: Layout, frame: Size): boolean =>
  width * legibleZoom(frame) > frame.width - 2 * MARGIN ||
  height * legibleZoom(frame) > frame.height - 2 * MARGIN

/** All of the graph where that can be read, else the part that tells most at a size that can. */
function viewportOf(
  layout: Layout,
  frame: Size,
  shape: Graph,
  progress: Progress | null,
  selected: string | null,
): Viewport {
  const fits = (side: number) =>
    Math.min(
      (frame.width - 2 * side) / layout.width,
      (frame.height - 2 * MARGIN) / layout.height,
      LARGEST_ZOOM,
    )
  const overlapsControls = (frame.height + layout.height * fits(MARGIN)) / 2 > frame.height - CORNER.height
  const fit = fits(overlapsControls ? CORNER.width : MARGIN)
  const legible = legibleZoom(frame)
  if (fit >= legible)
    return {
      x: (frame.width - layout.width * fit) / 2,
      y: (frame.height - layout.height * fit) / 2,
      zoom: fit,
    }
  const notable = STATUS_PRIORITY.map(
    (status) => shape.steps.find(({ step }) => progress?.steps[step]?.status === status)?.step,
  ).find(Boolean)
  const focus = selected ?? notable ?? shape.entry
  const zoom = Math.min(
    frame.width < NARROW ? 1 : READING_ZOOM,
    Math.max(legible, (frame.width - 2 * MARGIN) / layout.width),
  )
  const at = layout.nodes[focus] ?? { x: 0, y: 0 }
  const top = frame.width < NARROW ? 2 * MARGIN + 16 : MARGIN // below the list of steps
  return {
    x: clampOffset(
      frame.width / 2 - (at.x + NODE_WIDTH / 2) * zoom,
      layout.width * zoom,
      frame.width,
      MARGIN,
    ),
    y: clampOffset(frame.height / 3 - at.y * zoom, layout.height * zoom, frame.height, top),
    zoom,
  }
}

function Canvas({
  shape,
  progress,
  selected = null,
  onChoose,
  findings = {},
  live = false,
  frame,
}: Props & { frame: Size }) {
  const { setViewport, setCenter, getViewport } = useReactFlow()
  const moved = useRef(false) // by whoever looks: then it stays where they put it
  const large = shape.steps.length > LARGE_GRAPH_STEPS
  const extraHeights = extraHeightsOf(shape, progress)
  const key = JSON.stringify([
    shape.steps.map((step) => step.step),
    shape.arcs.map((arc) => [arc.from, arc.to, arc.order, arc.when === null]),
    extraHeights,
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all that the layout depends on
  const wide = useMemo(() => layoutGraph(shape, extraHeights), [key])
  const column = frame.width < NARROW && wide.width * NARROW_LEGIBLE_ZOOM > frame.width - 2 * MARGIN
  // biome-ignore lint/correctness/useExhaustiveDependencies: the wide layout is another one with another key
  const layout = useMemo(() => (column ? columnGraph(shape, extraHeights) : wide), [wide, column])

  // biome-ignore lint/correctness/useExhaustiveDependencies: heights come with the places, findings by value
  const nodes = useMemo<StepNode[]>(
    () =>
      shape.steps.map((step) => {
        const size = { width: NODE_WIDTH, height: heightOf(extraHeights[step.step] ?? 0) }
        return {
          id: step.step,
          type: 'step',
          position: layout.nodes[step.step] ?? { x: 0, y: 0 },
          ...size,
          measured: size, // known beforehand, so nothing is drawn twice to find it out
          handles: [
            { type: 'target', position: Position.Top, x: NODE_WIDTH / 2, y: 0 },
            { type: 'source', position: Position.Bottom, x: NODE_WIDTH / 2, y: size.height },
          ],
          draggable: false,
          ariaLabel: `step ${step.step}, ${statusText(progress, step.step)}`,
          data: {
            shape: step,
            progress: progress ? (progress.steps[step.step] ?? NOT_RUN) : null,
            tokens: progress?.tokens.filter((token) => token.step === step.step) ?? [],
            selected: selected === step.step,
            findings: findings[step.step] ?? 0,
            live,
          },
        }
      }),
    [shape, progress, selected, layout, live, JSON.stringify(findings)],
  )

  const edges = useMemo<ArcEdge[]>(
    () =>
      shape.arcs.map((arc) => {
        const id = `${arc.from}#${arc.order}`
        const arcProgress = progress?.arcs.find(
          (candidate) => candidate.from === arc.from && candidate.order === arc.order,
        )
        const refusals =
          progress?.refused.filter((refusal) => refusal.from === arc.from && refusal.step === arc.to) ?? []
        const state = arcState(arcProgress, refusals.length)
        return {
          id,
          type: 'arc',
          source: arc.from,
          target: arc.to,
          markerEnd: {
            type: MarkerType.ArrowClosed,
            width: 14,
            height: 14,
            color: COLOURS[state] ?? 'var(--line-strong)',
          },
          zIndex: state === 'taken' ? 1 : 0,
          focusable: false,
          data: {
            arc,
            progress: arcProgress,
            state,
            refusals,
            route: layout.arcs[id] ?? { points: [], label: null },
            live: progress !== null,
          },
        }
      }),
    [shape, progress, layout],
  )

  const [ready, setReady] = useState(false) // the map can wait until the graph is there
  useEffect(() => {
    const timer = window.setTimeout(() => setReady(true), 50)
    return () => window.clearTimeout(timer)
  }, [])
  const cut = large || isCut(layout, frame)
  const first = useRef<Viewport>(undefined)
  first.current ??= viewportOf(layout, frame, shape, progress, selected)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new layout or frame moves the view
  useEffect(() => {
    if (!moved.current) void setViewport(viewportOf(layout, frame, shape, progress, selected))
  }, [layout, frame, setViewport])
  useEffect(() => {
    const at = selected === null ? undefined : layout.nodes[selected]
    if (!at) return
    const { x, y, zoom } = getViewport()
    const [left, top] = [at.x * zoom + x, at.y * zoom + y]
    if (
      left < 0 ||
      top < 0 ||
      left + NODE_WIDTH * zoom > frame.width ||
      top + BODY_HEIGHT * zoom > frame.height
    )
      void setCenter(at.x + NODE_WIDTH / 2, at.y + BODY_HEIGHT / 2, { zoom })
  }, [selected, layout, frame, getViewport, setCenter])

  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={nodeTypes}
      edgeTypes={edgeTypes}
      onNodesChange={(changes) => {
        const selection = changes.find((change) => change.type === 'select' && change.selected)
        if (selection?.type === 'select') onChoose?.(selection.id) // also by Enter, not only by a click
      }}
      onNodeClick={(_, node) => onChoose?.(node.id)}
      onPaneClick={() => onChoose?.(null)}
      onMoveStart={(event) => {
        if (event) moved.current = true
      }}
      defaultViewport={first.current}
      width={frame.width}
      height={frame.height}
      onlyRenderVisibleElements={large}
      nodesConnectable={false}
      nodesDraggable={false}
      deleteKeyCode={null}
      minZoom={0.04}
      maxZoom={2}
    >
      <Background gap={20} size={1} color="var(--line)" />
      <Controls
        showInteractive={false}
        position="bottom-left"
        fitViewOptions={{ padding: 0.08, maxZoom: LARGEST_ZOOM }}
        onFitView={() => {
          moved.current = true
        }}
      />
      {ready && cut && frame.height > SMALL_MAP_FRAME && (
        <MiniMap
          pannable
          zoomable
          ariaLabel="Map of the workflow"
          style={mapSize(layout)}
          nodeColor={colourOf}
          nodeStrokeColor={colourOf}
          nodeStrokeWidth={24}
        />
      )}
      {cut && onChoose && (
        <Panel position="top-right">
          <select
            className="field max-w-56"
            aria-label="Go to step"
            value={selected ?? ''}
            onChange={(event) => onChoose(event.target.value || null)}
          >
            <option value="">Go to step…</option>
            {shape.steps.map(({ step }) => (
              <option key={step}>{step}</option>
            ))}
          </select>
        </Panel>
      )}
    </ReactFlow>
  )
}

const statusText = (progress: Progress | null, step: string): string => {
  const stepProgress = progress?.steps[step]
  return stepProgress ? stepStatus(stepProgress) : 'not run'
}
/** A map of the shape of what it is of. */
const mapSize = ({ width, height }: Layout): Size => {
  const scale = MAP_SIDE / Math.max(width, height)
  return { width: Math.max(MAP_SIDE / 4, width * scale), height: Math.max(MAP_SIDE / 4, height * scale) }
}
const colourOf = (node: StepNode): string => `var(--${toneOf(node.data.progress?.status ?? 'idle')})`
const NOT_RUN = {
  status: 'idle' as const,
  runs: 0,
  running: 0,
  done: 0,
  failed: 0,
  refused: 0,
  retries: 0,
  duration_ms: 0,
  started_at: null,
  ended_at: null,
  loop: null,
  error: null,
}

export function Flow(props: Props) {
  const frameRef = useRef<HTMLDivElement>(null)
  const [frame, setFrame] = useState<Size | null>(null)
  useLayoutEffect(() => {
    const element = frameRef.current
    if (!element) return
    const measure = () => {
      const [width, height] = [element.clientWidth, element.clientHeight]
      setFrame((old) => (old?.width === width && old.height === height ? old : { width, height }))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={frameRef} className="h-full w-full" data-graph>
      {frame && (
        <ReactFlowProvider>
          <Canvas {...props} frame={frame} />
        </ReactFlowProvider>
      )}
    </div>
  )
}
