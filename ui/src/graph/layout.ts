// Where steps and arcs stand: dagre's layered layout, top to bottom, the author's order kept.
import { Graph, layout } from '@dagrejs/dagre'
import type { Graph as Shape } from '../api/types'

export interface Placed { x: number; y: number }
export interface Route { points: { x: number; y: number }[]; label: { x: number; y: number } | null }

export const NODE_WIDTH = 208
export const LOOP_HEIGHT = 34
export const HELD_HEIGHT = 21
export const heightOf = (extra: number): number => 54 + extra

/** Positions of steps and routes of arcs; arcs are known by `from#order`. */
export function place(shape: Shape, extras: Record<string, number>): { nodes: Record<string, Placed>; arcs: Record<string, Route> } {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 36, ranksep: 54, edgesep: 18, marginx: 16, marginy: 16 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const step of shape.steps) graph.setNode(step.step, { width: NODE_WIDTH, height: heightOf(extras[step.step] ?? 0) })
  for (const arc of shape.arcs) {
    if (!graph.hasNode(arc.from) || !graph.hasNode(arc.to)) continue
    const text = arc.when !== null
    graph.setEdge(arc.from, arc.to, text ? { width: 120, height: 18, labelpos: 'c' } : {}, `${arc.from}#${arc.order}`)
  }
  layout(graph)
  const nodes: Record<string, Placed> = {}
  for (const name of graph.nodes()) {
    const node = graph.node(name) as { x: number; y: number; width: number; height: number }
    nodes[name] = { x: node.x - node.width / 2, y: node.y - node.height / 2 }
  }
  const arcs: Record<string, Route> = {}
  for (const edge of graph.edges()) {
    const found = graph.edge(edge) as { points: { x: number; y: number }[]; x?: number; y?: number }
    settle(found.points, graph.node(edge.v) as Box, graph.node(edge.w) as Box)
    const label = found.x !== undefined && found.y !== undefined ? { x: found.x, y: found.y } : null
    arcs[edge.name ?? ''] = { points: found.points, label }
  }
  return { nodes, arcs }
}

interface Box { x: number; y: number; width: number; height: number }

/** Arcs that go down leave at the bottom and arrive at the top, leaning towards where they come from. */
function settle(points: { x: number; y: number }[], from: Box, to: Box): void {
  const [second, last] = [points[1], points[points.length - 2]]
  if (!second || !last || to.y - to.height / 2 <= from.y + from.height / 2) return
  const lean = (box: Box, x: number) => box.x + Math.max(-box.width / 4, Math.min(box.width / 4, (x - box.x) / 3))
  points[0] = { x: lean(from, second.x), y: from.y + from.height / 2 }
  points[points.length - 1] = { x: lean(to, last.x), y: to.y - to.height / 2 }
}

/** A smooth line through the points of a route. */
export function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points
  if (!first) return ''
  let path = `M${first.x},${first.y}`
  if (rest.length === 1 && rest[0]) return `${path}L${rest[0].x},${rest[0].y}`
  for (let index = 0; index < rest.length - 1; index += 1) {
    const control = rest[index]
    const next = rest[index + 1]
    if (!control || !next) break
    const last = index === rest.length - 2
    const end = last ? next : { x: (control.x + next.x) / 2, y: (control.y + next.y) / 2 }
    path += `Q${control.x},${control.y} ${end.x},${end.y}`
  }
  return path
}
