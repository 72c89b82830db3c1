// Who, what, when: the facts of an execution in one dense block.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { loop } from '../../api/queries'
import type { Execution, ExecutionItem, Progress } from '../../api/types'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { CopyIcon, shortId, shortStarter } from '../../design/copy'
import { ChildLink, errorWords } from '../../design/error-details'
import { Late } from '../../design/late'
import { count } from '../../design/number'
import { markOf, StatusBadge, StatusIcon, softOf } from '../../design/status'
import { Ago, clock, exact, Took } from '../../design/time'
import { useRetry } from './actions'

interface Props {
  summary: Execution
  progress: Progress
  loops: string[]
  inside: ExecutionItem[]
  link: ReactNode
  children: ReactNode
}

export function Header({ summary, progress, loops, inside, link, children }: Props) {
  const { playbook } = summary
  const parent = typeof summary.parent === 'string' ? summary.parent : summary.parent?.execution_id
  return (
    <header className="relative flex flex-col gap-1.5 px-4 pb-2 pt-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5">
        <h1 className="flex min-w-0 items-center gap-2 text-base font-semibold tracking-tight">
          <Link
            href={`/playbooks/${playbook.path}`}
            className="truncate hover:underline"
            title={playbook.path}
          >
            {playbook.path}
          </Link>
          {playbook.version !== null && (
            <span className="text-sm font-normal text-ink-3">v{playbook.version}</span>
          )}
        </h1>
        <StatusBadge
          status={markOf(summary.status, summary.counts.failed_iterations)}
          label={summary.status}
        />
        {link}
        <div className="ml-auto flex flex-wrap items-center gap-2">{children}</div>
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-0.5 text-xs text-ink-2 sm:gap-x-4">
        <span className="inline-flex items-center font-mono" title={summary.execution_id}>
          {shortId(summary.execution_id)}
          <CopyIcon text={summary.execution_id} label="Copy the id" />
        </span>
        <Fact name="requested">
          <Ago at={summary.requested_at} />
        </Fact>
        <Fact name={summary.ended_at ? 'took' : 'under way for'}>
          <Took from={summary.requested_at} to={summary.ended_at} ms={summary.duration_ms} />
        </Fact>
        <Late expected={summary.expected_ms} lateAt={summary.late_at} endedAt={summary.ended_at} long />
        {summary.by && (
          <Fact name="by">
            <span title={summary.by}>{shortStarter(summary.by)}</span>
          </Fact>
        )}
        <span className="hidden gap-x-4 sm:flex">
          <Fact name="steps">{summary.counts.steps}</Fact>
          <Fact name="tasks">{count(summary.counts.tasks)}</Fact>
          {summary.counts.iterations > 0 && <Fact name="iterations">{count(summary.counts.iterations)}</Fact>}
        </span>
        {parent && (
          <Fact name="child of">
            <ExecutionLink id={parent} />
          </Fact>
        )}
        {summary.retry_of && (
          <Fact name="goes on from">
            <ExecutionLink id={summary.retry_of} />
          </Fact>
        )}
        {summary.continued_from && (
          <Fact name="continued from">
            <ExecutionLink id={summary.continued_from} />
          </Fact>
        )}
        {summary.continued_as && (
          <Fact name="goes on as">
            <ExecutionLink id={summary.continued_as} />
          </Fact>
        )}
        <Children items={inside} />
        <History history={progress.history} />
      </div>
      {summary.error && (
        <ErrorBanner status={summary.status} error={summary.error} unasked={unasked(summary)} />
      )}
      {summary.status === 'completed' && summary.counts.failed_iterations > 0 && (
        <FailedIterationsBanner summary={summary} />
      )}
      {summary.status === 'failed' && <EarlierFailures summary={summary} progress={progress} loops={loops} />}
      {summary.stuck && <Stuck stuck={summary.stuck} />}
      <Failures summary={summary} />
    </header>
  )
}

