// The fields of a workload: a form in the shape that the playbook declares, or JSON.
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get, post } from '../../api/client'
import type { Obj } from '../../api/types'
import { JsonField, type Schema, SchemaForm } from '../../design/form'
import { Failure, Loading } from '../../design/states'
import { overrides } from './overrides'
import { declared } from './workload-schema'

/** What a playbook declares: that of a text, else of a registered version. */
export const declaredWorkload = (path: string, version: number | null = null, text?: string) =>
  queryOptions({
    queryKey: ['workload-of', path, version, text],
    queryFn: async () => {
      const source = text ?? (await get('/catalog/{path}', { path }, { version })).text
      const { workload } = await post('/graph', {}, { playbook: source, strict: false })
      return declared(workload as Obj, source)
    },
    gcTime: 0,
  })

interface Props {
  schema: Schema
  value: Obj
  onChange: (value: Obj) => void
}

export function WorkloadFields({ schema, value, onChange }: Props) {
  const empty = Object.keys(schema.properties ?? {}).length === 0
  const [raw, setRaw] = useState(empty && Object.keys(value).length > 0)
  return (
    <>
      <div className="flex items-center justify-between">
        <span className="label-text">workload</span>
        {!empty && (
          <button type="button" className="text-xs text-accent hover:underline" onClick={() => setRaw(!raw)}>
            {raw ? 'as a form' : 'as JSON'}
          </button>
        )}
      </div>
      {raw ? (
        <JsonField
          label="workload as JSON"
          value={value}
          onChange={(next) => onChange(next as Obj)}
          rows={10}
        />
      ) : empty ? (
        <p className="text-ink-3">
          This playbook declares no workload.{' '}
          <button type="button" className="text-accent hover:underline" onClick={() => setRaw(true)}>
            Give one as JSON
          </button>
        </p>
      ) : (
        <SchemaForm schema={schema} value={value} onChange={(next) => onChange(next as Obj)} />
      )}
    </>
  )
}

/** The workload of what starts a playbook later: only what is not as the playbook has it. `besides` is filled
 * in then. */
export function WorkloadOverrides({
  path,
  besides,
  workload,
  onChange,
}: {
  path: string
  besides?: string
  workload?: Obj // what is not as the playbook has it already
  onChange: (value: Obj) => void
}) {
  const defaultsQuery = useQuery(declaredWorkload(path))
  const [values, setValues] = useState<Obj>(workload ?? {})
  if (defaultsQuery.isError) return <Failure error={defaultsQuery.error} />
  if (defaultsQuery.isPending) return <Loading what="Reading the playbook" />
  const { [besides ?? '']: _, ...defaults } = defaultsQuery.data?.defaults ?? {}
  const { [besides ?? '']: __, ...properties } = defaultsQuery.data?.schema.properties ?? {}
  const change = (value: Obj) => {
    setValues(value)
    onChange(overrides(defaults, value))
  }
  return (
    <div className="flex flex-col gap-2">
      <WorkloadFields
        schema={{ type: 'object', properties }}
        value={{ ...defaults, ...values }}
        onChange={change}
      />
      {Object.keys(defaults).length > 0 && (
        <p className="text-xs text-ink-3">What is left as it is follows the playbook.</p>
      )}
    </div>
  )
}
