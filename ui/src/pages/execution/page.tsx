// One execution: what it is and how it stands, then its graph, time, events, data, loops, logs and reasons.
import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { Link, useLocation } from 'wouter'
import { usePulse } from '../../api/pulse'
import { executionPage } from '../../api/queries'
import { Tabs } from '../../design/controls'
import { Failure, Loading } from '../../design/states'
import { markOf } from '../../design/status'
import { onDemand } from '../../shell/on-demand'
import { useTitle } from '../../shell/title'
import { Actions } from './actions'
import { DataTab } from './data-tab'
import { EventsTab } from './events-tab'
import { Header } from './header'
import { LinkState } from './link-state'
import { LogsTab } from './logs-tab'
import { TimeTravel } from './time-travel'
import { useMoment } from './url-parameters'
import { WaitList } from './wait-list'
import { WhyTab } from './why-tab'

const GraphTab = onDemand(() => import('./graph-tab').then((module) => module.GraphTab))
const TimelineTab = onDemand(() => import('./timeline-tab').then((module) => module.TimelineTab))
const LoopsTab = onDemand(() => import('./loops-tab').then((module) => module.LoopsTab))

const TABS = ['graph', 'timeline', 'loops', 'events', 'data', 'logs', 'why'] as const
type Tab = (typeof TABS)[number]

/** Settles when the code of a tab is there. */
export const tabFetched = async (tab: string | undefined): Promise<void> => {
  const part = { graph: GraphTab, timeline: TimelineTab, loops: LoopsTab }[tab ?? 'graph']
  await part?.preload()
}

export function ExecutionPage({ id, tab }: { id: string; tab: string | undefined }) {
  const pageQuery = useQuery(executionPage(id))
  const { summary, progress, graph, loops = [], children = [] } = pageQuery.data ?? {}
  const first = useRef<'going' | 'over' | null>(null) // how it stood when the page was opened
  if (summary) first.current ??= summary.ended_at === null ? 'going' : 'over'
  const pulse = usePulse(id, first.current ?? 'unknown')
  const [moment, move] = useMoment()
  const [, go] = useLocation()
  const current: Tab = TABS.find((name) => name === tab) ?? 'graph'
  useTitle(
    summary ? `${summary.status} · ${summary.playbook.path}` : 'Execution',
    summary && markOf(summary.status, summary.counts.failed_iterations),
  )

  if (pageQuery.error && !pageQuery.data)
    return (
      <Failure
        error={pageQuery.error}
        retry={() => void pageQuery.refetch()}
        back={
          <Link href="/executions" className="text-accent hover:underline">
            All executions
          </Link>
        }
      />
    )
  if (!summary || !progress) return <Loading what="Reading the execution" />
  const last = Math.max(pulse.seq, progress.seq)
  const tabs = [
    { id: 'graph', label: 'Graph' },
    { id: 'timeline', label: 'Timeline' },
    { id: 'loops', label: 'Loops', count: loops.length },
    { id: 'events', label: 'Events', count: last },
    { id: 'data', label: 'Data' },
    { id: 'logs', label: 'Logs' },
    { id: 'why', label: 'Why' },
  ] as const

  const open = (next: Tab, query: Record<string, string> = {}) => {
    const parameters = new URLSearchParams(window.location.search)
    for (const name of [...parameters.keys()]) if (name !== 'at') parameters.delete(name)
    for (const [name, value] of Object.entries(query)) parameters.set(name, value)
    go(`/executions/${id}/${next}${parameters.size ? `?${parameters}` : ''}`)
  }

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Header
        summary={summary}
        progress={progress}
        loops={loops}
        inside={children}
        link={<LinkState pulse={pulse} />}
      >
        <Actions summary={summary} waits={progress.waits} />
      </Header>
      <WaitList id={id} waits={progress.waits} />
      <div className="px-4">
        <Tabs tabs={tabs} value={current} onChange={(next) => open(next)} />
      </div>
      {(current === 'graph' || current === 'data') && last > 0 && (
        <TimeTravel id={id} last={last} at={moment} move={move} live={pulse.link} />
      )}
      <section role="tabpanel" aria-label={current} className="flex min-h-0 flex-1 flex-col">
        {current === 'graph' && (
          <GraphTab
            id={id}
            at={moment}
            shape={graph ?? null}
            newest={progress}
            summary={summary}
            open={open}
          />
        )}
        {current === 'timeline' && <TimelineTab id={id} open={open} />}
        {current === 'loops' && <LoopsTab id={id} runs={loops} summary={summary} open={open} />}
        {current === 'events' && <EventsTab id={id} last={last} live={pulse.link === 'live'} />}
        {current === 'data' && (
          <DataTab
            id={id}
            at={moment}
            failed={summary.status === 'failed' ? (summary.error?.step ?? '') : null}
            open={open}
          />
        )}
        {current === 'logs' && <LogsTab id={id} />}
        {current === 'why' && (
          <WhyTab
            id={id}
            steps={[
              ...new Set([...(graph?.steps.map((node) => node.step) ?? []), ...Object.keys(progress.steps)]),
            ]}
            open={open}
          />
        )}
      </section>
    </div>
  )
}

export type Open = (tab: Tab, query?: Record<string, string>) => void
