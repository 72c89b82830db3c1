// What tasks logged, newest last, searched on the server.
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import { logs } from '../../api/queries'
import type { LogLine } from '../../api/types'
import { stripAnsi } from '../../design/ansi'
import { classes } from '../../design/classes'
import { CopyButton } from '../../design/copy'
import { count } from '../../design/number'
import { Empty, QueryView } from '../../design/states'
import { clock, exact } from '../../design/time'
import { DebouncedInput } from '../executions/filter-bar'
import { useParameter } from './url-parameters'

export function LogsTab({ id, live }: { id: string; live: boolean }) {
  const [text, setText] = useParameter('text')
  const [step, setStep] = useParameter('step')
  const [follow, setFollow] = useState(true)
  const logsQuery = useQuery(logs(id, text, step))
  const lines = logsQuery.data?.items ?? []
  return (
    <div className="flex min-h-72 flex-1 flex-col">
      <div className="flex flex-wrap items-center gap-2 px-4 py-2" role="search">
        <DebouncedInput
          label="Search in logs"
          value={text}
          onChange={setText}
          placeholder="Search ( / )"
          search
        />
        <DebouncedInput label="Step" value={step} onChange={setStep} placeholder="Step" className="w-32" />
        {logsQuery.data && (
          <span className="text-xs text-ink-3">
            {count(logsQuery.data.total)} {logsQuery.data.total === 1 ? 'line' : 'lines'}
            {logsQuery.data.dropped > 0 && `, ${count(logsQuery.data.dropped)} older ones left out`}
          </span>
        )}
        <span className="ml-auto flex items-center gap-2">
          {live && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                className="accent-accent"
                checked={follow}
                onChange={(event) => setFollow(event.target.checked)}
              />{' '}
              follow
            </label>
          )}
          <CopyButton
            text={() =>
              lines
                .map((line) => `${line.at} ${line.run}${line.address}/${line.task} ${stripAnsi(line.text)}`)
                .join('\n')
            }
          >
            Copy all
          </CopyButton>
        </span>
      </div>
      <QueryView query={logsQuery}>
        {(page) =>
          page.items.length === 0 ? (
            <Empty title={text || step ? 'No line matches' : 'No task has logged anything'}>
              What a task prints is kept here, and the error that it ends with.
            </Empty>
          ) : (
            <Lines lines={page.items} follow={follow && live} mark={text} />
          )
        }
      </QueryView>
    </div>
  )
}

function Lines({ lines, follow, mark }: { lines: LogLine[]; follow: boolean; mark: string }) {
  const frame = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => 20,
    overscan: 30,
    measureElement: (element) => element.getBoundingClientRect().height,
  })
  useEffect(() => {
    if (follow) virtual.scrollToIndex(lines.length - 1)
  }, [follow, lines.length, virtual])
  return (
    <div
      ref={frame}
      role="region"
      tabIndex={0}
      aria-label="Log lines"
      className="min-h-0 flex-1 overflow-auto border-t border-line bg-panel font-mono text-xs"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((row) => {
          const line = lines[row.index]
          return line ? (
            <div
              key={row.key}
              ref={virtual.measureElement}
              data-index={row.index}
              className="absolute inset-x-0 flex gap-3 px-4 py-px hover:bg-sunken"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <time title={exact(line.at)} className="hidden shrink-0 text-ink-3 sm:block">
                {clock(line.at)}
              </time>
              <span
                className="w-24 shrink-0 truncate text-ink-3 sm:w-40"
                title={`${line.run}${line.address}/${line.task}`}
              >
                {line.run}
                {line.address}/{line.task}
              </span>
              <span
                dir="auto"
                className={classes(
                  'min-w-0 flex-1 whitespace-pre-wrap break-words [overflow-wrap:anywhere]',
                  line.level === 'error' && 'text-failed',
                )}
              >
                <Highlight text={stripAnsi(line.text)} mark={mark} />
              </span>
            </div>
          ) : null
        })}
      </div>
    </div>
  )
}

function Highlight({ text, mark }: { text: string; mark: string }) {
  const start = mark ? text.toLowerCase().indexOf(mark.toLowerCase()) : -1
  if (start < 0) return <>{text}</>
  return (
    <>
      {text.slice(0, start)}
      <mark className="bg-held-soft text-held">{text.slice(start, start + mark.length)}</mark>
      {text.slice(start + mark.length)}
    </>
  )
}
