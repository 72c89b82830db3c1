// Credentials by name: values only go in, so none is ever shown.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { put, remove } from '../api/client'
import { credentials, uses } from '../api/queries'
import type { Obj } from '../api/types'
import { Button, Dialog, Field } from '../design/controls'
import { Empty, Failure, Reading } from '../design/states'
import { Ago } from '../design/time'
import { complain, say } from '../design/toast'
import { PageHead } from '../shell/layout'
import { useTitle } from '../shell/title'

export function CredentialsPage() {
  useTitle('Credentials')
  const found = useQuery(credentials())
  const used = useQuery(uses())
  const client = useQueryClient()
  const [adding, setAdding] = useState(false)
  const [dropping, setDropping] = useState<string | null>(null)
  const drop = useMutation({
    mutationFn: (name: string) => remove('/credentials/{name}', { name }),
    onSuccess: (_, name) => { say(`deleted ${name}`); setDropping(null); void client.invalidateQueries({ queryKey: ['credentials'] }) },
    onError: complain,
  })
  return (
    <>
      <PageHead title="Credentials"><Button kind="primary" onClick={() => setAdding(true)}>Set a credential</Button></PageHead>
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <Reading of={found}>
          {({ items }) =>
            items.length === 0 ? <Empty title="No credential is stored">A task names one with <code>auth</code>; a playbook declares it under <code>keychain</code>. Values are sealed and never shown.</Empty> : (
              <table className="w-full border-collapse max-sm:block">
                <thead className="border-b border-line max-sm:hidden"><tr><th className="th">Name</th><th className="th">Set</th><th className="th">Value</th><th className="th">Named by</th><th className="th" /></tr></thead>
                <tbody className="max-sm:block">
                  {items.map((item) => (
                    <tr key={item.name} className="border-b border-line last:border-0 max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:py-1">
                      <td className="td max-w-72 truncate font-mono max-sm:w-full" title={item.name}>{item.name}</td><td className="td"><Ago at={item.set_at} /></td><td className="td text-ink-3">sealed</td>
                      <td className="td"><Named name={item.name} paths={used.data?.items[item.name] ?? []} /></td>
                      <td className="td text-right max-sm:ml-auto"><Button kind="quiet" aria-label={`Delete ${item.name}`} onClick={() => setDropping(item.name)}>Delete</Button></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )
          }
        </Reading>
      </div>
      {adding && <SetDialog onClose={() => setAdding(false)} />}
      {dropping && (
        <Dialog title={`Delete ${dropping}?`} onClose={() => setDropping(null)}>
          <p className="mb-3 text-ink-2">Tasks that name it will fail until it is set again.</p>
          <div className="flex justify-end gap-2"><Button onClick={() => setDropping(null)}>Keep it</Button><Button kind="danger" onClick={() => drop.mutate(dropping)}>Delete</Button></div>
        </Dialog>
      )}
    </>
  )
}

function Named({ name, paths }: { name: string; paths: string[] }) {
  if (name.startsWith('trigger.')) return <>the trigger <Link href="/schedules" className="text-accent hover:underline">{name.slice('trigger.'.length)}</Link></>
  if (paths.length === 0) return <span className="text-ink-3">no registered playbook</span>
  return <>{paths.map((path) => <Link key={path} href={`/playbooks/${path}`} className="mr-2 text-accent hover:underline">{path}</Link>)}</>
}

function SetDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [text, setText] = useState('{\n  "token": ""\n}')
  const set = useMutation({
    mutationFn: () => put('/credentials/{name}', { name }, JSON.parse(text) as Obj),
    onSuccess: () => { say(`set ${name}`); void client.invalidateQueries({ queryKey: ['credentials'] }); onClose() },
  })
  return (
    <Dialog title="Set a credential" onClose={onClose}>
      <form className="flex flex-col gap-3" autoComplete="off" onSubmit={(event) => { event.preventDefault(); set.mutate() }}>
        <Field label="Name"><input className="field font-mono" required pattern="[A-Za-z_][A-Za-z0-9_.\-]*" value={name} onChange={(event) => setName(event.target.value)} /></Field>
        <Field label="Fields (JSON)" hint="For example token; or user, password, host. They are sealed when they arrive and never sent back."><textarea className="field h-28 py-1.5 font-mono text-xs" spellCheck={false} value={text} onChange={(event) => setText(event.target.value)} /></Field>
        {set.error && <Failure error={set.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>Not now</Button><Button kind="primary" type="submit" disabled={!name || set.isPending}>Set</Button></div>
      </form>
    </Dialog>
  )
}
