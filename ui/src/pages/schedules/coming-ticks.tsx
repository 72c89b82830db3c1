// The ticks that times would have, while they are still being written.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type ComingTimes, comingTicks } from '../../api/queries'
import { Ago } from '../../design/time'

const QUIET_MS = 250

/** A value that has been the same for a moment. */
function useSettled<T>(value: T): T {
  const key = JSON.stringify(value)
  const [settled, setSettled] = useState({ key, value })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the value is another
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled({ key, value }), QUIET_MS)
    return () => window.clearTimeout(timer)
  }, [key])
  return settled.value
}

export function ComingTicks({ times, paused }: { times: ComingTimes; paused: boolean }) {
  const query = useQuery(comingTicks(useSettled(times)))
  const ticks = query.data?.items ?? []
  return (
    <section
      aria-label="Next ticks"
      className="min-h-31 rounded-md bg-sunken px-2.5 py-2 text-xs"
      aria-busy={query.isFetching}
    >
      <h3 className="text-ink-3">{paused ? 'Next ticks, once it is resumed' : 'Next ticks'}</h3>
      {query.error && (
        <p role="status" className="text-failed [overflow-wrap:anywhere]">
          {query.error.message}
        </p>
      )}
      <ol>
        {ticks.map((tick) => (
          <li key={tick.tick} className="flex flex-wrap items-baseline justify-between gap-x-2" data-coming>
            <span className="font-mono">{tick.local}</span>
            <span className="text-ink-3">
              <Ago at={tick.tick} />
            </span>
            {tick.clocks && (
              <span className="w-full text-held" data-clocks={tick.clocks}>
                clocks go {tick.clocks} before this one
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  )
}
