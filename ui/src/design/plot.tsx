// A small line plot of numeric columns: one line each, the axis labelled with what matters.
import type { Obj } from '../api/types'
import { count } from './number'

const WIDTH = 560
const HEIGHT = 140
const LINES = ['var(--accent)', 'var(--running)', 'var(--done)', 'var(--held)']

export function Plot({ rows, columns }: { rows: Obj[]; columns: string[] }) {
  const series = columns.slice(0, LINES.length)
  const values = rows
    .flatMap((row) => series.map((name) => row[name]))
    .filter((value): value is number => typeof value === 'number')
  const low = Math.min(0, ...values)
  const high = Math.max(...values, low + 1e-9)
  const x = (index: number) => (rows.length < 2 ? WIDTH / 2 : (index / (rows.length - 1)) * WIDTH)
  const y = (value: number) => HEIGHT - ((value - low) / (high - low)) * HEIGHT
  return (
    <figure className="mb-2">
      <svg
        viewBox={`-4 -6 ${WIDTH + 8} ${HEIGHT + 12}`}
        className="h-40 w-full"
        role="img"
        aria-label={`plot of ${series.join(', ')}`}
        preserveAspectRatio="none"
      >
        <line
          x1="0"
          x2={WIDTH}
          y1={y(0)}
          y2={y(0)}
          stroke="var(--line-strong)"
          vectorEffect="non-scaling-stroke"
        />
        {series.map((name, index) => (
          <polyline
            key={name}
            fill="none"
            stroke={LINES[index]}
            strokeWidth="1.5"
            vectorEffect="non-scaling-stroke"
            points={rows
              .map((row, index) =>
                typeof row[name] === 'number' ? `${x(index).toFixed(1)},${y(row[name]).toFixed(1)}` : '',
              )
              .filter(Boolean)
              .join(' ')}
          />
        ))}
      </svg>
      <figcaption className="flex flex-wrap gap-3 text-xs text-ink-2">
        {series.map((name, index) => (
          <span key={name} className="inline-flex items-center gap-1">
            <svg width="12" height="3" aria-hidden="true">
              <rect width="12" height="3" fill={LINES[index]} />
            </svg>
            {name}
          </span>
        ))}
        <span className="text-ink-3">
          from {count(low)} to {count(high)}
        </span>
      </figcaption>
    </figure>
  )
}
