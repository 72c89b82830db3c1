import { expect, test } from 'vitest'
import { guardLabel, guardText } from './labels'

test.each([
  ['{{ ctx.count > 3 }}', 'ctx.count > 3'],
  ['{{- ctx.a\n   and ctx.b -}}\n', 'ctx.a and ctx.b'],
  ["{{ ctx.text == '}}' }}", "ctx.text == '}}'"],
  ["{{ ctx.map == {'a': {}} }}", "ctx.map == {'a': {}}"],
  ["{{ ctx.map == {'a': {'b': 1}}}}", "ctx.map == {'a': {'b': 1}}"],
  ["{{ 'it\\'s }}' in ctx.text }}", "'it\\'s }}' in ctx.text"],
])('a guard that is one expression is read without its braces: %s', (when, words) => {
  expect(guardText(when)).toBe(words)
})

test.each(['{{ ctx.a }} and {{ ctx.b }}', "{{ 'x' }}{{ ctx.b }}", '{{ ctx.open', 'ctx.plain'])(
  'a guard that is more than one expression keeps its braces: %s',
  (when) => {
    expect(guardText(when)).toBe(when)
  },
)

test('an arc without a guard has no words', () => expect(guardText(null)).toBe(''))

test.each([
  ['{{ event.name == "step.done" }}', 'ok'],
  ['{{ event.failed }}', 'failed'],
  ['{{ event.ok and ctx.a }}', 'event.ok and ctx.a'],
])('what most arcs ask is said in a word: %s', (when, words) => expect(guardLabel(when)).toBe(words))
