// The first code that runs: begins all that the address needs at once, then shows the page.
import { prefetch } from './api/prefetch'
import { applyTheme } from './shell/theme'
import './styles.css'

const API = '/api/v1'
const [, page, id, tab = 'graph'] = window.location.pathname.split('/')

prefetch(`${API}/session`)
if (!page) prefetch(`${API}/overview`)
if (page === 'executions' && id) prefetch(`${API}/executions/${id}/page`)
if (page === 'playbooks' && !id) prefetch(`${API}/catalog?limit=500`)

const code = import('./mount')
if (page === 'executions' && id) {
  void import('./pages/execution/page')
  if (tab === 'graph') void import('./pages/execution/graph-tab')
}
applyTheme()
void code.then(({ mount }) => mount())
