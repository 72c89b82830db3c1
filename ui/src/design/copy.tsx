// Copying and saving text, with a word that it happened.
import { useState } from 'react'
import { Button, IconButton } from './controls'
import { showError } from './toast'

/** Put a text into the clipboard; a page that came over plain HTTP may only do it the old way. */
async function put(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'fixed opacity-0'
  const parent = document.querySelector('dialog[open]') ?? document.body // nothing outside of it can be selected
  parent.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  if (!done) throw new Error('the browser does not let this page copy')
}

function useCopied(text: string | (() => string)): [boolean, () => void] {
  const [copied, setCopied] = useState(false)
  const copy = () => {
    put(typeof text === 'function' ? text() : text).then(() => {
      setCopied(true)
      window.setTimeout(() => setCopied(false), 1500)
    }, showError)
  }
  return [copied, copy]
}

export function CopyIcon({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, copy] = useCopied(text)
  return (
    <IconButton
      icon={copied ? 'link' : 'copy'}
      label={copied ? 'Copied' : label}
      onClick={(event) => {
        event.stopPropagation()
        copy()
      }}
    />
  )
}

export function CopyButton({
  text,
  children = 'Copy',
}: {
  text: string | (() => string)
  children?: string
}) {
  const [copied, copy] = useCopied(text)
  return (
    <Button icon="copy" onClick={copy}>
      {copied ? 'Copied' : children}
    </Button>
  )
}

export function save(name: string, text: string, type = 'application/json'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** Who or what started something, with an id in it cut short. */
export const shortStarter = (by: string): string => by.replace(/[0-9a-f]{32}/, shortId)

/** An id short enough for a table; the whole one on hover. */
export const shortId = (id: string): string => (id.length > 12 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id)
