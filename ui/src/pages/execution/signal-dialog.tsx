// Telling a waiting task what it waits for: a form from the payload's schema, or the payload as JSON.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { session } from '../../api/queries'
import type { Json, Obj, Wait } from '../../api/types'
import { Button, Dialog, Field } from '../../design/controls'
import { initialValue, type Schema, SchemaForm } from '../../design/form'
import { useAction } from './actions'

const APPROVAL: Schema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean', default: true, description: 'without it, it is rejected' },
    by: { type: 'string', description: 'who decides' },
    reason: { type: 'string', description: 'why' },
  },
  required: ['approved'],
}

export const schemaOf = (wait: Wait): Schema | null => {
  const schema = wait.schema
  if (schema && typeof schema === 'object' && !Array.isArray(schema)) return schema as Schema
  return wait.approval !== null ? APPROVAL : null
}

export function SignalDialog({
  id,
  waits,
  onClose,
  first,
}: {
  id: string
  waits: Wait[]
  onClose: () => void
  first?: string
}) {
  const waiting = waits.filter((wait) => wait.signal !== null)
  const [name, setName] = useState(first ?? waiting[0]?.signal ?? '')
  const wait = waiting.find((candidate) => candidate.signal === name)
  return (
    <Dialog title={wait?.approval ? 'Answer with details' : 'Send a signal'} onClose={onClose}>
      <div className="flex flex-col gap-3">
        {wait?.approval && (
          <p className="max-h-[30vh] overflow-auto font-medium [overflow-wrap:anywhere]">{wait.approval}</p>
        )}
        <Field
          label="Signal"
          hint={
            waiting.length
              ? undefined
              : 'Nothing waits for a signal now; one that is sent is kept until a task asks for it.'
          }
        >
          <input
            className="field"
            list="signals"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <datalist id="signals">
          {waiting.map((candidate) => (
            <option key={candidate.signal} value={candidate.signal ?? ''} />
          ))}
        </datalist>
        <Payload key={name} id={id} name={name} schema={wait ? schemaOf(wait) : null} onClose={onClose} />
      </div>
    </Dialog>
  )
}

function Payload({
  id,
  name,
  schema,
  onClose,
}: {
  id: string
  name: string
  schema: Schema | null
  onClose: () => void
}) {
  const act = useAction(id)
  const who = useQuery(session()).data?.name
  const [value, setValue] = useState<Json>(
    schema === APPROVAL
      ? { ...(initialValue(schema) as Obj), by: who ?? '' }
      : schema
        ? initialValue(schema)
        : {},
  )
  const [text, setText] = useState('{}')
  const [wrong, setWrong] = useState('')
  const send = () => {
    let payload = value
    if (!schema) {
      try {
        payload = JSON.parse(text) as Json
      } catch (error) {
        setWrong(`this is not JSON: ${(error as Error).message}`)
        return
      }
    }
    act.mutate(
      { action: 'signal', body: { name, payload }, message: `signal '${name}' sent` },
      { onSuccess: onClose },
    )
  }
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      {schema ? (
        <SchemaForm schema={schema} value={value} onChange={setValue} />
      ) : (
        <Field label="Payload (JSON)" hint={wrong && <span className="text-failed">{wrong}</span>}>
          <textarea
            className="field h-28 py-1.5 font-mono text-xs"
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              setWrong('')
            }}
          />
        </Field>
      )}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Not now</Button>
        <Button kind="primary" type="submit" disabled={!name || act.isPending}>
          Send
        </Button>
      </div>
    </form>
  )
}
