// What whoever looks at the pages may do: what they may not is shown, and said to be so, before they fill in a form.
import { createContext, useContext } from 'react'

export type Scope = 'run' | 'write' | 'admin'

export const Rights = createContext<readonly string[] | null>(null) // null: not known yet

/** Why something cannot be done here that needs a scope; nothing where it can. */
export function useRefusal(needs: Scope | undefined): string | undefined {
  const own = useContext(Rights)
  return needs === undefined || own === null || own.includes(needs)
    ? undefined
    : `this needs the scope '${needs}'`
}
