// The dialog of what starts a playbook by itself: its name, playbook and workload, and what is its own in between.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { catalog } from '../../api/queries'
import type { Obj } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { JsonField } from '../../design/form'
import { Failure } from '../../design/states'
import { showToast } from '../../design/toast'
import { WorkloadOverrides } from '../playbooks/workload'

/** What a schedule and a trigger start. */
export interface Start {
  path: string
  version: number | null
  workload: Obj
}

interface DialogProps<Kept> {
  noun: 'schedule' | 'trigger'
  item: (Start & { name: string }) | undefined // none yet without
  keep: (name: string, start: Start) => Promise<Kept>
  afterwards?: (kept: Kept) => ReactNode // what is to be read before the dialog closes
  besides?: string // the key of the workload that is not filled in here
  onClose: () => void
  children: ReactNode
}

export function StandingDialog<Kept>(props: DialogProps<Kept>) {
  const { noun, item, afterwards, onClose, children } = props
  const client = useQueryClient()
  const [name, setName] = useState(item?.name ?? '')
  const [path, setPath] = useState(item?.path ?? '')
  const [workload, setWorkload] = useState<Obj>(item?.workload ?? {})
  const keep = useMutation({
    mutationFn: () =>
      props.keep(name, { path, version: item?.path === path ? item.version : null, workload }),
    onSuccess: (kept) => {
      void client.invalidateQueries({ queryKey: [`${noun}s`] })
      if (afterwards?.(kept)) return
      showToast(item ? `changed ${name}` : `created ${name}`)
      onClose()
    },
  })
  const last = keep.data && afterwards?.(keep.data)
  if (last) return last
  return (
    <Dialog title={item ? `Edit ${name}` : `New ${noun}`} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          keep.mutate()
        }}
      >
        <Field label="Name">
          <input
            className="field read-only:bg-sunken read-only:text-ink-2"
            data-first={item ? undefined : true}
            required
            readOnly={Boolean(item)}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <StartFields
          {...{ path, setPath, setWorkload, was: item }}
          {...(props.besides === undefined ? {} : { besides: props.besides })}
        >
          {children}
        </StartFields>
        {keep.error ? <Failure error={keep.error} /> : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button kind="primary" type="submit" disabled={keep.isPending}>
            {item ? 'Save' : 'Create'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

interface StartProps {
  path: string
  setPath: (path: string) => void
  setWorkload: (value: Obj) => void
  was: Start | undefined
  besides?: string
  children: ReactNode
}

/** The playbook, and below all else its workload; another playbook begins with a workload of its own. */
function StartFields({ path, setPath, setWorkload, was, besides, children }: StartProps) {
  const catalogQuery = useQuery(catalog())
  const registered = catalogQuery.data?.items.some((item) => item.path === path) ?? false
  const many = Boolean(catalogQuery.data?.cursor) // more than were asked for, so that this one may be among them
  const workload = was && was.path === path ? was.workload : undefined
  const choose = (next: string) => {
    setPath(next)
    setWorkload({})
  }
  return (
    <>
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
          {...(workload ? { workload } : {})}
          onChange={setWorkload}
        />
      ) : many && path ? (
        <JsonField
          label="workload as JSON"
          value={workload ?? {}}
          onChange={(next) => setWorkload(next as Obj)}
        />
      ) : (
        <p className="text-xs text-ink-3">Choose a playbook to fill in its workload.</p>
      )}
    </>
  )
}
