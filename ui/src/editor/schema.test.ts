import { expect, it, describe as suite } from 'vitest'
import { describe, type Node, offers, placeOf } from './schema'

const TEXT = `apiVersion: noetl.io/v2
metadata:
  name: a
workflow:
  - step: load
    tool:
      - name: call
        kind: http
        input:
          url: x
    next:
      arcs:
        - step: b
          when: y
  - step: b
    tool:
      kind: noop
      input:
        url: x
`.split('\n')

const ROOT: Node = {
  properties: {
    metadata: { properties: { name: { description: 'The name.' }, path: { description: 'The path.' } } },
    workflow: { items: { $ref: '#/$defs/step' } },
  },
  $defs: {
    step: {
      properties: {
        step: { description: 'The step name.' },
        tool: { anyOf: [{ $ref: '#/$defs/task' }, { type: 'array', items: { $ref: '#/$defs/task' } }] },
        next: { properties: { arcs: { items: { properties: { step: {}, when: {} } } } } },
      },
    },
    task: {
      anyOf: [
        {
          properties: {
            kind: { const: 'http' },
            name: {},
            input: { properties: { url: { description: 'Where to.' }, method: {} } },
          },
        },
        { properties: { kind: { const: 'noop' }, name: {}, input: { additionalProperties: true } } },
      ],
    },
  },
}

suite('placeOf', () => {
  it.each([
    [2, ['metadata']],
    [4, ['workflow', '[]']],
    [5, ['workflow', '[]']],
    [6, ['workflow', '[]', 'tool', '[]']],
    [7, ['workflow', '[]', 'tool', '[]']],
    [9, ['workflow', '[]', 'tool', '[]', 'input']],
    [12, ['workflow', '[]', 'next', 'arcs', '[]']],
    [13, ['workflow', '[]', 'next', 'arcs', '[]']],
    [14, ['workflow', '[]']],
  ])('finds the keys that lead to line %i', (line, path) => expect(placeOf(TEXT, line, 0).path).toEqual(path))

  it('knows the other keys of the mapping', () =>
    expect(Object.keys(placeOf(TEXT, 7, 8).siblings)).toEqual(['name', 'kind', 'input']))
})

suite('offers', () => {
  it('offers only keys that are missing', () =>
    expect(offers(ROOT, placeOf(TEXT, 2, 2)).map((offer) => offer.label)).toEqual(['name', 'path']))
  it('offers the inputs of the kind at hand', () =>
    expect(offers(ROOT, placeOf(TEXT, 9, 10)).map((offer) => offer.label)).toEqual(['url', 'method']))
  it('says nothing of an input that only another kind has', () => expect(describe(ROOT, TEXT, 18)).toBeNull())
  it('describes a key', () => expect(describe(ROOT, TEXT, 9)).toEqual({ key: 'url', text: 'Where to.' }))
})
