// Filters that the reader has given a name, as links; the one that is shown can be kept or dropped.
import { useState } from 'react'
import { Link } from 'wouter'
import { classes } from '../../design/classes'
import { Button, IconButton } from '../../design/controls'
import { type Filters, keepViews, queryOf, type SavedView, savedViews } from './filters'

export function SavedViews({ filters, active }: { filters: Filters; active: boolean }) {
  const [views, setViews] = useState(savedViews)
  const [naming, setNaming] = useState<string | null>(null)
  const query = queryOf(filters)
  const change = (next: SavedView[]) => {
    keepViews(next)
    setViews(next)
  }
  const save = () => {
    const name = naming?.trim()
    if (name) change([...views.filter((view) => view.name !== name), { name, query }])
    setNaming(null)
  }
  return (
    <span className="flex flex-wrap items-center gap-1.5" role="group" aria-label="Saved filters">
      {views.map((view) => (
        <span
          key={view.name}
          className={classes(
            'inline-flex h-7 items-center rounded-full border pl-2.5',
            view.query === query ? 'border-accent bg-accent-soft pr-0.5' : 'border-line-strong pr-2.5',
          )}
        >
          <Link href={`/executions?${view.query}`} className="max-w-40 truncate text-xs hover:underline">
            {view.name}
          </Link>
          {view.query === query && (
            <IconButton
              icon="close"
              label={`Forget ${view.name}`}
              onClick={() => change(views.filter((other) => other !== view))}
            />
          )}
        </span>
      ))}
      {naming !== null ? (
        <form
          className="flex gap-1"
          onSubmit={(event) => {
            event.preventDefault()
            save()
          }}
        >
          <input
            // biome-ignore lint/a11y/noAutofocus: the button that was pressed has become this field
            autoFocus
            className="field w-32"
            aria-label="Name of these filters"
            placeholder="Name"
            maxLength={40}
            value={naming}
            onChange={(event) => setNaming(event.target.value)}
          />
          <Button type="submit">Keep</Button>
        </form>
      ) : (
        active &&
        !views.some((view) => view.query === query) && (
          <Button kind="quiet" onClick={() => setNaming('')}>
            Save filters
          </Button>
        )
      )}
    </span>
  )
}
