// The versions of a playbook: open one, or see how it differs from the text at hand.
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { versions } from '../../api/queries'
import { Button } from '../../design/controls'

interface Props {
  path: string
  version: number | null
  dirty: boolean
  compared: number | null
  compare: (version: number | null) => void
}

export function Versions({ path, version, dirty, compared, compare }: Props) {
  const versionsQuery = useQuery(versions(path))
  const [, go] = useLocation()
  const items = versionsQuery.data?.items ?? []
  // What was typed differs from the version it began with; else a version is set against the one before it.
  const before =
    items.find((item) => item.version < (version ?? 0))?.version ??
    items.find((item) => item.version !== version)?.version
  const against = dirty ? version : (before ?? null)
  return (
    <>
      <select
        aria-label="Version"
        className="field"
        value={version ?? ''}
        onChange={(event) => go(`/playbooks/${path}?version=${event.target.value}`)}
      >
        {items.map((item, index) => (
          <option key={item.version} value={item.version}>
            v{item.version}
            {index === 0 ? ' (newest)' : ''}
          </option>
        ))}
      </select>
      {compared === null ? (
        <Button
          icon="compare"
          disabled={against === null}
          title={against === null ? 'There is only this version' : `What differs from v${against}`}
          onClick={() => compare(against)}
        >
          Diff
        </Button>
      ) : (
        <>
          <select
            aria-label="Compared with"
            className="field"
            value={compared}
            onChange={(event) => compare(Number(event.target.value))}
          >
            {items.map((item) => (
              <option key={item.version} value={item.version}>
                against v{item.version}
              </option>
            ))}
          </select>
          <Button onClick={() => compare(null)}>Edit</Button>
        </>
      )}
    </>
  )
}
