// What an error says beside its message: the author's traceback, the body of an answer, the place in the SQL,
// the input.
import type { ReactNode } from 'react'
import type { Json } from '../api/json'
import { CopyIcon } from './copy'
import { plain } from './plain'
import { Tree } from './tree'

interface Place {
  line: number
  column: number
  text?: string
  text_from?: number
}
type Details = Record<string, unknown>

const isMap = (value: unknown): value is Details =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const lines = (value: unknown): string => (Array.isArray(value) ? value.join('\n') : String(value)).trimEnd()

/** Line, place and a caret below it, as databases draw it. */
export const caret = (place: Place): string =>
  `${(place.text ?? '').replaceAll('\t', ' ')}\n${' '.repeat(Math.max(0, place.column - (place.text_from ?? 1)))}^`

const TEXTS = [
  ['traceback', 'Traceback'],
  ['body', 'Body of the answer'],
  ['stderr', 'End of stderr'],
  ['log', 'Printed last'],
  ['detail', 'Detail'],
  ['hint', 'Hint'],
  ['context', 'Context'],
] as const

/** The texts of an error by name; a child's error speaks for itself where its parent has nothing to say. */
export function texts(details: Details): { name: string; text: string }[] {
  const inner = isMap(details.error) && isMap(details.error.details) ? details.error.details : {}
  const known: Details = { ...inner, ...details }
  const place = known.position
  const found: { name: string; text: string }[] = TEXTS.filter(([key]) => known[key]).map(([key, name]) => ({
    name,
    text: lines(known[key]),
  }))
  if (isMap(place))
    found.unshift({
      name: `SQL, line ${place.line}, column ${place.column}`,
      text: caret(place as unknown as Place),
    })
  return found
}

export function ErrorDetails({ details }: { details: unknown }) {
  if (!isMap(details)) return null
  const said = texts(details)
  const given = details.input
  if (said.length === 0 && given === undefined) return null
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {said.map(({ name, text }) => (
        <Part key={name} name={name} copy={text}>
          <pre
            role="group"
            tabIndex={0}
            aria-label={name}
            className="max-h-80 overflow-auto px-2 py-1.5 text-xs leading-4.5 whitespace-pre"
          >
            {plain(text)}
          </pre>
        </Part>
      ))}
      {given !== undefined && (
        <Part name="Rendered input" copy={typeof given === 'string' ? given : JSON.stringify(given, null, 2)}>
          {typeof given === 'string' ? (
            <pre
              role="group"
              tabIndex={0}
              aria-label="Rendered input"
              className="max-h-60 overflow-auto px-2 py-1.5 text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
            >
              {plain(given)}
            </pre>
          ) : (
            <div className="max-h-60 overflow-auto px-2 py-1.5">
              <Tree value={given as Json} open={2} />
            </div>
          )}
        </Part>
      )}
    </div>
  )
}

function Part({ name, copy, children }: { name: string; copy: string; children: ReactNode }) {
  return (
    <section aria-label={name} className="min-w-0 rounded-md border border-line bg-panel">
      <h4 className="flex items-center justify-between border-b border-line pl-2 text-xs text-ink-3">
        {name}
        <CopyIcon text={copy} label={`Copy: ${name}`} />
      </h4>
      {children}
    </section>
  )
}
