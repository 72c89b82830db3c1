// Who is told what becomes of executions, and what became of telling them.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { post, put, remove } from '../../api/client'
import { deliveries, notifications } from '../../api/queries'
import type { Delivery, Notification } from '../../api/types'
import { Button, ConfirmButton } from '../../design/controls'
import { shortId } from '../../design/copy'
import { count } from '../../design/number'
import { Empty, QueryView } from '../../design/states'
import { StatusBadge } from '../../design/status'
import { ROW, Table } from '../../design/table'
import { Ago } from '../../design/time'
import { showError, showToast } from '../../design/toast'
import { PageHead } from '../../shell/layout'
import { useTitle } from '../../shell/title'
import { NotificationDialog } from './dialog'

export function NotificationsPage() {
  useTitle('Notifications')
  const [editing, setEditing] = useState<Notification | 'new' | null>(null)
  const notificationsQuery = useQuery(notifications())
  return (
    <>
      <PageHead title="Notifications">
        <Button kind="primary" needs="write" onClick={() => setEditing('new')}>
          New notification
        </Button>
      </PageHead>
      <div className="flex flex-col gap-4 px-4 pb-4">
        <section className="panel overflow-x-auto" aria-label="Notifications">
          <h2 className="border-b border-line px-3 py-1.5 font-medium">Who is told</h2>
          <QueryView query={notificationsQuery}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty title="Nobody is told of anything">
                  A notification tells people and programs when executions fail, end, wait or are late.
                </Empty>
              ) : (
                <Table heads={['Name', 'State', 'Told when', 'Playbooks', 'To', '']}>
                  {items.map((item) => (
                    <NotificationRow key={item.name} item={item} edit={() => setEditing(item)} />
                  ))}
                </Table>
              )
            }
          </QueryView>
        </section>
        <DeliveriesPanel />
      </div>
      {editing !== null && (
        <NotificationDialog
          {...(editing === 'new' ? {} : { existing: editing })}
          onClose={() => setEditing(null)}
        />
      )}
    </>
  )
}

function NotificationRow({ item, edit }: { item: Notification; edit: () => void }) {
  const client = useQueryClient()
  const { name } = item
  const renew = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['notifications'] }),
      client.invalidateQueries({ queryKey: ['deliveries'] }),
    ])
  const test = useMutation({
    mutationFn: () => post('/notifications/{name}/test', { name }),
    onSuccess: (delivery) => {
      showToast(
        delivery.state === 'delivered' ? `${name} got the sample` : `not delivered: ${delivery.error}`,
      )
      return renew()
    },
    onError: showError,
  })
  const toggle = useMutation({
    mutationFn: () => {
      const { on, path, to, auth, children } = item
      return put('/notifications/{name}', { name }, { on, path, to, auth, children, enabled: !item.enabled })
    },
    onSuccess: renew,
    onError: showError,
  })
  const drop = useMutation({
    mutationFn: () => remove('/notifications/{name}', { name }),
    onSuccess: () => {
      showToast(`removed ${name}`)
      return renew()
    },
    onError: showError,
  })
  return (
    <tr className={ROW}>
      <td className="td max-w-56 truncate font-medium max-sm:max-w-[60vw]" title={name}>
        {name}
      </td>
      <td className="td">
        <StatusBadge status={item.enabled ? 'done' : 'paused'} label={item.enabled ? 'on' : 'paused'} />
      </td>
      <td className="td">{item.on.join(', ') || 'a step names it'}</td>
      <td className="td font-mono text-xs">
        <span className="font-sans text-ink-3 sm:hidden">playbooks </span>
        {item.path}
        {item.children && <span className="font-sans text-ink-3"> and children</span>}
      </td>
      <td className="td max-w-96 break-all font-mono text-xs">
        {item.to}
        {item.auth && (
          <>
            {' '}
            <span className="font-sans text-ink-3 whitespace-nowrap">with {item.auth}</span>
          </>
        )}
      </td>
      <td className="td max-sm:w-full">
        <span className="flex gap-1 sm:justify-end">
          <Button
            needs="write"
            aria-label={`Test ${name}`}
            disabled={test.isPending}
            onClick={() => test.mutate()}
          >
            Test
          </Button>
          <Button needs="write" aria-label={`Edit ${name}`} onClick={edit}>
            Edit
          </Button>
          <Button
            needs="write"
            aria-label={`${item.enabled ? 'Pause' : 'Resume'} ${name}`}
            onClick={() => toggle.mutate()}
          >
            {item.enabled ? 'Pause' : 'Resume'}
          </Button>
          <ConfirmButton verb="Remove" needs="write" name={name} onConfirm={() => drop.mutate()} />
        </span>
      </td>
    </tr>
  )
}

