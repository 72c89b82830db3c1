import { expect, test } from 'vitest'
import { comments, declared } from './workload-schema'

test('a schema inside the workload types its keys and is no key itself', () => {
  const { defaults, schema } = declared({
    region: 'eu',
    since: '2026-01-31',
    $schema: {
      properties: {
        region: { type: 'string', enum: ['eu', 'us'], description: 'where to' },
        limit: { type: 'integer', default: 10 },
        owner: { type: 'string' },
      },
      required: ['owner'],
    },
  })
  expect(defaults).toEqual({ region: 'eu', since: '2026-01-31', limit: 10 })
  expect(Object.keys(schema.properties ?? {})).toEqual(['region', 'limit', 'owner', 'since'])
  expect(schema.properties?.region).toEqual({ type: 'string', enum: ['eu', 'us'], description: 'where to' })
  expect(schema.properties?.since).toEqual({ type: 'string', format: 'date' })
  expect(schema.required).toEqual(['owner'])
})

test('comments behind the keys of the workload, or above them, describe them', () => {
  const text = [
    'metadata: {name: x}',
    'workload:',
    '  region: eu  # where the rows go',
    '  # how many rows',
    '  # at most',
    '  limit: 10',
    '  nested:',
    '    deep: 1  # not at the top',
    '  url: "http://x/#part"',
    'workflow:',
    '  step: a  # of something else',
  ].join('\n')
  expect(comments(text)).toEqual({ region: 'where the rows go', limit: 'how many rows at most' })
  expect(comments('workload: {a: 1}')).toEqual({})
})
