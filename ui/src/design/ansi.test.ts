import { expect, test } from 'vitest'
import { stripAnsi } from './ansi'

test.each([
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b[1;38;5;208mwarn\u001b[m: x', 'warn: x'],
  ['\u001b]8;;https://x.y\u0007link\u001b]8;;\u0007', 'link'],
  ['\u001b[2K50 %', '50 %'],
  ['[31m is text, and so is [0]', '[31m is text, and so is [0]'],
])('%j is read as %j', (printed, read) => {
  expect(stripAnsi(printed)).toBe(read)
})
