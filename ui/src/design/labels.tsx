// The labels of a playbook, as its author wrote them.
import { Link } from 'wouter'

export const labelTexts = (labels: Record<string, string>): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`)

const CHIP = 'block max-w-52 truncate rounded bg-sunken px-1.5 text-2xs text-ink-2 hover:underline'

interface Props {
  labels: Record<string, string>
  /** In a list that can be narrowed; elsewhere each leads to the executions of all playbooks that have it. */
  onChoose?: (label: string) => void
}

export function Labels({ labels, onChoose }: Props) {
  const texts = labelTexts(labels)
  if (texts.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-1" aria-label="Labels">
      {texts.map((text) => (
        <li key={text} className="min-w-0">
          {onChoose ? (
            <button
              type="button"
              className={CHIP}
              title={`${text}: show only executions with this label`}
              onClick={() => onChoose(text)}
            >
              {text}
            </button>
          ) : (
            <Link
              href={`/executions?label=${encodeURIComponent(text)}`}
              className={CHIP}
              title={`${text}: show the executions with this label`}
            >
              {text}
            </Link>
          )}
        </li>
      ))}
    </ul>
  )
}
