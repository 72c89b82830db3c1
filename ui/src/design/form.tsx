// A form from a JSON Schema, or from the shape of a value: one field for each leaf, JSON for the rest.
import { useState } from 'react'
import type { Json, Obj } from '../api/types'

export interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  enum?: Json[]
  default?: Json
  description?: string
  title?: string
  items?: Schema
  const?: Json
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  pattern?: string
  examples?: Json[]
}

/** The value a form begins with. */
export function initialValue(schema: Schema): Json {
  if (schema.default !== undefined) return schema.default
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0] ?? null
  if (schema.properties) {
    const entries = Object.entries(schema.properties).filter(
      ([name, part]) => schema.required?.includes(name) || part.default !== undefined,
    )
    return Object.fromEntries(entries.map(([name, part]) => [name, initialValue(part)]))
  }
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type
  // A number that nobody gave is none: whoever fills the form is asked for it.
  return kind === 'boolean'
    ? false
    : kind === 'number' || kind === 'integer'
      ? null
      : kind === 'array'
        ? []
        : kind === 'object'
          ? {}
          : kind === 'null'
            ? null
            : ''
}

const DATE = /^\d{4}-\d{2}-\d{2}$/

/** The schema that a value's own shape suggests. */
export function schemaOf(value: Json): Schema {
  if (value === null) return {}
  if (Array.isArray(value)) return { type: 'array' }
  if (typeof value === 'object')
    return {
      type: 'object',
      properties: Object.fromEntries(Object.entries(value).map(([key, item]) => [key, schemaOf(item)])),
    }
  if (typeof value === 'string' && DATE.test(value)) return { type: 'string', format: 'date' }
  return { type: typeof value === 'number' ? 'number' : typeof value }
}

interface Props {
  schema: Schema
  value: Json
  onChange: (value: Json) => void
  name?: string
  required?: boolean
}
type LeafProps = Omit<Props, 'onChange'> & { onChange: (value: Json | undefined) => void }

export function SchemaForm({ schema, value, onChange, name, required = false }: Props) {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length > 0 && (value === null || (typeof value === 'object' && !Array.isArray(value)))) {
    const object = (value ?? {}) as Obj
    const change = (key: string, item: Json | undefined) => {
      const next = { ...object }
      if (item === undefined) delete next[key]
      else next[key] = item
      onChange(next)
    }
    return (
      <fieldset className={name ? 'rounded-md border border-line px-3 pb-3 pt-1' : ''}>
        {name && <legend className="label-text px-1">{name}</legend>}
        <div className="flex flex-col gap-2.5">
          {properties.map(([key, part]) => {
            const parts = {
              name: key,
              required: schema.required?.includes(key) ?? false,
              schema: part,
              value: object[key] ?? null,
            }
            return part.properties ? (
              <SchemaForm key={key} {...parts} onChange={(item) => change(key, item)} />
            ) : (
              <Leaf key={key} {...parts} onChange={(item) => change(key, item)} />
            )
          })}
        </div>
      </fieldset>
    )
  }
  return (
    <Leaf
      schema={schema}
      value={value}
      onChange={(next) => onChange(next ?? null)}
      name={name ?? 'value'}
      required={required}
    />
  )
}

function Leaf({ schema, value, onChange, name = '', required = false }: LeafProps) {
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (kind === 'boolean')
    return (
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
        {schema.title ?? name}
        {schema.description && <span className="text-xs text-ink-3">{schema.description}</span>}
      </label>
    )
  if (kind === 'array' && schema.items?.enum)
    return <Several {...{ schema, value, onChange, name, required }} />
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: every branch inside is a control
    <label className="flex min-w-0 flex-col gap-1">
      <span className="label-text">
        {schema.title ?? name}
        {required && <span title="required"> *</span>}
      </span>
      {schema.enum ? (
        <Choice schema={schema} value={value} onChange={onChange} required={required} />
      ) : kind === 'number' || kind === 'integer' ? (
        <input
          type="number"
          step={kind === 'integer' ? 1 : 'any'}
          min={schema.minimum}
          max={schema.maximum}
          required={required}
          className="field"
          value={typeof value === 'number' ? value : ''}
          onChange={(event) =>
            onChange(event.target.value !== '' ? Number(event.target.value) : required ? null : undefined)
          }
        />
      ) : kind === 'string' ? (
        <TextField schema={schema} value={value} onChange={onChange} required={required} />
      ) : (
        <JsonField value={value} onChange={onChange} />
      )}
      {schema.description && <span className="text-xs text-ink-3">{schema.description}</span>}
    </label>
  )
}

