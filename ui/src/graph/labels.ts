// What an arc and a step say of themselves, in the words of the language.
import type { ArcProgress, Json, StepProgress } from '../api/types'

/** A guard on one line, without its braces where it is one expression. */
export function guardText(when: string | null): string {
  if (when === null) return ''
  return (onlyExpression(when.trim()) ?? when).split(/\s+/).filter(Boolean).join(' ')
}

const USUAL: Record<string, string> = {
  "event.name == 'step.done'": 'ok',
  "event.name == 'step.failed'": 'failed',
  'event.ok': 'ok',
  'event.failed': 'failed',
}

/** A guard as it stands on its arc: what most arcs ask is said in a word. */
export function guardLabel(when: string | null): string {
  const text = guardText(when)
  return USUAL[text.replaceAll('"', "'")] ?? text
}

const TOKEN = /'(?:\\[\s\S]|[^'\\])*'|"(?:\\[\s\S]|[^"\\])*"|-?\}\}|[[{(\])}]|[\s\S]/g

/** What stands between the braces of a template that is one expression and nothing else. */
function onlyExpression(template: string): string | null {
  if (!template.startsWith('{{')) return null
  const start = template.startsWith('{{-') ? 3 : 2
  let depth = 0 // of brackets: inside of them, two braces close two maps and not the expression
  TOKEN.lastIndex = start
  for (let token = TOKEN.exec(template); token; token = TOKEN.exec(template)) {
    const [text] = token
    if (depth === 0 && text.endsWith('}}')) {
      return TOKEN.lastIndex === template.length ? template.slice(start, token.index) : null
    }
    if (text.endsWith('}}')) TOKEN.lastIndex = token.index + text.length - 1 // one of the two
    depth += '[{('.includes(text) ? 1 : '])}'.includes(text) || text.endsWith('}}') ? -1 : 0
  }
  return null
}

export const shortJson = (value: Json, limit = 60): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > limit ? `${text.slice(0, limit)}…` : text
}

/** How a step stands: one that was called off has not failed of itself. */
export const stepStatus = (step: StepProgress): string =>
  step.status === 'failed' && step.error?.kind === 'cancelled' ? 'cancelled' : step.status

export type ArcState = 'unknown' | 'taken' | 'not_taken' | 'not_asked' | 'refused'

export function arcState(arc: ArcProgress | undefined, refused: number): ArcState {
  if (!arc) return 'unknown'
  if (arc.taken > 0) return refused >= arc.taken ? 'refused' : 'taken'
  return arc.not_taken > 0 ? 'not_taken' : 'not_asked'
}

export function arcText(state: ArcState, arc: ArcProgress | undefined, when: string | null): string {
  if (state === 'unknown') return 'not evaluated yet'
  if (state === 'refused') return 'taken, but the step refused the token'
  if (state === 'taken')
    return when === null
      ? 'taken: it has no guard'
      : `taken${arc && arc.taken > 1 ? ` ${arc.taken} times` : ''}: its guard held`
  return state === 'not_taken' ? 'not taken: its guard did not hold' : 'not asked: an arc before it was taken'
}
