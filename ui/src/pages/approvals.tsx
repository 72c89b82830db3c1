// The inbox of whoever decides: what waits for an answer in any execution, and the answer given from here.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { executionPage, waits } from '../api/queries'
import type { AskedWait } from '../api/types'
import { Dialog } from '../design/controls'
import { shortId } from '../design/copy'
import { Empty, QueryView } from '../design/states'
import { StatusIcon } from '../design/status'
import { Ago } from '../design/time'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'
import { AnswerButtons } from './execution/actions'
import { SignalDialog } from './execution/signal-dialog'

export function ApprovalsPage() {
  useTitle('Approvals')
  const waitsQuery = useQuery(waits())
  return (
    <>
      <PageHead title="Approvals">
        <span className="text-xs text-ink-3">what waits for a signal or an approval, the oldest first</span>
      </PageHead>
      <div className="panel mx-4 mb-4 shrink-0">
        <QueryView query={waitsQuery}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="Nothing waits for an answer">
                A task of kind <code>wait</code> with <code>approval</code> or <code>signal</code> asks here.
              </Empty>
            ) : (
              <WaitRows items={items} />
            )
          }
        </QueryView>
      </div>
    </>
  )
}

export function WaitRows({ items }: { items: AskedWait[] }) {
  return (
    <ul>
      {items.map((wait) => (
        <WaitRow key={`${wait.execution_id}${wait.run}${wait.address}`} wait={wait} />
      ))}
    </ul>
  )
}

function WaitRow({ wait }: { wait: AskedWait }) {
  const [open, setOpen] = useState(false)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-3 py-2 last:border-0">
      <StatusIcon status="waiting" />
      <div className="min-w-0 flex-1 basis-64">
        <p className="max-h-[40vh] overflow-auto font-medium [overflow-wrap:anywhere]">
          {wait.approval ?? (
            <>
              the signal <code>{wait.signal}</code>
            </>
          )}
        </p>
        <p className="flex flex-wrap gap-x-2 text-xs text-ink-3">
          <Link
            href={`/executions/${wait.execution_id}/graph?step=${encodeURIComponent(wait.step)}`}
            className="text-accent [overflow-wrap:anywhere] hover:underline"
          >
            {wait.path} · {wait.step}
          </Link>
          <span className="font-mono">{shortId(wait.execution_id)}</span>
          <span>
            since <Ago at={wait.since} />
          </span>
          {wait.expires && (
            <span className="text-held">
              gives up <Ago at={wait.expires} />
            </span>
          )}
        </p>
      </div>
      <AnswerButtons
        id={wait.execution_id}
        signal={wait.signal}
        approval={wait.approval}
        openForm={() => setOpen(true)}
      />
      {open && <Answer wait={wait} onClose={() => setOpen(false)} />}
    </li>
  )
}

/** The form of one answer; its schema is told with the execution. */
function Answer({ wait, onClose }: { wait: AskedWait; onClose: () => void }) {
  const pageQuery = useQuery({ ...executionPage(wait.execution_id), staleTime: 0 })
  if (!pageQuery.data || pageQuery.isFetching)
    return (
      <Dialog title="Send a signal" onClose={onClose}>
        <QueryView query={{ ...pageQuery, data: undefined }}>{() => null}</QueryView>
      </Dialog>
    )
  return (
    <SignalDialog
      id={wait.execution_id}
      waits={pageQuery.data.progress.waits}
      first={wait.signal}
      onClose={onClose}
    />
  )
}
