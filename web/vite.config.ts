/** The build of the pages: each HTML file beside this one is a page, everything is served from one origin. */
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

/** The running stack that `npm run dev` forwards API calls to. */
const api = process.env['TIDEMARK_URL'] ?? 'http://127.0.0.1:3000';

/** The first path segments that belong to the API; the same list stands in the template's CDN behaviours. */
const apiPaths = ['/clicks', '/stats', '/users', '/days', '/games', '/players', '/products', '/journal'];

export default defineConfig({
  plugins: [svelte()],
  build: {
    rolldownOptions: {
      input: { clicks: 'index.html', game: 'game/index.html', shop: 'shop/index.html', lately: 'lately/index.html' },
    },
    // Nothing becomes a data: URL, so that a content security policy of `default-src 'self'` suffices.
    assetsInlineLimit: 0,
    target: 'es2022',
    // The tokens use light-dark(), which these were the first to know (2024).
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  server: {
    proxy: {
      ...Object.fromEntries(apiPaths.map((path) => [path, { target: api, changeOrigin: true }])),
      '/ws': { target: api, ws: true },
    },
  },
});
