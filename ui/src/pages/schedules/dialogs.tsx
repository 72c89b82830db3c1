// What the dialogs of schedules and triggers share.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { catalog } from '../../api/queries'
import type { Obj } from '../../api/types'
import { Button, Field } from '../../design/controls'
import { JsonField } from '../../design/form'
import { Failure } from '../../design/states'
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
          className="field read-only:bg-sunken read-only:text-ink-2"
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
