// What a playbook says of its workload: `$schema` inside of it, else the shape of its defaults and their comments.
import type { Obj } from '../../api/types'
import { type Schema, schemaOf } from '../../design/form'

export interface Declared {
  defaults: Obj
  schema: Schema
}

/** The workload without its schema, and the schema of each key as far as it is known. */
export function declared(workload: Obj, text = ''): Declared {
  const { $schema, ...defaults } = workload
  const own = $schema && typeof $schema === 'object' && !Array.isArray($schema) ? ($schema as Schema) : {}
  const shape = schemaOf(defaults).properties ?? {}
  const notes = comments(text)
  const keys = new Set([...Object.keys(own.properties ?? {}), ...Object.keys(shape)])
  const properties = [...keys].map((key): [string, Schema] => [
    key,
    { ...(notes[key] ? { description: notes[key] } : {}), ...shape[key], ...own.properties?.[key] },
  ])
  const given = Object.entries(own.properties ?? {}).flatMap(([key, part]) =>
    part.default === undefined ? [] : [[key, part.default] as const],
  )
  return {
    defaults: { ...Object.fromEntries(given), ...defaults },
    schema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(own.required ? { required: own.required } : {}),
    },
  }
}

const KEY = /^( +)["']?([A-Za-z_][\w-]*)["']?:(?:\s[^#]*)?(?:\s#\s?(.*))?$/

/** The comments behind the keys of the workload, or above them, by key. */
export function comments(text: string): Record<string, string> {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => /^workload:\s*(#.*)?$/.test(line))
  const notes: Record<string, string> = {}
  let above: string[] = []
  let depth = ''
  for (const line of start < 0 ? [] : lines.slice(start + 1)) {
    if (/^\S/.test(line)) break
    const comment = /^\s+#\s?(.*)$/.exec(line)
    if (comment) {
      above.push(comment[1] ?? '')
      continue
    }
    const [, indent = '', key = '', behind] = KEY.exec(line) ?? []
    depth ||= indent
    const note = behind ?? above.join(' ')
    if (key && indent === depth && note) notes[key] = note.trim()
    above = []
  }
  return notes
}
