// Begin again at a step: what came before is kept, in a new execution.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { get } from '../../api/client'
import { executionPage } from '../../api/queries'
import type { Execution } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { showError } from '../../design/toast'
import { useAction } from './actions'

export function RerunDialog({
  summary,
  step,
  onClose,
}: {
  summary: Execution
  step?: string
  onClose: () => void
}) {
  const shape = useQuery(executionPage(summary.execution_id))
  const act = useAction(summary.execution_id)
  const [, go] = useLocation()
  const [from, setFrom] = useState(step ?? summary.error?.step ?? '')
  const [newest, setNewest] = useState(false)
  const names = shape.data?.graph?.steps.map((node) => node.step) ?? []
  const start = from || names[0] || ''
  const run = async () => {
    const playbook = newest ? (await get('/catalog/{path}', { path: summary.playbook.path })).text : undefined
    act.mutate(
      {
        action: 'rerun',
        body: { from: start, ...(playbook ? { playbook } : {}) },
        message: `a new execution begins at ${start}`,
      },
      {
        onSuccess: (execution) => {
          onClose()
          go(`/executions/${execution.execution_id}`)
        },
      },
    )
  }
  return (
    <Dialog title="Rerun from a step" onClose={onClose}>
      <div className="flex flex-col gap-3">
        <p className="text-ink-2">A new execution keeps what ran before the step and begins again there.</p>
        <Field label="Step">
          <select className="field" value={start} onChange={(event) => setFrom(event.target.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </Field>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            className="accent-accent"
            checked={newest}
            onChange={(event) => setNewest(event.target.checked)}
          />{' '}
          with the newest registered version of the playbook
        </label>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button
            kind="primary"
            disabled={!start || act.isPending}
            onClick={() => void run().catch(showError)}
          >
            Rerun
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
