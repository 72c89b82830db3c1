// Making a schedule, or changing one in place.
import { useState } from 'react'
import { post, put } from '../../api/client'
import type { Schedule } from '../../api/types'
import { Choice } from '../../design/choice'
import { Field } from '../../design/controls'
import { ComingTicks } from './coming-ticks'
import { StandingDialog } from './dialogs'

const OVERLAPS = {
  skip: 'skip the tick',
  queue: 'queue it',
  allow: 'run both',
  replace: 'cancel the earlier one',
}
const CATCH_UPS = { none: 'none', latest: 'the latest', all: 'all' }
type CatchUp = keyof typeof CATCH_UPS

/** How releases before this one said what to catch up. */
const OLDER: Record<string, CatchUp> = { one: 'latest', skip: 'none' }

const NEW = {
  cron: '0 6 * * *',
  timezone: 'UTC',
  every_s: 3600,
  overlap: 'skip',
  catch_up: 'latest',
} as const

interface Draft {
  by: 'cron' | 'every'
  cron: string
  timezone: string
  every_s: number
  overlap: keyof typeof OVERLAPS
  catch_up: CatchUp
}
interface Part {
  draft: Draft
  change: (part: Partial<Draft>) => void
}

const draftOf = (item: Schedule | undefined): Draft => ({
  by: item?.every_s ? 'every' : 'cron',
  cron: item?.cron ?? NEW.cron,
  timezone: item?.timezone ?? NEW.timezone,
  every_s: item?.every_s ?? NEW.every_s,
  overlap: item?.overlap ?? NEW.overlap,
  catch_up: OLDER[item?.catch_up ?? ''] ?? ((item?.catch_up ?? NEW.catch_up) as CatchUp),
})

export function ScheduleDialog({ item, onClose }: { item?: Schedule; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(item))
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  const { by, cron, timezone, every_s, overlap, catch_up } = draft
  const times = by === 'cron' ? { cron, timezone } : { every_s }
  return (
    <StandingDialog
      noun="schedule"
      item={item}
      keep={(name, start) => {
        const body = { ...start, overlap, catch_up, ...times }
        if (!item) return post('/schedules', {}, { ...body, name })
        return put('/schedules/{name}', { name }, { ...body, enabled: item.enabled })
      }}
      onClose={onClose}
    >
      <Choice
        label="Started by"
        value={by}
        onChange={(next) => change({ by: next })}
        options={{ cron: 'a cron expression', every: 'an interval' }}
      />
      {by === 'cron' ? <CronFields {...{ draft, change }} /> : <IntervalField {...{ draft, change }} />}
      <ComingTicks
        times={{ ...times, ...(item ? { schedule: item.name } : {}) }}
        paused={item?.enabled === false}
      />
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        <Choice
          label="While an earlier tick is not over"
          value={overlap}
          onChange={(next) => change({ overlap: next })}
          options={OVERLAPS}
        />
        <Choice
          label="Of ticks missed while no server ran, start"
          value={catch_up}
          onChange={(next) => change({ catch_up: next })}
          options={CATCH_UPS}
        />
      </div>
    </StandingDialog>
  )
}

function IntervalField({ draft, change }: Part) {
  return (
    <Field label="Seconds between ticks">
      <input
        className="field"
        type="number"
        min={1}
        required
        value={draft.every_s}
        onChange={(event) => change({ every_s: Number(event.target.value) })}
      />
    </Field>
  )
}

function CronFields({ draft, change }: Part) {
  return (
    <div className="grid grid-cols-2 gap-2">
      <Field label="Cron expression">
        <input
          className="field font-mono"
          required
          list="cron-words"
          value={draft.cron}
          onChange={(event) => change({ cron: event.target.value })}
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
          value={draft.timezone}
          onChange={(event) => change({ timezone: event.target.value })}
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
