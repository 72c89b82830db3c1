// Where steps and arcs stand: dagre's layered layout, top to bottom, the author's order kept.
import { Graph, layout } from '@dagrejs/dagre'
import type { GraphArc, Graph as Shape } from '../api/types'
import { guardLabel } from './labels'

export interface Point {
  x: number
  y: number
}
export interface Route {
  points: { x: number; y: number }[]
  label: { x: number; y: number } | null
  beside?: boolean // its words stand beside the line, not on it
}

export const NODE_WIDTH = 208
export const LOOP_HEIGHT = 31
export const HELD_HEIGHT = 21
export const BODY_HEIGHT = 52
export const heightOf = (extra: number): number => BODY_HEIGHT + extra

const CHAIN_STEPS = 40 // steps; below it every step is placed by dagre itself, so that branches stand in rows
const GAP = 54
const MARGIN = 16
const LABEL_GAP = 72
const BULGE = 36 // how far an arc from a step to itself goes out

export const LABEL_WIDTH = 208
export const labelWidth = (when: string): number => Math.min(LABEL_WIDTH, 28 + 6.7 * guardLabel(when).length)

export interface Layout {
  nodes: Record<string, Point>
  arcs: Record<string, Route>
  width: number
  height: number
}

/** Positions of steps and routes of arcs; arcs are known by `from#order`. */
export function layoutGraph(shape: Shape, extraHeights: Record<string, number>): Layout {
  const allChains = chainsOf(shape)
  const chains =
    shape.steps.length > CHAIN_STEPS || allChains.length === 1
      ? allChains
      : shape.steps.map((step) => [step.step])
  const gaps = gapsOf(shape)
  const height = (step: string) => heightOf(extraHeights[step] ?? 0)
  const head = new Map(chains.flatMap((chain) => chain.map((step) => [step, chain[0] ?? step] as const)))
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 36, ranksep: GAP, edgesep: 18, marginx: MARGIN, marginy: MARGIN })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const chain of chains) {
    const tall = chain.reduce(
      (sum, step, index) => sum + height(step) + (index ? (gaps.get(step) ?? GAP) : 0),
      0,
    )
    graph.setNode(chain[0] ?? '', { width: NODE_WIDTH, height: tall })
  }
  const inner: GraphArc[] = []
  for (const arc of shape.arcs) {
    const [from, to] = [head.get(arc.from), head.get(arc.to)]
    if (from === undefined || to === undefined) continue
    if (from === to && arc.to !== from) inner.push(arc)
    else
      graph.setEdge(
        from,
        to,
        arc.when !== null ? { width: labelWidth(arc.when), height: 18, labelpos: 'c' } : {},
        `${arc.from}#${arc.order}`,
      )
  }
  if (chains.length > 1 || graph.edgeCount() > 0) layout(graph)
  else placeSingle(graph, chains[0]?.[0])
  turnToOrder(graph, shape, head)
  const nodes: Record<string, Point> = {}
  for (const chain of chains) {
    const box = graph.node(chain[0] ?? '') as Box
    let top = box.y - box.height / 2
    chain.forEach((step, index) => {
      top += index ? (gaps.get(step) ?? GAP) : 0
      nodes[step] = { x: box.x - box.width / 2, y: top }
      top += height(step)
    })
  }
  const arcs: Record<string, Route> = {}
  for (const arc of inner) arcs[`${arc.from}#${arc.order}`] = straightRoute(nodes, arc, height(arc.from))
  const { routes, right } = loopRoutes(shape, nodes, height)
  Object.assign(arcs, routes)
  for (const edge of graph.edges()) {
    if ((edge.name ?? '') in arcs) continue // drawn already: dagre only kept room for it
    const dagreEdge = graph.edge(edge) as { points: { x: number; y: number }[]; x?: number; y?: number }
    attachEnds(dagreEdge.points, graph.node(edge.v) as Box, graph.node(edge.w) as Box)
    const label =
      dagreEdge.x !== undefined && dagreEdge.y !== undefined ? { x: dagreEdge.x, y: dagreEdge.y } : null
    arcs[edge.name ?? ''] = { points: dagreEdge.points, label }
  }
  const size = graph.graph() as { width?: number; height?: number }
  const width = Math.max(size.width ?? 0, right ? right + MARGIN : 0)
  return { nodes, arcs, width, height: size.height ?? 0 }
}

/** One chain and nothing else: there is nothing to think about. */
function placeSingle(graph: Graph, only: string | undefined): void {
  if (only === undefined) return
  const box = graph.node(only) as Box
  Object.assign(box, { x: MARGIN + box.width / 2, y: MARGIN + box.height / 2 })
  Object.assign(graph.graph() as object, { width: box.width + 2 * MARGIN, height: box.height + 2 * MARGIN })
}

/** Dagre sets branches either way round: turned so that most stand as their author wrote them, from left to right. */
function turnToOrder(graph: Graph, shape: Shape, head: Map<string, string>): void {
  const at = (step: string): number => (graph.node(head.get(step) ?? '') as Box | undefined)?.x ?? 0
  let lean = 0
  for (const [index, arc] of shape.arcs.entries()) {
    const before = shape.arcs[index - 1]
    if (before?.from === arc.from) lean += Math.sign(at(arc.to) - at(before.to))
  }
  if (lean >= 0) return
  const { width = 0 } = graph.graph() as { width?: number }
  const turn = (point: Partial<Point>) => {
    if (point.x !== undefined) point.x = width - point.x
  }
  for (const step of graph.nodes()) turn(graph.node(step) as Box)
  for (const edge of graph.edges()) {
    const drawn = graph.edge(edge) as Partial<Point> & { points: Point[] }
    for (const point of [drawn, ...drawn.points]) turn(point)
  }
}

