// Who one is here. A server that only this machine can reach asks for nothing; any other wants a token.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Problem, post, setCsrfToken } from '../api/client'
import { session } from '../api/queries'
import { Button, Field } from '../design/controls'
import { Failure, Loading } from '../design/states'

export function SessionGate({ children }: { children: ReactNode }) {
  const sessionQuery = useQuery(session())
  if (sessionQuery.isPending) return <Loading />
  if (
    sessionQuery.error instanceof Problem &&
    (sessionQuery.error.status === 401 || sessionQuery.error.status === 403)
  )
    return <Login />
  setCsrfToken(sessionQuery.data?.csrf ?? null)
  return <>{children}</>
}

function Login() {
  const client = useQueryClient()
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
        <p className="text-ink-2">
          This server wants to know who you are. Paste a token; <code>noetl token create</code> makes one.
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
        <Button kind="primary" type="submit" className="justify-center" disabled={!token || enter.isPending}>
          Enter
        </Button>
      </form>
    </main>
  )
}