function DeliveriesPanel() {
  const [state, setState] = useState<Delivery['state'] | ''>('')
  const deliveriesQuery = useQuery(deliveries(state || null))
  return (
    <section className="panel overflow-x-auto" aria-label="Deliveries">
      <h2 className="flex items-center gap-2 border-b border-line px-3 py-1.5 font-medium">
        What was told
        <select
          className="field ml-auto w-auto"
          aria-label="State of deliveries"
          value={state}
          onChange={(event) => setState(event.target.value as Delivery['state'] | '')}
        >
          <option value="">all</option>
          <option value="failed">failed</option>
          <option value="pending">pending</option>
          <option value="delivered">delivered</option>
        </select>
      </h2>
      <QueryView query={deliveriesQuery}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="Nothing was told">What is told is kept here, with what was answered.</Empty>
          ) : (
            <Table heads={['When', 'State', 'To', 'Of', 'Answer', '']}>
              {items.map((item) => (
                <DeliveryRow key={item.id} item={item} />
              ))}
            </Table>
          )
        }
      </QueryView>
    </section>
  )
}

const STATUS = { delivered: 'done', pending: 'waiting', failed: 'failed' } as const

function DeliveryRow({ item }: { item: Delivery }) {
  const client = useQueryClient()
  const again = useMutation({
    mutationFn: () => post('/deliveries/{number}/redeliver', { number: item.id }),
    onSettled: () => client.invalidateQueries({ queryKey: ['deliveries'] }),
    onError: showError,
  })
  const tried = item.state === 'pending' && item.attempts > 0
  return (
    <tr className={ROW}>
      <td className="td whitespace-nowrap">
        <Ago at={item.at} />
      </td>
      <td className="td">
        <StatusBadge status={STATUS[item.state]} label={tried ? 'trying again' : item.state} />
      </td>
      <td className="td max-w-56 truncate font-medium" title={item.notification}>
        {item.notification}
      </td>
      <td className="td [overflow-wrap:anywhere] sm:max-w-96">
        {item.event}
        {item.step && <span className="text-ink-3"> in {item.step}</span>}
        <span className="ml-1.5 font-mono text-xs text-ink-3">{item.path}</span>
        {item.execution_id && (
          <Link
            href={`/executions/${item.execution_id}`}
            className="ml-1.5 whitespace-nowrap font-mono text-xs text-accent hover:underline"
          >
            {shortId(item.execution_id)}
          </Link>
        )}
      </td>
      <td className="td sm:w-2/5 sm:min-w-56">
        {item.code !== null && <span className="mr-1.5 font-mono text-xs">{item.code}</span>}
        {item.attempts > 1 && <span className="text-xs text-ink-3">{count(item.attempts)} attempts</span>}
        {item.error && (
          <span className="block max-w-[34rem] break-words text-xs text-failed">{item.error}</span>
        )}
        {item.state === 'pending' && item.next_at && (
          <span className="block text-xs text-ink-3">
            next <Ago at={item.next_at} />
          </span>
        )}
      </td>
      <td className="td max-sm:ml-auto">
        <span className="flex sm:justify-end">
          <Button
            kind="quiet"
            needs="write"
            aria-label={`Send again: delivery ${item.id}`}
            disabled={again.isPending}
            onClick={() => again.mutate()}
          >
            Send again
          </Button>
        </span>
      </td>
    </tr>
  )
}
