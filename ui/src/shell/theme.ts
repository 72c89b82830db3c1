// Light, dark, or what the system says; remembered in this browser. Runs before the page's code is there.
export type Theme = 'system' | 'light' | 'dark'
const KEY = 'noetl.theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()
let stored: string | null | undefined // reading it takes a while, so it is read once

export const currentTheme = (): Theme => {
  if (stored === undefined) stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export const isDark = (): boolean =>
  currentTheme() === 'dark' || (currentTheme() === 'system' && system.matches)

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  for (const notify of listeners) notify()
}

export function choose(theme: Theme): void {
  stored = theme === 'system' ? null : theme
  if (stored === null) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, stored)
  applyTheme()
}

export function subscribe(notify: () => void): () => void {
  listeners.add(notify)
  return () => listeners.delete(notify)
}

system.addEventListener('change', applyTheme)
