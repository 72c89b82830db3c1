// The page's title, and a favicon that shows a state by colour and shape.
import { useEffect } from 'react'
import plain from '../favicon.svg'

const MARKS: Record<string, [string, string]> = {
  running: [
    '#0284c7',
    '<circle cx="16" cy="16" r="9" fill="none" stroke="#fff" stroke-width="4" stroke-dasharray="40 20"/>',
  ],
  pending: [
    '#78786f',
    '<circle cx="16" cy="16" r="8" fill="none" stroke="#fff" stroke-width="4" stroke-dasharray="6 6"/>',
  ],
  completed: ['#15803d', '<path d="m9 17 5 5 9-11" fill="none" stroke="#fff" stroke-width="4"/>'],
  failed: ['#dc2626', '<path d="m10 10 12 12m0-12-12 12" stroke="#fff" stroke-width="4"/>'],
  paused: ['#b45309', '<path d="M12 9v14M20 9v14" stroke="#fff" stroke-width="4"/>'],
  waiting: [
    '#7a3ea8',
    '<path d="M10 8h12M10 24h12M12 8c0 7 8 9 8 16M20 8c0 7-8 9-8 16" fill="none" stroke="#fff" stroke-width="3"/>',
  ],
  stuck: [
    '#b0246b',
    '<path d="M11 15v-3a5 5 0 0 1 10 0v3" fill="none" stroke="#fff" stroke-width="3"/>' +
      '<rect x="9" y="15" width="14" height="9" fill="#fff"/>',
  ],
  flawed: ['#b45309', '<path d="M16 8v10M16 22v2" stroke="#fff" stroke-width="4"/>'],
  cancelled: ['#78786f', '<path d="m9 23 14-14" stroke="#fff" stroke-width="4"/>'],
}

function setIcon(href: string): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  if (link) link.href = href
}

export function useTitle(title: string, status?: string): void {
  useEffect(() => {
    document.title = `${title} · NoETL`
    const mark = status ? MARKS[status] : undefined
    if (!mark) return
    const [colour, sign] = mark
    const square = `<rect width="32" height="32" rx="8" fill="${colour}"/>`
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${square}${sign}</svg>`
    setIcon(`data:image/svg+xml,${encodeURIComponent(svg)}`)
    return () => setIcon(plain)
  }, [title, status])
}
