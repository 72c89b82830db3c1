// Which page an address shows. Heavy pages load when they are opened.
import { lazy, Suspense } from 'react'
import { Route, Switch, useLocation, useSearch } from 'wouter'
import { Boundary } from './design/boundary'
import { Empty, Loading } from './design/states'
import { ComparePage } from './pages/compare'
import { CredentialsPage } from './pages/credentials'
import { ExecutionsPage } from './pages/executions/page'
import { HomePage } from './pages/home'
import { CatalogPage } from './pages/playbooks/catalog'
import { SchedulesPage } from './pages/schedules/page'
import { SettingsPage } from './pages/settings'
import { WorkersPage } from './pages/workers'
import { Layout } from './shell/layout'

const ExecutionPage = lazy(() => {
  void import('./pages/execution/graph-tab') // what the page opens with, fetched beside it
  return import('./pages/execution/page').then((module) => ({ default: module.ExecutionPage }))
})
const PlaybookPage = lazy(() => import('./pages/playbooks/playbook').then((module) => ({ default: module.PlaybookPage })))

function Playbooks() {
  return new URLSearchParams(useSearch()).has('new') ? <PlaybookPage path="" /> : <CatalogPage />
}

export function App() {
  const [location] = useLocation()
  return (
    <Layout>
      <Boundary key={location.split('/').slice(0, 3).join('/')}>
        <Suspense fallback={<Loading />}>
          <Switch>
            <Route path="/" component={HomePage} />
            <Route path="/executions" component={ExecutionsPage} />
            <Route path="/executions/:id/:tab?">{({ id, tab }) => <ExecutionPage key={id} id={id} tab={tab} />}</Route>
            <Route path="/playbooks" component={Playbooks} />
            <Route path="/playbooks/*?">{(params) => <PlaybookPage path={params['*'] ?? ''} />}</Route>
            <Route path="/compare" component={ComparePage} />
            <Route path="/schedules" component={SchedulesPage} />
            <Route path="/workers" component={WorkersPage} />
            <Route path="/credentials" component={CredentialsPage} />
            <Route path="/settings" component={SettingsPage} />
            <Route><Empty title="There is no such page">Press <kbd>?</kbd> for where one can go.</Empty></Route>
          </Switch>
        </Suspense>
      </Boundary>
    </Layout>
  )
}
