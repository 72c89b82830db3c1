import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The page's code is fetched beside the small script that begins it, not after it; an execution's page has
 * more of it. */
const preloaded: Plugin = {
  name: 'preloaded',
  enforce: 'post',
  generateBundle(_, bundle) {
    const files = Object.values(bundle)
    const links = (...names: string[]) =>
      files
        .filter((file) => file.type === 'chunk' && names.includes(file.name))
        .map((file) => `    <link rel="modulepreload" crossorigin href="/${file.fileName}">\n`)
        .join('')
    const index = bundle['index.html']
    if (index?.type !== 'asset') throw new Error('there is no index.html')
    const [head, rest] = String(index.source).split('  </head>')
    index.source = `${head}${links('app')}  </head>${rest}`
    this.emitFile({
      type: 'asset',
      fileName: 'execution.html',
      source: `${head}${links('app', 'rolldown-runtime', 'page', 'flow', 'url-parameters')}  </head>${rest}`,
    })
  },
}

const anyOf = (...patterns: RegExp[]): RegExp => new RegExp(patterns.map(({ source }) => source).join('|'))

// What every page uses is one file, what the graph uses another: few questions, asked at once.
const APP = anyOf(
  /node_modules\/(react|react-dom|scheduler|wouter|regexparam|mitt|use-sync-external-store)\//,
  /node_modules\/@tanstack\/(react-query|query-core)\//,
  /rolldown\/runtime/,
  /src\/(mount|app|favicon|design|shell\/(?!theme)|api\/(?!prefetch))/,
  /src\/pages\/(?!execution\/|playbooks\/playbook)/,
  /src\/pages\/execution\/(rerun|actions|signal)/,
)
const FLOW = anyOf(
  /node_modules\/(@xyflow|@dagrejs|d3-|zustand|classcat)/,
  /src\/(graph|pages\/execution\/(graph-tab|step-panel|reasons))/,
)

// The built files are committed inside the Python package, so that users need no node.
export default defineConfig({
  plugins: [react(), tailwindcss(), preloaded],
  build: {
    outDir: '../noetl/server/static',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    rolldownOptions: {
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [
            { name: 'app', test: APP },
            { name: 'flow', test: FLOW },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': process.env.NOETL_DEV ?? 'http://127.0.0.1:8080' } },
})
