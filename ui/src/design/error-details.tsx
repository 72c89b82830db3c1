// What an error says beside its message: the author's traceback, the body of an answer, the place in the SQL,
// the input.
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Json } from '../api/json'
import { stripAnsi } from './ansi'
import { classes } from './classes'
import { CopyIcon } from './copy'
import { Tree } from './tree'

interface Place {
  line: number
  column: number
  text?: string
  text_from?: number
}
type Details = Record<string, unknown>
interface Told {
  kind: string | null
  message: string | null
}

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
  const allDetails: Details = { ...inner, ...details }
  const place = allDetails.position
  const sections: { name: string; text: string }[] = TEXTS.filter(([key]) => allDetails[key]).map(
    ([key, name]) => ({
      name,
      text: lines(allDetails[key]),
    }),
  )
  if (isMap(place))
    sections.unshift({
      name: `SQL, line ${place.line}, column ${place.column}`,
      text: caret(place as unknown as Place),
    })
  return sections
}

/** The execution in which an error began that came up from a child, or from a child of that. */
export function failedChild(details: unknown): string | null {
  if (!isMap(details) || !isMap(details.error)) return null
  const last = Array.isArray(details.path) ? details.path.at(-1) : details.execution_id
  return typeof last === 'string' ? last : null
}

/** The way to where such an error began. */
export function ChildLink({ details }: { details: unknown }) {
  const child = failedChild(details)
  return child ? (
    <p>
      <Link href={`/executions/${child}`} className="text-accent hover:underline">
        Open the child that failed
      </Link>
    </p>
  ) : null
}

/** The kind of an error, where its message does not begin with it, and the message. */
export function errorWords(error: Told): [kind: string, message: string] {
  const kind = error.kind ?? ''
  const message = error.message ?? ''
  if (message === `${kind}: ${kind}`) return ['', kind]
  return [message.startsWith(kind) ? '' : kind, message]
}

/** An error in one line. */
export function ErrorLine({ error }: { error: Told }) {
  const [kind, message] = errorWords(error)
  return (
    <>
      {kind && <span className="font-medium">{kind}: </span>}
      {message}
    </>
  )
}

export function ErrorDetails({ details }: { details: unknown }) {
  if (!isMap(details)) return null
  const sections = texts(details)
  const input = details.input
  if (sections.length === 0 && input === undefined) return <ChildLink details={details} />
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <ChildLink details={details} />
      {sections.map(({ name, text }) => (
        <Part key={name} name={name} copy={text}>
          <pre
            role="group"
            tabIndex={0}
            aria-label={name}
            className={classes(
              'max-h-80 overflow-auto px-2 py-1.5 text-xs leading-4.5',
              name.startsWith('Body') ? 'whitespace-pre-wrap [overflow-wrap:anywhere]' : 'whitespace-pre',
            )}
          >
            {stripAnsi(text)}
          </pre>
        </Part>
      ))}
      {input !== undefined && (
        <Part name="Rendered input" copy={typeof input === 'string' ? input : JSON.stringify(input, null, 2)}>
          {typeof input === 'string' ? (
            <pre
              role="group"
              tabIndex={0}
              aria-label="Rendered input"
              className="max-h-60 overflow-auto px-2 py-1.5 text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
            >
              {stripAnsi(input)}
            </pre>
          ) : (
            <div className="max-h-60 overflow-auto px-2 py-1.5">
              <Tree value={input as Json} open={2} />
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
      <h3 className="flex items-center justify-between border-b border-line pl-2 text-xs text-ink-3">
        {name}
        <CopyIcon text={copy} label={`Copy: ${name}`} />
      </h3>
      {children}
    </section>
  )
}
