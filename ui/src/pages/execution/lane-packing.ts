// Iterations packed into as few lanes as they need.
import type { LoopView } from '../../api/types'

const LANES_MOST = 24

export interface Piece {
  index: number
  lane: number
  from: number
  to: number
  mark: string
}

/** Each iteration in the first lane that is free when it starts; those beyond the last lane share it. */
export function pack(view: LoopView, start: number, end: number): { pieces: Piece[]; lanes: number } {
  const order = [...view.marks]
    .map((mark, index) => ({ index, mark, began: view.started[index] ?? -1 }))
    .filter((iteration) => iteration.began >= 0)
  order.sort((a, b) => a.began - b.began)
  const free: number[] = []
  const pieces = order.map(({ index, mark, began }) => {
    const took = view.took[index] ?? -1
    const from = start + began
    const to = took >= 0 ? from + took : end
    let lane = free.findIndex((until) => until <= from)
    if (lane < 0) lane = Math.min(free.length, LANES_MOST - 1)
    free[lane] = to
    return { index, lane, from, to, mark }
  })
  return { pieces, lanes: Math.max(1, free.length) }
}
