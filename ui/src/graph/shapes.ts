// Graphs for the tests of their layout.
import type { Graph } from '../api/types'

const step = (name: string) => ({
  step: name,
  desc: null,
  kinds: [],
  loop: null,
  join: null,
  admission: false,
  entry: false,
  end: false,
  line: 1,
})
export const arc = (from: string, to: string, order = 0, when: string | null = null) => ({
  from,
  to,
  order,
  when,
  mode: 'exclusive' as const,
  line: 1,
})
export const shape = (names: string[], arcs: ReturnType<typeof arc>[]): Graph => ({
  name: 'x',
  path: 'x',
  entry: names[0] ?? '',
  steps: names.map(step),
  arcs,
})
