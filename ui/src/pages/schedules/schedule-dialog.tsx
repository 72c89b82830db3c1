// Making a schedule, or changing one in place.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post, put } from '../../api/client'
import type { Obj, Schedule } from '../../api/types'
import { Choice } from '../../design/choice'
import { Dialog, Field } from '../../design/controls'
import { showToast } from '../../design/toast'
import { ComingTicks } from './coming-ticks'
import { CommonFields, DialogButtons } from './dialogs'

type Overlap = 'skip' | 'queue' | 'allow' | 'replace'
type CatchUp = 'none' | 'latest' | 'all'

/** How releases before this one said what to catch up. */
const OLDER: Record<string, CatchUp> = { one: 'latest', skip: 'none' }

const NEW = {
  name: '',
  path: '',
  version: null as number | null,
  workload: {} as Obj,
  cron: '0 6 * * *' as string | null,
  timezone: 'UTC',
  every_s: null as number | null,
  overlap: 'skip' as Overlap,
  catch_up: 'latest' as string,
  enabled: true,
}

export function ScheduleDialog({ item, onClose }: { item?: Schedule; onClose: () => void }) {
  const client = useQueryClient()
  const [was] = useState({ ...NEW, ...item })
  const [name, setName] = useState(was.name)
  const [path, setPath] = useState(was.path)
  const [workload, setWorkload] = useState<Obj>(was.workload)
  const [by, setBy] = useState<'cron' | 'every'>(was.every_s ? 'every' : 'cron')
  const [cron, setCron] = useState(was.cron ?? '0 6 * * *')
  const [timezone, setTimezone] = useState(was.timezone)
  const [every, setEvery] = useState(was.every_s ?? 3600)
  const [overlap, setOverlap] = useState<Overlap>(was.overlap)
  const [catchUp, setCatchUp] = useState<CatchUp>(OLDER[was.catch_up] ?? (was.catch_up as CatchUp))
  const times = by === 'cron' ? { cron, timezone } : { every_s: every }
  const keep = useMutation({
    mutationFn: async () => {
      const body = { path, workload, overlap, catch_up: catchUp, ...times }
      if (!item) return post('/schedules', {}, { ...body, name })
      const version = path === was.path ? was.version : null
      return put('/schedules/{name}', { name }, { ...body, version, enabled: was.enabled })
    },
    onSuccess: () => {
      showToast(item ? `changed ${name}` : `created ${name}`)
      void client.invalidateQueries({ queryKey: ['schedules'] })
      onClose()
    },
  })
  return (
    <Dialog title={item ? `Edit ${name}` : 'New schedule'} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          keep.mutate()
        }}
      >
        <CommonFields
          {...{ name, path, setPath, setWorkload, workload: was.workload }}
          {...(item ? {} : { setName })}
        >
          <Choice
            label="Started by"
            value={by}
            onChange={setBy}
            options={{ cron: 'a cron expression', every: 'an interval' }}
          />
          {by === 'cron' ? (
            <CronFields {...{ cron, setCron, timezone, setTimezone }} />
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
          <ComingTicks times={{ ...times, ...(item ? { schedule: name } : {}) }} paused={!was.enabled} />
          <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
            <Choice
              label="While an earlier tick is not over"
              value={overlap}
              onChange={setOverlap}
              options={{
                skip: 'skip the tick',
                queue: 'queue it',
                allow: 'run both',
                replace: 'cancel the earlier one',
              }}
            />
            <Choice
              label="Of ticks missed while no server ran, start"
              value={catchUp}
              onChange={setCatchUp}
              options={{ none: 'none', latest: 'the latest', all: 'all' }}
            />
          </div>
        </CommonFields>
        <DialogButtons
          onClose={onClose}
          busy={keep.isPending}
          error={keep.error}
          {...(item ? { verb: 'Save' } : {})}
        />
      </form>
    </Dialog>
  )
}

function CronFields({
  cron,
  setCron,
  timezone,
  setTimezone,
}: {
  cron: string
  setCron: (cron: string) => void
  timezone: string
  setTimezone: (timezone: string) => void
}) {
  return (
    <div className="grid grid-cols-2 gap-2">
      <Field label="Cron expression">
        <input
          className="field font-mono"
          required
          list="cron-words"
          value={cron}
          onChange={(event) => setCron(event.target.value)}
        />
      </Field>
      <datalist id="cron-words">
        {['@hourly', '@daily', '@weekly', '@monthly'].map((word) => (
          <option key={word} value={word} />
        ))}
      </datalist>
      <Field label="Time zone">
        <input
          className="field"
          required
          list="zones"
          value={timezone}
          onChange={(event) => setTimezone(event.target.value)}
        />
      </Field>
      <datalist id="zones">
        {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
    </div>
  )
}
