// Light, dark, or what the system says; remembered in this browser.
import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const KEY = 'noetl.theme'
const system = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

export const chosen = (): Theme => {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export const isDark = (): boolean => chosen() === 'dark' || (chosen() === 'system' && system.matches)

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light'
  listeners.forEach((tell) => tell())
}

export function choose(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme()
}

system.addEventListener('change', applyTheme)

export const useTheme = (): Theme => useSyncExternalStore((tell) => { listeners.add(tell); return () => listeners.delete(tell) }, chosen)
export const useDark = (): boolean => useSyncExternalStore((tell) => { listeners.add(tell); return () => listeners.delete(tell) }, isDark)
