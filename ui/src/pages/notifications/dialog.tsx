// Making a notification, or changing one.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post, put } from '../../api/client'
import { credentials } from '../../api/queries'
import type { Notification } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { Failure } from '../../design/states'
import { showToast } from '../../design/toast'

type Occasion = Notification['on'][number]
const OCCASIONS: [Occasion, string][] = [
  ['failed', 'it fails'],
  ['stuck', 'it is stuck'],
  ['completed', 'it completes'],
  ['waiting', 'it waits for somebody'],
  ['late', 'it takes longer than expected'],
]
const KINDS = {
  webhook: ['Address', 'https://example.com/told', 'a secret that signs what is sent'],
  slack: [null, '', 'the url of the incoming webhook'],
  teams: [null, '', 'the url of the webhook'],
  mail: ['Recipients', 'ops@example.com', 'host, from, username and password'],
  playbook: ['Playbook', 'ops/told', null],
} as const
type Kind = keyof typeof KINDS

/** The kind and the address of a target. */
const parts = (to: string): [Kind, string] => {
  const at = to.indexOf(':')
  return at < 0 ? [to as Kind, ''] : [to.slice(0, at) as Kind, to.slice(at + 1)]
}

export function NotificationDialog({ existing, onClose }: { existing?: Notification; onClose: () => void }) {
  const client = useQueryClient()
  const credentialsQuery = useQuery(credentials())
  const [first, begun] = parts(existing?.to ?? 'webhook')
  const [name, setName] = useState(existing?.name ?? '')
  const [on, setOn] = useState<Occasion[]>(existing?.on ?? ['failed', 'stuck'])
  const [path, setPath] = useState(existing?.path ?? '*')
  const [kind, setKind] = useState<Kind>(first)
  const [address, setAddress] = useState(begun)
  const [auth, setAuth] = useState(existing?.auth ?? '')
  const [children, setChildren] = useState(existing?.children ?? false)
  const [label, placeholder, holds] = KINDS[kind]
  const keep = useMutation({
    mutationFn: () => {
      const body = {
        on,
        path,
        to: label !== null && address ? `${kind}:${address}` : kind,
        auth: holds === null || auth === '' ? null : auth,
        children,
        enabled: existing?.enabled ?? true,
      }
      return existing === undefined
        ? post('/notifications', {}, { name, ...body })
        : put('/notifications/{name}', { name }, body)
    },
    onSuccess: async () => {
      showToast(existing === undefined ? `${name} is told from now on` : `changed ${name}`)
      await client.invalidateQueries({ queryKey: ['notifications'] })
      onClose()
    },
  })
  const toggle = (occasion: Occasion) =>
    setOn(on.includes(occasion) ? on.filter((each) => each !== occasion) : [...on, occasion])
  return (
    <Dialog title={existing === undefined ? 'New notification' : `Edit ${name}`} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          keep.mutate()
        }}
      >
        {existing === undefined && (
          <Field label="Name">
            <input
              className="field"
              data-first
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
        )}
        <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
          <legend className="mb-1 text-xs text-ink-2">An execution is told of when</legend>
          {OCCASIONS.map(([occasion, words]) => (
            <label key={occasion} className="flex items-center gap-1.5">
              <input type="checkbox" checked={on.includes(occasion)} onChange={() => toggle(occasion)} />
              {words}
            </label>
          ))}
        </fieldset>
        <Field label="Playbooks, where * stands for anything">
          <input className="field" required value={path} onChange={(event) => setPath(event.target.value)} />
        </Field>
        <Field label="Told by">
          <select
            className="field"
            value={kind}
            onChange={(event) => {
              setKind(event.target.value as Kind)
              setAddress('')
            }}
          >
            {Object.keys(KINDS).map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        </Field>
        {label !== null && (
          <Field label={label}>
            <input
              className="field"
              required={kind !== 'webhook'}
              placeholder={placeholder}
              value={address}
              onChange={(event) => setAddress(event.target.value)}
            />
          </Field>
        )}
        {holds !== null && (
          <Field label={`Credential with ${holds}`}>
            <input
              className="field"
              required
              list="credentials"
              value={auth}
              onChange={(event) => setAuth(event.target.value)}
            />
          </Field>
        )}
        <datalist id="credentials">
          {credentialsQuery.data?.items.map((item) => (
            <option key={item.name} value={item.name} />
          ))}
        </datalist>
        {kind !== 'playbook' && (
          <label className="flex items-center gap-1.5">
            <input
              type="checkbox"
              checked={children}
              onChange={(event) => setChildren(event.target.checked)}
            />
            also of children, which other executions start
          </label>
        )}
        {keep.error ? <Failure error={keep.error} /> : null}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button kind="primary" type="submit" disabled={keep.isPending}>
            {existing === undefined ? 'Create' : 'Keep'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
