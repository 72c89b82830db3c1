// Parts of the page that are fetched when they are first shown. What is there already is shown at once.
import { type ComponentType, useEffect, useState } from 'react'
import { Loading } from '../design/states'

type OnDemand<P> = ComponentType<P> & { fetched: () => Promise<void> }

export function onDemand<P extends object>(
  load: () => Promise<ComponentType<P>>,
  what?: string,
): OnDemand<P> {
  let made: ComponentType<P> | null = null
  let asked: Promise<void> | null = null
  const fetched = () =>
    (asked ??= load().then(
      (found) => {
        made = found
      },
      (error) => {
        asked = null
        throw error
      },
    ))

  function Demanded(props: P) {
    const [, show] = useState(made !== null)
    const [failed, fail] = useState<Error | null>(null)
    useEffect(() => {
      if (!made)
        fetched().then(
          () => show(true),
          (error: unknown) => fail(new Error('a part of the page could not be loaded', { cause: error })),
        )
    }, [])
    if (failed) throw failed // the boundary around it says so
    if (!made) return <Loading {...(what ? { what } : {})} />
    const Shown = made
    return <Shown {...props} />
  }
  return Object.assign(Demanded, { fetched })
}
