// One of a few, each in words.
import type { ReactNode } from 'react'
import { Field } from './controls'

export function Choice<T extends string>({
  label,
  value,
  onChange,
  options,
  disabled = false,
}: {
  label: string
  value: T
  onChange: (value: T) => void
  options: Record<T, string>
  disabled?: boolean
}): ReactNode {
  return (
    <Field label={label}>
      <select
        className="field"
        value={value}
        disabled={disabled}
        onChange={(event) => onChange(event.target.value as T)}
      >
        {Object.entries<string>(options).map(([key, words]) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  )
}
