import react from '@vitejs/plugin-react'
import tailwindcss from '@tailwindcss/vite'
import { defineConfig } from 'vite'

// The built files are committed inside the Python package, so that users need no node.
export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    outDir: '../noetl/server/static',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { '/api': process.env.NOETL_DEV ?? 'http://127.0.0.1:8080' } },
})
