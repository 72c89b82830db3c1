// What starts executions without a person: by the clock, by a call, by a message.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { type Body, post, put, remove } from '../../api/client'
import { schedules, triggers } from '../../api/queries'
import type { Schedule, Trigger } from '../../api/types'
import { Button, ConfirmButton } from '../../design/controls'
import { shortId } from '../../design/copy'
import { count } from '../../design/number'
import { Empty, QueryView } from '../../design/states'
import { StatusBadge } from '../../design/status'
import { ROW, Table } from '../../design/table'
import { Ago, exact, readable } from '../../design/time'
import { showError, showToast } from '../../design/toast'
import { PageHead } from '../../shell/layout'
import { useTitle } from '../../shell/title'
import { BackfillDialog } from './backfill-dialog'
import { BackfillsPanel } from './backfills'
import { ScheduleDialog } from './schedule-dialog'
import { TickStrip } from './ticks'
import { TriggerLast, TriggerSource, triggerBody } from './trigger-cells'
import { TriggerDialog } from './trigger-dialog'

export function SchedulesPage() {
  useTitle('Schedules and triggers')
  const [adding, setAdding] = useState<'schedule' | 'trigger' | null>(null)
  const schedulesQuery = useQuery(schedules())
  const triggersQuery = useQuery(triggers())
  return (
    <>
      <PageHead title="Schedules and triggers">
        <Button kind="primary" needs="write" onClick={() => setAdding('schedule')}>
          New schedule
        </Button>
        <Button needs="write" onClick={() => setAdding('trigger')}>
          New trigger
        </Button>
      </PageHead>
      <div className="flex flex-col gap-4 px-4 pb-4">
        <section className="panel overflow-x-auto" aria-label="Schedules">
          <h2 className="border-b border-line px-3 py-1.5 font-medium">Schedules</h2>
          <QueryView query={schedulesQuery}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty title="Nothing is started by the clock">
                  A schedule starts a playbook by a cron expression, or every so often.
                </Empty>
              ) : (
                <Table heads={['Name', 'State', 'Playbook', 'When', 'Next', 'Last', '']}>
                  {items.map((item) => (
                    <ScheduleRow key={item.name} item={item} />
                  ))}
                </Table>
              )
            }
          </QueryView>
        </section>
        <BackfillsPanel />
        <section className="panel overflow-x-auto" aria-label="Triggers">
          <h2 className="border-b border-line px-3 py-1.5 font-medium">Triggers</h2>
          <QueryView query={triggersQuery}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty title="Nothing is started by a message">
                  A trigger starts a playbook when a webhook is called, a NATS message comes, another playbook
                  ends, or an object arrives.
                </Empty>
              ) : (
                <Table heads={['Name', 'State', 'Playbook', 'By', 'Payload as', 'Last', '']}>
                  {items.map((item) => (
                    <TriggerRow key={item.name} item={item} />
                  ))}
                </Table>
              )
            }
          </QueryView>
        </section>
      </div>
      {adding === 'schedule' && <ScheduleDialog onClose={() => setAdding(null)} />}
      {adding === 'trigger' && <TriggerDialog onClose={() => setAdding(null)} />}
    </>
  )
}

/** A span of whole seconds, without parts that are nothing. */
const span = (seconds: number): string => {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ]
  return [
    days && `${days} d`,
    hours && `${hours} h`,
    minutes && `${minutes} min`,
    seconds % 60 && `${seconds % 60} s`,
  ]
    .filter(Boolean)
    .join(' ')
}

type Change = Body<'/schedules/{name}' | '/triggers/{name}', 'put'>

function useRowActions(kind: 'schedules' | 'triggers', name: string) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const renew = () => client.invalidateQueries({ queryKey: [kind] })
  return {
    run: useMutation({
      mutationFn: () => post(`/${kind}/{name}/run`, { name }, {}),
      onSuccess: (execution) => go(`/executions/${execution.execution_id}`),
      onError: showError,
    }),
    keep: useMutation({
      mutationFn: (body: Change) => put(`/${kind}/{name}`, { name }, body),
      onSuccess: renew,
      onError: showError,
    }),
    drop: useMutation({
      mutationFn: () => remove(`/${kind}/{name}`, { name }),
      onSuccess: () => {
        showToast(`deleted ${name}`)
        return renew()
      },
      onError: showError,
    }),
  }
}

function RowActions({
  name,
  enabled,
  actions,
  toggle,
  children,
}: {
  name: string
  enabled: boolean
  actions: ReturnType<typeof useRowActions>
  toggle: () => void
  children?: ReactNode
}) {
  return (
    <td className="td max-sm:w-full">
      <span className="flex flex-wrap gap-1 sm:ml-auto sm:w-72 sm:justify-end 2xl:w-auto 2xl:flex-nowrap">
        <Button
          icon="play"
          needs="run"
          className="max-sm:[&_svg]:hidden"
          aria-label={`Run ${name} now`}
          onClick={() => actions.run.mutate()}
        >
          Run<span className="max-sm:hidden"> now</span>
        </Button>
        <Button needs="write" onClick={toggle} aria-label={`${enabled ? 'Pause' : 'Resume'} ${name}`}>
          {enabled ? 'Pause' : 'Resume'}
        </Button>
        {children}
        <ConfirmButton verb="Delete" needs="write" name={name} onConfirm={() => actions.drop.mutate()} />
      </span>
    </td>
  )
}

