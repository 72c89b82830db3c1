// Making a trigger, or changing one in place.
import { useState } from 'react'
import { type Body, post, put } from '../../api/client'
import type { Trigger } from '../../api/types'
import { Choice } from '../../design/choice'
import { Button, Dialog, Field } from '../../design/controls'
import { CopyButton } from '../../design/copy'
import { StandingDialog, type Start } from './dialogs'
import { triggerBody } from './trigger-cells'
import { Narrowing, SourceFields } from './trigger-fields'

export type Draft = Omit<Body<'/triggers/{name}', 'put'>, keyof Start>

const KINDS = {
  webhook: 'a webhook',
  nats: 'a NATS subject',
  playbook: 'executions that end',
  object: 'objects that arrive',
}

const NEW = { kind: 'webhook', as: 'payload' } as const

/** What is sent: nothing that only another kind has, and no text that nobody wrote. */
const told = (draft: Draft): Draft => {
  const { kind, subject, queue, source, auth, every, existing, after, on, match, children, ...rest } = draft
  const each = kind === 'playbook' && match === 'all' // one execution for the newest end of each already
  return {
    ...rest,
    kind,
    filter: rest.filter || null,
    debounce: (!each && rest.debounce) || null,
    batch: (!each && rest.batch) || null,
    secret: rest.secret || null,
    ...(kind === 'nats' ? { subject, queue: queue || null } : {}),
    ...(kind === 'object' ? { source, auth: auth || null, every, existing } : {}),
    ...(kind === 'playbook' ? { after, on, match, children } : {}),
  }
}

export function TriggerDialog({ item, onClose }: { item?: Trigger; onClose: () => void }) {
  const [draft, setDraft] = useState<Draft>(item ? triggerBody(item) : NEW)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  return (
    <StandingDialog
      noun="trigger"
      item={item}
      keep={(name, start) => {
        const body = { ...told(draft), ...start }
        return item ? put('/triggers/{name}', { name }, body) : post('/triggers', {}, { ...body, name })
      }}
      afterwards={({ name, secret }) =>
        secret && !draft.secret ? <NewSecret {...{ name, secret, onClose }} /> : null
      }
      besides={draft.as ?? NEW.as}
      onClose={onClose}
    >
      <Choice
        label="Started by"
        value={draft.kind}
        onChange={(kind) => setDraft({ ...NEW, ...ofEveryKind(draft), kind })}
        options={KINDS}
        disabled={item !== undefined}
      />
      <SourceFields draft={draft} change={change} old={item !== undefined} />
      <Field label="Key of the workload that gets the message">
        <input
          className="field font-mono"
          required
          value={draft.as}
          onChange={(event) => change({ as: event.target.value })}
        />
      </Field>
      <Narrowing draft={draft} change={change} />
    </StandingDialog>
  )
}

/** What of a trigger stays when it becomes one of another kind. */
const ofEveryKind = ({ as, filter, debounce, batch }: Draft): Partial<Draft> => ({
  ...(as ? { as } : {}),
  filter: filter ?? null,
  debounce: debounce ?? null,
  batch: batch ?? null,
})

function NewSecret({ name, secret, onClose }: { name: string; secret: string; onClose: () => void }) {
  return (
    <Dialog title={`The secret of ${name}`} onClose={onClose}>
      <p className="mb-2 text-ink-2">
        Callers prove themselves with it. It is shown this once and kept nowhere.
      </p>
      <p
        className="mb-3 break-words rounded-md bg-sunken px-2 py-1.5 font-mono text-xs [overflow-wrap:anywhere]"
        data-secret
      >
        {secret}
      </p>
      <div className="flex justify-end gap-2">
        <CopyButton text={secret} />
        <Button kind="primary" onClick={onClose}>
          I have it
        </Button>
      </div>
    </Dialog>
  )
}
