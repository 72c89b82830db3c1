// Numbers as people read them. The browser's own formatter takes tens of milliseconds to wake up.

const SIZES = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** A size in the unit in which it is short. */
export function bytes(value: number): string {
  const power = value < 1024 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(value) / 10))
  return `${count(Math.round((value / 1024 ** power) * 10) / 10)} ${SIZES[power]}`
}

/** A number with its thousands parted. */
export function count(value: number): string {
  const [whole = '', part] = String(value).split('.')
  const thousands = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return part === undefined ? thousands : `${thousands}.${part}`
}
