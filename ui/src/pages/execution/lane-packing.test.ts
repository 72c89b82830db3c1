import { describe, expect, it } from 'vitest'
import type { LoopView } from '../../api/types'
import { pack } from './lane-packing'

const view = (marks: string, started: number[], took: number[]): LoopView =>
  ({ marks, started, took, total: marks.length }) as unknown as LoopView

describe('pack', () => {
  it('puts iterations that do not overlap into one lane', () => {
    expect(pack(view('dd', [0, 10], [10, 5]), 0, 20).lanes).toBe(1)
  })
  it('gives those that overlap lanes of their own', () => {
    expect(pack(view('ddd', [0, 1, 2], [10, 10, 10]), 0, 20).pieces.map((piece) => piece.lane)).toEqual([
      0, 1, 2,
    ])
  })
  it('lets what runs go on to the end, and leaves out what has not begun', () => {
    expect(pack(view('rp', [3, -1], [-1, -1]), 100, 200).pieces).toEqual([
      { index: 0, lane: 0, from: 103, to: 200, mark: 'r' },
    ])
  })
})
