// One playbook: its text with live findings, its graph beside it, its versions and their differences.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { post } from '../../api/client'
import { executionPage, playbook, schema, sketch } from '../../api/queries'
import type { Diagnostic, Graph } from '../../api/types'
import { Button } from '../../design/controls'
import { Empty, Failure, Loading } from '../../design/states'
import { showError, showToast } from '../../design/toast'
import type { Node } from '../../editor/schema'
import { Flow } from '../../graph/flow'
import { onDemand } from '../../shell/on-demand'
import { useTitle } from '../../shell/title'
import { Findings } from './findings'
import { RunDialog } from './run-dialog'
import { STARTER } from './starter'
import { Versions } from './versions'

const Editor = onDemand(
  () => import('../../editor/editor').then((module) => module.default),
  'Loading the editor',
)

export function PlaybookPage({ path }: { path: string }) {
  const search = new URLSearchParams(useSearch())
  const fresh = path === ''
  const version = Number(search.get('version')) || undefined
  const playbookQuery = useQuery({ ...playbook(path, version), enabled: !fresh })
  useTitle(fresh ? 'New playbook' : path)
  if (fresh) return <Workbench path="" saved={STARTER} version={null} fix={null} />
  if (playbookQuery.error)
    return (
      <Failure
        error={playbookQuery.error}
        retry={() => void playbookQuery.refetch()}
        back={
          <Link href="/playbooks" className="text-accent hover:underline">
            All playbooks
          </Link>
        }
      />
    )
  if (!playbookQuery.data) return <Loading what="Reading the playbook" />
  const fix = search.get('fix') ? { id: search.get('fix') ?? '', step: search.get('step') ?? '' } : null
  return (
    <Workbench
      key={`${path}@${playbookQuery.data.version}`}
      path={path}
      saved={playbookQuery.data.text}
      version={playbookQuery.data.version}
      fix={fix}
    />
  )
}

interface Props {
  path: string
  saved: string
  version: number | null
  fix: { id: string; step: string } | null
}

