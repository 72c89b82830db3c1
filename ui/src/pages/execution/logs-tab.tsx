// What tasks print, newest last, as they print it; errors below what their task printed.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { LEVELS, matches, placesOf, useLogLines } from '../../api/log-lines'
import type { LogLine } from '../../api/types'
import { stripAnsi } from '../../design/ansi'
import { classes } from '../../design/classes'
import { CopyButton } from '../../design/copy'
import { count } from '../../design/number'
import { Empty } from '../../design/states'
import { clock, exact } from '../../design/time'
import { DebouncedInput } from '../executions/filter-bar'
import { useParameter } from './url-parameters'

const TONES: Record<string, string> = {
  debug: 'text-ink-3',
  warning: 'text-held',
  error: 'text-failed',
  critical: 'text-failed font-semibold',
}

export function LogsTab({ id }: { id: string }) {
  const [text, setText] = useParameter('text')
  const [place, setPlace] = useParameter('step')
  const [level, setLevel] = useParameter('level')
  const [children, setChildren] = useParameter('children')
  const [follow, setFollow] = useState(true)
  const { lines, dropped, link } = useLogLines(id, children === 'yes')
  const places = useMemo(() => placesOf(lines), [lines])
  const wanted = useMemo(
    () => lines.filter((line) => matches(line, { text, place, level })),
    [lines, text, place, level],
  )
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
        <select
          aria-label="Step or task"
          className="field"
          value={place}
          onChange={(event) => setPlace(event.target.value)}
        >
          <option value="">any step</option>
          {[...places, ...(place && !places.includes(place) ? [place] : [])].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <select
          aria-label="Level"
          className="field"
          value={level}
          onChange={(event) => setLevel(event.target.value)}
        >
          <option value="">any level</option>
          {LEVELS.map((one) => (
            <option key={one} value={one}>
              {one === 'critical' ? one : `${one} and worse`}
            </option>
          ))}
        </select>
        <Toggle
          label="children"
          on={children === 'yes'}
          onChange={(on) => setChildren(on ? 'yes' : '')}
          title="Also of executions that this one started"
        />
        <span className="text-xs text-ink-3">
          {link === 'connecting' && lines.length === 0
            ? 'reading…'
            : `${count(wanted.length)} ${wanted.length === 1 ? 'line' : 'lines'}`}
          {dropped > 0 && `, ${count(dropped)} older ones left out`}
          {link === 'lost' && ', no connection; trying again'}
        </span>
        <span className="ml-auto flex items-center gap-2">
          {link === 'live' && <Toggle label="follow" on={follow} onChange={setFollow} />}
          <CopyButton text={() => wanted.map(plain).join('\n')}>Copy all</CopyButton>
        </span>
      </div>
      {wanted.length === 0 ? (
        link !== 'connecting' && (
          <Empty title={text || place || level ? 'No line matches' : 'No task has printed anything'}>
            What a task prints is shown here as it prints it, and the error that it ends with.
          </Empty>
        )
      ) : (
        <Lines lines={wanted} own={id} follow={follow && link === 'live'} mark={text} />
      )}
    </div>
  )
}

function Toggle({
  label,
  on,
  onChange,
  title,
}: {
  label: string
  on: boolean
  onChange: (on: boolean) => void
  title?: string
}) {
  return (
    <label className="flex items-center gap-1.5 text-ink-2" title={title}>
      <input
        type="checkbox"
        className="accent-accent"
        checked={on}
        onChange={(event) => onChange(event.target.checked)}
      />{' '}
      {label}
    </label>
  )
}

const address = (line: LogLine) => `${line.run}${line.iteration ?? ''}/${line.task}`
const plain = (line: LogLine) =>
  `${line.ts} ${address(line)} ${line.level ? `${line.level.toUpperCase()} ` : ''}${stripAnsi(line.text)}`

function Lines({
  lines,
  own,
  follow,
  mark,
}: {
  lines: LogLine[]
  own: string
  follow: boolean
  mark: string
}) {
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
              className={classes(
                'absolute inset-x-0 flex gap-x-3 px-4 py-px hover:bg-sunken',
                'max-sm:flex-wrap max-sm:py-0.5',
              )}
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <time title={exact(line.ts)} className="hidden shrink-0 text-ink-3 sm:block">
                {clock(line.ts)}
              </time>
              <span className="max-w-[70%] shrink-0 truncate text-ink-3 sm:w-40" title={address(line)}>
                {line.execution_id !== own && (
                  <a className="link" href={`/executions/${line.execution_id}/logs`}>
                    {line.execution_id.slice(-6)}
                  </a>
                )}{' '}
                {address(line)}
              </span>
              <span className={classes('w-16 shrink-0', TONES[line.level ?? ''])}>{line.level}</span>
              <span
                dir="auto"
                className={classes(
                  'min-w-0 basis-full whitespace-pre-wrap break-words [overflow-wrap:anywhere] sm:flex-1 sm:basis-0',
                  TONES[line.level ?? ''],
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