/** What it ended with; a long message in part, until more is wanted. */
function ErrorBanner({
  status,
  error,
  unasked,
}: {
  status: string
  error: NonNullable<Execution['error']>
  unasked: Execution['failures'][number] | undefined
}) {
  const text = useRef<HTMLParagraphElement>(null)
  const [whole, setWhole] = useState(false)
  const [long, setLong] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another message has another height
  useLayoutEffect(() => {
    if (text.current) setLong(text.current.scrollHeight > text.current.clientHeight + 1)
  }, [error.message])
  const place = [error.step, error.task].filter(Boolean).join(' / ')
  const [kind, message] = errorWords(error)
  return (
    <div role="alert" className={`flex items-start gap-2 rounded-md px-2.5 py-1.5 ${softOf(status)}`}>
      <span className="mt-0.5">
        <StatusIcon status={status} />
      </span>
      <div className="min-w-0">
        <p
          ref={text}
          className={`break-words [overflow-wrap:anywhere] ${whole ? 'max-h-[40vh] overflow-auto' : 'line-clamp-3'}`}
        >
          {(place || kind) && (
            <span className="font-medium">
              {place && `${place}: `}
              {kind && `${kind}: `}
            </span>
          )}
          <span className="text-ink-2">{message}</span>
        </p>
        <ChildLink details={error.details} />
        {unasked && (
          <p className="text-ink-2">
            Nothing asked about it: the arc to{' '}
            <span className="font-medium text-ink">{unasked.taken_by}</span> took the failure like any other
            end. Give it a <code>when</code> that reads how the step ended, such as <code>event.failed</code>.
          </p>
        )}
        {(long || whole) && (
          <button
            type="button"
            className="text-xs text-accent hover:underline"
            onClick={() => setWhole(!whole)}
          >
            {whole ? 'Less' : 'All of it'}
          </button>
        )}
      </div>
    </div>
  )
}

/** The failure that ended it, when the arc that took it never asked how the step ended. */
const unasked = (summary: Execution) =>
  summary.status === 'failed'
    ? summary.failures.find((failure) => !failure.answered && failure.step === summary.error?.step)
    : undefined

/** Nobody goes on with it until it is released. */
function Stuck({ stuck }: { stuck: NonNullable<Execution['stuck']> }) {
  return (
    <div role="alert" className={`flex items-start gap-2 rounded-md px-2.5 py-1.5 ${softOf('stuck')}`}>
      <span className="mt-0.5">
        <StatusIcon status="stuck" />
      </span>
      <p className="min-w-0 break-words [overflow-wrap:anywhere]">
        <span className="font-medium">
          stuck since <Ago at={stuck.since} />: {stuck.message}
        </span>{' '}
        <span className="text-ink-2">
          Its log and its messages are kept. Release it when the cause is gone, after an upgrade say (
          {stuck.engine} on {stuck.server}).
        </span>
      </p>
    </div>
  )
}

/** It completed, though not with all of its iterations. */
function FailedIterationsBanner({ summary }: { summary: Execution }) {
  const retry = useRetry(summary.execution_id)
  const { failed_iterations: failed, iterations } = summary.counts
  return (
    <div
      role="alert"
      className={`flex flex-wrap items-center gap-x-3 gap-y-1.5 rounded-md px-2.5 py-1.5 ${softOf('flawed')}`}
    >
      <StatusIcon status="flawed" />
      <p className="min-w-0 flex-1 basis-60">
        <span className="font-medium">
          completed, {count(failed)} of {count(iterations)} iterations failed
        </span>{' '}
        <span className="text-ink-2">in loops that go on without those that fail.</span>
      </p>
      <Button kind="primary" icon="retry" needs="run" onClick={retry}>
        Retry those {count(failed)}
      </Button>
    </div>
  )
}

/** What it may have failed for: a loop before it that went on without some of its iterations. */
function EarlierFailures({
  summary,
  progress,
  loops,
}: {
  summary: Execution
  progress: Progress
  loops: string[]
}) {
  const run = loops.findLast((name) => {
    const step = progress.steps[name.slice(0, name.lastIndexOf('.'))]
    return step?.status === 'done' && (step.loop?.failed ?? 0) > 0
  })
  return run ? <FlawedLoop id={summary.execution_id} run={run} progress={progress} /> : null
}

