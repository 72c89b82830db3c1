// One event: its data as a tree, and the raw envelope.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { get } from '../../api/client'
import type { Json } from '../../api/types'
import { classes } from '../../design/classes'
import { IconButton } from '../../design/controls'
import { CopyButton } from '../../design/copy'
import { Empty, QueryView } from '../../design/states'
import { StatusIcon } from '../../design/status'
import { exact } from '../../design/time'
import { Tree } from '../../design/tree'

export function EventDetail({ id, seq, onClose }: { id: string; seq: number; onClose: () => void }) {
  const [raw, setRaw] = useState(false)
  const eventQuery = useQuery({
    queryKey: ['event', id, seq],
    queryFn: ({ signal }) =>
      get('/executions/{execution_id}/events', { execution_id: id }, { from: seq, limit: 1 }, signal),
    staleTime: Infinity,
  })
  return (
    <aside
      aria-label={`Event ${seq}`}
      className={classes(
        'max-h-[60vh] w-full shrink-0 overflow-auto border-t border-line bg-panel',
        'md:max-h-none md:w-105 md:border-l md:border-t-0',
      )}
    >
      <QueryView query={eventQuery}>
        {({ items: [event] }) =>
          event && event.seq === seq ? (
            <>
              <div className="sticky top-0 flex items-center gap-2 border-b border-line bg-panel px-3 py-1.5">
                <StatusIcon status={event.status === 'in_progress' ? 'idle' : event.status} />
                <h2 className="min-w-0 flex-1 truncate font-mono text-xs font-semibold">
                  {event.seq} {event.name}
                </h2>
                <button
                  type="button"
                  className="text-xs text-accent hover:underline"
                  onClick={() => setRaw(!raw)}
                >
                  {raw ? 'Tree' : 'Raw'}
                </button>
                <CopyButton text={() => JSON.stringify(event, null, 2)} />
                <IconButton icon="close" label="Close" onClick={onClose} />
              </div>
              <div className="p-3">
                <p className="mb-2 text-xs text-ink-3">{exact(event.ts)}</p>
                {raw ? (
                  <pre className="whitespace-pre-wrap break-words [overflow-wrap:anywhere]">
                    {JSON.stringify(event, null, 2)}
                  </pre>
                ) : (
                  <Tree value={event as unknown as Json} open={3} />
                )}
              </div>
            </>
          ) : (
            <Empty title={`There is no event ${seq}`} />
          )
        }
      </QueryView>
    </aside>
  )
}
