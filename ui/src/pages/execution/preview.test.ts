import { expect, test } from 'vitest'
import type { Json } from '../../api/types'
import { sqlAnswer } from './preview'

const one = { rows: [{ id: 1 }], row_count: 1, columns: ['id'] }

test('what a SQL kind answers is told statement by statement, each once', () => {
  expect(sqlAnswer({ ...one, command_0: one })).toEqual([one])
  const changed = { rows: null, row_count: 3, columns: [] }
  expect(sqlAnswer({ ...one, statements: [changed, one] })).toEqual([changed, one])
})

test('what only looks like it is left to the tree', () => {
  const others: Json[] = [null, [], 'rows', { rows: [] }, { rows: 3, row_count: 1, columns: [] }]
  for (const value of others) expect(sqlAnswer(value)).toBeNull()
})
