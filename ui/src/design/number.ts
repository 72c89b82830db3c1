// Numbers as people read them. The browser's own formatter takes tens of milliseconds to wake up.

/** A number with its thousands parted. */
export function count(value: number): string {
  const [whole = '', part] = String(value).split('.')
  const parted = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return part === undefined ? parted : `${parted}.${part}`
}
