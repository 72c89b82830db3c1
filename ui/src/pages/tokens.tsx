// Bearer tokens: who may do what under which paths. A token is shown once, when it is made.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { type Body, post, remove } from '../api/client'
import { tokens } from '../api/queries'
import type { TokenItem } from '../api/types'
import { Button, Dialog, Field } from '../design/controls'
import { CopyIcon } from '../design/copy'
import { Empty, Failure, QueryView } from '../design/states'
import { ROW, Table } from '../design/table'
import { Ago } from '../design/time'
import { showError, showToast } from '../design/toast'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'

const SCOPES = {
  read: 'look at everything',
  run: 'start and steer executions',
  write: 'register playbooks, schedules and triggers',
  admin: 'all of it, credentials and tokens too',
  worker: 'serve as a worker',
} as const
type Scope = keyof typeof SCOPES
const DAY_MS = 86_400_000
const LIVES = { '7': 'a week', '30': '30 days', '90': '90 days', '365': 'a year', '': 'until it is revoked' }

export function TokensPage() {
  useTitle('Tokens')
  const tokensQuery = useQuery(tokens())
  const client = useQueryClient()
  const [making, setMaking] = useState(false)
  const [revoked, setRevoked] = useState<TokenItem | null>(null)
  const revoke = useMutation({
    mutationFn: (token: TokenItem) => remove('/tokens/{token_id}', { token_id: token.id }),
    onSuccess: (_, token) => {
      showToast(`revoked ${token.name}`)
      setRevoked(null)
      void client.invalidateQueries({ queryKey: ['tokens'] })
    },
    onError: showError,
  })
  return (
    <>
      <PageHead title="Tokens">
        <Button kind="primary" needs="admin" onClick={() => setMaking(true)}>
          Create a token
        </Button>
      </PageHead>
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <QueryView query={tokensQuery}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="There is no token">
                A server that other machines can reach wants one of everybody who asks it for something.
              </Empty>
            ) : (
              <TokenTable items={items} onRevoke={setRevoked} />
            )
          }
        </QueryView>
      </div>
      {making && <NewTokenDialog onClose={() => setMaking(false)} />}
      {revoked && (
        <Dialog title={`Revoke ${revoked.name}?`} onClose={() => setRevoked(null)}>
          <p className="mb-3 text-ink-2">
            Whoever uses it is refused within seconds. Schedules and triggers that were made with it go on.
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => setRevoked(null)}>Keep it</Button>
            <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(revoked)}>
              Revoke
            </Button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function TokenTable({ items, onRevoke }: { items: TokenItem[]; onRevoke: (token: TokenItem) => void }) {
  return (
    <Table heads={['Name', 'May', 'Where', 'Created', 'Expires', '']}>
      {items.map((token) => (
        <tr key={token.id} className={ROW}>
          <td className="td max-w-72 truncate font-medium max-sm:w-full" title={token.name}>
            {token.name}{' '}
            <span className="font-mono text-xs font-normal text-ink-3">{token.id.slice(0, 8)}</span>
          </td>
          <td className="td">{token.scopes.join(', ')}</td>
          <td className="td text-ink-2">
            {[...token.prefixes, ...token.pools.map((pool) => `pool ${pool}`)].join(', ') || 'everywhere'}
          </td>
          <td className="td whitespace-nowrap">
            <span className="text-ink-3 sm:hidden">created </span>
            <Ago at={token.created_at} />
            {token.by && <span className="text-ink-3"> by {token.by}</span>}
          </td>
          <td className="td whitespace-nowrap">
            <span className="text-ink-3 sm:hidden">expires </span>
            {token.expires_at ? (
              <span className={Date.parse(token.expires_at) < Date.now() ? 'text-failed' : ''}>
                <Ago at={token.expires_at} />
              </span>
            ) : (
              <span className="text-ink-3">never</span>
            )}
          </td>
          <td className="td text-right max-sm:ml-auto">
            <Button kind="quiet" aria-label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
              Revoke
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  )
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)

function NewTokenDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<Scope[]>(['read'])
  const [limits, setLimits] = useState('')
  const [days, setDays] = useState('90')
  const worker = scopes.includes('worker')
  const make = useMutation({
    mutationFn: () => {
      const body: Body<'/tokens', 'post'> = { name: name.trim(), scopes }
      if (words(limits).length) body[worker ? 'pools' : 'prefixes'] = words(limits)
      if (days) body.expires_ms = Number(days) * DAY_MS
      return post('/tokens', {}, body)
    },
    onSuccess: () => void client.invalidateQueries({ queryKey: ['tokens'] }),
  })
  if (make.data) return <Shown token={make.data.token} name={make.data.name} onClose={onClose} />
  return (
    <Dialog title="Create a token" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate()
        }}
      >
        <Field label="Name" hint="Who or what uses it: what it starts and answers is told under this name.">
          <input
            className="field"
            data-first
            required
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <fieldset className="flex flex-col gap-1">
          <legend className="label-text mb-1">May</legend>
          {(Object.keys(SCOPES) as Scope[]).map((scope) => (
            <label key={scope} className="flex items-center gap-2">
              <input
                type="checkbox"
                className="accent-accent"
                checked={scopes.includes(scope)}
                onChange={(event) =>
                  setScopes(
                    event.target.checked ? [...scopes, scope] : scopes.filter((other) => other !== scope),
                  )
                }
              />
              <span className="w-16 shrink-0 font-medium">{scope}</span>
              <span className="text-ink-3">{SCOPES[scope]}</span>
            </label>
          ))}
        </fieldset>
        <Field
          label={worker ? 'Only in these pools' : 'Only under these paths'}
          hint={worker ? 'such as default; * is any' : 'such as team-a/etl; empty is everywhere'}
        >
          <input className="field" value={limits} onChange={(event) => setLimits(event.target.value)} />
        </Field>
        <Field label="Good for">
          <select className="field" value={days} onChange={(event) => setDays(event.target.value)}>
            {Object.entries(LIVES)
              .sort(([a], [b]) => (Number(a) || Infinity) - (Number(b) || Infinity))
              .map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
          </select>
        </Field>
        {make.error && <Failure error={make.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button kind="primary" type="submit" disabled={!scopes.length || make.isPending}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function Shown({ token, name, onClose }: { token: string; name: string; onClose: () => void }) {
  return (
    <Dialog title={`The token of ${name}`} onClose={onClose}>
      <p className="mb-2 text-ink-2">Copy it now: it is shown this once and kept nowhere.</p>
      <p className="mb-3 flex items-center gap-1 rounded-md border border-line bg-sunken px-2 py-1.5">
        <code className="min-w-0 flex-1 [overflow-wrap:anywhere]" data-token>
          {token}
        </code>
        <CopyIcon text={token} label="Copy the token" />
      </p>
      <div className="flex justify-end">
        <Button kind="primary" onClick={onClose}>
          I have it
        </Button>
      </div>
    </Dialog>
  )
}
