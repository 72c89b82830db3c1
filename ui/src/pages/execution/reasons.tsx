// The stored explanation in words, each with the event that says so.
import { useQuery } from '@tanstack/react-query'
import { why } from '../../api/queries'
import { classes } from '../../design/classes'
import { ErrorDetails, texts } from '../../design/error-details'
import { QueryView } from '../../design/states'
import type { Open } from './page'

export function Reasons({ id, step, open }: { id: string; step?: string; open: Open }) {
  const whyQuery = useQuery(why(id, step))
  return (
    <QueryView query={whyQuery} what="Reading the log">
      {(explanation) => (
        <div>
          {!step && (
            <p
              tabIndex={0}
              className={classes(
                'mb-2 max-h-32 overflow-auto rounded-md bg-sunken px-2.5 py-1.5 font-medium',
                'break-words [overflow-wrap:anywhere]',
              )}
            >
              {explanation.summary}
            </p>
          )}
          <ol>
            {explanation.reasons.map((reason, index) => (
              <li key={index} className="flex items-baseline gap-2 border-b border-line py-1 last:border-0">
                <button
                  type="button"
                  className="w-10 shrink-0 text-right font-mono text-xs text-accent hover:underline"
                  title="Open this event"
                  onClick={() => open('events', { seq: String(reason.seq) })}
                >
                  {reason.seq}
                </button>
                {!step && (
                  <span className="w-16 shrink-0 truncate md:w-28 text-ink-3" title={reason.step ?? ''}>
                    {reason.step ?? ''}
                  </span>
                )}
                <span className="min-w-0 break-words [overflow-wrap:anywhere]">
                  {reason.text}
                  <More reason={reason} />
                </span>
              </li>
            ))}
          </ol>
        </div>
      )}
    </QueryView>
  )
}

/** What the error of a failed task says; of its step and the whole execution it is the same one. */
function More({ reason }: { reason: { about: string; facts: Record<string, unknown> } }) {
  const error = reason.facts.error as { details?: Record<string, unknown> } | null | undefined
  if (reason.about !== 'task' || !error?.details || texts(error.details).length === 0) return null
  return (
    <details className="mt-1">
      <summary className="text-xs text-accent">{texts(error.details)[0]?.name}</summary>
      <div className="mt-1">
        <ErrorDetails details={error.details} />
      </div>
    </details>
  )
}
