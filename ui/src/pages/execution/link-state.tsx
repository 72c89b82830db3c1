// Whether the page hears the execution live, and when it tries again if not.
import type { Pulse } from '../../api/pulse'
import { classes } from '../../design/classes'
import { useNow } from '../../design/time'

const DOTS = { connecting: 'bg-idle', live: 'bg-done', lost: 'bg-failed' } as const

export function LinkState({ pulse }: { pulse: Pulse }) {
  const now = useNow()
  const wait = pulse.retryAt ? Math.max(0, Math.ceil((pulse.retryAt - now) / 1000)) : 0
  // What has ended cannot change any more: its status says all there is to say.
  if (pulse.link === 'ended') return <span data-link="ended" hidden />
  const words =
    pulse.link === 'lost'
      ? `connection lost, ${wait > 0 ? `trying again in ${wait} s` : 'reconnecting…'}`
      : pulse.link
  return (
    <span
      role="status"
      data-link={pulse.link}
      className={classes(
        'inline-flex items-center gap-1.5 whitespace-nowrap text-xs',
        pulse.link === 'lost' ? 'font-medium text-failed' : 'text-ink-3',
      )}
    >
      <span className={`size-1.5 rounded-full ${DOTS[pulse.link]}`} />
      {words}
    </span>
  )
}
