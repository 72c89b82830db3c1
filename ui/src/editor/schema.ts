// Where the cursor is in a YAML text, and what the language's JSON Schema says can stand there. No parser:
// indentation and keys are enough, and they also work while the text is half written.
import type { Json, Obj } from '../api/types'

export interface Node {
  $ref?: string
  description?: string
  properties?: Record<string, Node>
  patternProperties?: Record<string, Node>
  additionalProperties?: boolean | Node
  items?: Node
  anyOf?: Node[]
  oneOf?: Node[]
  allOf?: Node[]
  enum?: Json[]
  const?: Json
  type?: string | string[]
  $defs?: Record<string, Node>
  if?: Node
  then?: Node
  required?: string[]
}

/** `kinds` has, for each key of the path, the `kind` of the mapping that the key stands in. */
export interface Place {
  path: string[]
  kinds: (string | undefined)[]
  key: string
  isValue: boolean
  siblings: Record<string, string>
  indent: number
}

const LINE = /^(\s*)((?:- )*)\s*(?:(?:"([^"]*)"|'([^']*)'|([\w.$-]+))\s*:(?:\s+(.*)|$))?/

interface Read {
  indent: number
  dashes: number
  key: string | null
  rest: string
}

function read(line: string): Read | null {
  if (/^\s*(#.*)?$/.test(line)) return null
  const found = LINE.exec(line.replace(/^(\s*)-$/, '$1- '))
  if (!found) return null
  const lead = found[1]?.length ?? 0
  const dashes = (found[2]?.match(/- /g) ?? []).length
  return {
    indent: lead + dashes * 2,
    dashes,
    key: found[3] ?? found[4] ?? found[5] ?? null,
    rest: found[6] ?? '',
  }
}

/** The keys that lead to a line, and the other keys of the mapping it stands in. */
export function placeOf(lines: string[], number: number, column: number): Place {
  const text = lines[number] ?? ''
  const own = read(text.trimEnd() === '' ? `${text}x:` : text)
  const indent = own && text.trim() !== '' ? own.indent : Math.min(column, text.length)
  const before = text.slice(0, column)
  const isValue = /^\s*(?:- )*\s*[\w.$"'-]+\s*:\s/.test(before)
  const path: string[] = []
  const kinds: (string | undefined)[] = []
  let level = indent
  let inList = (own?.dashes ?? 0) > 0
  for (let row = number - 1; row >= 0; row -= 1) {
    const line = read(lines[row] ?? '')
    if (!line) continue
    const start = line.indent
    if (inList && line.key !== null && start <= level - 2 && line.rest === '') {
      path.unshift(line.key, '[]')
      kinds.unshift(kindOf(siblings(lines, row, start)), undefined)
      level = start
      inList = line.dashes > 0
      continue
    }
    if (!inList && start === level && line.dashes > 0) {
      inList = true
      continue
    }
    if (!inList && start < level && line.key !== null) {
      path.unshift(line.key)
      kinds.unshift(kindOf(siblings(lines, row, start)))
      level = start
      inList = line.dashes > 0
    }
  }
  return { path, kinds, key: own?.key ?? '', isValue, siblings: siblings(lines, number, indent), indent }
}

const kindOf = (siblings: Record<string, string>): string | undefined => siblings.kind?.replace(/["']/g, '')

function siblings(lines: string[], number: number, indent: number): Record<string, string> {
  const found: Record<string, string> = {}
  const take = (row: number): 'on' | 'stop' => {
    const line = read(lines[row] ?? '')
    if (!line) return 'on'
    if (line.indent < indent) return 'stop'
    if (line.indent === indent && line.key !== null) found[line.key] = line.rest.trim()
    return line.indent === indent && line.dashes > 0 ? 'stop' : 'on'
  }
  const own = read(lines[number] ?? '')
  if (!own || own.dashes === 0) for (let row = number - 1; row >= 0; row -= 1) if (take(row) === 'stop') break
  if (own?.key && own.indent === indent) found[own.key] = own.rest.trim()
  for (let row = number + 1; row < lines.length; row += 1) {
    const line = read(lines[row] ?? '')
    if (line && (line.indent < indent || (line.indent === indent && line.dashes > 0))) break
    take(row)
  }
  return found
}

/** Every schema that may hold at a place; the `kind` of each mapping on the way picks among tool kinds. */
export function schemasAt(
  root: Node,
  { path, kinds, siblings }: Pick<Place, 'path' | 'kinds' | 'siblings'>,
): Node[] {
  let here = expand(root, root)
  path.forEach((part, index) => {
    here = ofKind(here, kinds[index]).flatMap((node) => {
      if (part === '[]') return node.items ? expand(node.items, root) : []
      const found = node.properties?.[part]
      if (found)
        return expand(found, root).map((one) => ({
          ...one,
          description: found.description ?? one.description,
        }))
      return typeof node.additionalProperties === 'object' ? expand(node.additionalProperties, root) : []
    })
  })
  return ofKind(here, kindOf(siblings))
}

function ofKind(here: Node[], kind: string | undefined): Node[] {
  const fitting = kind
    ? here.filter((node) => {
        const own = node.properties?.kind
        return (
          own === undefined ||
          own.const === kind ||
          own.enum?.includes(kind) ||
          (own.const === undefined && own.enum === undefined)
        )
      })
    : here
  const exactly = kind ? fitting.filter((node) => node.properties?.kind?.const === kind) : []
  return exactly.length > 0 ? exactly : fitting.length > 0 ? fitting : here
}

function expand(node: Node, root: Node, depth = 0): Node[] {
  if (depth > 12) return []
  const list: Node[] = []
  if (node.$ref) {
    const found = node.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, part) => (at as Obj | undefined)?.[part], root) as Node | undefined
    if (found)
      list.push(
        ...expand(found, root, depth + 1).map((one) => ({
          ...one,
          description: node.description ?? one.description,
        })),
      )
  }
  for (const part of [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])])
    list.push(...expand(part, root, depth + 1))
  if (node.then) list.push(...expand(node.then, root, depth + 1))
  if (
    node.properties ||
    node.items ||
    node.enum ||
    node.const !== undefined ||
    node.type ||
    node.additionalProperties
  )
    list.push(node)
  return list
}

export interface Offer {
  label: string
  info: string
  value: boolean
}

/** What can stand at a place: keys that are not there yet, or the values of a key. */
export function offers(root: Node, place: Place): Offer[] {
  const nodes = schemasAt(root, place)
  const found = new Map<string, Offer>()
  if (place.isValue) {
    for (const node of nodes) {
      const part = node.properties?.[place.key]
      for (const one of part ? expand(part, root) : []) {
        const values =
          one.enum ?? (one.const !== undefined ? [one.const] : one.type === 'boolean' ? [true, false] : [])
        for (const value of values)
          found.set(String(value), { label: String(value), info: part?.description ?? '', value: true })
      }
    }
    return [...found.values()]
  }
  for (const node of nodes)
    for (const [name, part] of Object.entries(node.properties ?? {}))
      if (!(name in place.siblings) || name === place.key)
        found.set(name, {
          label: name,
          info: part.description ?? expand(part, root)[0]?.description ?? '',
          value: false,
        })
  return [...found.values()]
}

/** What the schema says about the key on a line. */
export function describe(root: Node, lines: string[], number: number): { key: string; text: string } | null {
  const line = read(lines[number] ?? '')
  if (!line?.key) return null
  const place = placeOf(lines, number, line.indent)
  for (const node of schemasAt(root, place)) {
    const part = node.properties?.[line.key]
    const text = part?.description ?? (part ? expand(part, root)[0]?.description : undefined)
    if (text) return { key: line.key, text }
  }
  return null
}
