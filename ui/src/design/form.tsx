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

/** The schema that a value's own shape suggests. */
export function schemaOf(value: Json): Schema {
  if (value === null) return {}
  if (Array.isArray(value)) return { type: 'array' }
  if (typeof value === 'object')
    return {
      type: 'object',
      properties: Object.fromEntries(Object.entries(value).map(([key, item]) => [key, schemaOf(item)])),
    }
  return { type: typeof value === 'number' ? 'number' : typeof value }
}

interface Props {
  schema: Schema
  value: Json
  onChange: (value: Json) => void
  name?: string
  required?: boolean
}

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
          {properties.map(([key, part]) => (
            <SchemaForm
              key={key}
              name={key}
              required={schema.required?.includes(key) ?? false}
              schema={part}
              value={object[key] ?? null}
              onChange={(item) => change(key, item)}
            />
          ))}
        </div>
      </fieldset>
    )
  }
  return <Leaf schema={schema} value={value} onChange={onChange} name={name ?? 'value'} required={required} />
}

function Leaf({ schema, value, onChange, name = '', required = false }: Props) {
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
        {name}
        {schema.description && <span className="text-xs text-ink-3">{schema.description}</span>}
      </label>
    )
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: every branch inside is a control
    <label className="flex min-w-0 flex-col gap-1">
      <span className="label-text">
        {name}
        {schema.description ? ` · ${schema.description}` : ''}
      </span>
      {schema.enum ? (
        <select
          className="field"
          value={JSON.stringify(value)}
          onChange={(event) => onChange(JSON.parse(event.target.value) as Json)}
        >
          {schema.enum.map((choice) => (
            <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
              {typeof choice === 'string' ? choice : JSON.stringify(choice)}
            </option>
          ))}
        </select>
      ) : kind === 'number' || kind === 'integer' ? (
        <input
          type="number"
          step={kind === 'integer' ? 1 : 'any'}
          required={required}
          className="field"
          value={typeof value === 'number' ? value : ''}
          onChange={(event) => onChange(event.target.value === '' ? null : Number(event.target.value))}
        />
      ) : kind === 'string' ? (
        <input
          className="field"
          value={typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <JsonField value={value} onChange={onChange} />
      )}
    </label>
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
