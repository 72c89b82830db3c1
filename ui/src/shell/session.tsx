// Who one is here. A server that only this machine can reach asks for nothing; any other wants a token.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Problem, post, setCsrfToken } from '../api/client'
import { loginWays, session } from '../api/queries'
import { classes } from '../design/classes'
import { Button, Field } from '../design/controls'
import { Rights } from '../design/rights'
import { Failure, Loading } from '../design/states'
import { softOf } from '../design/status'

export function SessionGate({ children }: { children: ReactNode }) {
  const sessionQuery = useQuery(session())
  if (sessionQuery.isPending) return <Loading />
  if (
    sessionQuery.error instanceof Problem &&
    (sessionQuery.error.status === 401 || sessionQuery.error.status === 403)
  )
    return <Login />
  setCsrfToken(sessionQuery.data?.csrf ?? null)
  return <Rights value={sessionQuery.data?.scopes ?? null}>{children}</Rights>
}

/** Why somebody who comes back from the provider is not in. */
const REFUSALS: Record<string, string> = {
  refused: 'The login was not finished. Try again.',
  unproven: 'The login proved nothing here: it took too long, or is not meant for this server. Try again.',
  powerless: 'Your account has no rights on this server. Ask whoever runs it.',
  away: 'The login does not answer. Try again in a while, or use a token.',
}

/** The page that was wanted, without what an earlier login said. */
function wantedPlace(): string {
  const { pathname, search } = window.location
  const parameters = new URLSearchParams(search)
  parameters.delete('login')
  return pathname + (parameters.size ? `?${parameters}` : '')
}

function ElsewhereLink({ provider }: { provider: string }) {
  return (
    <a
      href={`/api/v1/session/login?place=${encodeURIComponent(wantedPlace())}`}
      className={classes(
        'inline-flex h-7.5 items-center justify-center rounded-[5px] bg-accent px-2.5',
        'font-medium text-on-accent hover:opacity-90',
      )}
    >
      Log in at {new URL(provider).hostname}
    </a>
  )
}

function Login() {
  const client = useQueryClient()
  const waysQuery = useQuery(loginWays())
  const provider = waysQuery.data?.provider
  const refusal = REFUSALS[new URLSearchParams(window.location.search).get('login') ?? '']
  const [token, setToken] = useState('')
  const enter = useMutation({
    mutationFn: () => post('/session', {}, { token: token.trim() }),
    onSuccess: (answer) => {
      setCsrfToken(answer.csrf)
      client.setQueryData(session().queryKey, answer)
    },
  })
  return (
    <main className="grid h-dvh place-items-center p-4">
      <form
        className="panel flex w-full max-w-sm flex-col gap-3 p-5"
        onSubmit={(event) => {
          event.preventDefault()
          enter.mutate()
        }}
      >
        <h1 className="text-base font-semibold">NoETL</h1>
        <p className="text-ink-2">This server wants to know who you are.</p>
        {refusal && (
          <p role="alert" className={`rounded-md px-2.5 py-1.5 ${softOf('failed')}`}>
            {refusal}
          </p>
        )}
        {provider && <ElsewhereLink provider={provider} />}
        <p className="text-ink-2">
          {provider ? 'Or paste' : 'Paste'} a token; <code>noetl token create</code> makes one.
        </p>
        <Field label="Token">
          <input
            className="field font-mono"
            type="password"
            autoComplete="off"
            // biome-ignore lint/a11y/noAutofocus: there is nothing else on the page
            autoFocus
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
        </Field>
        {enter.error && <Failure error={enter.error} />}
        <Button
          kind={provider ? 'plain' : 'primary'}
          type="submit"
          className="justify-center"
          disabled={!token || enter.isPending}
        >
          Enter
        </Button>
      </form>
    </main>
  )
}
