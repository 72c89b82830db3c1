// Start an execution: a form in the shape of the playbook's workload, or the workload as JSON.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { get, post } from '../../api/client'
import type { Json, Obj } from '../../api/types'
import { Button, Dialog } from '../../design/controls'
import { JsonField, likeValue, SchemaForm } from '../../design/form'
import { Failure, Reading } from '../../design/states'

interface Props { path: string; version?: number | null; text?: string; workload?: Obj; onClose: () => void }

export function RunDialog({ path, version = null, text, workload, onClose }: Props) {
  const found = useQuery({
    queryKey: ['workload-of', path, version, text],
    queryFn: async () => {
      const source = text ?? (await get('/catalog/{path}', { path }, { version })).text
      return post('/graph', {}, { playbook: source, strict: false })
    },
    gcTime: 0,
  })
  return (
    <Dialog title={`Run ${path}`} onClose={onClose}>
      <Reading of={found} what="Reading the playbook">{(known) => <RunForm path={path} version={version} {...(text === undefined ? {} : { text })} defaults={{ ...known.workload, ...workload }} onClose={onClose} />}</Reading>
    </Dialog>
  )
}

function RunForm({ path, version, text, defaults, onClose }: { path: string; version: number | null; text?: string; defaults: Obj; onClose: () => void }) {
  const [value, setValue] = useState<Json>(defaults)
  const [raw, setRaw] = useState(false)
  const [, go] = useLocation()
  useEffect(() => { document.querySelector<HTMLElement>('[data-run]')?.focus() }, [])
  const run = useMutation({
    mutationFn: () => post('/executions', {}, { workload: value as Obj, ...(text === undefined ? { path, ...(version === null ? {} : { version }) } : { playbook: text }) }),
    onSuccess: (made) => { onClose(); go(`/executions/${made.execution_id}`) },
  })
  const empty = Object.keys(defaults).length === 0
  return (
    <form className="flex flex-col gap-3" onSubmit={(event) => { event.preventDefault(); run.mutate() }}>
      <div className="flex items-center justify-between"><span className="label-text">workload</span>{!empty && <button type="button" className="text-xs text-accent hover:underline" onClick={() => setRaw(!raw)}>{raw ? 'as a form' : 'as JSON'}</button>}</div>
      {empty && !raw && <p className="text-ink-3">This playbook declares no workload. <button type="button" className="text-accent hover:underline" onClick={() => setRaw(true)}>Give one as JSON</button></p>}
      {raw ? <JsonField value={value} onChange={setValue} rows={10} /> : <SchemaForm schema={likeValue(defaults)} value={value} onChange={setValue} />}
      {run.error && <Failure error={run.error} />}
      <div className="flex justify-end gap-2"><Button onClick={onClose}>Not now</Button><Button kind="primary" icon="play" type="submit" data-run disabled={run.isPending}>Run</Button></div>
    </form>
  )
}
