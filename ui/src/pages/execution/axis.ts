// Where the axis of the timeline has its marks, and what they say.
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MARKS = 6
const STEPS = [
  ...[1, 10, 100, 1000, 10_000].flatMap((power) => [power, 2 * power, 5 * power]),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
].filter((step) => step <= 20 * SECOND || step >= MINUTE)

/** The distance of the marks: never less than a millisecond, which is all that is known. */
function stepOf(length: number): number {
  const least = length / MARKS
  return STEPS.find((step) => step >= least) ?? Math.ceil(least / DAY) * DAY
}

/** No two marks say the same, and none more than it has to. */
function words(at: number, step: number): string {
  if (at < SECOND && step < SECOND) return `${at} ms`
  if (at < MINUTE) {
    const digits = step % SECOND === 0 ? 0 : step % 100 === 0 ? 1 : step % 10 === 0 ? 2 : 3
    return `${(at / SECOND).toFixed(digits)} s`
  }
  const units: [number, string][] = [
    [Math.floor(at / DAY), 'd'],
    [Math.floor((at % DAY) / HOUR), 'h'],
    [Math.floor((at % HOUR) / MINUTE), 'min'],
    [(at % MINUTE) / SECOND, 's'],
  ]
  const said = units.filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`)
  return said.join(' ')
}

export function marks(from: number, to: number): { at: number; text: string }[] {
  const step = stepOf(to - from)
  const first = Math.ceil(from / step)
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, index) => {
    const at = (first + index) * step
    return { at, text: at === 0 ? '0' : words(at, step) }
  })
}
