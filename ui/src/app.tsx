// Which page an address shows. Heavy pages load when they are opened.
import type { QueryClient } from '@tanstack/react-query'
import { Link, Route, Switch, useLocation, useSearch } from 'wouter'
import { executionPage, loop, overview, session } from './api/queries'
import { Boundary } from './design/boundary'
import { Empty } from './design/states'
import { ApprovalsPage } from './pages/approvals'
import { ComparePage } from './pages/compare'
import { CredentialsPage } from './pages/credentials'
import { ExecutionsPage } from './pages/executions/page'
import { HomePage } from './pages/home'
import { NotificationsPage } from './pages/notifications/page'
import { CatalogPage } from './pages/playbooks/catalog'
import { SchedulesPage } from './pages/schedules/page'
import { SettingsPage } from './pages/settings'
import { TokensPage } from './pages/tokens'
import { WorkersPage } from './pages/workers'
import { Layout } from './shell/layout'
import { onDemand } from './shell/on-demand'

const ExecutionPage = onDemand(() => {
  void import('./pages/execution/graph-tab') // what the page opens with, fetched beside it
  return import('./pages/execution/page').then((module) => module.ExecutionPage)
})
const PlaybookPage = onDemand(() =>
  import('./pages/playbooks/playbook').then((module) => module.PlaybookPage),
)

/** The loop that an execution's page opens with. */
async function firstLoop(client: QueryClient, id: string): Promise<void> {
  const run =
    new URLSearchParams(window.location.search).get('run') ??
    client.getQueryData(executionPage(id).queryKey)?.loops[0]
  if (run) await client.prefetchQuery(loop(id, run))
}

/** What the address needs before it can be shown in one go: code and first answers. */
export async function prepare(client: QueryClient): Promise<void> {
  const [, page, id, tab] = window.location.pathname.split('/')
  const requests: Promise<unknown>[] = [client.prefetchQuery(session())]
  if (!page) requests.push(client.prefetchQuery(overview()))
  if (page === 'executions' && id) {
    const first = client.prefetchQuery(executionPage(id))
    requests.push(
      tab === 'loops' ? first.then(() => firstLoop(client, id)) : first,
      ExecutionPage.preload(),
      import('./pages/execution/page').then((module) => module.tabFetched(tab)),
    )
  }
  await Promise.all(requests)
}

function Playbooks() {
  return new URLSearchParams(useSearch()).has('new') ? <PlaybookPage path="" /> : <CatalogPage />
}

export function App() {
  const [location] = useLocation()
  return (
    <Layout>
      <Boundary key={location.split('/').slice(0, 3).join('/')}>
        <Switch>
          <Route path="/" component={HomePage} />
          <Route path="/executions" component={ExecutionsPage} />
          <Route path="/executions/:id/:tab?">
            {({ id, tab }) => <ExecutionPage key={id} id={id} tab={tab} />}
          </Route>
          <Route path="/approvals" component={ApprovalsPage} />
          <Route path="/playbooks" component={Playbooks} />
          <Route path="/playbooks/*?">{(params) => <PlaybookPage path={params['*'] ?? ''} />}</Route>
          <Route path="/compare" component={ComparePage} />
          <Route path="/schedules" component={SchedulesPage} />
          <Route path="/notifications" component={NotificationsPage} />
          <Route path="/workers" component={WorkersPage} />
          <Route path="/credentials" component={CredentialsPage} />
          <Route path="/tokens" component={TokensPage} />
          <Route path="/settings" component={SettingsPage} />
          <Route>
            <h1 className="sr-only">No such page</h1>
            <Empty title="There is no such page">
              <Link href="/" className="text-accent hover:underline">
                Home
              </Link>{' '}
              leads on from here, and <kbd>?</kbd> lists the keys to every page.
            </Empty>
          </Route>
        </Switch>
      </Boundary>
    </Layout>
  )
}
