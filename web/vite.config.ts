/** The build of the pages: each HTML file beside this one is a page, everything is served from one origin. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin, type Rolldown } from 'vite';

/** The running stack that `npm run dev` forwards API calls to. */
const api = process.env['TIDEMARK_URL'] ?? 'http://127.0.0.1:3000';

/** The first path segments that belong to the API; the same list stands in the template's CDN behaviours. */
const apiPaths = [
  ...['/clicks', '/stats', '/users', '/days', '/games', '/players', '/products', '/journal'],
  '/okusuri/api',
];

/** The local stack's own routes; in the cloud there are none. */
const stackPath = '/_local';

/** The medication log's service worker, and the page that it opens without a network. */
const worker = { name: 'okusuri-worker', file: 'okusuri/sw.js', page: 'okusuri/index.html' };

/** Tells the worker the page's files, and by a name that changes with them, when there is a new page. */
function offlineShell(): Plugin {
  return {
    name: 'offline-shell',
    enforce: 'post',
    generateBundle(_, bundle) {
      const shell = bundle[worker.file];
      if (shell?.type !== 'chunk') return;
      const icons = readdirSync('public/okusuri').map((file) => `okusuri/${file}`);
      const copied = ['early.js', ...icons];
      const built = [...filesOf(bundle, worker.page)].sort();
      const hash = createHash('sha256');
      for (const file of copied) hash.update(readFileSync(`public/${file}`));
      // Assets have the hash of their contents in their names; the document has not.
      for (const file of built) hash.update(file).update(String(file.endsWith('.html') && source(bundle[file])));
      const files = [
        '/okusuri/',
        ...[...built.filter((file) => file !== worker.page), ...copied].map((file) => `/${file}`),
      ];
      const name = `okusuri-${hash.digest('hex').slice(0, 12)}`;
      shell.code = `const SHELL = ${JSON.stringify({ name, files })};\n${shell.code}`;
    },
  };
}

/** A page's document, scripts, styles and fonts. */
function filesOf(bundle: Rolldown.OutputBundle, page: string): ReadonlySet<string> {
  const found = new Set([page]);
  const visit = (file: string): void => {
    const output = bundle[file];
    if (output === undefined || found.has(file)) return;
    found.add(file);
    if (output.type !== 'chunk') {
      for (const name of Object.keys(bundle)) if (String(output.source).includes(name)) visit(name);
      return;
    }
    for (const name of [...output.imports, ...output.dynamicImports]) visit(name);
    const { importedCss = [], importedAssets = [] } = output.viteMetadata ?? {};
    for (const name of [...importedCss, ...importedAssets]) visit(name);
  };
  for (const name of Object.keys(bundle)) if (source(bundle[page]).includes(name)) visit(name);
  return found;
}

function source(output: Rolldown.OutputBundle[string] | undefined): string {
  return output?.type === 'asset' ? String(output.source) : '';
}

export default defineConfig({
  plugins: [svelte(), offlineShell()],
  build: {
    rolldownOptions: {
      input: {
        start: 'index.html',
        clicks: 'tide/index.html',
        game: 'game/index.html',
        shop: 'shop/index.html',
        lately: 'lately/index.html',
        operator: 'operator/index.html',
        okusuri: worker.page,
        [worker.name]: 'src/okusuri/worker/worker.ts',
      },
      output: {
        // A worker's address stays, or the browser would look for its next version in vain.
        entryFileNames: ({ name }) => (name === worker.name ? worker.file : 'assets/[name]-[hash].js'),
      },
    },
    // Nothing becomes a data: URL, so that a content security policy of `default-src 'self'` suffices.
    assetsInlineLimit: 0,
    target: 'es2022',
    // The tokens use light-dark(), which these were the first to know (2024).
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  server: {
    proxy: {
      ...Object.fromEntries([...apiPaths, stackPath].map((path) => [path, { target: api, changeOrigin: true }])),
      '/ws': { target: api, ws: true },
    },
  },
});
