// What this server is and how this browser shows it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { remove } from '../api/client'
import { about, session, tools } from '../api/queries'
import type { Obj } from '../api/types'
import { Button, Field } from '../design/controls'
import { bytes } from '../design/number'
import { QueryView } from '../design/states'
import { duration } from '../design/time'
import { showError } from '../design/toast'
import { PageHead } from '../shell/layout'
import { choose, type Theme } from '../shell/theme'
import { useTitle } from '../shell/title'
import { useTheme } from '../shell/use-theme'

export function SettingsPage() {
  useTitle('Settings')
  const theme = useTheme()
  const server = useQuery(about())
  const kinds = useQuery(tools())
  return (
    <>
      <PageHead title="Settings" />
      <div className="grid items-start gap-4 px-4 pb-4 lg:grid-cols-2">
        <div className="flex flex-col gap-4">
          <section className="panel p-3" aria-label="This browser">
            <h2 className="mb-2 font-medium">This browser</h2>
            <Field label="Theme">
              <select
                className="field max-w-48"
                value={theme}
                onChange={(event) => choose(event.target.value as Theme)}
              >
                <option value="system">as the system</option>
                <option value="light">light</option>
                <option value="dark">dark</option>
              </select>
            </Field>
          </section>
          <SessionPanel />
        </div>
        <section className="panel p-3" aria-label="This server">
          <h2 className="mb-2 font-medium">This server</h2>
          <QueryView query={server}>
            {(answer) => (
              <dl className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1 sm:grid-cols-[auto_minmax(0,1fr)]">
                <Fact name="Version">{answer.version}</Fact>
                <Fact name="Largest request">{bytes(answer.limits.body_bytes)}</Fact>
                <Fact name="Not ready when work is due for longer than">
                  {duration(answer.limits.ready_after_ms)}
                </Fact>
                <Fact name="API">
                  <a href="/api/openapi.json" className="text-accent hover:underline">
                    openapi.json
                  </a>
                </Fact>
              </dl>
            )}
          </QueryView>
        </section>
        <section className="panel p-3 lg:col-span-2" aria-label="Tool kinds">
          <h2 className="mb-2 font-medium">Tool kinds</h2>
          <QueryView query={kinds}>
            {({ items }) => (
              <ul className="grid gap-x-4 sm:grid-cols-2">
                {items.map((kind, index) => (
                  <Kind key={index} kind={kind} />
                ))}
              </ul>
            )}
          </QueryView>
        </section>
      </div>
    </>
  )
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="contents">
      <dt className="text-ink-3">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function SessionPanel() {
  const sessionQuery = useQuery(session())
  const client = useQueryClient()
  const leave = useMutation({
    mutationFn: () => remove('/session', {}),
    onSuccess: () => client.resetQueries(),
    onError: showError,
  })
  if (!sessionQuery.data) return null
  return (
    <section className="panel p-3" aria-label="You">
      <h2 className="mb-2 font-medium">You</h2>
      <p className="text-ink-2">
        You are <span className="font-medium text-ink">{sessionQuery.data.name}</span> and may:{' '}
        {sessionQuery.data.scopes.join(', ')}.
        {sessionQuery.data.prefixes.length > 0 && ` Only under ${sessionQuery.data.prefixes.join(', ')}.`}
      </p>
      {sessionQuery.data.csrf && (
        <Button className="mt-2" onClick={() => leave.mutate()}>
          Log out
        </Button>
      )}
    </section>
  )
}

function Kind({ kind }: { kind: Obj }) {
  const words = String(kind.summary ?? kind.doc ?? kind.description ?? '').split('\n')[0]
  return (
    <li className="flex items-baseline gap-2 border-b border-line py-1">
      <span className="w-20 shrink-0 font-mono text-xs font-medium">
        {String(kind.kind ?? kind.name ?? '')}
      </span>{' '}
      <span className="text-ink-3">{withCode(words ?? '')}</span>
    </li>
  )
}

/** A sentence in which what stands in backticks is code. */
const withCode = (words: string): ReactNode =>
  words.split('`').map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))
