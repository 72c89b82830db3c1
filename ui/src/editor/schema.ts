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
  const match = LINE.exec(line.replace(/^(\s*)-$/, '$1- '))
  if (!match) return null
  const lead = match[1]?.length ?? 0
  const dashes = (match[2]?.match(/- /g) ?? []).length
  return {
    indent: lead + dashes * 2,
    dashes,
    key: match[3] ?? match[4] ?? match[5] ?? null,
    rest: match[6] ?? '',
  }
}

/** The keys that lead to a line, and the other keys of the mapping it stands in. */
export function placeOf(lines: string[], number: number, column: number): Place {
  const text = lines[number] ?? ''
  const current = read(text.trimEnd() === '' ? `${text}x:` : text)
  const indent = current && text.trim() !== '' ? current.indent : Math.min(column, text.length)
  const before = text.slice(0, column)
  const isValue = /^\s*(?:- )*\s*[\w.$"'-]+\s*:\s/.test(before)
  const path: string[] = []
  const kinds: (string | undefined)[] = []
  let level = indent
  let inList = (current?.dashes ?? 0) > 0
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
  return { path, kinds, key: current?.key ?? '', isValue, siblings: siblings(lines, number, indent), indent }
}

const kindOf = (siblings: Record<string, string>): string | undefined => siblings.kind?.replace(/["']/g, '')

function siblings(lines: string[], number: number, indent: number): Record<string, string> {
  const values: Record<string, string> = {}
  const visit = (row: number): 'on' | 'stop' => {
    const line = read(lines[row] ?? '')
    if (!line) return 'on'
    if (line.indent < indent) return 'stop'
    if (line.indent === indent && line.key !== null) values[line.key] = line.rest.trim()
    return line.indent === indent && line.dashes > 0 ? 'stop' : 'on'
  }
  const current = read(lines[number] ?? '')
  if (!current || current.dashes === 0)
    for (let row = number - 1; row >= 0; row -= 1) if (visit(row) === 'stop') break
  if (current?.key && current.indent === indent) values[current.key] = current.rest.trim()
  for (let row = number + 1; row < lines.length; row += 1) {
    const line = read(lines[row] ?? '')
    if (line && (line.indent < indent || (line.indent === indent && line.dashes > 0))) break
    visit(row)
  }
  return values
}

/** Every schema that may hold at a place; the `kind` of each mapping on the way picks among tool kinds. */
export function schemasAt(
  root: Node,
  { path, kinds, siblings }: Pick<Place, 'path' | 'kinds' | 'siblings'>,
): Node[] {
  let nodes = expand(root, root)
  path.forEach((part, index) => {
    nodes = ofKind(nodes, kinds[index]).flatMap((node) => {
      if (part === '[]') return node.items ? expand(node.items, root) : []
      const property = node.properties?.[part]
      if (property)
        return expand(property, root).map((variant) => ({
          ...variant,
          description: property.description ?? variant.description,
        }))
      return typeof node.additionalProperties === 'object' ? expand(node.additionalProperties, root) : []
    })
  })
  return ofKind(nodes, kindOf(siblings))
}

function ofKind(nodes: Node[], kind: string | undefined): Node[] {
  const compatible = kind
    ? nodes.filter((node) => {
        const property = node.properties?.kind
        return (
          property === undefined ||
          property.const === kind ||
          property.enum?.includes(kind) ||
          (property.const === undefined && property.enum === undefined)
        )
      })
    : nodes
  const exact = kind ? compatible.filter((node) => node.properties?.kind?.const === kind) : []
  return exact.length > 0 ? exact : compatible.length > 0 ? compatible : nodes
}

function expand(node: Node, root: Node, depth = 0): Node[] {
  if (depth > 12) return []
  const list: Node[] = []
  if (node.$ref) {
    const definition = node.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>((at, part) => (at as Obj | undefined)?.[part], root) as Node | undefined
    if (definition)
      list.push(
        ...expand(definition, root, depth + 1).map((variant) => ({
          ...variant,
          description: node.description ?? variant.description,
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
  const offers = new Map<string, Offer>()
  if (place.isValue) {
    for (const node of nodes) {
      const part = node.properties?.[place.key]
      for (const variant of part ? expand(part, root) : []) {
        const values =
          variant.enum ??
          (variant.const !== undefined ? [variant.const] : variant.type === 'boolean' ? [true, false] : [])
        for (const value of values)
          offers.set(String(value), { label: String(value), info: part?.description ?? '', value: true })
      }
    }
    return [...offers.values()]
  }
  for (const node of nodes)
    for (const [name, part] of Object.entries(node.properties ?? {}))
      if (!(name in place.siblings) || name === place.key)
        offers.set(name, {
          label: name,
          info: part.description ?? expand(part, root)[0]?.description ?? '',
          value: false,
        })
  return [...offers.values()]
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
