// What of a workload is not as the playbook has it: only that is kept with a schedule or a trigger.
import type { Json, Obj } from '../../api/types'

/** The keys whose values differ from the defaults, as they are now. */
export const overrides = (defaults: Obj, value: Obj): Obj =>
  Object.fromEntries(
    Object.entries(value).filter(([key, item]) => !(key in defaults) || !same(defaults[key] ?? null, item)),
  )

const same = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b)
