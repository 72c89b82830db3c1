// Asks before executions are cancelled; why it is done is kept in their logs.
import { useState } from 'react'
import { Button, Dialog, Field } from '../../design/controls'

interface Props {
  many: number
  onCancel: (why: string) => void
  onClose: () => void
}

export function CancelDialog({ many, onCancel, onClose }: Props) {
  const [why, setWhy] = useState('')
  const single = many === 1
  return (
    <Dialog title={single ? 'Cancel this execution?' : `Cancel ${many} executions?`} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          onCancel(why.trim())
          onClose()
        }}
      >
        <p className="text-ink-2">
          What runs now is interrupted. What is done stays, and a new execution can go on from there.
        </p>
        <Field label="Why (optional)">
          <input
            className="field"
            data-first
            maxLength={1000}
            value={why}
            onChange={(event) => setWhy(event.target.value)}
          />
        </Field>
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{single ? 'Let it run' : 'Let them run'}</Button>
          <Button kind="danger" icon="stop" type="submit">
            {single ? 'Cancel it' : `Cancel all ${many}`}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
