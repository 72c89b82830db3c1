// Light, dark, or what the system says, as the web UI remembers it. Runs before anything is painted.
;(() => {
  const system = window.matchMedia('(prefers-color-scheme: dark)')
  const stored = () => {
    try {
      return localStorage.getItem('noetl.theme')
    } catch {
      return null // a page of a file may have no storage
    }
  }
  const apply = () => {
    const dark = stored() === 'dark' || (stored() !== 'light' && system.matches)
    document.documentElement.dataset.theme = dark ? 'dark' : 'light'
  }
  window.noetlChooseTheme = () => {
    const other = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'
    try {
      localStorage.setItem('noetl.theme', other)
    } catch {
      document.documentElement.dataset.theme = other
      return
    }
    apply()
  }
  system.addEventListener('change', apply)
  apply()
})()
