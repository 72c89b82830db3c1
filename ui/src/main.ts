// The first code that runs: begins all that the address needs at once, then shows the page.
import { begin } from './api/ahead'
import { applyTheme } from './shell/theme'
import './styles.css'

const API = '/api/v1'
const [, page, id, tab = 'graph'] = window.location.pathname.split('/')

begin(`${API}/session`)
if (!page) begin(`${API}/overview`)
if (page === 'executions' && id) begin(`${API}/executions/${id}/page`)
if (page === 'playbooks' && !id) begin(`${API}/catalog?limit=500`)

const code = import('./mount')
if (page === 'executions' && id) {
  void import('./pages/execution/page')
  if (tab === 'graph') void import('./pages/execution/graph-tab')
}
applyTheme()
void code.then(({ mount }) => mount())
