// The fields of a trigger: what it waits for by its kind, and how much of that counts.
import { useState } from 'react'
import { Choice } from '../../design/choice'
import { Field } from '../../design/controls'
import type { Draft } from './trigger-dialog'

interface Props {
  draft: Draft
  change: (part: Partial<Draft>) => void
}

const SPAN = '[1-9][0-9]{0,5}[smhd]'

export function SourceFields({ draft, change, old }: Props & { old: boolean }) {
  if (draft.kind === 'nats') return <SubjectFields {...{ draft, change }} />
  if (draft.kind === 'playbook') return <EndFields {...{ draft, change }} />
  if (draft.kind === 'object') return <ObjectFields {...{ draft, change, old }} />
  return (
    <Text
      label={old ? 'Another secret' : 'Secret'}
      hint={old ? 'without one the old stays' : 'without one it is made, and shown once'}
      value={draft.secret}
      onChange={(secret) => change({ secret })}
      type="password"
    />
  )
}

function SubjectFields({ draft, change }: Props) {
  return (
    <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
      <Text label="Subject" required value={draft.subject} onChange={(subject) => change({ subject })} />
      <Text
        label="Queue group"
        hint="of the servers; else its own"
        value={draft.queue}
        onChange={(queue) => change({ queue })}
      />
    </div>
  )
}

const ENDS = { completed: 'completes', failed: 'fails', both: 'completes or fails' } as const

function EndFields({ draft, change }: Props) {
  const on = draft.on ?? ['completed']
  const end = on.length > 1 ? 'both' : (on[0] ?? 'completed')
  return (
    <>
      <Text
        label="Ends of"
        hint="paths with commas between; * stands for any characters"
        required
        value={draft.after?.join(', ')}
        onChange={(text) =>
          change({
            after: text
              .split(',')
              .map((path) => path.trim())
              .filter(Boolean),
          })
        }
        whileTyping={false}
      />
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        <Choice
          label="When"
          value={draft.match ?? 'any'}
          onChange={(match) => change({ match })}
          options={{ any: 'any of them', all: 'each of them' }}
        />
        <Choice
          label="Ends as"
          value={end}
          onChange={(next) => change({ on: next === 'both' ? ['completed', 'failed'] : [next] })}
          options={ENDS}
        />
      </div>
      <Tick
        label="also children, which other executions started"
        value={draft.children ?? false}
        onChange={(children) => change({ children })}
      />
    </>
  )
}

function ObjectFields({ draft, change, old }: Props & { old: boolean }) {
  return (
    <>
      <Text
        label="Place"
        hint="s3://BUCKET/PREFIX, gs://, az:// or a folder of the servers"
        required
        value={draft.source}
        onChange={(source) => change({ source })}
      />
      <div className="grid grid-cols-1 gap-2 sm:grid-cols-2">
        <Text label="Credential" value={draft.auth} onChange={(auth) => change({ auth })} />
        <Text
          label="Looked at every"
          value={draft.every ?? '30s'}
          onChange={(every) => change({ every })}
          required
          pattern={SPAN}
        />
      </div>
      {!old && (
        <Tick
          label="also what is there already"
          value={draft.existing ?? false}
          onChange={(existing) => change({ existing })}
        />
      )}
    </>
  )
}

/** Which of what arrives counts, and how long is waited for more of it. */
export function Narrowing({ draft, change }: Props) {
  const { filter, debounce, batch } = draft
  const [opened] = useState(Boolean(filter || debounce || batch))
  const each = draft.kind === 'playbook' && draft.match === 'all'
  const batched = (part: { max?: number; within?: string }) => {
    const next = { max: batch?.max ?? 0, within: batch?.within ?? '', ...part }
    change({ batch: next.max || next.within ? next : null })
  }
  return (
    <details open={opened}>
      <summary className="text-ink-2">Filter, debounce, batch</summary>
      <div className="mt-2 flex flex-col gap-3">
        <Text
          label="Only what this holds for"
          hint="as in {{ trigger.payload.status == 'paid' }}"
          value={filter}
          onChange={(text) => change({ filter: text })}
        />
        {!each && (
          <div className="grid grid-cols-1 gap-2 sm:grid-cols-3">
            <Text
              label="Once nothing comes for"
              hint="as in 30s"
              value={debounce}
              onChange={(text) => change({ debounce: text })}
              pattern={SPAN}
            />
            <Text
              label="Together up to"
              hint="so many"
              value={batch?.max ? String(batch.max) : ''}
              onChange={(text) => batched({ max: Number(text) })}
              type="number"
              required={Boolean(batch)}
            />
            <Text
              label="Within"
              hint="of the first, as in 5s"
              value={batch?.within}
              onChange={(within) => batched({ within })}
              pattern={SPAN}
              required={Boolean(batch)}
            />
          </div>
        )}
      </div>
    </details>
  )
}

function Text({
  label,
  hint,
  value,
  onChange,
  whileTyping = true,
  ...rest
}: {
  label: string
  hint?: string
  value: string | null | undefined
  onChange: (value: string) => void
  whileTyping?: boolean // else what is made of the text is put in its place only when the field is left
  required?: boolean
  pattern?: string
  type?: 'text' | 'number' | 'password'
}) {
  const text = value ?? ''
  return (
    <Field label={label} {...(hint ? { hint } : {})}>
      <input
        className="field font-mono"
        autoComplete="off"
        {...(whileTyping ? { value: text } : { defaultValue: text })}
        {...(rest.type === 'number' ? { min: 1, max: 1000 } : {})}
        {...(rest.type === 'password' ? { minLength: 16, autoComplete: 'new-password' } : {})}
        onChange={(event) => onChange(event.target.value)}
        {...rest}
      />
    </Field>
  )
}

function Tick({
  label,
  value,
  onChange,
}: {
  label: string
  value: boolean
  onChange: (value: boolean) => void
}) {
  return (
    <label className="flex items-center gap-1.5 text-ink-2">
      <input
        type="checkbox"
        className="accent-accent"
        checked={value}
        onChange={(event) => onChange(event.target.checked)}
      />
      {label}
    </label>
  )
}
