// Two executions beside each other: the path they took, how long steps needed, ctx and outputs.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { diff, execution, executions } from '../api/queries'
import type { Change, Diff, ExecutionItem, Json } from '../api/types'
import { classes } from '../design/classes'
import { Button } from '../design/controls'
import { shortId } from '../design/copy'
import { count } from '../design/number'
import { Empty, QueryView } from '../design/states'
import { StatusBadge, StatusIcon } from '../design/status'
import { Ago, ago, duration, useNow } from '../design/time'
import { Tree } from '../design/tree'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'
import { type Group, groupChanges } from './change-groups'

export function ComparePage() {
  useTitle('Compare')
  const query = new URLSearchParams(useSearch())
  const [a, b] = [query.get('a') ?? '', query.get('b') ?? '']
  const diffQuery = useQuery(diff(a, b))
  return (
    <>
      <PageHead title="Compare" />
      <ExecutionPicker key={a + b} a={a} b={b} />
      <div className="px-4 pb-4">
        {!a || !b ? (
          <div className="panel">
            <Empty title="Choose two executions">
              Choose them above, tick two in the list of{' '}
              <Link href="/executions" className="text-accent hover:underline">
                executions
              </Link>
              , or press Compare on one.
            </Empty>
          </div>
        ) : (
          <QueryView query={diffQuery} what="Comparing">
            {(answer) => <DiffView diff={answer} />}
          </QueryView>
        )}
      </div>
    </>
  )
}

function ExecutionPicker({ a, b }: { a: string; b: string }) {
  const [, go] = useLocation()
  const show = (first: string, second: string) => go(`/compare?a=${first}&b=${second}`)
  const path = useQuery({ ...execution(a || b), enabled: Boolean(a || b) }).data?.playbook.path
  return (
    <div className="flex flex-wrap items-start gap-2 px-4 pb-3">
      <Picker
        label="First execution"
        mark="a"
        id={a}
        other={b}
        like={path}
        onPick={(id) => show(id, b)}
        first
      />
      <Picker label="Second execution" mark="b" id={b} other={a} like={path} onPick={(id) => show(a, id)} />
      <Button onClick={() => show(b, a)} disabled={!a || !b}>
        Swap
      </Button>
    </div>
  )
}

const words = (item: ExecutionItem, now: number): string =>
  `${item.playbook.path} · ${item.status} · ${ago(item.requested_at, now)} · ${shortId(item.execution_id)}`

/** One of the two, chosen among the newest; with the other one there, those of its playbook come first. */
function Picker({
  label,
  mark,
  id,
  other,
  like,
  onPick,
  first = false,
}: {
  label: string
  mark: string
  id: string
  other: string
  like: string | undefined
  onPick: (id: string) => void
  first?: boolean
}) {
  const now = useNow()
  const [text, setText] = useState<string | null>(null)
  const chosen = useQuery({ ...execution(id), enabled: Boolean(id) }).data
  const wanted = text?.trim() ?? ''
  const found = useQuery({
    ...executions({ limit: 30, ...(wanted ? { text: wanted } : like ? { path: like } : {}) }),
    enabled: text !== null,
  })
  const choices = found.data?.items.filter((item) => item.execution_id !== other)
  const shown =
    text ?? (chosen ? `${chosen.playbook.path} · ${chosen.status} · ${ago(chosen.requested_at, now)}` : id)
  const pick = (next: string) => {
    setText(null)
    onPick(next)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it closes when what is inside of it is left
    <div
      className="relative w-96 max-w-full"
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setText(null)
      }}
      onKeyDown={(event) => event.key === 'Escape' && setText(null)}
    >
      <input
        className="field w-full"
        role="combobox"
        aria-label={label}
        aria-expanded={text !== null}
        aria-controls={`picks-${mark}`}
        placeholder={`${mark}: choose an execution`}
        value={shown}
        onFocus={() => setText('')}
        onChange={(event) => setText(event.target.value)}
        {...(first ? { 'data-search': '' } : {})}
      />
      {text !== null && (
        <div
          id={`picks-${mark}`}
          role="listbox"
          aria-label={`${label}: choices`}
          className="panel absolute inset-x-0 z-30 mt-1 max-h-80 overflow-auto p-1 shadow-lg"
        >
          {choices?.map((item) => (
            <button
              key={item.execution_id}
              type="button"
              role="option"
              aria-selected={item.execution_id === id}
              title={item.execution_id}
              className={classes(
                'flex w-full items-center gap-2 rounded px-2 py-1 text-left hover:bg-sunken',
                item.execution_id === id && 'bg-accent-soft',
              )}
              onClick={() => pick(item.execution_id)}
            >
              <StatusIcon status={item.status} />
              <span className="min-w-0 flex-1 truncate">{words(item, now)}</span>
            </button>
          ))}
          {choices?.length === 0 && <p className="px-2 py-1 text-ink-3">No execution matches</p>}
        </div>
      )}
    </div>
  )
}

