// Making up for ticks of the past: what would be started is shown before it is.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import { post } from '../../api/client'
import type { PlannedBackfill, Schedule } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { shortId } from '../../design/copy'
import { count } from '../../design/number'
import { Failure } from '../../design/states'
import { zoned } from '../../design/time'
import { showToast } from '../../design/toast'

const DAY_MS = 86_400_000
const LISTED = 200

/** A moment as the field for moments has it, by the clocks of a time zone. */
const fieldOf = (moment: number, timeZone: string): string =>
  zoned(moment, timeZone).slice(0, 16).replace(' ', 'T')

export function BackfillDialog({ item, onClose }: { item: Schedule; onClose: () => void }) {
  const client = useQueryClient()
  const [opened] = useState(Date.now())
  const [from, setFrom] = useState(`${fieldOf(opened - 7 * DAY_MS, item.timezone).slice(0, 10)}T00:00`)
  const [to, setTo] = useState(fieldOf(opened, item.timezone))
  const [parallel, setParallel] = useState(1)
  const body = { schedule: item.name, from, to, parallel }
  const plan = useMutation({ mutationFn: () => post('/backfills', {}, { ...body, dry_run: true }) })
  const start = useMutation({
    mutationFn: () => post('/backfills', {}, body),
    onSuccess: () => {
      showToast(`the backfill of ${item.name} has begun`)
      void client.invalidateQueries({ queryKey: ['backfills'] })
      onClose()
    },
  })
  const change =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      set(value)
      plan.reset()
      start.reset()
    }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (plan.data) start.mutate()
    else plan.mutate()
  }
  const error = plan.error ?? start.error
  return (
    <Dialog title={`Backfill ${item.name}`} onClose={onClose}>
      <form className="flex flex-col gap-3" onSubmit={submit}>
        <p className="text-ink-2">
          Starts one execution for each tick of a span that has none yet. The times are those of{' '}
          {item.timezone}.
        </p>
        <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
          <Moment label="From" value={from} onChange={change(setFrom)} />
          <Moment label="To" value={to} onChange={change(setTo)} />
        </div>
        <Field label="Executions at a time">
          <input
            className="field"
            type="number"
            min={1}
            max={100}
            required
            value={parallel}
            onChange={(event) => change(setParallel)(Number(event.target.value))}
          />
        </Field>
        {plan.data && <Plan plan={plan.data} timeZone={item.timezone} />}
        {error && <Failure error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button
            kind="primary"
            type="submit"
            disabled={plan.isPending || start.isPending || (plan.data && missing(plan.data) === 0)}
          >
            {plan.data ? `Start ${count(missing(plan.data))}` : 'Show what it would start'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const missing = (plan: PlannedBackfill): number => plan.ticks.length - Object.keys(plan.existing).length

function Moment({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  return (
    <Field label={label}>
      <input
        className="field"
        type="datetime-local"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  )
}

function Plan({ plan, timeZone }: { plan: PlannedBackfill; timeZone: string }) {
  const has = Object.keys(plan.existing).length
  return (
    <section aria-label="What it would start" className="rounded-md bg-sunken px-2.5 py-2 text-xs">
      <h3 className="text-ink-2">
        {plan.ticks.length === 1 ? '1 tick' : `${count(plan.ticks.length)} ticks`}
        {has > 0 && `, ${count(has)} of which ${has === 1 ? 'has its' : 'have their'} execution already`}
      </h3>
      <ol className="mt-1 max-h-48 overflow-auto">
        {plan.ticks.slice(0, LISTED).map((tick) => (
          <li key={tick} className="flex justify-between gap-2" data-planned>
            <span className="font-mono">{zoned(tick, timeZone)}</span>
            {plan.existing[tick] ? (
              <Link href={`/executions/${plan.existing[tick]}`} className="text-accent hover:underline">
                has {shortId(plan.existing[tick])}
              </Link>
            ) : (
              <span className="text-ink-3">would be started</span>
            )}
          </li>
        ))}
        {plan.ticks.length > LISTED && (
          <li className="text-ink-3">and {count(plan.ticks.length - LISTED)} more</li>
        )}
      </ol>
    </section>
  )
}
