// Credentials by name: values only go in, so none is ever shown.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { put, remove } from '../api/client'
import { credentials, credentialUses, notifications } from '../api/queries'
import type { Obj } from '../api/types'
import { Button, Dialog, Field, IconButton } from '../design/controls'
import { Empty, Failure, QueryView } from '../design/states'
import { ROW, Table } from '../design/table'
import { Ago } from '../design/time'
import { showError, showToast } from '../design/toast'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'

export function CredentialsPage() {
  useTitle('Credentials')
  const credentialsQuery = useQuery(credentials())
  const usesQuery = useQuery(credentialUses())
  const notificationsQuery = useQuery(notifications())
  const client = useQueryClient()
  const [adding, setAdding] = useState(false)
  const [dropping, setDropping] = useState<string | null>(null)
  const drop = useMutation({
    mutationFn: (name: string) => remove('/credentials/{name}', { name }),
    onSuccess: (_, name) => {
      showToast(`deleted ${name}`)
      setDropping(null)
      void client.invalidateQueries({ queryKey: ['credentials'] })
    },
    onError: showError,
  })
  return (
    <>
      <PageHead title="Credentials">
        <Button kind="primary" needs="admin" onClick={() => setAdding(true)}>
          Set a credential
        </Button>
      </PageHead>
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <QueryView query={credentialsQuery}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No credential is stored">
                A task names one with <code>auth</code>; a playbook declares it under <code>keychain</code>.
                Values are sealed and never shown.
              </Empty>
            ) : (
              <Table heads={['Name', 'Set', 'Value', 'Named by', '']}>
                {items.map((item) => (
                  <tr key={item.name} className={ROW}>
                    <td className="td max-w-72 truncate font-mono max-sm:w-full" title={item.name}>
                      {item.name}
                    </td>
                    <td className="td">
                      <Ago at={item.set_at} />
                    </td>
                    <td className="td text-ink-3">sealed</td>
                    <td className="td">
                      <Named
                        name={item.name}
                        paths={usesQuery.data?.items[item.name] ?? []}
                        told={(notificationsQuery.data?.items ?? [])
                          .filter((one) => one.auth === item.name)
                          .map((one) => one.name)}
                      />
                    </td>
                    <td className="td text-right max-sm:ml-auto">
                      <Button
                        kind="quiet"
                        needs="admin"
                        aria-label={`Delete ${item.name}`}
                        onClick={() => setDropping(item.name)}
                      >
                        Delete
                      </Button>
                    </td>
                  </tr>
                ))}
              </Table>
            )
          }
        </QueryView>
      </div>
      {adding && <SetDialog onClose={() => setAdding(false)} />}
      {dropping && (
        <Dialog title={`Delete ${dropping}?`} onClose={() => setDropping(null)}>
          <p className="mb-3 text-ink-2">Tasks that name it will fail until it is set again.</p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setDropping(null)}>Keep it</Button>
            <Button kind="danger" onClick={() => drop.mutate(dropping)}>
              Delete
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function Named({ name, paths, told }: { name: string; paths: string[]; told: string[] }) {
  if (name.startsWith('trigger.'))
    return (
      <>
        the trigger{' '}
        <Link href="/schedules" className="text-accent underline">
          {name.slice('trigger.'.length)}
        </Link>
      </>
    )
  if (paths.length + told.length === 0)
    return <span className="text-ink-3">no registered playbook, no notification</span>
  return (
    <>
      {paths.map((path) => (
        <Link key={path} href={`/playbooks/${path}`} className="mr-2 text-accent hover:underline">
          {path}
        </Link>
      ))}
      {told.length > 0 && (
        <>
          {told.length === 1 ? 'the notification' : 'the notifications'}{' '}
          <Link href="/notifications" className="text-accent underline">
            {told.join(', ')}
          </Link>
        </>
      )}
    </>
  )
}

interface Part {
  name: string
  value: string
}

function SetDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [parts, setParts] = useState<Part[]>([{ name: 'token', value: '' }])
  const [text, setText] = useState<string | null>(null) // as JSON, once that is wanted
  const whole = (): Obj =>
    Object.fromEntries(parts.filter((part) => part.name).map((part) => [part.name, part.value]))
  const set = useMutation({
    mutationFn: async () =>
      put('/credentials/{name}', { name }, text === null ? whole() : (JSON.parse(text) as Obj)),
    onSuccess: () => {
      showToast(`set ${name}`)
      void client.invalidateQueries({ queryKey: ['credentials'] })
      onClose()
    },
  })
  return (
    <Dialog title="Set a credential" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault()
          set.mutate()
        }}
      >
        <Field label="Name">
          <input
            className="field font-mono"
            data-first
            required
            pattern="[A-Za-z_][A-Za-z0-9_.\-]*"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <div className="flex flex-col gap-1.5">
          <div className="flex items-center justify-between">
            <span className="label-text">Fields, such as token; or user, password, host</span>
            {text === null && (
              <button
                type="button"
                className="text-xs text-accent hover:underline"
                onClick={() => setText(JSON.stringify(whole(), null, 2))}
              >
                as JSON
              </button>
            )}
          </div>
          {text === null ? (
            <Parts parts={parts} change={setParts} />
          ) : (
            <textarea
              aria-label="Fields as JSON"
              className="field h-28 py-1.5 font-mono text-xs"
              spellCheck={false}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
          <span className="text-xs text-ink-3">Values are sealed when they arrive and never sent back.</span>
        </div>
        {set.error && <Failure error={set.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button kind="primary" type="submit" disabled={!name || set.isPending}>
            Set
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Fields by name; nobody who looks over a shoulder reads their values. */
function Parts({ parts, change }: { parts: Part[]; change: (parts: Part[]) => void }) {
  const put = (index: number, part: Partial<Part>) =>
    change(parts.map((other, position) => (position === index ? { ...other, ...part } : other)))
  return (
    <>
      {parts.map((part, index) => (
        <div key={index} className="flex items-center gap-1.5">
          <input
            aria-label={`Field ${index + 1}`}
            placeholder="field"
            className="field w-32 shrink-0 font-mono"
            value={part.name}
            onChange={(event) => put(index, { name: event.target.value })}
          />
          <input
            aria-label={`Value of ${part.name || `field ${index + 1}`}`}
            type="password"
            autoComplete="new-password"
            placeholder="value"
            className="field flex-1 font-mono"
            value={part.value}
            onChange={(event) => put(index, { value: event.target.value })}
          />
          <IconButton
            icon="close"
            label={`Remove ${part.name || `field ${index + 1}`}`}
            disabled={parts.length === 1}
            onClick={() => change(parts.filter((_, position) => position !== index))}
          />
        </div>
      ))}
      <span>
        <Button onClick={() => change([...parts, { name: '', value: '' }])}>Add a field</Button>
      </span>
    </>
  )
}
