import { expect, test } from 'vitest'
import { overrides } from './overrides'

test('what is as the playbook has it is not kept, so that it follows the playbook', () => {
  const defaults = { region: 'eu', limit: 10, nested: { deep: [1] }, none: null }
  expect(overrides(defaults, { ...defaults })).toEqual({})
  expect(overrides(defaults, { ...defaults, limit: 11, none: 0, more: null })).toEqual({
    limit: 11,
    none: 0,
    more: null,
  })
  expect(overrides(defaults, { nested: { deep: [2] } })).toEqual({ nested: { deep: [2] } })
})
