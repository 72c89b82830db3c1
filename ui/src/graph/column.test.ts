import { expect, test } from 'vitest'
import { columnGraph } from './column'
import { BODY_HEIGHT, layoutGraph, NODE_WIDTH } from './layout'
import { arc, shape } from './shapes'

const names = (many: number) => Array.from({ length: many }, (_, index) => `b${index}`)
const fan = (many: number) =>
  shape(
    ['start', ...names(many), 'merge'],
    [
      ...names(many).map((name, index) => arc('start', name, index, index % 2 ? 'x' : null)),
      ...names(many).map((name) => arc(name, 'merge')),
    ],
  )
const orderOf = (graph: ReturnType<typeof shape>) =>
  Object.entries(columnGraph(graph, {}).nodes)
    .sort(([, a], [, b]) => a.y - b.y)
    .map(([step]) => step)

test('a column has chains whole, each below all that lead to it, and ends of branches before what meets', () => {
  const graph = shape(
    ['start', 'a', 'a2', 'b', 'b2', 'alone', 'meet', 'late'],
    [
      arc('start', 'a'),
      arc('start', 'b', 1),
      arc('start', 'alone', 2),
      arc('a', 'a2'),
      arc('b', 'b2'),
      arc('a2', 'meet'),
      arc('b2', 'meet'),
      arc('meet', 'late'),
    ],
  )
  expect(orderOf(graph)).toEqual(['start', 'a', 'a2', 'b', 'b2', 'alone', 'meet', 'late'])
})

test('a column begins with the entry though another step leads back to it', () => {
  const ring = shape(['a', 'b', 'c'], [arc('a', 'b'), arc('a', 'c', 1), arc('b', 'a'), arc('c', 'a')])
  expect(orderOf(ring)).toEqual(['a', 'b', 'c'])
})

test('no arc of a column runs through a step that it does not belong to', () => {
  const { nodes, arcs } = columnGraph(fan(9), { b3: 30 })
  for (const [id, route] of Object.entries(arcs)) {
    for (const [step, at] of Object.entries(nodes)) {
      const inside = route.points.filter(
        ({ x, y }) => x > at.x && x < at.x + NODE_WIDTH && y > at.y && y < at.y + BODY_HEIGHT,
      )
      expect(inside, `${id} through ${step}`).toEqual([])
    }
  }
})

test('the guards of a column stand between steps, each on a line of its own', () => {
  const graph = fan(6)
  const { nodes, arcs } = columnGraph(graph, {})
  const guarded = graph.arcs
    .filter(({ when }) => when !== null)
    .map((arc) => arcs[`${arc.from}#${arc.order}`])
  const lines = guarded.map((route) => route?.label?.y ?? 0)
  expect(new Set(lines).size).toBe(3)
  for (const line of lines)
    for (const { y } of Object.values(nodes)) expect(line > y && line < y + BODY_HEIGHT).toBe(false)
})

test('a column is hardly wider than a step, however many stand in it', () => {
  const [few, many] = [columnGraph(fan(3), {}), columnGraph(fan(60), {})]
  expect(many.width).toBe(few.width)
  expect(many.width).toBeLessThan(NODE_WIDTH * 1.6)
})

test('branches stand in the order of their arcs, from left to right', () => {
  const { nodes } = layoutGraph(fan(5), {})
  const places = names(5).map((name) => nodes[name]?.x ?? 0)
  expect(places).toEqual([...places].sort((a, b) => a - b))
})
