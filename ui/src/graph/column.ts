// Steps below each other, for screens on which they cannot be read side by side. An arc that passes steps runs beside
// the column: at the left what leads on from one step to several, at the right what meets in one and what leads back.
import type { GraphArc, Graph as Shape } from '../api/types'
import {
  chainsOf,
  heightOf,
  type Layout,
  labelWidth,
  loopRoutes,
  NODE_WIDTH,
  type Point,
  type Route,
} from './layout'

const GAP = 22
const WORDS = 22 // the room that the guard of one arc takes between two steps
const FIRST_LANE = 34
const MARK = 22 // how far from its step the mark of an arc without a guard stands: past the arrow
const LANE = 12
const CORNER = 8
const MARGIN = 16
const PORT = 14 // how far below its top an arc enters a step, and above its bottom one leaves it

type Side = 'left' | 'right'
interface Bundle {
  side: Side
  top: number // places in the column
  bottom: number
  lane: number
}
type Bundles = Map<GraphArc, Bundle>

/** Positions of steps in one column, and routes of arcs. */
export function columnGraph(shape: Shape, extraHeights: Record<string, number>): Layout {
  const order = columnOrder(shape)
  const place = new Map(order.map((step, index) => [step, index]))
  const height = (step: string) => heightOf(extraHeights[step] ?? 0)
  const bundles = bundlesOf(shape.arcs, place)
  const left = MARGIN + reach(bundles, 'left')
  const guards = guardsOf(shape.arcs, bundles, place)
  const nodes: Record<string, Point> = {}
  const lines = new Map<GraphArc, number>() // on which the guard of an arc stands
  let bottom = MARGIN - GAP
  const leaveGap = (index: number) => {
    const here = guards.get(index) ?? []
    for (const [row, arc] of here.entries()) lines.set(arc, bottom + GAP / 2 + (row + 0.5) * WORDS)
    bottom += GAP + here.length * WORDS
  }
  for (const [index, step] of order.entries()) {
    leaveGap(index)
    nodes[step] = { x: left, y: bottom }
    bottom += height(step)
  }
  leaveGap(order.length)
  const { routes: arcs, right } = loopRoutes(shape, nodes, height)
  for (const arc of shape.arcs) {
    const [from, to] = [nodes[arc.from], nodes[arc.to]]
    if (!from || !to || arc.from === arc.to) continue
    const ends = { left, start: from.y + height(arc.from), end: to.y, words: lines.get(arc) ?? null }
    const bundle = bundles.get(arc)
    arcs[`${arc.from}#${arc.order}`] = bundle ? besideRoute(arc, bundle, ends) : downRoute(ends)
  }
  const width = Math.max(left + NODE_WIDTH + reach(bundles, 'right'), right) + MARGIN
  return { nodes, arcs, width, height: bottom - GAP + MARGIN }
}

/** Chains whole; each after all that lead to it, in the author's order, as far as rings allow. */
function columnOrder(shape: Shape): string[] {
  const chains = chainsOf(shape)
  const chainOf = new Map(chains.flatMap((chain, index) => chain.map((step) => [step, index] as const)))
  const before = chains.map(() => new Set<number>())
  for (const { from, to } of shape.arcs) {
    const [head, tail] = [chainOf.get(from), chainOf.get(to)]
    if (head !== undefined && tail !== undefined && head !== tail) before[tail]?.add(head)
  }
  const left = new Set(chains.keys())
  const first = chainOf.get(shape.entry)
  const order: string[] = []
  const take = (index: number) => {
    left.delete(index)
    for (const waits of before) waits.delete(index)
    order.push(...(chains[index] ?? []))
  }
  if (first !== undefined) take(first)
  while (left.size > 0) take([...left].find((index) => before[index]?.size === 0) ?? Math.min(...left))
  return order
}

