// Answers asked for before the page's code is there: begun by the address alone, taken once by whoever asks the same.
const responses = new Map<string, Promise<Response>>()
const EXPIRY_MS = 10_000

export function prefetch(url: string): void {
  const answer = fetch(url, { headers: { Accept: 'application/json' }, credentials: 'same-origin' })
  answer.catch(() => undefined) // whoever takes it hears of it
  responses.set(url, answer)
  window.setTimeout(() => responses.delete(url), EXPIRY_MS)
}

/** The answer that was begun for an address, if it is a good one; every answer is given once. */
export async function takePrefetched(url: string): Promise<Response | null> {
  const answer = responses.get(url)
  if (!answer) return null
  responses.delete(url)
  return answer.then(
    (response) => (response.ok ? response : null),
    () => null,
  )
}
