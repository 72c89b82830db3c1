import { expect, test } from 'vitest'
import { BODY_HEIGHT, chainsOf, layoutGraph, NODE_WIDTH } from './layout'
import { arc, shape } from './shapes'

test('steps that can only follow each other are one chain; forks and meetings end it', () => {
  const graph = shape(
    ['a', 'b', 'c', 'd', 'e', 'f'],
    [arc('a', 'b'), arc('b', 'c'), arc('b', 'd', 1), arc('c', 'e'), arc('d', 'e'), arc('e', 'f')],
  )
  expect(chainsOf(graph)).toEqual([['a', 'b'], ['c'], ['d'], ['e', 'f']])
})

test('a ring is in one chain once, and a step that leads to itself ends one', () => {
  expect(chainsOf(shape(['a', 'b'], [arc('a', 'b'), arc('b', 'a')]))).toEqual([['a', 'b']])
  expect(chainsOf(shape(['a', 'b'], [arc('a', 'b'), arc('b', 'b')]))).toEqual([['a'], ['b']])
})

test('many steps stand below each other without touching, each arc between its two', () => {
  const names = Array.from({ length: 100 }, (_, index) => `s${index}`)
  const graph = shape(
    names,
    names.slice(1).map((name, index) => arc(`s${index}`, name, 0, index % 2 ? 'x' : null)),
  )
  const { nodes, arcs } = layoutGraph(graph, { s3: 30 })
  for (let index = 1; index < names.length; index += 1) {
    const [above, below, route] = [nodes[`s${index - 1}`], nodes[`s${index}`], arcs[`s${index - 1}#0`]]
    expect(below?.y).toBeGreaterThan((above?.y ?? 0) + BODY_HEIGHT)
    expect(route?.points[0]).toEqual({
      x: (above?.x ?? 0) + NODE_WIDTH / 2,
      y: (above?.y ?? 0) + BODY_HEIGHT + (index === 4 ? 30 : 0),
    })
    expect(route?.points.at(-1)?.y).toBe(below?.y)
  }
})

test('a ring of many steps keeps the arc that closes it', () => {
  const names = Array.from({ length: 50 }, (_, index) => `s${index}`)
  const arcs = names.map((name, index) => arc(name, names[(index + 1) % 50] ?? ''))
  expect(Object.keys(layoutGraph(shape(names, arcs), {}).arcs)).toHaveLength(50)
})

test('an arc from a step to itself goes out at its right side and comes back there', () => {
  const graph = shape(['a', 'b'], [arc('a', 'b'), arc('b', 'b', 0, 'x'), arc('b', 'b', 1)])
  const { nodes, arcs, width } = layoutGraph(graph, {})
  const right = (nodes.b?.x ?? 0) + NODE_WIDTH
  for (const route of [arcs['b#0'], arcs['b#1']]) {
    const [first, ...rest] = route?.points ?? []
    expect(first?.x).toBe(right)
    expect(rest.at(-1)?.x).toBe(right)
    expect(rest.at(-1)?.y).toBeLessThan(first?.y ?? 0)
    expect(rest[0]?.x).toBeGreaterThan(right)
    expect(rest[0]?.x).toBeLessThan(width)
  }
  expect(arcs['b#1']?.points[1]?.x).toBeGreaterThan(arcs['b#0']?.points[1]?.x ?? 0)
})
