// Every execution, live: what it is, how it stands, how long it took; several can be steered at once.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { post } from '../../api/client'
import { executions } from '../../api/queries'
import type { ExecutionItem } from '../../api/types'
import { Button } from '../../design/controls'
import { Empty, QueryView } from '../../design/states'
import { showToast } from '../../design/toast'
import { PageHead } from '../../shell/layout'
import { useTitle } from '../../shell/title'
import { CancelDialog } from './cancel-dialog'
import { FilterBar } from './filter-bar'
import { CLEAR, toQuery, useFilters } from './filters'
import { ExecutionTable } from './table'

const LIVE = new Set(['pending', 'running', 'waiting', 'paused', 'stuck'])

export function ExecutionsPage() {
  useTitle('Executions')
  const [filters, change] = useFilters()
  const [selection, setSelection] = useState<Set<string>>(new Set())
  const listQuery = useQuery(executions(toQuery(filters)))
  const filtered = Boolean(
    filters.status || filters.path || filters.text || filters.within || filters.by || filters.label,
  )

  const pick = (ids: string[], on: boolean) => {
    const next = new Set(selection)
    for (const id of ids) on ? next.add(id) : next.delete(id)
    setSelection(next)
  }

  return (
    <>
      <PageHead title="Executions">
        <LiveNote failed={listQuery.isError} />
      </PageHead>
      <FilterBar filters={filters} change={change} />
      <BulkBar
        items={listQuery.data?.items ?? []}
        selection={selection}
        clear={() => setSelection(new Set())}
      />
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <QueryView query={listQuery}>
          {(page) =>
            page.items.length === 0 ? (
              <Empty title={filtered ? 'No execution matches' : 'Nothing has run yet'}>
                {filtered ? (
                  <button type="button" className="text-accent hover:underline" onClick={() => change(CLEAR)}>
                    Show all of them
                  </button>
                ) : (
                  <>
                    Open a{' '}
                    <Link href="/playbooks" className="text-accent hover:underline">
                      playbook
                    </Link>{' '}
                    and press Run, or use <code className="whitespace-nowrap">noetl run</code>.
                  </>
                )}
              </Empty>
            ) : (
              <ExecutionTable
                items={page.items}
                selection={selection}
                pick={pick}
                onPath={(path) => change({ path })}
                onBy={(by) => change({ by })}
                onLabel={(label) => change({ label })}
              />
            )
          }
        </QueryView>
      </div>
      {(filters.cursor || listQuery.data?.cursor) && (
        <div className="flex justify-between px-4 pb-4">
          <Button disabled={!filters.cursor} onClick={() => change({ cursor: '' })}>
            Newest
          </Button>
          <Button
            disabled={!listQuery.data?.cursor}
            onClick={() => change({ cursor: listQuery.data?.cursor ?? '' })}
          >
            Older
          </Button>
        </div>
      )}
    </>
  )
}

function LiveNote({ failed }: { failed: boolean }) {
  return (
    <span
      role="status"
      className={`flex items-center gap-1.5 text-xs ${failed ? 'text-held' : 'text-ink-3'}`}
    >
      <span className={`size-1.5 rounded-full ${failed ? 'bg-held' : 'bg-done'}`} />
      {failed ? 'waiting for the server' : 'live'}
    </span>
  )
}

function BulkBar({
  items,
  selection,
  clear,
}: {
  items: ExecutionItem[]
  selection: Set<string>
  clear: () => void
}) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const [confirming, setConfirming] = useState(false)
  const selected = items.filter((item) => selection.has(item.execution_id))
  const live = selected.filter((item) => LIVE.has(item.status))
  const failed = selected.filter(
    (item) => item.status === 'failed' || item.status === 'cancelled' || item.failed_iterations > 0,
  )
  if (selected.length === 0) return null
  const each = async (list: ExecutionItem[], action: 'cancel' | 'retry', past: string, why = '') => {
    const done = await Promise.allSettled(
      list.map((item) =>
        post(`/executions/{execution_id}/${action}`, { execution_id: item.execution_id }, why ? { why } : {}),
      ),
    )
    const good = done.filter((result) => result.status === 'fulfilled').length
    showToast(`${good} of ${list.length} ${past}`, good === list.length ? 'done' : 'failed')
    clear()
    await client.invalidateQueries({ queryKey: ['executions'] })
  }
  return (
    <div
      role="toolbar"
      aria-label="Chosen executions"
      className="mx-4 mb-2 flex flex-wrap items-center gap-2 rounded-md border border-accent bg-accent-soft px-3 py-1.5"
    >
      <span className="font-medium">{selected.length} chosen</span>
      <Button
        kind="danger"
        icon="stop"
        needs="run"
        disabled={live.length === 0}
        onClick={() => setConfirming(true)}
      >
        Cancel {live.length}
      </Button>
      <Button
        icon="retry"
        needs="run"
        disabled={failed.length === 0}
        onClick={() => void each(failed, 'retry', 'retried as new executions')}
      >
        Retry {failed.length}
      </Button>
      {selected.length === 2 && (
        <Button
          icon="compare"
          onClick={() => go(`/compare?a=${selected[1]?.execution_id}&b=${selected[0]?.execution_id}`)}
        >
          Compare
        </Button>
      )}
      <Button kind="quiet" onClick={clear}>
        Choose none
      </Button>
      {confirming && live.length > 0 && (
        <CancelDialog
          many={live.length}
          onCancel={(why) => void each(live, 'cancel', 'cancelled', why)}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  )
}
