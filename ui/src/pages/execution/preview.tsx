// A payload as what it is: rows as a table with a plot, images, text, anything else as a tree. Stored ones in pages.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { result } from '../../api/queries'
import type { Json, Obj, StoredRef } from '../../api/types'
import { Button } from '../../design/controls'
import { CopyIcon } from '../../design/copy'
import { bytes, count } from '../../design/number'
import { Plot } from '../../design/plot'
import { QueryView } from '../../design/states'
import { Tree } from '../../design/tree'

const PAGE = 50

export function Preview({ data, stored }: { data: Json; stored: StoredRef | null }) {
  if (data === null && stored) return <StoredValue stored={stored} />
  const answer = sqlAnswer(data)
  if (answer) return <SqlAnswer answer={answer} stored={stored} />
  return <Value value={data} total={Array.isArray(data) ? data.length : null} />
}

interface Statement {
  rows: Obj[] | null
  row_count: number | null
  columns: string[]
}

/** What a SQL kind answers: the rows of each statement that gave any, however the answer names them. */
export function sqlAnswer(value: Json): Statement[] | null {
  const statement = statementOf(value)
  if (!statement) return null
  const all = (value as Obj).statements
  if (!Array.isArray(all) || all.length < 2) return [statement]
  return all.map(statementOf).filter((one): one is Statement => one !== null)
}

function statementOf(value: Json): Statement | null {
  if (!value || typeof value !== 'object' || Array.isArray(value)) return null
  const { rows, row_count, columns } = value
  if (!Array.isArray(columns) || !('row_count' in value)) return null
  if (rows !== null && !Array.isArray(rows)) return null
  return {
    rows: rows as Obj[] | null,
    row_count: typeof row_count === 'number' ? row_count : null,
    columns: columns.map(String),
  }
}

function SqlAnswer({ answer, stored }: { answer: Statement[]; stored: StoredRef | null }) {
  return (
    <div className="flex flex-col gap-3">
      {answer.map((statement, index) => (
        <section key={index} aria-label={answer.length > 1 ? `Statement ${index + 1}` : 'Rows'}>
          {answer.length > 1 && <h3 className="label-text mb-0.5">statement {index + 1}</h3>}
          {statement.rows === null && stored ? (
            <StoredValue stored={stored} />
          ) : statement.columns.length === 0 ? (
            <p className="text-ink-2">{countRows(statement.row_count ?? 0)} changed</p>
          ) : (
            <Rows
              rows={statement.rows ?? []}
              total={statement.row_count ?? statement.rows?.length ?? 0}
              columns={statement.columns}
            />
          )}
        </section>
      ))}
    </div>
  )
}

const countRows = (many: number): string => `${count(many)} ${many === 1 ? 'row' : 'rows'}`

/** Rows of one statement: of those only a page is fetched, and not the rest of the answer with it. */
const ONE_STATEMENT = (offset: number): string =>
  `{rows: rows[${offset}:${offset + PAGE}], row_count: row_count, columns: columns}`

/** What is fetched of a stored value: rows of SQL lie inside of what their kind answers. */
export function selectionOf(stored: StoredRef, offset: number): string | null {
  const { keys = {} } = (stored.meta?.schema_hint ?? {}) as { keys?: Record<string, string> }
  const sql = keys.rows === 'array' && keys.columns === 'array' && 'row_count' in keys
  return sql && !('statements' in keys) ? ONE_STATEMENT(offset) : null
}

function StoredValue({ stored }: { stored: StoredRef }) {
  const [offset, setOffset] = useState(0)
  const select = selectionOf(stored, offset)
  const resultQuery = useQuery(result(stored.locator.key, select ? { select } : { offset, limit: PAGE }))
  const size = stored.meta?.bytes
  return (
    <div>
      <p className="mb-2 text-xs text-ink-3">
        stored by reference{size !== undefined ? `, ${bytes(size)}` : ''}; read in pages
      </p>
      <QueryView query={resultQuery}>
        {(slice) => {
          const answer = sqlAnswer(slice.data)
          const total = select ? (answer?.[0]?.row_count ?? null) : slice.total
          return (
            <>
              {answer ? (
                <SqlAnswer answer={answer} stored={null} />
              ) : (
                <Value value={slice.data} total={slice.total} type={slice.content_type} />
              )}
              {total !== null && total > PAGE && <Pages offset={offset} total={total} go={setOffset} />}
            </>
          )
        }}
      </QueryView>
    </div>
  )
}

