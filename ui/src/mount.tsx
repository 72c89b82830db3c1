// The page itself: what is known of the server, who one is, and the app inside of that.
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api/client'
import { App, prepare } from './app'
import { SessionGate } from './shell/session'

const client = new QueryClient({
  // A session that has run out is asked for again, wherever it was noticed.
  queryCache: new QueryCache({
    onError: (error, query) => {
      if (error instanceof Problem && error.status === 401 && query.queryKey[0] !== 'session')
        void client.resetQueries({ queryKey: ['session'] })
    },
  }),
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: true,
      // What the server refuses stays refused; what it could not answer is asked again.
      retry: (failures, error) =>
        error instanceof Problem && error.status >= 400 && error.status < 500 ? false : failures < 2,
      retryDelay: (failures) => Math.min(5000, 400 * 2 ** failures),
    },
  },
})

const FIRST_PAINT_WAIT_MS = 400

/** Show the page: in one go if what it needs comes soon, else with what is there. */
export async function mount(): Promise<void> {
  const root = document.getElementById('root')
  if (!root) return
  await Promise.race([
    prepare(client).catch(() => undefined),
    new Promise((resolve) => window.setTimeout(resolve, FIRST_PAINT_WAIT_MS)),
  ])
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <SessionGate>
          <App />
        </SessionGate>
      </QueryClientProvider>
    </StrictMode>,
  )
}
