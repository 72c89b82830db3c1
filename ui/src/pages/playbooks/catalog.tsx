// Registered playbooks: the newest version of each.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { catalog } from '../../api/queries'
import { classes } from '../../design/classes'
import { Button } from '../../design/controls'
import { Empty, QueryView } from '../../design/states'
import { Ago } from '../../design/time'
import { PageHead } from '../../shell/layout'
import { useTitle } from '../../shell/title'
import { RunDialog } from './run-dialog'

export function CatalogPage() {
  useTitle('Playbooks')
  const catalogQuery = useQuery(catalog())
  const [text, setText] = useState('')
  const [running, setRunning] = useState<string | null>(null)
  const [, go] = useLocation()
  return (
    <>
      <PageHead title="Playbooks">
        <input
          type="search"
          data-search
          aria-label="Search playbooks"
          placeholder="Search ( / )"
          className="field"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <Button kind="primary" onClick={() => go('/playbooks?new=1')}>
          New playbook
        </Button>
      </PageHead>
      <div className="panel mx-4 mb-4 shrink-0 overflow-x-auto">
        <QueryView query={catalogQuery}>
          {(page) => {
            const items = page.items.filter((item) =>
              `${item.path} ${item.description ?? ''}`.toLowerCase().includes(text.toLowerCase()),
            )
            if (items.length === 0)
              return (
                <Empty title={text ? 'No playbook matches' : 'No playbook is registered'}>
                  {!text && (
                    <>
                      Write one here, or register files with <code>noetl register</code>.
                    </>
                  )}
                </Empty>
              )
            return (
              <table className="w-full border-collapse">
                <thead className="border-b border-line">
                  <tr>
                    <th className="th">Playbook</th>
                    <th className="th hidden sm:table-cell">Version</th>
                    <th className="th hidden sm:table-cell">Registered</th>
                    <th className="th hidden md:table-cell">File</th>
                    <th className="th" />
                  </tr>
                </thead>
                <tbody>
                  {items.map((item) => (
                    <tr key={item.path} className="border-b border-line last:border-0 hover:bg-sunken">
                      <td className="td w-full max-w-0 min-w-32 sm:w-1/2">
                        <Link
                          href={`/playbooks/${item.path}`}
                          title={item.path}
                          className="block truncate font-medium text-accent hover:underline"
                        >
                          {item.path}
                        </Link>
                        {item.description && (
                          <p
                            className="line-clamp-2 text-xs text-ink-3 [overflow-wrap:anywhere]"
                            title={item.description}
                          >
                            {item.description}
                          </p>
                        )}
                      </td>
                      <td className="td hidden text-ink-2 sm:table-cell">v{item.version}</td>
                      <td className="td hidden sm:table-cell">
                        <Ago at={item.registered_at} />
                      </td>
                      <td
                        className="td hidden max-w-80 truncate text-xs text-ink-3 md:table-cell"
                        title={item.file ?? ''}
                      >
                        {item.file?.split('/').slice(-2).join('/') ?? '–'}
                      </td>
                      <td className="td">
                        <span className="flex justify-end gap-1">
                          <Link
                            href={`/executions?path=${encodeURIComponent(item.path)}`}
                            className={classes(
                              'hidden h-7 items-center rounded px-2 text-ink-2 sm:inline-flex',
                              'hover:bg-panel hover:text-ink',
                            )}
                          >
                            Executions
                          </Link>
                          <Button
                            icon="play"
                            aria-label={`Run ${item.path}`}
                            onClick={() => setRunning(item.path)}
                          >
                            Run
                          </Button>
                        </span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )
          }}
        </QueryView>
      </div>
      {running && <RunDialog path={running} onClose={() => setRunning(null)} />}
    </>
  )
}
