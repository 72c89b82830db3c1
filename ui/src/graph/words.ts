// What an arc and a step say of themselves, in the words of the language.
import type { ArcProgress, Json, StepProgress } from '../api/types'

/** A guard without its braces, on one line. */
export function guard(when: string | null): string {
  if (when === null) return ''
  const only = /^\s*\{\{([\s\S]*)\}\}\s*$/.exec(when)
  return (only?.[1] ?? when).split(/\s+/).filter(Boolean).join(' ')
}

export const short = (value: Json, most = 60): string => {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > most ? `${text.slice(0, most)}…` : text
}

/** How a step stands: one that was called off has not failed of itself. */
export const standing = (step: StepProgress): string =>
  step.status === 'failed' && step.error?.kind === 'cancelled' ? 'cancelled' : step.status

export type ArcState = 'unknown' | 'taken' | 'not_taken' | 'not_asked' | 'refused'

export function arcState(arc: ArcProgress | undefined, refused: number): ArcState {
  if (!arc) return 'unknown'
  if (arc.taken > 0) return refused >= arc.taken ? 'refused' : 'taken'
  return arc.not_taken > 0 ? 'not_taken' : 'not_asked'
}

export function arcWords(state: ArcState, arc: ArcProgress | undefined, when: string | null): string {
  if (state === 'unknown') return 'not evaluated yet'
  if (state === 'refused') return 'taken, but the step refused the token'
  if (state === 'taken')
    return when === null
      ? 'taken: it has no guard'
      : `taken${arc && arc.taken > 1 ? ` ${arc.taken} times` : ''}: its guard held`
  return state === 'not_taken' ? 'not taken: its guard did not hold' : 'not asked: an arc before it was taken'
}
