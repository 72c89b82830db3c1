// What a page shows when it has nothing, not yet, or cannot.
import type { ReactNode } from 'react'
import { Problem } from '../api/client'
import { Button } from './controls'
import { StatusIcon } from './status'

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-1.5 px-4 py-10 text-center">
      <p className="font-medium text-ink-2">{title}</p>
      {children && <div className="max-w-md text-ink-3">{children}</div>}
    </div>
  )
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <div role="status" className="flex items-center justify-center gap-2 py-10 text-ink-3">
      <StatusIcon status="running" /> {what}…
    </div>
  )
}

/** It begins with a capital, but for a name in quotes, which stays as it is. */
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function Failure({
  error,
  retry,
  back,
}: {
  error: unknown
  retry?: (() => void) | undefined
  back?: ReactNode
}) {
  const problem = error instanceof Problem ? error : null
  const final = problem?.status === 403 || problem?.status === 404 // it is answered so the next time too
  const tryAgain = final ? undefined : retry
  return (
    <div
      role="alert"
      className="m-3 flex items-start gap-2.5 rounded-md border border-failed bg-failed-soft p-3"
    >
      <span className="mt-0.5">
        <StatusIcon status="failed" />
      </span>
      <div className="min-w-0 flex-1">
        <p className="break-words font-medium [overflow-wrap:anywhere]">
          {sentence(error instanceof Error ? error.message : String(error))}
        </p>
        {problem?.hint && !back && <p className="text-ink-2">{problem.hint}</p>}
        {back && <p className="text-ink-2">{back}</p>}
        {problem?.diagnostics.map((finding, index) => (
          <p key={index} className="break-words text-ink-2">
            line {finding.line}: {finding.message}
            {finding.hint ? `; ${finding.hint}` : ''}
          </p>
        ))}
      </div>
      {tryAgain && <Button onClick={tryAgain}>Try again</Button>}
    </div>
  )
}

interface Read<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  refetch: () => unknown
}

/** A reading's three faces in one place: its data when there is some, else why there is none. */
export function QueryView<T>({
  query,
  what,
  children,
}: {
  query: Read<T>
  what?: string
  children: (data: T) => ReactNode
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failure error={query.error} retry={() => void query.refetch()} />
  return <Loading {...(what ? { what } : {})} />
}
