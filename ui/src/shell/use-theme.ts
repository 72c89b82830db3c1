// The theme as components see it.
import { useSyncExternalStore } from 'react'
import { currentTheme, isDark, subscribe, type Theme } from './theme'

export const useTheme = (): Theme => useSyncExternalStore(subscribe, currentTheme)
export const useDark = (): boolean => useSyncExternalStore(subscribe, isDark)
