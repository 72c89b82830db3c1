// One step: how it stands, why, its arcs and tokens, and what can be done from here.
import { useState } from 'react'
import type { Execution, Graph, Progress } from '../../api/types'
import { classes } from '../../design/classes'
import { Button, IconButton } from '../../design/controls'
import { ErrorDetails, ErrorLine } from '../../design/error-details'
import { StatusBadge, StatusIcon } from '../../design/status'
import { Ago, duration, Took } from '../../design/time'
import { arcState, arcText, guardText, shortJson, stepStatus } from '../../graph/labels'
import type { Open } from './page'
import { Reasons } from './reasons'
import { RerunDialog } from './rerun-dialog'

interface Props {
  id: string
  step: string
  shape: Graph
  progress: Progress
  summary: Execution
  at: number | undefined
  open: Open
  onClose: () => void
}

export function StepPanel({ id, step, shape, progress, summary, at, open, onClose }: Props) {
  const [rerun, setRerun] = useState(false)
  const stepProgress = progress.steps[step]
  const node = shape.steps.find((candidate) => candidate.step === step)
  const over = summary.ended_at !== null
  const status = stepProgress ? stepStatus(stepProgress) : 'idle'
  const held = progress.tokens.some((token) => token.held && token.step === step)
  return (
    <aside
      aria-label={`Step ${step}`}
      className={classes(
        'flex max-h-[60vh] w-full shrink-0 flex-col overflow-auto border-t border-line bg-panel',
        'md:max-h-none md:w-88 md:border-l md:border-t-0',
      )}
    >
      <div className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-panel px-3 py-2">
        <StatusIcon status={status} />
        <h2 className="min-w-0 flex-1 truncate font-semibold" title={step}>
          {step}
        </h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div className="flex flex-col gap-3 p-3">
        {node?.desc && <p className="break-words text-ink-2">{node.desc}</p>}
        <dl className="grid grid-cols-[6rem_1fr] gap-x-2 gap-y-0.5">
          <Row name="status">
            {stepProgress ? (
              <StatusBadge status={status} />
            ) : held ? (
              <StatusBadge status="held" label="holds a token" />
            ) : (
              <StatusBadge status="idle" label={over ? 'never ran' : 'has not run yet'} />
            )}
          </Row>
          {stepProgress?.status === 'kept' && <Row name="from">the execution that this one goes on from</Row>}
          {stepProgress && stepProgress.status !== 'kept' && (
            <Row name="runs">
              {stepProgress.runs}
              {stepProgress.failed > 0 && (
                <span className="text-failed"> · {stepProgress.failed} failed</span>
              )}
              {stepProgress.refused > 0 && ` · ${stepProgress.refused} tokens refused`}
            </Row>
          )}
          {stepProgress?.ended_at && <Row name="took">{duration(stepProgress.duration_ms)}</Row>}
          {stepProgress && !stepProgress.ended_at && !over && at === undefined && (
            <Row name={status === 'waiting' ? 'waits for' : 'runs for'}>
              <Took from={stepProgress.started_at} to={null} />
            </Row>
          )}
          {stepProgress?.started_at && (
            <Row name="scheduled">
              <Ago at={stepProgress.started_at} />
            </Row>
          )}
          {stepProgress && stepProgress.retries > 0 && <Row name="retries">{stepProgress.retries}</Row>}
          {node && <Row name="playbook">line {node.line}</Row>}
        </dl>
        {stepProgress?.error && (
          <p className="break-words rounded-md bg-failed-soft px-2 py-1.5 [overflow-wrap:anywhere]">
            <ErrorLine error={stepProgress.error} />
          </p>
        )}
        {stepProgress?.error && <ErrorDetails details={stepProgress.error.details} />}
        <Tokens progress={progress} step={step} />
        <div className="flex flex-wrap gap-1.5">
          {stepProgress?.ended_at && stepProgress.status !== 'kept' && (
            <Button onClick={() => open('data', { run: `${step}.${stepProgress.runs}` })}>Output</Button>
          )}
          <Button onClick={() => open('events', { step })}>Events</Button>
          <Button onClick={() => open('logs', { step })}>Logs</Button>
          {stepProgress?.loop && (
            <Button onClick={() => open('loops', { run: `${step}.${stepProgress.runs}` })}>Iterations</Button>
          )}
          {over && (
            <Button icon="retry" needs="run" onClick={() => setRerun(true)}>
              Rerun from here
            </Button>
          )}
        </div>
        <Arcs shape={shape} progress={progress} step={step} />
        <section>
          <h3 className="mb-1 font-medium">Why</h3>
          {at === undefined ? (
            <Reasons id={id} step={step} open={open} />
          ) : (
            <p className="text-ink-3">Reasons are told of the whole log; go to the end to read them.</p>
          )}
        </section>
      </div>
      {rerun && <RerunDialog summary={summary} step={step} onClose={() => setRerun(false)} />}
    </aside>
  )
}

function Row({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-ink-3">{name}</dt>
      <dd className="min-w-0">{children}</dd>
    </div>
  )
}

function Tokens({ progress, step }: { progress: Progress; step: string }) {
  const tokens = progress.tokens.filter((token) => token.step === step)
  if (tokens.length === 0) return null
  return (
    <ul className="flex flex-col gap-1">
      {tokens.map((token) => (
        <li key={token.id} className={`rounded-md px-2 py-1 ${token.held ? 'bg-held-soft' : 'bg-sunken'}`}>
          <span className="flex items-center gap-1.5">
            {token.held && <StatusIcon status="held" />}
            <span className="font-medium">token {token.id}</span>from {token.from ?? 'the start'}
          </span>
          {token.hold && (
            <span className="block text-ink-2">
              held since <Ago at={token.hold.at} />: another token may still come from{' '}
              {token.hold.waits_for.join(', ')}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function Arcs({ shape, progress, step }: { shape: Graph; progress: Progress; step: string }) {
  const arcs = shape.arcs.filter((arc) => arc.from === step)
  if (arcs.length === 0) return null
  return (
    <section>
      <h3 className="mb-1 font-medium">Arcs</h3>
      <ul className="flex flex-col gap-1.5">
        {arcs.map((arc) => {
          const arcProgress = progress.arcs.find(
            (candidate) => candidate.from === arc.from && candidate.order === arc.order,
          )
          const refused = progress.refused.filter(
            (refusal) => refusal.from === arc.from && refusal.step === arc.to,
          ).length
          const state = arcState(arcProgress, refused)
          return (
            <li key={arc.order} className="rounded-md border border-line px-2 py-1">
              <p className="flex items-center gap-1.5">
                <StatusIcon
                  status={
                    state === 'taken'
                      ? 'done'
                      : state === 'refused'
                        ? 'refused'
                        : state === 'not_taken'
                          ? 'cancelled'
                          : 'idle'
                  }
                />
                <span className="font-medium">{arc.to}</span>
                <span className="text-xs text-ink-3">{arcText(state, arcProgress, arc.when)}</span>
              </p>
              {arc.when !== null && (
                <p className="break-words font-mono text-xs text-ink-2">{guardText(arc.when)}</p>
              )}
              {arcProgress &&
                Object.entries(arcProgress.seen).map(([path, value]) => (
                  <p key={path} className="break-words font-mono text-xs text-ink-3">
                    {path} = {shortJson(value, 100)}
                  </p>
                ))}
            </li>
          )
        })}
      </ul>
    </section>
  )
}
