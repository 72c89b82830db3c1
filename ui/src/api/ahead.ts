// Answers asked for before the page's code is there: begun by the address alone, taken once by whoever asks the same.
const begun = new Map<string, Promise<Response>>()
const KEPT_MS = 10_000

export function begin(url: string): void {
  const answer = fetch(url, { headers: { Accept: 'application/json' }, credentials: 'same-origin' })
  answer.catch(() => undefined) // whoever takes it hears of it
  begun.set(url, answer)
  window.setTimeout(() => begun.delete(url), KEPT_MS)
}

/** The answer that was begun for an address, if it is a good one; every answer is given once. */
export async function taken(url: string): Promise<Response | null> {
  const answer = begun.get(url)
  if (!answer) return null
  begun.delete(url)
  return answer.then(
    (found) => (found.ok ? found : null),
    () => null,
  )
}