function FlawedLoop({ id, run, progress }: { id: string; run: string; progress: Progress }) {
  const loopQuery = useQuery(loop(id, run))
  const step = run.slice(0, run.lastIndexOf('.'))
  const counts = progress.steps[step]?.loop
  const first = Object.values(loopQuery.data?.errors ?? {})[0]
  return (
    <div role="note" className={`flex items-start gap-2 rounded-md px-2.5 py-1.5 ${softOf('flawed')}`}>
      <span className="mt-0.5">
        <StatusIcon status="flawed" />
      </span>
      <p className="min-w-0 break-words [overflow-wrap:anywhere]">
        <span className="font-medium">
          {count(counts?.failed ?? 0)} of {count(counts?.total ?? 0)} iterations of {step} failed before it
        </span>{' '}
        {first && <span className="text-ink-2">{first.message}</span>}{' '}
        <Link
          href={`/executions/${id}/loops?run=${encodeURIComponent(run)}`}
          className="whitespace-nowrap text-accent hover:underline"
        >
          Look and run them again
        </Link>
      </p>
    </div>
  )
}

/** Every failure that an arc took, and whether its guard asked about it. */
function Failures({ summary }: { summary: Execution }) {
  const { failures } = summary
  if (failures.length === 0) return null
  const open = failures.filter((failure) => !failure.answered).length
  return (
    <details className="text-xs">
      <summary className={open ? 'text-failed' : 'text-ink-2'}>
        {failures.length} {failures.length === 1 ? 'failure' : 'failures'} taken by arcs
        {open > 0 && `, ${open} unanswered`}
      </summary>
      <ul aria-label="Failures" className="panel mt-1 max-h-60 overflow-auto">
        {failures.map((failure, index) => (
          <li
            key={index}
            className="flex flex-wrap items-center gap-x-2 border-b border-line px-2 py-1 last:border-0"
          >
            <StatusBadge
              status={failure.answered ? 'held' : 'failed'}
              label={failure.answered ? 'answered' : 'unanswered'}
            />
            <span className="font-medium">{failure.step}</span>
            <span className="text-ink-3">taken by {failure.taken_by}</span>
            <span className="min-w-0 basis-full break-words text-ink-2 sm:basis-auto [overflow-wrap:anywhere]">
              {failure.error.message}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <span className="whitespace-nowrap">
      <span className="text-ink-3">{name}</span> {children}
    </span>
  )
}

function ExecutionLink({ id }: { id: string }) {
  return (
    <Link href={`/executions/${id}`} className="font-mono text-accent hover:underline">
      {shortId(id)}
    </Link>
  )
}

function Children({ items }: { items: ExecutionItem[] }) {
  if (items.length === 0) return null
  return (
    <details className="sm:relative">
      <summary className="text-accent">
        {items.length} {items.length === 1 ? 'child' : 'children'}
      </summary>
      <ul
        className={classes(
          'panel absolute inset-x-4 z-30 mt-1 max-h-72 overflow-auto p-1.5 shadow-lg',
          'sm:inset-x-auto sm:left-0 sm:w-max sm:max-w-[60vw] sm:min-w-72',
        )}
      >
        {items.map((item) => (
          <li key={item.execution_id} className="flex items-center gap-2 px-1.5 py-1">
            <StatusBadge status={markOf(item.status, item.failed_iterations)} label={item.status} />
            <ExecutionLink id={item.execution_id} />
            <span className="[overflow-wrap:anywhere]">{item.playbook.path}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function History({ history }: { history: Progress['history'] }) {
  if (history.length === 0) return null
  return (
    <details className="sm:relative">
      <summary className="text-ink-3">history</summary>
      <ol
        className="panel absolute inset-x-4 z-30 mt-1 p-2 shadow-lg sm:inset-x-auto sm:left-0 sm:min-w-72"
        aria-label="Status history"
      >
        {history.map((change) => (
          <li key={change.seq} className="flex items-center gap-2 py-0.5">
            <time title={exact(change.at)} className="font-mono text-ink-3">
              {clock(change.at)}
            </time>
            <StatusBadge status={change.status} />
            {change.by && <span className="text-ink-3">by {change.by}</span>}
            {change.why && <span className="break-words">{change.why}</span>}
          </li>
        ))}
      </ol>
    </details>
  )
}
