// Making a trigger, or changing one in place.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Body, post, put } from '../../api/client'
import type { Obj, Trigger } from '../../api/types'
import { Choice } from '../../design/choice'
import { Button, Dialog, Field } from '../../design/controls'
import { CopyButton } from '../../design/copy'
import { showToast } from '../../design/toast'
import { CommonFields, DialogButtons } from './dialogs'
import { triggerBody } from './trigger-cells'
import { Narrowing, SourceFields } from './trigger-fields'

export type Draft = Body<'/triggers/{name}', 'put'>

const KINDS = {
  webhook: 'a webhook',
  nats: 'a NATS subject',
  playbook: 'executions that end',
  object: 'objects that arrive',
}

const NEW: Draft = { kind: 'webhook', path: '', as: 'payload' }

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
  const client = useQueryClient()
  const [was] = useState<Draft>(item ? triggerBody(item) : NEW)
  const [name, setName] = useState(item?.name ?? '')
  const [draft, setDraft] = useState(was)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  const keep = useMutation({
    mutationFn: () => {
      if (!item) return post('/triggers', {}, { ...told(draft), name })
      const version = draft.path === was.path ? was.version : null
      return put('/triggers/{name}', { name }, { ...told(draft), version })
    },
    onSuccess: (trigger) => {
      void client.invalidateQueries({ queryKey: ['triggers'] })
      if (!trigger.secret || draft.secret) {
        showToast(item ? `changed ${name}` : `created ${name}`)
        onClose()
      }
    },
  })
  if (keep.data?.secret && !draft.secret)
    return <NewSecret name={name} secret={keep.data.secret} onClose={onClose} />
  return (
    <Dialog title={item ? `Edit ${name}` : 'New trigger'} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          keep.mutate()
        }}
      >
        <CommonFields
          name={name}
          path={draft.path}
          setPath={(path) => change({ path })}
          setWorkload={(workload: Obj) => change({ workload })}
          besides={draft.as ?? 'payload'}
          {...(was.workload ? { workload: was.workload } : {})}
          {...(item ? {} : { setName })}
        >
          <Choice
            label="Started by"
            value={draft.kind}
            onChange={(kind) => setDraft({ ...NEW, ...shared(draft), kind })}
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

/** What triggers of every kind have. */
const shared = ({ path, workload, as, filter, debounce, batch }: Draft): Partial<Draft> => ({
  path,
  ...(workload ? { workload } : {}),
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