/** Steps in runs where one can only come after the other: dagre need not think about what lies inside of them. */
export function chainsOf(shape: Shape): string[][] {
  const into = new Map<string, string[]>()
  const out = new Map<string, string[]>()
  for (const { from, to } of shape.arcs) {
    into.set(to, [...(into.get(to) ?? []), from])
    out.set(from, [...(out.get(from) ?? []), to])
  }
  const follows = (step: string): string | null => {
    const [next, ...others] = out.get(step) ?? []
    return next !== undefined && next !== step && others.length === 0 && into.get(next)?.length === 1
      ? next
      : null
  }
  const visited = new Set<string>()
  const chains: string[][] = []
  const follow = (first: string) => {
    const chain: string[] = []
    for (let step: string | null = first; step !== null && !visited.has(step); step = follows(step)) {
      visited.add(step)
      chain.push(step)
    }
    if (chain.length) chains.push(chain)
  }
  for (const { step } of shape.steps) {
    const [before, ...others] = into.get(step) ?? []
    if (before === undefined || others.length > 0 || follows(before) !== step) follow(step)
  }
  for (const { step } of shape.steps) follow(step) // rings, which have no first one
  return chains
}

/** How far a step stands below the one before it; a guard between them needs room. */
const gapsOf = (shape: Shape): Map<string, number> =>
  new Map(shape.arcs.map((arc) => [arc.to, arc.when !== null ? LABEL_GAP : GAP]))

function straightRoute(nodes: Record<string, Point>, arc: GraphArc, height: number): Route {
  const [from, to] = [nodes[arc.from] ?? { x: 0, y: 0 }, nodes[arc.to] ?? { x: 0, y: 0 }]
  const x = from.x + NODE_WIDTH / 2
  const [start, end] = [from.y + height, to.y]
  return {
    points: [
      { x, y: start },
      { x, y: end },
    ],
    label: arc.when !== null ? { x, y: (start + end) / 2 } : null,
  }
}

/** Arcs from steps to themselves, and how far they and their words go to the right. */
export function loopRoutes(shape: Shape, nodes: Record<string, Point>, height: (step: string) => number) {
  const routes: Record<string, Route> = {}
  const earlier = new Map<string, number>()
  let right = 0
  for (const arc of shape.arcs) {
    const at = nodes[arc.from]
    if (arc.from !== arc.to || !at) continue
    const before = earlier.get(arc.from) ?? 0
    earlier.set(arc.from, before + 1)
    const route = loopRoute(at, height(arc.from), arc, before)
    routes[`${arc.from}#${arc.order}`] = route
    const words = arc.when !== null ? labelWidth(arc.when) : 0
    right = Math.max(right, ...route.points.map(({ x }) => x + words))
  }
  return { routes, right }
}

/** An arc from a step to itself: out at its right side and back in above, further out the more there are. */
function loopRoute(at: Point, height: number, arc: GraphArc, earlier: number): Route {
  const x = at.x + NODE_WIDTH
  const [out, back] = [at.y + height * 0.78, at.y + height * 0.3]
  const far = x + BULGE * (earlier + 1)
  const beside = arc.when !== null ? labelWidth(arc.when) / 2 : 0
  return {
    points: [
      { x, y: out },
      { x: far, y: out },
      { x: far, y: back },
      { x, y: back },
    ],
    label: arc.when !== null ? { x: far + beside - BULGE / 4, y: (out + back) / 2 } : null,
    beside: true,
  }
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

/** Arcs that go down leave at the bottom and arrive at the top, leaning towards where they come from. */
function attachEnds(points: { x: number; y: number }[], from: Box, to: Box): void {
  const [second, last] = [points[1], points[points.length - 2]]
  if (!second || !last || to.y - to.height / 2 <= from.y + from.height / 2) return
  const lean = (box: Box, x: number) =>
    box.x + Math.max(-box.width / 4, Math.min(box.width / 4, (x - box.x) / 3))
  points[0] = { x: lean(from, second.x), y: from.y + from.height / 2 }
  points[points.length - 1] = { x: lean(to, last.x), y: to.y - to.height / 2 }
}

/** Where the line of a route passes nearest to the place that was kept for its words. */
export function middle({ points, label, beside }: Route): { x: number; y: number } {
  if (beside && label) return label
  const distance = (point: { x: number; y: number }) =>
    label ? Math.hypot(point.x - label.x, point.y - label.y) : 0
  const inner = points.slice(1, -1)
  const [first, last] = [points[0] ?? { x: 0, y: 0 }, points.at(-1) ?? { x: 0, y: 0 }]
  if (inner.length === 0) return midpoint(first, last)
  const nearest = label
    ? inner.reduce(
        (best, point, index) => (distance(point) < distance(inner[best] ?? point) ? index : best),
        0,
      )
    : Math.floor((inner.length - 1) / 2)
  const control = inner[nearest] ?? first
  const start = nearest === 0 ? first : midpoint(inner[nearest - 1] ?? first, control)
  const end = nearest === inner.length - 1 ? last : midpoint(control, inner[nearest + 1] ?? last)
  return midpoint(midpoint(start, end), control)
}

const midpoint = (a: { x: number; y: number }, b: { x: number; y: number }) => ({
  x: (a.x + b.x) / 2,
  y: (a.y + b.y) / 2,
})

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
