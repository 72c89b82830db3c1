// The workflow drawn: steps and arcs placed by dagre, coloured by what happened, panned and zoomed by xyflow.
import { Background, Controls, MarkerType, ReactFlow, ReactFlowProvider, useNodesState, useReactFlow } from '@xyflow/react'
import { useEffect, useMemo, useRef } from 'react'
import type { Graph, Progress } from '../api/types'
import { edgeTypes, type ArcEdge } from './edges'
import { HELD_HEIGHT, heightOf, LOOP_HEIGHT, place } from './layout'
import { nodeTypes, type StepNode } from './nodes'
import { arcState } from './words'

interface Props {
  shape: Graph
  progress: Progress | null
  chosen?: string | null
  onChoose?: (step: string | null) => void
  findings?: Record<string, number>
}

const COLOURS: Record<string, string> = { taken: 'var(--done)', refused: 'var(--failed)' }

function extrasOf(shape: Graph, progress: Progress | null): Record<string, number> {
  const extras: Record<string, number> = {}
  for (const step of shape.steps) {
    const loop = step.loop !== null && progress !== null
    const held = progress?.tokens.some((token) => token.held && token.step === step.step) ?? false
    extras[step.step] = (loop ? LOOP_HEIGHT : 0) + (held ? HELD_HEIGHT : 0)
  }
  return extras
}

function Canvas({ shape, progress, chosen = null, onChoose, findings = {} }: Props) {
  const { fitView } = useReactFlow()
  const frame = useRef<HTMLDivElement>(null)
  const extras = extrasOf(shape, progress)
  const key = JSON.stringify([shape.steps.map((step) => step.step), shape.arcs.map((arc) => [arc.from, arc.to, arc.order, arc.when === null]), extras])
  // The key says all that the layout depends on.
  const placed = useMemo(() => place(shape, extras), [key])

  const made = useMemo<StepNode[]>(
    () =>
      shape.steps.map((step) => ({
        id: step.step,
        type: 'step',
        position: placed.nodes[step.step] ?? { x: 0, y: 0 },
        initialHeight: heightOf(extras[step.step] ?? 0),
        draggable: false,
        ariaLabel: `step ${step.step}, ${progress?.steps[step.step]?.status ?? 'not run'}`,
        data: {
          shape: step,
          progress: progress ? (progress.steps[step.step] ?? { ...NEVER }) : null,
          tokens: progress?.tokens.filter((token) => token.step === step.step) ?? [],
          chosen: chosen === step.step,
          findings: findings[step.step] ?? 0,
        },
      })),
    [shape, progress, chosen, placed, JSON.stringify(findings)],
  )
  const [nodes, setNodes, onNodesChange] = useNodesState<StepNode>(made)
  useEffect(() => setNodes(made), [made, setNodes])

  const edges = useMemo<ArcEdge[]>(
    () =>
      shape.arcs.map((arc) => {
        const id = `${arc.from}#${arc.order}`
        const found = progress?.arcs.find((one) => one.from === arc.from && one.order === arc.order)
        const refusals = progress?.refused.filter((one) => one.from === arc.from && one.step === arc.to) ?? []
        const state = arcState(found, refusals.length)
        return {
          id,
          type: 'arc',
          source: arc.from,
          target: arc.to,
          markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: COLOURS[state] ?? 'var(--line-strong)' },
          zIndex: state === 'taken' ? 1 : 0,
          focusable: false,
          data: { arc, progress: found, state, refusals, route: placed.arcs[id] ?? { points: [], label: null }, live: progress !== null },
        }
      }),
    [shape, progress, placed],
  )

  useEffect(() => {
    const fit = () => void fitView({ padding: 0.12, maxZoom: 1.1, duration: 0 })
    const timer = window.setTimeout(fit, 30)
    const observer = new ResizeObserver(fit)
    if (frame.current) observer.observe(frame.current)
    return () => { window.clearTimeout(timer); observer.disconnect() }
  }, [key, fitView])

  return (
    <div ref={frame} className="h-full w-full" data-graph>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        onNodesChange={(changes) => {
          onNodesChange(changes)
          const picked = changes.find((change) => change.type === 'select' && change.selected)
          if (picked?.type === 'select') onChoose?.(picked.id) // also by Enter, not only by a click
        }}
        onNodeClick={(_, node) => onChoose?.(node.id)}
        onPaneClick={() => onChoose?.(null)}
        nodesConnectable={false}
        nodesDraggable={false}
        deleteKeyCode={null}
        minZoom={0.04}
        maxZoom={2}
        fitView
      >
        <Background gap={20} size={1} color="var(--line)" />
        <Controls showInteractive={false} position="bottom-left" />
      </ReactFlow>
    </div>
  )
}

const NEVER = { status: 'idle' as const, runs: 0, running: 0, done: 0, failed: 0, refused: 0, retries: 0, duration_ms: 0, started_at: null, ended_at: null, loop: null, error: null }

export function Flow(props: Props) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  )
}
