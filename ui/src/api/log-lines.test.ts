import { expect, test } from 'vitest'
import { matches, placesOf } from './log-lines'
import type { LogLine } from './types'

const line = (step: string, task: string, text: string, level: string | null = null): LogLine => ({
  execution_id: 'e',
  ts: '2026-01-01T00:00:00.000Z',
  step,
  run: `${step}.1`,
  task,
  iteration: null,
  attempt: 1,
  level,
  text,
})
const lines = [
  line('load', 'fetch', 'Hello'),
  line('load', 'store', 'bye', 'error'),
  line('end', 'end_task', 'detail', 'debug'),
]
const found = (find: { text?: string; place?: string; level?: string }) =>
  lines.filter((one) => matches(one, { text: '', place: '', level: '', ...find })).map((one) => one.text)

test('lines are found by text, by step or task, and by level', () => {
  expect(found({})).toEqual(['Hello', 'bye', 'detail'])
  expect(found({ text: 'HELL' })).toEqual(['Hello'])
  expect(found({ place: 'load' })).toEqual(['Hello', 'bye'])
  expect(found({ place: 'load/store' })).toEqual(['bye'])
  expect(found({ level: 'info' })).toEqual(['Hello', 'bye'])
  expect(found({ level: 'critical' })).toEqual([])
})

test('a step stands before its tasks when it has several', () => {
  expect(placesOf(lines)).toEqual(['load', 'load/fetch', 'load/store', 'end'])
})
