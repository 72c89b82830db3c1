// What one can do with an execution, as far as its state allows.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { type Body, post } from '../../api/client'
import { session } from '../../api/queries'
import type { Execution, Obj, Wait } from '../../api/types'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { showError, showToast } from '../../design/toast'
import { CancelDialog } from '../executions/cancel-dialog'
import { RunDialog } from '../playbooks/run-dialog'
import { RerunDialog } from './rerun-dialog'
import { SignalDialog } from './signal-dialog'

const ENDED = new Set(['completed', 'failed', 'cancelled'])

type Action = 'cancel' | 'pause' | 'resume' | 'retry' | 'rerun' | 'signal' | 'release'
interface ActionRequest {
  action: Action
  body?: Body<`/executions/{execution_id}/${Action}`, 'post'>
  message: string
}

export function useAction(id: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ action, body }: ActionRequest) =>
      post(`/executions/{execution_id}/${action}`, { execution_id: id }, body ?? {}),
    onSuccess: (_, { message }) => {
      showToast(message)
      void client.invalidateQueries({ queryKey: ['execution', id] })
      void client.invalidateQueries({ queryKey: ['waits'] })
    },
    onError: showError,
  })
}

/** A new execution that goes on from what failed, and its page. */
export function useRetry(id: string): () => void {
  const act = useAction(id)
  const [, go] = useLocation()
  return () =>
    act.mutate(
      { action: 'retry', message: 'a new execution goes on from there' },
      { onSuccess: (execution) => go(`/executions/${execution.execution_id}`) },
    )
}

/** The way to the text of the playbook at the step that failed, and to a rerun from there. */
export function FixLink({ summary, step }: { summary: Execution; step: string }) {
  const { path, version } = summary.playbook
  const query = `version=${version ?? ''}&fix=${summary.execution_id}&step=${encodeURIComponent(step)}`
  return (
    <Link
      href={`/playbooks/${path}?${query}`}
      className={classes(
        'inline-flex h-7.5 items-center rounded-[5px] border border-line-strong bg-panel px-2.5',
        'font-medium hover:bg-sunken',
      )}
    >
      Fix and rerun
    </Link>
  )
}

export function Actions({ summary, waits }: { summary: Execution; waits: Wait[] }) {
  const id = summary.execution_id
  const act = useAction(id)
  const [open, setOpen] = useState<'cancel' | 'rerun' | 'signal' | 'run' | null>(null)
  const [more, setMore] = useState(false) // where there is no room for all of them
  const over = ENDED.has(summary.status)
  const retry = useRetry(id)
  const failedStep = summary.error?.step
  return (
    <>
      {(summary.status === 'running' || summary.status === 'waiting') && (
        <Button needs="run" icon="pause" onClick={() => act.mutate({ action: 'pause', message: 'pausing' })}>
          Pause
        </Button>
      )}
      {summary.status === 'paused' && (
        <Button
          kind="primary"
          icon="play"
          needs="run"
          onClick={() => act.mutate({ action: 'resume', message: 'resumed' })}
        >
          Resume
        </Button>
      )}
      {summary.status === 'stuck' && (
        <Button
          kind="primary"
          icon="play"
          needs="run"
          onClick={() => act.mutate({ action: 'release', message: 'released' })}
        >
          Release
        </Button>
      )}
      {!over && summary.status !== 'stuck' && (
        <Button needs="run" icon="signal" onClick={() => setOpen('signal')}>
          Signal
        </Button>
      )}
      {!over && summary.stuck?.reason !== 'log' && (
        <Button needs="run" kind="danger" icon="stop" onClick={() => setOpen('cancel')}>
          Cancel
        </Button>
      )}
      {(summary.status === 'failed' || summary.status === 'cancelled') && (
        <Button needs="run" kind="primary" icon="retry" onClick={retry}>
          {summary.status === 'failed' ? 'Retry from failure' : 'Go on from here'}
        </Button>
      )}
      {failedStep && <FixLink summary={summary} step={failedStep} />}
      <span className={more ? 'contents' : 'hidden sm:contents'}>
        {over && (
          <Button needs="run" onClick={() => setOpen('rerun')}>
            Rerun from step
          </Button>
        )}
        <Button needs="run" onClick={() => setOpen('run')}>
          New run
        </Button>
        <Link
          href={`/compare?a=${id}${summary.retry_of ? `&b=${summary.retry_of}` : ''}`}
          className="inline-flex h-7.5 items-center rounded-[5px] px-2 text-ink-2 hover:bg-sunken"
        >
          Compare
        </Link>
      </span>
      <Button kind="quiet" className="sm:hidden" aria-expanded={more} onClick={() => setMore(!more)}>
        {more ? 'Less' : 'More'}
      </Button>
      {open === 'cancel' && !over && (
        <CancelDialog
          many={1}
          onCancel={(why) =>
            act.mutate({ action: 'cancel', body: why ? { why } : {}, message: 'cancelling' })
          }
          onClose={() => setOpen(null)}
        />
      )}
      {open === 'rerun' && <RerunDialog summary={summary} onClose={() => setOpen(null)} />}
      {open === 'signal' && <SignalDialog id={id} waits={waits} onClose={() => setOpen(null)} />}
      {open === 'run' && (
        <RunDialog
          path={summary.playbook.path}
          version={summary.playbook.version}
          workload={(summary.workload ?? {}) as Obj}
          onClose={() => setOpen(null)}
        />
      )}
    </>
  )
}

/** What answers a task that waits for somebody: approve or reject at once, or the form of its payload. */
export function AnswerButtons({
  id,
  signal,
  approval,
  openForm,
}: {
  id: string
  signal: string
  approval: string | null
  openForm: () => void
}) {
  const act = useAction(id)
  const who = useQuery(session()).data
  const answer = (approved: boolean) =>
    act.mutate({
      action: 'signal',
      body: { name: signal, payload: { approved, ...(who ? { by: who.name } : {}) } },
      message: approved ? 'approved' : 'rejected',
    })
  if (act.isSuccess)
    return (
      <span role="status" className="text-ink-3">
        answered
      </span>
    )
  return (
    <span className="ml-auto flex gap-2">
      {approval !== null && (
        <>
          <Button needs="run" kind="primary" disabled={act.isPending} onClick={() => answer(true)}>
            Approve
          </Button>
          <Button needs="run" kind="danger" disabled={act.isPending} onClick={() => answer(false)}>
            Reject
          </Button>
        </>
      )}
      <Button needs="run" onClick={openForm}>
        {approval !== null ? 'With details' : 'Answer'}
      </Button>
    </span>
  )
}
