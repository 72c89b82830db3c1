// Time travel: a slider over the log's events, and a template evaluated at the one that is chosen.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { post } from '../../api/client'
import type { Link } from '../../api/pulse'
import { EVENT_PAGE, eventPage } from '../../api/queries'
import { Button, IconButton } from '../../design/controls'
import { count } from '../../design/number'
import { clock } from '../../design/time'
import { Tree } from '../../design/tree'

interface Props {
  id: string
  last: number
  at: number | undefined
  move: (at: number | undefined) => void
  live: Link
}

export function TimeTravel({ id, last, at, move, live }: Props) {
  const [drag, setDrag] = useState<number | null>(null) // where the slider is while it is moved
  const [evaluating, setEvaluating] = useState(false)
  const position = drag ?? at ?? last
  const commit = useRef(() => {})
  commit.current = () => {
    if (drag !== null) {
      move(drag >= last ? undefined : drag)
      setDrag(null)
    }
  }
  useEffect(() => {
    if (drag === null) return
    const timer = window.setTimeout(() => commit.current(), 120)
    return () => window.clearTimeout(timer)
  }, [drag])
  const page = useQuery({
    ...eventPage(id, {}, Math.floor((position - 1) / EVENT_PAGE), 0),
    enabled: at !== undefined,
  })
  const event = page.data?.items.find((candidate) => candidate.seq === position)
  const step = (by: number) => setDrag(Math.min(last, Math.max(1, position + by)))
  return (
    <div className={`border-b border-line px-4 py-1.5 ${at === undefined ? '' : 'bg-accent-soft'}`}>
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="label-text max-sm:sr-only">Time travel</span>
        <button
          type="button"
          aria-label="One event back"
          className="px-1 text-ink-3 hover:text-ink"
          onClick={() => step(-1)}
        >
          ◀
        </button>
        <input
          type="range"
          aria-label="Event"
          className="min-w-24 max-w-96 flex-1 accent-accent"
          min={1}
          max={last}
          value={position}
          onChange={(change) => setDrag(Number(change.target.value))}
        />
        <button
          type="button"
          aria-label="One event on"
          className="px-1 text-ink-3 hover:text-ink"
          onClick={() => step(1)}
        >
          ▶
        </button>
        <span className="whitespace-nowrap text-xs" data-seq={position}>
          event {count(position)} of {count(last)}
        </span>
        {at !== undefined && event && (
          <span className="min-w-0 truncate font-mono text-xs text-ink-2">
            {clock(event.ts)} {event.name} {event.step ?? ''}
          </span>
        )}
        <span className="ml-auto flex items-center gap-1">
          {at !== undefined && (
            <Button kind="primary" onClick={() => move(undefined)}>
              {live === 'live' ? 'Back to now' : 'To the end'}
            </Button>
          )}
          <Button kind="quiet" aria-expanded={evaluating} onClick={() => setEvaluating(!evaluating)}>
            {'{{ }}'} <span className="max-sm:sr-only">evaluate</span>
          </Button>
        </span>
      </div>
      {evaluating && <TemplateBox id={id} at={at} onClose={() => setEvaluating(false)} />}
    </div>
  )
}

function TemplateBox({ id, at, onClose }: { id: string; at: number | undefined; onClose: () => void }) {
  const [template, setTemplate] = useState('{{ ctx }}')
  const rendering = useMutation({
    mutationFn: () =>
      post(
        '/executions/{execution_id}/render',
        { execution_id: id },
        { template, ...(at === undefined ? {} : { at }) },
      ),
  })
  const { mutate } = rendering
  // biome-ignore lint/correctness/useExhaustiveDependencies: another moment has another value
  useEffect(() => {
    mutate()
  }, [at, mutate])
  return (
    <form
      className="mt-1.5 flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        rendering.mutate()
      }}
    >
      <div className="flex items-center gap-2">
        <input
          className="field flex-1 font-mono text-xs"
          aria-label="Template"
          // biome-ignore lint/a11y/noAutofocus: the button that was pressed opened this field
          autoFocus
          onFocus={(event) => event.target.select()}
          value={template}
          onChange={(event) => setTemplate(event.target.value)}
          spellCheck={false}
        />
        <Button type="submit" kind="primary">
          Evaluate
        </Button>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div className="max-h-56 overflow-auto" data-rendered>
        {rendering.error ? (
          <p role="alert" className="break-words text-failed">
            {rendering.error.message}
          </p>
        ) : (
          rendering.data && <Tree value={rendering.data.value} open={2} />
        )}
      </div>
    </form>
  )
}
