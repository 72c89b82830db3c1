// Copying and saving text, with a word that it happened.
import { useState } from 'react'
import { Button, IconButton } from './controls'

function useCopied(text: string | (() => string)): [boolean, () => void] {
  const [copied, setCopied] = useState(false)
  const copy = () => {
    void navigator.clipboard?.writeText(typeof text === 'function' ? text() : text).then(() => {
      setCopied(true)
      window.setTimeout(() => setCopied(false), 1500)
    })
  }
  return [copied, copy]
}

export function CopyIcon({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, copy] = useCopied(text)
  return <IconButton icon={copied ? 'link' : 'copy'} label={copied ? 'Copied' : label} onClick={(event) => { event.stopPropagation(); copy() }} />
}

export function CopyButton({ text, children = 'Copy' }: { text: string | (() => string); children?: string }) {
  const [copied, copy] = useCopied(text)
  return <Button icon="copy" onClick={copy}>{copied ? 'Copied' : children}</Button>
}

export function save(name: string, text: string, type = 'application/json'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** An id short enough for a table; the whole one on hover. */
export const shortId = (id: string): string => (id.length > 12 ? `${id.slice(0, 6)}…${id.slice(-6)}` : id)
