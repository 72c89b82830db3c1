// The labels of a playbook, as its author wrote them.
import { Link } from 'wouter'

export const labelTexts = (labels: Record<string, string>): string[] =>
  Object.entries(labels).map(([key, value]) => `${key}=${value}`)

/** Each leads to the executions of all playbooks that have it. */
export function Labels({ labels }: { labels: Record<string, string> }) {
  const texts = labelTexts(labels)
  if (texts.length === 0) return null
  return (
    <ul className="flex flex-wrap gap-1" aria-label="Labels">
      {texts.map((text) => (
        <li key={text} className="min-w-0">
          <Link
            href={`/executions?label=${encodeURIComponent(text)}`}
            className="block max-w-52 truncate rounded bg-sunken px-1.5 text-2xs text-ink-2 hover:underline"
            title={`${text}: show the executions with this label`}
          >
            {text}
          </Link>
        </li>
      ))}
    </ul>
  )
}
