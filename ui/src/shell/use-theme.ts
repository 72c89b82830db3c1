// The theme as components see it.
import { useSyncExternalStore } from 'react'
import { chosen, isDark, subscribe, type Theme } from './theme'

export const useTheme = (): Theme => useSyncExternalStore(subscribe, chosen)
export const useDark = (): boolean => useSyncExternalStore(subscribe, isDark)
