import { expect, test } from 'vitest'
import { marks } from './axis'

const said = (from: number, to: number): string[] => marks(from, to).map((mark) => mark.text)

test('no two marks say the same, however short the span', () => {
  expect(said(0, 2)).toEqual(['0', '1 ms', '2 ms'])
  expect(said(5000, 5004)).toEqual(['5.000 s', '5.001 s', '5.002 s', '5.003 s', '5.004 s'])
})

test('marks stand at round times and say no more than they have to', () => {
  expect(said(0, 6070)).toEqual(['0', '2 s', '4 s', '6 s'])
  expect(said(900, 1100)).toEqual(['900 ms', '950 ms', '1.00 s', '1.05 s', '1.10 s'])
  expect(said(0, 250_000)).toEqual(['0', '1 min', '2 min', '3 min', '4 min'])
  expect(said(0, 4 * 86_400_000)).toEqual(['0', '1 d', '2 d', '3 d', '4 d'])
})