function DiffView({ diff: answer }: { diff: Diff }) {
  const longest = Math.max(
    1,
    ...Object.values(answer.timing_ms)
      .flat()
      .map((ms) => ms ?? 0),
  )
  return (
    <div className="flex flex-col gap-4">
      <div className="panel flex flex-wrap items-center gap-x-6 gap-y-1 px-3 py-2">
        <ExecutionSummary name="a" id={answer.a} tone="bg-ink-3" />
        <ExecutionSummary name="b" id={answer.b} tone="bg-accent" />
        <span className="font-medium">
          {answer.same
            ? 'They took one path to one result.'
            : answer.playbook
              ? 'They differ, and so do their playbooks.'
              : 'They differ.'}
        </span>
      </div>
      {answer.kept.length > 0 && (
        <p className="text-ink-2">
          Kept from the execution before, and so not compared:{' '}
          <span className="font-medium">{answer.kept.join(', ')}</span>
        </p>
      )}
      <Path lines={answer.path} leftOut={answer.left_out.path ?? 0} />
      <Section title="Time of each step" empty={Object.keys(answer.timing_ms).length === 0}>
        <table className="w-full border-collapse">
          <thead>
            <tr className="border-b border-line">
              <th className="th">Step</th>
              <th className="th text-right">a</th>
              <th className="th text-right">b</th>
              <th className="th w-1/2">
                <span className="sr-only">Side by side</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(answer.timing_ms).map(([step, [first, second]]) => (
              <tr key={step} className="border-b border-line last:border-0">
                <td className="td">{step}</td>
                <td className="td whitespace-nowrap text-right">{duration(first)}</td>
                <td className="td whitespace-nowrap text-right">{duration(second)}</td>
                <td className="td">
                  <DurationBar ms={first} longest={longest} tone="bg-ink-3" />
                  <DurationBar ms={second} longest={longest} tone="bg-accent" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Changes title="workload" section="workload" changes={answer.workload} leftOut={answer.left_out} />
      <Changes title="ctx" section="ctx" changes={answer.ctx} leftOut={answer.left_out} />
      <Changes title="Outputs" section="outputs" changes={answer.outputs} leftOut={answer.left_out} />
      {answer.error && (
        <Changes
          title="Error"
          section="error"
          changes={[{ path: 'error', a: answer.error[0], b: answer.error[1] }]}
        />
      )}
    </div>
  )
}

const LINES = 100

function Path({ lines, leftOut }: { lines: string[]; leftOut: number }) {
  const [all, setAll] = useState(false)
  const head = all ? lines : lines.slice(0, LINES)
  return (
    <Section title="Path" empty={lines.length === 0}>
      <ul className="font-mono text-xs">
        {head.map((line, index) => (
          <li
            key={index}
            className={`px-3 py-px ${line.startsWith('+') ? 'bg-done-soft' : 'bg-failed-soft'}`}
          >
            {line.startsWith('+') ? 'b ' : 'a '}
            {line}
          </li>
        ))}
      </ul>
      {head.length < lines.length && (
        <button
          type="button"
          className="px-3 py-1.5 text-xs text-accent hover:underline"
          onClick={() => setAll(true)}
        >
          Show {count(lines.length - head.length)} more
        </button>
      )}
      {head.length === lines.length && leftOut > 0 && (
        <p className="px-3 py-1.5 text-xs text-ink-3">
          {count(leftOut)} later lines of the path are not compared
        </p>
      )}
    </Section>
  )
}

/** What is compared: the colour of its bars, its id, its playbook, how it ended and when. */
function ExecutionSummary({ name, id, tone }: { name: string; id: string; tone: string }) {
  const summary = useQuery(execution(id)).data
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-x-2">
      <span className={`h-1.5 w-3 shrink-0 rounded-sm ${tone}`} />
      <span className="font-medium">{name}</span>
      <Link href={`/executions/${id}`} className="font-mono text-xs text-accent hover:underline">
        {shortId(id)}
      </Link>
      {summary && (
        <>
          <span className="max-w-64 truncate" title={summary.playbook.path}>
            {summary.playbook.path}
          </span>
          <StatusBadge status={summary.status} />
          <span className="text-xs text-ink-3">
            <Ago at={summary.requested_at} />
          </span>
        </>
      )}
    </span>
  )
}

function DurationBar({ ms, longest, tone }: { ms: number | null; longest: number; tone: string }) {
  return (
    <div className={`my-0.5 h-1 rounded-full ${tone}`} style={{ width: `${((ms ?? 0) / longest) * 100}%` }} />
  )
}

function Section({ title, empty, children }: { title: string; empty: boolean; children: React.ReactNode }) {
  return (
    <section className="panel min-w-0 overflow-x-auto" aria-label={title}>
      <h2 className={`px-3 py-1.5 font-medium ${empty ? '' : 'border-b border-line'}`}>
        {title}
        {empty && <span className="ml-2 text-xs font-normal text-ink-3">the same</span>}
      </h2>
      {!empty && children}
    </section>
  )
}

const FEW = 6 // differences of one name that are shown at once
const GROUPS = 200

function Changes({
  title,
  section,
  changes,
  leftOut = {},
}: {
  title: string
  section: string
  changes: Change[]
  leftOut?: Record<string, number>
}) {
  const groups = groupChanges(section, changes, leftOut)
  return (
    <Section title={title} empty={changes.length === 0}>
      <div className="sm:min-w-150">
        {groups
          .slice(0, GROUPS)
          .map((group) =>
            group.changes.length <= FEW ? (
              <Rows key={group.name} changes={group.changes} />
            ) : (
              <ChangeGroup key={group.name} group={group} />
            ),
          )}
        {groups.length > GROUPS && (
          <p className="px-3 py-1.5 text-xs text-ink-3">and {count(groups.length - GROUPS)} names more</p>
        )}
      </div>
    </Section>
  )
}

/** What differs in many places, such as the items of a loop: how many, and on demand the first of them. */
function ChangeGroup({ group }: { group: Group }) {
  const [open, setOpen] = useState(false)
  return (
    <details
      className="border-b border-line last:border-0"
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className="px-3 py-1.5 hover:bg-sunken">
        <span className="font-mono text-xs text-ink-2">{group.name || '(all)'}</span>{' '}
        <span className="ml-2 text-xs text-ink-3">
          {count(group.changes.length + group.more)} differences
        </span>
      </summary>
      {open && <Rows changes={group.changes} />}
      {open && group.more > 0 && (
        <p className="border-t border-line px-3 py-1.5 text-xs text-ink-3">and {count(group.more)} more</p>
      )}
    </details>
  )
}

function Rows({ changes }: { changes: Change[] }) {
  return (
    <table className="w-full table-fixed border-collapse border-b border-line font-mono text-xs last:border-0">
      <colgroup>
        <col className="w-1/5" />
        <col />
        <col />
      </colgroup>
      <tbody>
        {changes.map((change) => (
          <tr key={change.path} className="border-b border-line last:border-0">
            <td className="td break-words align-top text-ink-2">{change.path || '(all)'}</td>
            <ValueCell value={change.a} tone="bg-failed-soft" />
            <ValueCell value={change.b} tone="bg-done-soft" />
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const LONG = 160

function ValueCell({ value, tone }: { value: Json | undefined; tone: string }) {
  const text = JSON.stringify(value) ?? 'absent'
  return (
    <td className={`td align-top [overflow-wrap:anywhere] ${value === undefined ? 'text-ink-3' : tone}`}>
      {text.length <= LONG ? (
        text
      ) : (
        <details>
          <summary>{text.slice(0, LONG)}…</summary>
          <div className="mt-1 max-h-80 overflow-auto">
            <Tree value={value ?? null} open={1} />
          </div>
        </details>
      )}
    </td>
  )
}
