// What the dialogs of schedules and triggers share, and making a trigger.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { post } from '../../api/client'
import { catalog } from '../../api/queries'
import type { Obj } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { CopyButton } from '../../design/copy'
import { JsonField } from '../../design/form'
import { Failure } from '../../design/states'
import { showToast } from '../../design/toast'
import { WorkloadOverrides } from '../playbooks/workload'

interface CommonProps {
  name: string
  setName?: (name: string) => void // it has its name for good without
  path: string
  setPath: (path: string) => void
  setWorkload: (value: Obj) => void
  workload?: Obj // what it has when the dialog opens
  besides?: string
  children: ReactNode
}

export function CommonFields({
  name,
  setName,
  path,
  setPath,
  setWorkload,
  workload,
  besides,
  children,
}: CommonProps) {
  const [opened] = useState(path)
  const catalogQuery = useQuery(catalog())
  const registered = catalogQuery.data?.items.some((item) => item.path === path) ?? false
  const many = Boolean(catalogQuery.data?.cursor) // more than were asked for, so that this one may be among them
  const choose = (next: string) => {
    setPath(next)
    setWorkload({})
  }
  return (
    <>
      <Field label="Name">
        <input
          className="field"
          data-first={setName ? true : undefined}
          required
          readOnly={!setName}
          value={name}
          onChange={(event) => setName?.(event.target.value)}
        />
      </Field>
      <Field label="Playbook">
        <input
          className="field"
          required
          list="paths"
          value={path}
          onChange={(event) => choose(event.target.value)}
        />
      </Field>
      <datalist id="paths">
        {catalogQuery.data?.items.map((item) => (
          <option key={item.path} value={item.path}>
            {item.description ?? ''}
          </option>
        ))}
      </datalist>
      {children}
      {registered ? (
        <WorkloadOverrides
          key={path}
          path={path}
          {...(besides === undefined ? {} : { besides })}
          {...(workload && path === opened ? { workload } : {})}
          onChange={setWorkload}
        />
      ) : many && path ? (
        <JsonField
          label="workload as JSON"
          value={workload && path === opened ? workload : {}}
          onChange={(next) => setWorkload(next as Obj)}
        />
      ) : (
        <p className="text-xs text-ink-3">Choose a playbook to fill in its workload.</p>
      )}
    </>
  )
}

export function DialogButtons({
  onClose,
  busy,
  error,
  verb = 'Create',
}: {
  onClose: () => void
  busy: boolean
  error: unknown
  verb?: string
}) {
  return (
    <>
      {error ? <Failure error={error} /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" type="submit" disabled={busy}>
          {verb}
        </Button>
      </div>
    </>
  )
}

export function TriggerDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [path, setPath] = useState('')
  const [workload, setWorkload] = useState<Obj>({})
  const [kind, setKind] = useState<'webhook' | 'nats'>('webhook')
  const [subject, setSubject] = useState('')
  const [key, setKey] = useState('payload')
  const make = useMutation({
    mutationFn: () =>
      post('/triggers', {}, { name, kind, path, workload, as: key, ...(kind === 'nats' ? { subject } : {}) }),
    onSuccess: (trigger) => {
      void client.invalidateQueries({ queryKey: ['triggers'] })
      if (!trigger.secret) {
        showToast(`created ${name}`)
        onClose()
      }
    },
  })
  if (make.data?.secret)
    return (
      <Dialog title={`The secret of ${name}`} onClose={onClose}>
        <p className="mb-2 text-ink-2">
          Callers prove themselves with it. It is shown this once and kept nowhere.
        </p>
        <p
          className="mb-3 break-words rounded-md bg-sunken px-2 py-1.5 font-mono text-xs [overflow-wrap:anywhere]"
          data-secret
        >
          {make.data.secret}
        </p>
        <div className="flex justify-end gap-2">
          <CopyButton text={make.data.secret} />
          <Button kind="primary" onClick={onClose}>
            I have it
          </Button>
        </div>
      </Dialog>
    )
  return (
    <Dialog title="New trigger" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <CommonFields {...{ name, setName, path, setPath, setWorkload }} besides={key}>
          <Field label="Started by">
            <select
              className="field"
              value={kind}
              onChange={(event) => setKind(event.target.value as 'webhook' | 'nats')}
            >
              <option value="webhook">a webhook</option>
              <option value="nats">a NATS subject</option>
            </select>
          </Field>
          {kind === 'nats' && (
            <Field label="Subject">
              <input
                className="field font-mono"
                required
                value={subject}
                onChange={(event) => setSubject(event.target.value)}
              />
            </Field>
          )}
          <Field label="Key of the workload that gets the message">
            <input
              className="field font-mono"
              required
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          </Field>
        </CommonFields>
        <DialogButtons onClose={onClose} busy={make.isPending} error={make.error} />
      </form>
    </Dialog>
  )
}
