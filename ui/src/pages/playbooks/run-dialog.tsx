// Start an execution: a form in the shape of the playbook's workload, or the workload as JSON.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { post } from '../../api/client'
import type { Obj } from '../../api/types'
import { Button, Dialog } from '../../design/controls'
import { type Schema, schemaOf } from '../../design/form'
import { Failure, QueryView } from '../../design/states'
import { declaredWorkload, WorkloadFields } from './workload'

interface Props {
  path: string
  version?: number | null
  text?: string
  workload?: Obj
  onClose: () => void
}

export function RunDialog({ path, version = null, text, workload, onClose }: Props) {
  const defaultsQuery = useQuery(declaredWorkload(path, version, text))
  return (
    <Dialog title={`Run ${path}`} onClose={onClose}>
      <QueryView query={defaultsQuery} what="Reading the playbook">
        {({ defaults, schema }) => (
          <RunForm
            path={path}
            version={version}
            {...(text === undefined ? {} : { text })}
            schema={{
              ...schema,
              properties: { ...schemaOf(without$schema(workload)).properties, ...schema.properties },
            }}
            defaults={{ ...defaults, ...without$schema(workload) }}
            onClose={onClose}
          />
        )}
      </QueryView>
    </Dialog>
  )
}

/** The workload of an execution whose playbook carries a schema has that schema too. */
const without$schema = ({ $schema: _, ...workload }: Obj = {}): Obj => workload

function RunForm({
  path,
  version,
  text,
  schema,
  defaults,
  onClose,
}: {
  path: string
  version: number | null
  text?: string
  schema: Schema
  defaults: Obj
  onClose: () => void
}) {
  const [value, setValue] = useState(defaults)
  const [, go] = useLocation()
  useEffect(() => {
    // A form that is longer than the screen is read from its top.
    document.querySelector<HTMLElement>('[data-run]')?.focus({ preventScroll: true })
  }, [])
  const run = useMutation({
    mutationFn: () =>
      post(
        '/executions',
        {},
        {
          workload: value,
          ...(text === undefined ? { path, ...(version === null ? {} : { version }) } : { playbook: text }),
        },
      ),
    onSuccess: (execution) => {
      onClose()
      go(`/executions/${execution.execution_id}`)
    },
  })
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        run.mutate()
      }}
    >
      <WorkloadFields schema={schema} value={value} onChange={setValue} />
      {run.error && <Failure error={run.error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" icon="play" type="submit" data-run disabled={run.isPending}>
          Run
        </Button>
      </div>
    </form>
  )
}
