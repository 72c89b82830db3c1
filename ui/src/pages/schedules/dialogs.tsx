// Making a schedule or a trigger.
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
  setName: (name: string) => void
  path: string
  setPath: (path: string) => void
  setWorkload: (value: Obj) => void
  besides?: string
  children: ReactNode
}

function CommonFields({ name, setName, path, setPath, setWorkload, besides, children }: CommonProps) {
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
          data-first
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
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
          onChange={setWorkload}
        />
      ) : many && path ? (
        <JsonField label="workload as JSON" value={{}} onChange={(next) => setWorkload(next as Obj)} />
      ) : (
        <p className="text-xs text-ink-3">Choose a playbook to fill in its workload.</p>
      )}
    </>
  )
}

function DialogButtons({ onClose, busy, error }: { onClose: () => void; busy: boolean; error: unknown }) {
  return (
    <>
      {error ? <Failure error={error} /> : null}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" type="submit" disabled={busy}>
          Create
        </Button>
      </div>
    </>
  )
}

type Overlap = 'skip' | 'queue' | 'allow' | 'replace'
type CatchUp = 'none' | 'latest' | 'all'

export function ScheduleDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [path, setPath] = useState('')
  const [workload, setWorkload] = useState<Obj>({})
  const [by, setBy] = useState<'cron' | 'every'>('cron')
  const [cron, setCron] = useState('0 6 * * *')
  const [timezone, setTimezone] = useState('UTC')
  const [every, setEvery] = useState(3600)
  const [overlap, setOverlap] = useState<Overlap>('skip')
  const [catchUp, setCatchUp] = useState<CatchUp>('latest')
  const make = useMutation({
    mutationFn: () =>
      post(
        '/schedules',
        {},
        {
          name,
          path,
          workload,
          overlap,
          catch_up: catchUp,
          ...(by === 'cron' ? { cron, timezone } : { every_s: every }),
        },
      ),
    onSuccess: () => {
      showToast(`created ${name}`)
      void client.invalidateQueries({ queryKey: ['schedules'] })
      onClose()
    },
  })
  return (
    <Dialog title="New schedule" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <CommonFields {...{ name, setName, path, setPath, setWorkload }}>
          <Field label="Started by">
            <select
              className="field"
              value={by}
              onChange={(event) => setBy(event.target.value as 'cron' | 'every')}
            >
              <option value="cron">a cron expression</option>
              <option value="every">an interval</option>
            </select>
          </Field>
          {by === 'cron' ? (
            <div className="grid grid-cols-2 gap-2">
              <Field label="Cron expression">
                <input
                  className="field font-mono"
                  required
                  value={cron}
                  onChange={(event) => setCron(event.target.value)}
                />
              </Field>
              <Field label="Time zone">
                <input
                  className="field"
                  required
                  value={timezone}
                  onChange={(event) => setTimezone(event.target.value)}
                />
              </Field>
            </div>
          ) : (
            <Field label="Seconds between ticks">
              <input
                className="field"
                type="number"
                min={1}
                required
                value={every}
                onChange={(event) => setEvery(Number(event.target.value))}
              />
            </Field>
          )}
          <div className="grid grid-cols-2 gap-2">
            <Field label="While an earlier tick is not over">
              <select
                className="field"
                value={overlap}
                onChange={(event) => setOverlap(event.target.value as Overlap)}
              >
                <option value="skip">skip the tick</option>
                <option value="queue">queue it</option>
                <option value="allow">run both</option>
                <option value="replace">cancel the earlier one</option>
              </select>
            </Field>
            <Field label="Of ticks that nobody saw, start">
              <select
                className="field"
                value={catchUp}
                onChange={(event) => setCatchUp(event.target.value as CatchUp)}
              >
                <option value="none">none</option>
                <option value="latest">the latest</option>
                <option value="all">all</option>
              </select>
            </Field>
          </div>
        </CommonFields>
        <DialogButtons onClose={onClose} busy={make.isPending} error={make.error} />
      </form>
    </Dialog>
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
