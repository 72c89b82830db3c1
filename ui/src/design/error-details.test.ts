import { expect, test } from 'vitest'
import { caret, texts } from './error-details'

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