/** Any of some choices, in the order in which they are declared. */
function Several({ schema, value, onChange, name, required }: LeafProps) {
  const chosen = new Set(Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : [])
  const choices = schema.items?.enum ?? []
  const choose = (choice: string, wanted: boolean) => {
    const next = choices.filter((item) => {
      const text = JSON.stringify(item)
      return text === choice ? wanted : chosen.has(text)
    })
    onChange(next.length > 0 || required ? next : undefined)
  }
  return (
    <fieldset className="flex min-w-0 flex-col gap-1">
      <legend className="label-text">
        {schema.title ?? name}
        {required && <span title="required"> *</span>}
      </legend>
      <div className="flex flex-wrap gap-x-4 gap-y-1">
        {choices.map((item) => {
          const choice = JSON.stringify(item)
          return (
            <label key={choice} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="accent-accent"
                checked={chosen.has(choice)}
                onChange={(event) => choose(choice, event.target.checked)}
              />
              {typeof item === 'string' ? item : choice}
            </label>
          )
        })}
      </div>
      {schema.description && <span className="text-xs text-ink-3">{schema.description}</span>}
    </fieldset>
  )
}

function Choice({ schema, value, onChange, required }: LeafProps) {
  const none = value === null && !schema.enum?.includes(null)
  return (
    <select
      className="field"
      required={required}
      value={none ? '' : JSON.stringify(value)}
      onChange={(event) =>
        onChange(event.target.value === '' ? undefined : (JSON.parse(event.target.value) as Json))
      }
    >
      {(none || !required) && <option value="">–</option>}
      {schema.enum?.map((choice) => (
        <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
          {typeof choice === 'string' ? choice : JSON.stringify(choice)}
        </option>
      ))}
    </select>
  )
}

const INPUTS: Record<string, string> = {
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
  email: 'email',
  uri: 'url',
  password: 'password',
}
const LONG = 80

/** A moment as the field of the browser has it, where the reader is. */
const localMoment = (value: string): string => {
  const date = new Date(value)
  if (!value || Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

function TextField({ schema, value, onChange, required }: LeafProps) {
  const text = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)
  const [moment, optional] = [schema.format === 'date-time', schema.format !== undefined && !required]
  const change = (next: string) =>
    onChange(next === '' && optional ? undefined : moment && next ? new Date(next).toISOString() : next)
  if (!schema.format && (text.length > LONG || text.includes('\n')))
    return (
      <textarea
        className="field h-auto py-1.5"
        rows={4}
        required={required}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
    )
  const example = schema.examples?.[0]
  return (
    <input
      className="field"
      type={INPUTS[schema.format ?? ''] ?? 'text'}
      required={required}
      minLength={schema.minLength}
      maxLength={schema.maxLength}
      pattern={schema.pattern}
      placeholder={example === undefined ? undefined : `such as ${String(example)}`}
      value={moment ? localMoment(text) : text}
      onChange={(event) => change(event.target.value)}
    />
  )
}

/** Anything else, as JSON; what cannot be read is shown as such and not passed on. */
export function JsonField({
  value,
  onChange,
  rows = 3,
  label,
}: {
  value: Json
  onChange: (value: Json) => void
  rows?: number
  label?: string
}) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2))
  const [wrong, setWrong] = useState('')
  const change = (next: string) => {
    setText(next)
    try {
      onChange(JSON.parse(next) as Json)
      setWrong('')
    } catch (error) {
      setWrong((error as Error).message)
    }
  }
  return (
    <>
      <textarea
        rows={rows}
        aria-label={label}
        className="field h-auto py-1.5 font-mono text-xs"
        aria-invalid={wrong !== ''}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      {wrong && <span className="text-xs text-failed">not JSON: {wrong}</span>}
    </>
  )
}
