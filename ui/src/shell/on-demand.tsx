// Parts of the page that are fetched when they are first shown. What is there already is shown at once.
import { type ComponentType, useEffect, useState } from 'react'
import { Loading } from '../design/states'

type OnDemand<P> = ComponentType<P> & { preload: () => Promise<void> }

export function onDemand<P extends object>(
  load: () => Promise<ComponentType<P>>,
  what?: string,
): OnDemand<P> {
  let component: ComponentType<P> | null = null
  let request: Promise<void> | null = null
  const preload = () =>
    (request ??= load().then(
      (loaded) => {
        component = loaded
      },
      (error) => {
        request = null
        throw error
      },
    ))

  function Lazy(props: P) {
    const [, show] = useState(component !== null)
    const [failed, fail] = useState<Error | null>(null)
    useEffect(() => {
      if (!component)
        preload().then(
          () => show(true),
          (error: unknown) => fail(new Error('a part of the page could not be loaded', { cause: error })),
        )
    }, [])
    if (failed) throw failed // the boundary around it says so
    if (!component) return <Loading {...(what ? { what } : {})} />
    const Component = component
    return <Component {...props} />
  }
  return Object.assign(Lazy, { preload })
}