function PlaybookCell({ path, version }: { path: string; version: number | null }) {
  return (
    <td className="td max-w-0 sm:w-1/4 sm:min-w-32 max-sm:w-full max-sm:max-w-full">
      <span className="flex items-baseline gap-1.5">
        <Link href={`/playbooks/${path}`} title={path} className="truncate hover:underline">
          {path}
        </Link>
        {version !== null && <span className="text-xs text-ink-3">v{version}</span>}
      </span>
    </td>
  )
}

function ScheduleRow({ item }: { item: Schedule }) {
  const [dialog, setDialog] = useState<'edit' | 'backfill' | null>(null)
  const close = () => setDialog(null)
  const actions = useRowActions('schedules', item.name)
  const { name, path, version, workload, cron, timezone, every_s, catch_up, overlap } = item
  const toggle = () =>
    actions.keep.mutate({
      path,
      version,
      workload,
      cron,
      timezone,
      every_s,
      catch_up,
      overlap,
      enabled: !item.enabled,
    })
  return (
    <tr className={ROW}>
      <td className="td max-w-56 truncate font-medium max-sm:max-w-[60vw]" title={`What ${name} started`}>
        <StartedBy what="schedule" name={name} />
      </td>
      <td className="td">
        <StatusBadge
          status={item.enabled ? (item.last_error ? 'failed' : 'done') : 'paused'}
          label={item.enabled ? (item.last_error ? 'last tick failed' : 'on') : 'paused'}
        />
      </td>
      <PlaybookCell path={path} version={version} />
      <td className="td whitespace-nowrap font-mono text-xs">
        {cron ? (
          <>
            {cron} <span className="text-ink-3">{timezone}</span>
          </>
        ) : (
          `every ${span(every_s ?? 0)}`
        )}
        <span className="block font-sans text-ink-3">
          overlap {overlap}, catch up {catch_up}
        </span>
      </td>
      <td className="td">
        <span className="text-ink-3 sm:hidden">next </span>
        <Ago at={item.next_at} />
      </td>
      <td className="td sm:min-w-56">
        <span className="text-ink-3 sm:hidden">last </span>
        <Ago at={item.last_at} />
        {item.last_execution && (
          <Link
            href={`/executions/${item.last_execution}`}
            className="ml-1.5 whitespace-nowrap font-mono text-xs text-accent hover:underline"
          >
            {shortId(item.last_execution)}
          </Link>
        )}
        {item.last_error && (
          <span className="block max-w-80 break-words text-xs text-failed">{item.last_error}</span>
        )}
        <SkippedTicks schedule={item} />
        <TickStrip name={name} />
      </td>
      <RowActions name={name} enabled={item.enabled} actions={actions} toggle={toggle}>
        <Button needs="write" onClick={() => setDialog('edit')} aria-label={`Edit ${name}`}>
          Edit
        </Button>
        <Button needs="write" onClick={() => setDialog('backfill')} aria-label={`Backfill ${name}`}>
          Backfill
        </Button>
        {dialog === 'edit' && <ScheduleDialog item={item} onClose={close} />}
        {dialog === 'backfill' && <BackfillDialog item={item} onClose={close} />}
      </RowActions>
    </tr>
  )
}

/** The name of what starts executions, which leads to those that it started. */
function StartedBy({ what, name }: { what: 'schedule' | 'trigger'; name: string }) {
  return (
    <Link href={`/executions?by=${encodeURIComponent(`${what} ${name}`)}`} className="hover:underline">
      {name}
    </Link>
  )
}

/** The newest ticks that were due and started nothing; of a single one the last error tells already. */
function SkippedTicks({ schedule }: { schedule: Schedule }) {
  const { skipped, last_at, last_error } = schedule
  if (!skipped || (skipped.count === 1 && last_error && skipped.to === last_at)) return null
  return (
    <span
      className="block max-w-80 break-words text-xs text-held"
      title={`from ${exact(skipped.from)} to ${exact(skipped.to)}`}
    >
      {skipped.count === 1 ? '1 tick was' : `${count(skipped.count)} ticks were`} skipped, the last{' '}
      <Ago at={skipped.to} />: {readable(skipped.why)}
      {skipped.total > skipped.count && `; ${count(skipped.total)} so far`}
    </span>
  )
}

function TriggerRow({ item }: { item: Trigger }) {
  const [editing, setEditing] = useState(false)
  const actions = useRowActions('triggers', item.name)
  const { name, path, version } = item
  const toggle = () => actions.keep.mutate({ ...triggerBody(item), enabled: !item.enabled })
  return (
    <tr className={ROW}>
      <td className="td max-w-56 truncate font-medium max-sm:max-w-[60vw]" title={`What ${name} started`}>
        <StartedBy what="trigger" name={name} />
      </td>
      <td className="td">
        <StatusBadge status={item.enabled ? 'done' : 'paused'} label={item.enabled ? 'on' : 'paused'} />
      </td>
      <PlaybookCell path={path} version={version} />
      <td className="td font-mono text-xs">
        <TriggerSource item={item} />
      </td>
      <td className="td font-mono text-xs">
        <span className="font-sans text-ink-3 sm:hidden">payload as </span>workload.{item.as}
      </td>
      <TriggerLast item={item} />
      <RowActions name={name} enabled={item.enabled} actions={actions} toggle={toggle}>
        <Button needs="write" onClick={() => setEditing(true)} aria-label={`Edit ${name}`}>
          Edit
        </Button>
        {editing && <TriggerDialog item={item} onClose={() => setEditing(false)} />}
      </RowActions>
    </tr>
  )
}
