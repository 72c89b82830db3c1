import { expect, test } from 'vitest'
import { readable, zoned } from './time'

test('a moment is told by the clocks of a time zone, each part as wide as it may become', () => {
  expect(zoned('2026-11-12T01:30:00.000Z', 'Europe/Berlin')).toMatch(/^2026-11-12 02:30:00 (CET|GMT\+1)$/)
  expect(zoned('2026-07-01T00:05:09Z', 'UTC')).toBe('2026-07-01 00:05:09 UTC')
  expect(zoned('2026-07-01T00:05:09Z', 'Nowhere/Nowhere')).toBe('2026-07-01 00:05:09 UTC')
})

test('a text names its moments as people do', () => {
  expect(readable('the tick of 2026-11-19T20:03:43.864Z was still running')).toMatch(
    /^the tick of \d+ Nov 2026, \d\d:\d\d:43 was still running$/,
  )
})
