// One execution: what it is and how it stands, then its graph, time, events, data, loops, logs and reasons.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { usePulse } from '../../api/pulse'
import { execution, loops, progress } from '../../api/queries'
import { Tabs } from '../../design/controls'
import { Failure, Loading, Reading } from '../../design/states'
import { useTitle } from '../../shell/title'
import { Actions } from './actions'
import { DataTab } from './data-tab'
import { EventsTab } from './events-tab'
import { Header } from './header'
import { LinkState } from './link-state'
import { LogsTab } from './logs-tab'
import { useMoment } from './moment'
import { Travel } from './travel'
import { Waiting } from './waiting'
import { WhyTab } from './why-tab'

const GraphTab = lazy(() => import('./graph-tab').then((module) => ({ default: module.GraphTab })))
const TimelineTab = lazy(() => import('./timeline-tab').then((module) => ({ default: module.TimelineTab })))
const LoopsTab = lazy(() => import('./loops-tab').then((module) => ({ default: module.LoopsTab })))

const TABS = ['graph', 'timeline', 'loops', 'events', 'data', 'logs', 'why'] as const
type Tab = (typeof TABS)[number]

export function ExecutionPage({ id, tab }: { id: string; tab: string | undefined }) {
  const client = useQueryClient()
  const summary = useQuery(execution(id))
  const there = summary.data !== undefined
  const first = useRef<'going' | 'over' | null>(null) // how it stood when the page was opened
  if (summary.data) first.current ??= summary.data.ended_at === null ? 'going' : 'over'
  const pulse = usePulse(id, first.current ?? 'unknown')
  const runs = useQuery({ ...loops(id), enabled: there })
  const now = useQuery({ ...progress(id), enabled: !summary.isError })
  const [moment, move] = useMoment()
  // What was read beside the summary may be older than the end it tells of.
  const behind = first.current === 'over' && now.data !== undefined && !now.isFetching && now.data.seq < (summary.data?.counts.events ?? 0)
  useEffect(() => { if (behind) void client.invalidateQueries({ queryKey: ['execution', id] }) }, [behind, client, id])
  const [, go] = useLocation()
  const shown: Tab = TABS.find((name) => name === tab) ?? 'graph'
  useTitle(summary.data ? `${summary.data.status} · ${summary.data.playbook.path}` : 'Execution', summary.data?.status)

  if (summary.error && !summary.data) return <Failure error={summary.error} retry={() => void summary.refetch()} />
  if (!summary.data) return <Loading what="Reading the execution" />
  const last = Math.max(pulse.seq, summary.data.counts.events)
  const tabs = [
    { id: 'graph', label: 'Graph' },
    { id: 'timeline', label: 'Timeline' },
    { id: 'loops', label: 'Loops', count: runs.data?.items.length },
    { id: 'events', label: 'Events', count: last },
    { id: 'data', label: 'Data' },
    { id: 'logs', label: 'Logs' },
    { id: 'why', label: 'Why' },
  ] as const

  const open = (next: Tab, query: Record<string, string> = {}) => {
    const keep = new URLSearchParams(window.location.search)
    for (const name of [...keep.keys()]) if (name !== 'at') keep.delete(name)
    for (const [name, value] of Object.entries(query)) keep.set(name, value)
    go(`/executions/${id}/${next}${keep.size ? `?${keep}` : ''}`)
  }

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Header summary={summary.data} history={now.data?.history ?? []} link={<LinkState pulse={pulse} />}>
        <Actions summary={summary.data} waits={now.data?.waits ?? []} />
      </Header>
      {now.data && <Waiting id={id} waits={now.data.waits} />}
      <div className="px-4"><Tabs tabs={tabs} value={shown} onChange={(next) => open(next)} /></div>
      {(shown === 'graph' || shown === 'data') && last > 0 && <Travel id={id} last={last} at={moment} move={move} live={pulse.link} />}
      <section role="tabpanel" aria-label={shown} className="flex min-h-0 flex-1 flex-col">
        <Suspense fallback={<Loading />}>
          {shown === 'graph' && <GraphTab id={id} at={moment} summary={summary.data} open={open} />}
          {shown === 'timeline' && <TimelineTab id={id} open={open} />}
          {shown === 'loops' && <Reading of={runs} what="Reading the iterations">{({ items }) => <LoopsTab id={id} runs={items} summary={summary.data} open={open} />}</Reading>}
          {shown === 'events' && <EventsTab id={id} last={last} live={pulse.link === 'live'} />}
          {shown === 'data' && <DataTab id={id} at={moment} open={open} />}
          {shown === 'logs' && <LogsTab id={id} live={pulse.link === 'live'} />}
          {shown === 'why' && <WhyTab id={id} steps={Object.keys(now.data?.steps ?? {})} open={open} />}
        </Suspense>
      </section>
    </div>
  )
}

export type Open = (tab: Tab, query?: Record<string, string>) => void