/** Arcs that pass steps or lead back, together where they leave one step or meet in one; the shortest run innermost. */
function bundlesOf(arcs: GraphArc[], place: Map<string, number>): Bundles {
  const at = (step: string) => place.get(step) ?? 0
  const count = (of: 'from' | 'to') => {
    const counts = new Map<string, number>()
    for (const arc of arcs) counts.set(arc[of], (counts.get(arc[of]) ?? 0) + 1)
    return (step: string) => counts.get(step) ?? 0
  }
  const [leaving, meeting] = [count('from'), count('to')]
  const down = new Set<string>() // steps that an arc leaves straight down
  const byName = new Map<string, Bundle>()
  const bundles: Bundles = new Map()
  for (const arc of arcs) {
    const [from, to] = [at(arc.from), at(arc.to)]
    if (from === to) continue
    if (to === from + 1 && !down.has(arc.from)) {
      down.add(arc.from)
      continue
    }
    const side: Side = to > from && leaving(arc.from) >= meeting(arc.to) ? 'left' : 'right'
    const name = `${side} ${side === 'left' ? arc.from : arc.to}`
    const bundle = byName.get(name) ?? { side, top: from, bottom: from, lane: 0 }
    bundle.top = Math.min(bundle.top, from, to)
    bundle.bottom = Math.max(bundle.bottom, from, to)
    byName.set(name, bundle)
    bundles.set(arc, bundle)
  }
  assignLanes([...byName.values()])
  return bundles
}

function assignLanes(bundles: Bundle[]): void {
  const placed: Bundle[] = []
  const overlap = (a: Bundle, b: Bundle) => a.side === b.side && a.top < b.bottom && b.top < a.bottom
  for (const bundle of bundles.sort((a, b) => a.bottom - a.top - (b.bottom - b.top))) {
    while (placed.some((other) => other.lane === bundle.lane && overlap(other, bundle))) bundle.lane += 1
    placed.push(bundle)
  }
}

const far = (bundle: Bundle): number => FIRST_LANE + LANE * bundle.lane
const reach = (bundles: Bundles, side: Side): number =>
  Math.max(0, ...[...bundles.values()].filter((bundle) => bundle.side === side).map(far))

/** Which guards stand above which place: at the step that an arc leads to, but what meets is asked where it leaves. */
function guardsOf(arcs: GraphArc[], bundles: Bundles, place: Map<string, number>): Map<number, GraphArc[]> {
  const guards = new Map<number, GraphArc[]>()
  for (const arc of arcs) {
    if (arc.when === null || arc.from === arc.to) continue
    const meets = bundles.get(arc)?.side === 'right'
    const index = meets ? (place.get(arc.from) ?? 0) + 1 : (place.get(arc.to) ?? 0)
    const here = guards.get(index) ?? []
    guards.set(index, meets ? [arc, ...here] : [...here, arc])
  }
  return guards
}

interface Ends {
  left: number
  start: number
  end: number
  words: number | null
}

function downRoute({ left, start, end, words }: Ends): Route {
  const x = left + NODE_WIDTH / 2
  const points = [
    { x, y: start },
    { x, y: end },
  ]
  return words === null ? { points, label: null } : { points, label: { x, y: words }, beside: true }
}

function besideRoute(arc: GraphArc, bundle: Bundle, { left, start, end, words }: Ends): Route {
  const leftwards = bundle.side === 'left'
  const edge = leftwards ? left : left + NODE_WIDTH
  const outwards = leftwards ? -1 : 1
  const lane = edge + outwards * far(bundle)
  const [leaves, enters] = [start - PORT, end + PORT]
  const half = words === null ? -MARK : labelWidth(arc.when ?? '') / 2
  const middle = leftwards ? enters : leaves
  return {
    points: [
      { x: edge, y: leaves },
      ...around({ x: lane, y: leaves }, -outwards, Math.sign(enters - leaves)),
      ...around({ x: lane, y: enters }, -outwards, Math.sign(leaves - enters)).reverse(),
      { x: edge, y: enters },
    ],
    label: { x: edge - outwards * half, y: words ?? middle },
    beside: true,
  }
}

/** A rounded corner, for a line that comes along one side of it and leaves along the other. */
const around = ({ x, y }: Point, across: number, along: number): Point[] => [
  { x: x + across * CORNER, y },
  { x, y },
  { x, y: y + along * CORNER },
]
