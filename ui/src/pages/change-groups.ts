// The differences of two values by the key or step that they belong to, so that many in one are one line.
import type { Change } from '../api/types'

export interface Group {
  name: string
  changes: Change[]
  more: number
}

/** Changes by their first name; `leftOut` counts, as `section.name`, what the server did not tell. */
export function groupChanges(section: string, changes: Change[], leftOut: Record<string, number>): Group[] {
  const groups = new Map<string, Group>()
  for (const change of changes) {
    const name = nameOf(change.path)
    const group = groups.get(name) ?? { name, changes: [], more: leftOut[`${section}.${name}`] ?? 0 }
    group.changes.push(change)
    groups.set(name, group)
  }
  return [...groups.values()]
}

const nameOf = (path: string): string => /^[^.[]*/.exec(path)?.[0] ?? path
