// ctx and workload as trees with the event that wrote each key, and what every run put out.
import { useQuery } from '@tanstack/react-query'
import { dataView } from '../../api/queries'
import type { Json, RunOutput, Writer } from '../../api/types'
import { classes } from '../../design/classes'
import { ErrorDetails, ErrorLine } from '../../design/error-details'
import { Empty, QueryView } from '../../design/states'
import { StatusIcon, softOf } from '../../design/status'
import { exact } from '../../design/time'
import { Tree } from '../../design/tree'
import type { Open } from './page'
import { Preview } from './preview'
import { useParameter } from './url-parameters'

interface Props {
  id: string
  at: number | undefined
  failed: string | null // the step that an execution failed with
  open: Open
}

export function DataTab({ id, at, failed, open }: Props) {
  const dataQuery = useQuery(dataView(id, at))
  const [run, choose] = useParameter('run')
  return (
    <QueryView query={dataQuery} what="Reading the data">
      {(data) => (
        <div className="grid min-h-0 flex-1 content-start gap-4 overflow-auto p-4 lg:grid-cols-2">
          <div className="flex min-w-0 flex-col gap-4">
            <Block title="ctx" note={`after event ${data.seq}`}>
              {Object.keys(data.ctx).length ? (
                <Tree
                  value={data.ctx}
                  open={2}
                  note={(path) => <WriterLink writer={data.writers[path]} open={open} />}
                />
              ) : (
                <p className="text-ink-3">
                  Empty. Steps write it with <code>set</code>.
                </p>
              )}
            </Block>
            <Block title="workload" note="as merged with the request">
              {data.workload && Object.keys(data.workload).length ? (
                <Tree value={data.workload} open={2} />
              ) : (
                <p className="text-ink-3">Empty. The run dialog fills what the playbook declares.</p>
              )}
            </Block>
          </div>
          <Outputs outputs={data.outputs} failed={failed} selected={run} choose={choose} />
        </div>
      )}
    </QueryView>
  )
}

function Block({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <section className="panel min-w-0">
      <h2 className="flex items-baseline gap-2 border-b border-line px-3 py-1.5 font-medium">
        {title}
        {note && <span className="text-xs font-normal text-ink-3">{note}</span>}
      </h2>
      <div className="overflow-auto p-3">{children}</div>
    </section>
  )
}

function WriterLink({ writer, open }: { writer: Writer | undefined; open: Open }) {
  if (!writer) return null
  return (
    <button
      type="button"
      className="ml-1 max-w-64 min-w-20 shrink truncate text-2xs text-accent hover:underline"
      title={`written by event ${writer.seq}${writer.run ? ` of ${writer.run}` : ''}, ${exact(writer.at)}`}
      onClick={() => open('events', { seq: String(writer.seq) })}
    >
      event {writer.seq}
      {writer.run ? ` · ${writer.run}${writer.address ?? ''}` : ''}
    </button>
  )
}

/** How a run ended: one that was called off has not failed of itself. */
const outcome = (output: RunOutput): string =>
  output.error?.kind === 'cancelled' ? 'cancelled' : output.status

/** What one came to see: of an execution that failed, what it failed with and not what was cut off by it. */
function defaultOutput(outputs: RunOutput[], failed: string | null): RunOutput | undefined {
  const wrong = failed === null ? [] : outputs.filter((output) => outcome(output) === 'failed')
  return wrong.findLast((output) => output.step === failed) ?? wrong.at(-1) ?? outputs.at(-1)
}

function Outputs({
  outputs,
  failed,
  selected,
  choose,
}: {
  outputs: RunOutput[]
  failed: string | null
  selected: string
  choose: (run: string) => void
}) {
  const current = outputs.find((output) => output.run === selected) ?? defaultOutput(outputs, failed)
  return (
    <section
      className={`panel flex min-w-0 flex-col self-start ${failed === null ? '' : 'max-lg:order-first'}`}
    >
      <h2 className="border-b border-line px-3 py-1.5 font-medium">
        Outputs{' '}
        <span className="text-xs font-normal text-ink-3">
          of {outputs.length} {outputs.length === 1 ? 'run' : 'runs'}
        </span>
      </h2>
      {!current ? (
        <Empty title="No run has ended yet" />
      ) : (
        <>
          <div className="flex max-h-40 flex-wrap gap-1 overflow-auto border-b border-line p-2">
            {outputs.map((output) => (
              <button
                key={output.seq}
                type="button"
                aria-pressed={output === current}
                onClick={() => choose(output.run)}
                title={output.run}
                className={classes(
                  'inline-flex max-w-64 items-center gap-1 rounded border px-1.5 py-px text-xs',
                  output === current ? 'border-accent bg-accent-soft' : 'border-line hover:bg-sunken',
                )}
              >
                <StatusIcon status={outcome(output)} size={11} />
                <span className="truncate">{output.run}</span>
              </button>
            ))}
          </div>
          <div className="min-w-0 overflow-auto p-3">
            {current.error && (
              <p
                tabIndex={0}
                className={classes(
                  'mb-2 max-h-60 overflow-auto rounded-md px-2 py-1',
                  'break-words [overflow-wrap:anywhere]',
                  softOf(outcome(current)),
                )}
              >
                <ErrorLine error={current.error} />
              </p>
            )}
            {current.error && (
              <div className="mb-2">
                <ErrorDetails details={current.error.details} />
              </div>
            )}
            {(current.data !== null || current.ref || !current.error) && (
              <Preview key={current.seq} data={current.data as Json} stored={current.ref} />
            )}
          </div>
        </>
      )}
    </section>
  )
}
