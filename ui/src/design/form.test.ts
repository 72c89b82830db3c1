import { expect, test } from 'vitest'
import { initialValue } from './form'

test('a form begins with what the schema gives, and asks for the numbers that nobody gave', () => {
  const schema = {
    type: 'object',
    properties: {
      size: { enum: ['small', 'large'] },
      count: { type: 'integer' },
      rate: { type: 'number', default: 0.5 },
      sure: { type: 'boolean' },
      note: { type: 'string' },
    },
    required: ['size', 'count', 'sure'],
  }
  expect(initialValue(schema)).toEqual({ size: 'small', count: null, rate: 0.5, sure: false })
})
