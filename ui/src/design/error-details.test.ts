import { expect, test } from 'vitest'
import { caret, failedChild, texts } from './error-details'

test('the caret stands below its place, also in a part of a long line', () => {
  expect(caret({ line: 1, column: 3, text: '\tform x' })).toBe(' form x\n  ^')
  expect(caret({ line: 1, column: 303, text: 'abcdef', text_from: 301 })).toBe('abcdef\n  ^')
})

test('a child tells what its cause says', () => {
  const cause = { details: { traceback: 'line 3\n', log: ['one', 'two'] } }
  expect(texts({ execution_id: 'c', error: cause })).toEqual([
    { name: 'Traceback', text: 'line 3' },
    { name: 'Printed last', text: 'one\ntwo' },
  ])
  expect(texts({ position: { line: 2, column: 1, text: 'x' }, hint: 'add it' })[0]?.name).toBe(
    'SQL, line 2, column 1',
  )
})

test('an error that came up through several children began in the last of them', () => {
  const error = { kind: 'python' }
  expect(failedChild({ execution_id: 'a', error, path: ['a', 'b'] })).toBe('b')
  expect(failedChild({ execution_id: 'a', error })).toBe('a')
  expect(failedChild({ traceback: 'x' })).toBeNull()
})
