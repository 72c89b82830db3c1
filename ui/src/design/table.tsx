// A table of things with what can be done to each: on a phone a row is a block of its own.
import type { ReactNode } from 'react'

export const ROW =
  'border-b border-line last:border-0 max-sm:flex max-sm:flex-wrap max-sm:items-center max-sm:py-1'

/** The heads of the columns above its rows; a column without a head is for what can be done. */
export function Table({ heads, children }: { heads: string[]; children: ReactNode }) {
  return (
    <table className="w-full border-collapse max-sm:block">
      <thead className="border-b border-line max-sm:hidden">
        <tr>
          {heads.map((head) => (
            <th key={head} className="th">
              {head || <span className="sr-only">What can be done</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">{children}</tbody>
    </table>
  )
}
