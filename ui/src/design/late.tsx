// What has taken longer than its playbook expects, and by how much.
import { duration, useNow } from './time'

interface Props {
  expected: number | null | undefined
  lateAt: string | null | undefined
  endedAt: string | null
  /** Say by how much, and before that what is expected. */
  long?: boolean
}

export function Late({ expected, lateAt, endedAt, long = false }: Props) {
  const now = useNow()
  if (!lateAt || expected === null || expected === undefined) return null
  const over = (endedAt ? Date.parse(endedAt) : now) - Date.parse(lateAt)
  if (over <= 0)
    return long ? (
      <span className="whitespace-nowrap">
        <span className="text-ink-3">expected within</span> {duration(expected)}
      </span>
    ) : null
  const words = `it should have taken ${duration(expected)} at the most`
  return (
    <span
      className="whitespace-nowrap rounded-full bg-held-soft px-1.5 text-xs font-medium text-held"
      title={words}
      data-late
    >
      {long ? `late by ${duration(over)}` : 'late'}
      <span className="sr-only">, {words}</span>
    </span>
  )
}
