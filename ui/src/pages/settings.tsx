// What this server is and how this browser shows it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { remove } from '../api/client'
import { about, session, tools } from '../api/queries'
import type { Json, Obj } from '../api/types'
import { Button, Field } from '../design/controls'
import { Reading } from '../design/states'
import { complain } from '../design/toast'
import { Tree } from '../design/tree'
import { PageHead } from '../shell/layout'
import { choose, type Theme } from '../shell/theme'
import { useTheme } from '../shell/use-theme'
import { useTitle } from '../shell/title'

export function SettingsPage() {
  useTitle('Settings')
  const theme = useTheme()
  const server = useQuery(about())
  const kinds = useQuery(tools())
  return (
    <>
      <PageHead title="Settings" />
      <div className="grid items-start gap-4 px-4 pb-4 lg:grid-cols-2">
        <section className="panel p-3" aria-label="This browser">
          <h2 className="mb-2 font-medium">This browser</h2>
          <Field label="Theme">
            <select className="field max-w-48" value={theme} onChange={(event) => choose(event.target.value as Theme)}>
              <option value="system">as the system</option><option value="light">light</option><option value="dark">dark</option>
            </select>
          </Field>
        </section>
        <section className="panel p-3" aria-label="This server">
          <h2 className="mb-2 font-medium">This server</h2>
          <Reading of={server}>{({ kinds: _, you: __, ...told }) => <Tree value={told as Json} open={2} />}</Reading>
        </section>
        <You />
        <section className="panel p-3 lg:col-span-2" aria-label="Tool kinds">
          <h2 className="mb-2 font-medium">Tool kinds</h2>
          <Reading of={kinds}>
            {({ items }) => <ul className="grid gap-x-4 sm:grid-cols-2">{items.map((kind, index) => <Kind key={index} kind={kind} />)}</ul>}
          </Reading>
        </section>
      </div>
    </>
  )
}

function You() {
  const known = useQuery(session())
  const client = useQueryClient()
  const leave = useMutation({ mutationFn: () => remove('/session', {}), onSuccess: () => client.resetQueries(), onError: complain })
  if (!known.data) return null
  return (
    <section className="panel p-3" aria-label="You">
      <h2 className="mb-2 font-medium">You</h2>
      <p className="text-ink-2">You are <span className="font-medium text-ink">{known.data.name}</span> and may: {known.data.scopes.join(', ')}.{known.data.prefixes.length > 0 && ` Only under ${known.data.prefixes.join(', ')}.`}</p>
      {known.data.csrf && <Button className="mt-2" onClick={() => leave.mutate()}>Log out</Button>}
    </section>
  )
}

function Kind({ kind }: { kind: Obj }) {
  const words = String(kind['summary'] ?? kind['doc'] ?? kind['description'] ?? '').split('\n')[0]
  return <li className="border-b border-line py-1"><span className="font-mono text-xs font-medium">{String(kind['kind'] ?? kind['name'] ?? '')}</span> <span className="text-ink-3">{words}</span></li>
}
