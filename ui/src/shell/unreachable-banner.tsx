// A server that does not answer is said to be so, wherever one is, and asked again until it does.
import { useQuery } from '@tanstack/react-query'
import { session } from '../api/queries'
import { useUnreachable } from '../api/reachability'
import { classes } from '../design/classes'
import { StatusIcon } from '../design/status'

const RETRY_MS = 3000

export function UnreachableBanner() {
  const unreachable = useUnreachable()
  useQuery({
    queryKey: ['reach'],
    queryFn: session().queryFn,
    enabled: unreachable,
    refetchInterval: RETRY_MS,
    retry: false,
    gcTime: 0,
  })
  if (!unreachable) return null
  return (
    <p
      role="status"
      className={classes(
        'sticky top-0 z-40 flex items-center gap-2',
        'border-b border-held bg-held-soft px-4 py-1.5 font-medium text-held',
      )}
    >
      <StatusIcon status="held" />{' '}
      <span>
        the server does not answer; trying again{' '}
        <span className="font-normal">· what is shown may be old</span>
      </span>
    </p>
  )
}
