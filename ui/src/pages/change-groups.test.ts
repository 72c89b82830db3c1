import { expect, test } from 'vitest'
import { groupChanges } from './change-groups'

test('many differences of one step are one group that knows how many there are in all', () => {
  const changes = [
    { path: 'each[1]', a: 1, b: 2 },
    { path: 'each[2].n', a: 1, b: 2 },
    { path: 'end', a: 1 },
    { path: '', a: 1, b: 2 },
  ]
  expect(groupChanges('outputs', changes, { 'outputs.each': 9000, 'ctx.end': 3 })).toEqual([
    { name: 'each', changes: changes.slice(0, 2), more: 9000 },
    { name: 'end', changes: [changes[2]], more: 0 },
    { name: '', changes: [changes[3]], more: 0 },
  ])
})
