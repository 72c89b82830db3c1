import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api/client'
import { App } from './app'
import { applyTheme } from './shell/theme'
import './styles.css'

applyTheme()

const client = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: true,
      // What the server refuses stays refused; what it could not answer is asked again.
      retry: (failures, error) => (error instanceof Problem && error.status >= 400 && error.status < 500 ? false : failures < 2),
      retryDelay: (failures) => Math.min(5000, 400 * 2 ** failures),
    },
  },
})

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  )
}
