import { expect, test } from 'vitest'
import { count } from './number'

test.each([[0, '0'], [999, '999'], [1000, '1,000'], [-1234567, '-1,234,567'], [1234.5678, '1,234.5678'], [1e21, '1e+21']])('%d is shown as %s', (value, shown) => {
  expect(count(value)).toBe(shown)
})
