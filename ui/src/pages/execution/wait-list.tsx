// What an execution waits for that a person can answer, said where it cannot be missed.
import { useState } from 'react'
import { Link } from 'wouter'
import type { Wait } from '../../api/types'
import { count } from '../../design/number'
import { StatusIcon } from '../../design/status'
import { Ago } from '../../design/time'
import { AnswerButtons } from './actions'
import { SignalDialog } from './signal-dialog'

const SHOWN = 3

export function WaitList({ id, waits }: { id: string; waits: Wait[] }) {
  const asking = waits.filter((wait) => wait.signal !== null || wait.child !== null)
  if (asking.length === 0) return <Until waits={waits} />
  return (
    <ul className="mx-4 mb-2 flex flex-col gap-1.5" aria-label="Waiting">
      {asking.slice(0, SHOWN).map((wait) => (
        <WaitItem key={`${wait.run}${wait.address}`} id={id} wait={wait} waits={waits} />
      ))}
      {asking.length > SHOWN && <li className="text-xs text-ink-3">and {asking.length - SHOWN} more</li>}
    </ul>
  )
}

/** Nobody is asked for anything: the earliest moment at which something goes on. */
function Until({ waits }: { waits: Wait[] }) {
  const timed = waits.filter((wait) => wait.until !== null)
  const [first] = timed.toSorted((one, other) => Date.parse(one.until ?? '') - Date.parse(other.until ?? ''))
  if (!first?.until) return null
  const others = timed.length - 1
  return (
    <p className="mx-4 mb-2 flex items-center gap-2 rounded-md bg-waiting-soft px-2.5 py-1.5" role="note">
      <StatusIcon status="waiting" />
      <span className="min-w-0 [overflow-wrap:anywhere]">
        <span className="font-medium">{first.step}</span> goes on <Ago at={first.until} />
        {others > 0 && <span className="text-ink-3">, and {count(others)} more wait for their time</span>}
      </span>
    </p>
  )
}

function WaitItem({ id, wait, waits }: { id: string; wait: Wait; waits: Wait[] }) {
  const [open, setOpen] = useState(false)
  return (
    <li className="flex flex-wrap items-center gap-2 rounded-md bg-waiting-soft px-2.5 py-1.5">
      <StatusIcon status="waiting" />
      <span className="max-h-[30vh] min-w-0 flex-1 basis-60 overflow-auto [overflow-wrap:anywhere]">
        <span className="font-medium">{wait.step}</span>{' '}
        {wait.child ? (
          <>
            waits for{' '}
            <Link href={`/executions/${wait.child}`} className="text-accent hover:underline">
              {wait.path ?? 'a child'}
            </Link>
          </>
        ) : wait.approval !== null ? (
          <>
            asks: <span className="font-medium">{wait.approval}</span>
          </>
        ) : (
          <>
            waits for the signal <code>{wait.signal}</code>
          </>
        )}
        <span className="text-ink-3">
          {' '}
          · <Ago at={wait.since} />
          {wait.expires && (
            <>
              {' '}
              · gives up <Ago at={wait.expires} />
            </>
          )}
        </span>
      </span>
      {wait.signal !== null && (
        <AnswerButtons id={id} signal={wait.signal} approval={wait.approval} openForm={() => setOpen(true)} />
      )}
      {open && (
        <SignalDialog id={id} waits={waits} first={wait.signal ?? ''} onClose={() => setOpen(false)} />
      )}
    </li>
  )
}