function Pages({ offset, total, go }: { offset: number; total: number; go: (offset: number) => void }) {
  return (
    <div className="mt-2 flex items-center gap-2">
      <Button disabled={offset === 0} onClick={() => go(Math.max(0, offset - PAGE))}>
        Previous
      </Button>
      <span className="text-xs text-ink-3">
        {count(offset + 1)}–{count(Math.min(total, offset + PAGE))} of {count(total)}
      </span>
      <Button disabled={offset + PAGE >= total} onClick={() => go(offset + PAGE)}>
        Next
      </Button>
    </div>
  )
}

const IMAGE = /^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+$/

function Value({ value, total, type = '' }: { value: Json; total: number | null; type?: string }) {
  const rows = rowsOf(value)
  if (rows) return <Rows rows={rows} total={total ?? rows.length} />
  if (typeof value === 'string') {
    const image = type.startsWith('image/') ? `data:${type};base64,${value}` : value
    if (IMAGE.test(image)) return <img src={image} alt="the output" className="max-h-96 max-w-full" />
    return <pre className="whitespace-pre-wrap break-words [overflow-wrap:anywhere]">{value}</pre>
  }
  return (
    <div className="relative">
      <div className="absolute right-0 top-0">
        <CopyIcon text={() => JSON.stringify(value, null, 2)} />
      </div>
      <Tree value={value} open={2} />
    </div>
  )
}

function rowsOf(value: Json): Obj[] | null {
  const list = Array.isArray(value)
    ? value
    : value && typeof value === 'object'
      ? Object.values(value).find((item) => Array.isArray(item) && item.length > 1)
      : null
  if (!Array.isArray(list) || list.length === 0) return null
  if (!Array.isArray(value) && Object.keys(value as object).length > 1) return null
  return list.every((item) => item !== null && typeof item === 'object' && !Array.isArray(item))
    ? (list as Obj[])
    : null
}

function Rows({ rows, total, columns: given }: { rows: Obj[]; total: number; columns?: string[] }) {
  const [limit, setLimit] = useState(PAGE)
  const [plot, setPlot] = useState(false)
  const columns = (given ?? [...new Set(rows.slice(0, 200).flatMap((row) => Object.keys(row)))]).slice(0, 40)
  const numeric = columns.filter(
    (name) =>
      rows.every((row) => row[name] === null || row[name] === undefined || typeof row[name] === 'number') &&
      rows.some((row) => typeof row[name] === 'number'),
  )
  return (
    <div>
      <p className="mb-1.5 flex items-center gap-3 text-xs text-ink-3">
        {countRows(total)}
        {numeric.length > 0 && (
          <button type="button" className="text-accent hover:underline" onClick={() => setPlot(!plot)}>
            {plot ? 'hide the plot' : 'plot'}
          </button>
        )}
      </p>
      {plot && <Plot rows={rows} columns={numeric} />}
      <div className="overflow-x-auto">
        <table className="border-collapse font-mono text-xs">
          <thead>
            <tr className="border-b border-line">
              {columns.map((name) => (
                <th
                  key={name}
                  className={`th max-w-80 truncate font-sans ${numeric.includes(name) ? 'text-right' : ''}`}
                  title={name}
                >
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row, index) => (
              <tr key={index} className="border-b border-line last:border-0">
                {columns.map((name) => (
                  <td
                    key={name}
                    className={`max-w-80 truncate px-2.5 py-0.5 ${numeric.includes(name) ? 'text-right' : ''}`}
                    title={cell(row[name])}
                  >
                    {cell(row[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > limit && (
        <Button className="mt-2" onClick={() => setLimit(limit + 500)}>
          {rows.length - limit} more
        </Button>
      )}
    </div>
  )
}

const cell = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)
