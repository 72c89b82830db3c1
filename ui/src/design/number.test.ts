import { expect, test } from 'vitest'
import { bytes, count } from './number'

test.each([
  [0, '0'],
  [999, '999'],
  [1000, '1,000'],
  [-1234567, '-1,234,567'],
  [1234.5678, '1,234.5678'],
  [1e21, '1e+21'],
])('%d is shown as %s', (value, shown) => {
  expect(count(value)).toBe(shown)
})

test.each([
  [0, '0 bytes'],
  [1023, '1,023 bytes'],
  [1024, '1 KiB'],
  [442_889, '432.5 KiB'],
  [2 ** 21, '2 MiB'],
  [2 ** 60, '1,048,576 TiB'],
])('%d bytes are shown as %s', (value, shown) => {
  expect(bytes(value)).toBe(shown)
})