function Workbench({ path, saved, version, fix }: Props) {
  const [text, setText] = useState(saved)
  const [stableText, setStableText] = useState(saved)
  const [line, setLine] = useState<number | null>(null)
  const [running, setRunning] = useState(false)
  const [compared, setCompared] = useState<number | null>(null)
  useEffect(() => {
    const timer = window.setTimeout(() => setStableText(text), 250)
    return () => window.clearTimeout(timer)
  }, [text])
  const language = useQuery(schema())
  const sketchQuery = useQuery(sketch(stableText))
  const findings = sketchQuery.data?.diagnostics ?? []
  const errors = findings.filter((finding) => finding.severity === 'error').length
  const save = useSave(path, version)
  const go = useLocation()[1]
  const rerun = useMutation({
    mutationFn: () =>
      post(
        '/executions/{execution_id}/rerun',
        { execution_id: fix?.id ?? '' },
        { from: fix?.step ?? '', playbook: text },
      ),
    onSuccess: (execution) => {
      showToast(`a new execution begins at ${fix?.step}`)
      go(`/executions/${execution.execution_id}`)
    },
    onError: showError,
  })
  const dirty = text !== saved
  useEffect(() => {
    if (!dirty) return
    const warn = (event: BeforeUnloadEvent) => event.preventDefault()
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [dirty])
  const jump = (to: number) => {
    setLine(null)
    window.setTimeout(() => setLine(to), 0)
  }
  return (
    <div className="flex flex-1 flex-col lg:min-h-0">
      <div className="flex flex-wrap items-center gap-2 px-4 pb-2 pt-3">
        <h1 className="mr-2 min-w-0 truncate text-base font-semibold tracking-tight" title={path}>
          {path || 'New playbook'}
          {version !== null && <span className="ml-2 text-sm font-normal text-ink-3">v{version}</span>}
          {dirty && <span className="ml-2 text-xs font-normal text-held">changed</span>}
        </h1>
        <span className="ml-auto flex flex-wrap items-center gap-2">
          {path && (
            <Versions path={path} version={version} dirty={dirty} compared={compared} compare={setCompared} />
          )}
          <Button
            needs="write"
            disabled={(!dirty && path !== '') || save.isPending}
            onClick={() => save.mutate(text)}
          >
            Register
          </Button>
          {fix && (
            <Button
              kind="primary"
              icon="retry"
              needs="run"
              disabled={errors > 0 || rerun.isPending}
              onClick={() => rerun.mutate()}
            >
              Rerun from {fix.step}
            </Button>
          )}
          <Button
            kind={fix ? 'plain' : 'primary'}
            icon="play"
            needs="run"
            disabled={errors > 0}
            onClick={() => setRunning(true)}
          >
            Run
          </Button>
        </span>
      </div>
      {fix && (
        <FixBanner
          fix={fix}
          line={sketchQuery.data?.graph?.steps.find((node) => node.step === fix.step)?.line ?? null}
          jump={jump}
        />
      )}
      <div className="flex flex-1 flex-col border-t border-line lg:min-h-0 lg:flex-row">
        <div className="flex h-[60vh] min-w-0 shrink-0 flex-col lg:h-auto lg:min-h-0 lg:flex-[6]">
          <div className="min-h-0 flex-1">
            {compared !== null ? (
              <VersionDiff path={path} version={compared} text={text} />
            ) : (
              <Editor
                initial={text}
                onChange={setText}
                diagnostics={findings}
                schema={(language.data as Node | undefined) ?? null}
                line={line}
                onSave={() => save.mutate(text)}
              />
            )}
          </div>
          <Findings findings={findings} jump={jump} failed={sketchQuery.error} />
        </div>
        <div className="h-96 min-w-0 shrink-0 border-t border-line lg:h-auto lg:flex-[5] lg:border-l lg:border-t-0">
          <SidePanel graph={sketchQuery.data?.graph} findings={findings} jump={jump} />
        </div>
      </div>
      {running && <RunDialog path={path || 'this text'} text={text} onClose={() => setRunning(false)} />}
    </div>
  )
}

/** What failed, and the way to it: the text opens there. */
function FixBanner({
  fix,
  line,
  jump,
}: {
  fix: { id: string; step: string }
  line: number | null
  jump: (line: number) => void
}) {
  const failed = useQuery(executionPage(fix.id)).data?.summary.error
  const jumped = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it jumps once, as soon as the line is known
  useEffect(() => {
    if (line !== null && !jumped.current) {
      jumped.current = true
      jump(line)
    }
  }, [line])
  return (
    <div className="mx-4 mb-2 rounded-md bg-held-soft px-2.5 py-1.5">
      <p>
        You are fixing what failed at{' '}
        <button
          type="button"
          className="font-medium text-accent hover:underline"
          disabled={line === null}
          onClick={() => line !== null && jump(line)}
        >
          {fix.step}
        </button>
        . Change the text, then rerun from there: it becomes the next version, and what ran before is kept.
      </p>
      {failed && (
        <p className="line-clamp-2 text-failed [overflow-wrap:anywhere]" title={failed.message}>
          {failed.message}
        </p>
      )}
    </div>
  )
}

/** The graph of the text; while a text cannot be read, the last one that could, paler. */
function SidePanel({
  graph,
  findings,
  jump,
}: {
  graph: Graph | null | undefined
  findings: Diagnostic[]
  jump: (line: number) => void
}) {
  const [last, setLast] = useState<Graph | null>(null)
  useEffect(() => {
    if (graph) setLast(graph)
  }, [graph])
  const current = graph ?? last
  if (graph === undefined) return <Loading />
  if (!current)
    return <Empty title="No graph yet">It is drawn as soon as the text has steps that can be read.</Empty>
  const go = (step: string | null) => {
    const at = current.steps.find((node) => node.step === step)?.line
    if (at) jump(at)
  }
  return (
    <div className={`relative h-full ${graph ? '' : 'opacity-50'}`}>
      <Flow
        shape={current}
        progress={null}
        findings={graph ? perStep(findings, graph.steps) : {}}
        onChoose={go}
      />
      {!graph && (
        <p className="absolute inset-x-0 top-2 text-center text-xs">as it was before the last change</p>
      )}
    </div>
  )
}

/** How many errors lie in each step, by the lines between one step and the next. */
function perStep(findings: Diagnostic[], steps: { step: string; line: number }[]): Record<string, number> {
  const sorted = [...steps].sort((a, b) => a.line - b.line)
  const counts: Record<string, number> = {}
  for (const finding of findings) {
    const owner = sorted.findLast((step) => step.line <= finding.line)
    if (owner && finding.severity === 'error') counts[owner.step] = (counts[owner.step] ?? 0) + 1
  }
  return counts
}

function useSave(path: string, version: number | null) {
  const client = useQueryClient()
  const go = useLocation()[1]
  return useMutation({
    mutationFn: (text: string) => post('/catalog', {}, { playbook: text }),
    onSuccess: async (entry) => {
      showToast(
        entry.path === path && entry.version === version
          ? `unchanged: v${entry.version}`
          : `registered ${entry.path} v${entry.version}`,
      )
      await client.invalidateQueries({ queryKey: ['catalog'] })
      if (entry.path !== path || new URLSearchParams(window.location.search).get('version'))
        go(`/playbooks/${entry.path}`)
    },
    onError: showError,
  })
}

const Diff = onDemand(
  () => import('../../editor/diff').then((module) => module.default),
  'Loading the editor',
)

function VersionDiff({ path, version, text }: { path: string; version: number; text: string }) {
  const otherQuery = useQuery(playbook(path, version))
  if (!otherQuery.data) return <Loading />
  return <Diff before={otherQuery.data.text} after={text} />
}
