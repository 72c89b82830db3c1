// Keys: `/` goes to the page's search, `g` and a letter to a page, `?` shows them all.
import { useLayoutEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from '../design/controls'

const DESTINATIONS: Record<string, [string, string]> = {
  h: ['/', 'Home'],
  e: ['/executions', 'Executions'],
  a: ['/approvals', 'Approvals'],
  p: ['/playbooks', 'Playbooks'],
  c: ['/compare', 'Compare'],
  t: ['/schedules', 'Schedules and triggers'],
  n: ['/notifications', 'Notifications'],
  w: ['/workers', 'Workers'],
  k: ['/credentials', 'Credentials'],
  s: ['/settings', 'Settings'],
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) ||
    target.shadowRoot !== null)

const OPEN_EVENT = 'noetl:keys'

/** Open the list of keys. */
export const showKeys = (): void => {
  window.dispatchEvent(new Event(OPEN_EVENT))
}

export function Shortcuts() {
  const [help, setHelp] = useState(false)
  const [, go] = useLocation()

  // Before the first paint: what one sees listens.
  useLayoutEffect(() => {
    let afterG = 0
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
      if (event.key === '?') {
        event.preventDefault()
        setHelp(true)
        return
      }
      if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('[data-search]')
        if (search) {
          event.preventDefault()
          search.focus()
        }
        return
      }
      const destination = DESTINATIONS[event.key]
      if (destination && Date.now() - afterG < 1500) {
        event.preventDefault()
        go(destination[0])
      }
      afterG = event.key === 'g' ? Date.now() : 0
    }
    const onAsked = () => setHelp(true)
    window.addEventListener('keydown', onKey)
    window.addEventListener(OPEN_EVENT, onAsked)
    return () => {
      window.removeEventListener('keydown', onKey)
      window.removeEventListener(OPEN_EVENT, onAsked)
    }
  }, [go])

  if (!help) return null
  return (
    <Dialog title="Keyboard" onClose={() => setHelp(false)}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-2">
        <Row keys={['/']} text="search this page" />
        {Object.entries(DESTINATIONS).map(([key, [, name]]) => (
          <Row key={key} keys={['g', key]} text={`go to ${name}`} />
        ))}
        <Row keys={['←', '→']} text="on the time-travel slider: one event back or on" />
        <Row keys={['Ctrl', 'wheel']} text="on the timeline: zoom" />
        <Row keys={['Ctrl', 's']} text="in the editor: register" />
        <Row keys={['Esc']} text="close what is open" />
        <Row keys={['?']} text="this list" />
      </dl>
    </Dialog>
  )
}

function Row({ keys, text }: { keys: string[]; text: string }) {
  return (
    <>
      <dt className="flex gap-1">
        {keys.map((key) => (
          <kbd
            key={key}
            className="min-w-6 rounded border border-line-strong bg-sunken px-1.5 py-0.5 text-center"
          >
            {key}
          </kbd>
        ))}
      </dt>
      <dd className="text-ink-2">{text}</dd>
    </>
  )
}
