/** The build of the pages. `shells.ts` lists them; pages and API are served from one origin. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin, type Rolldown } from 'vite';
import { htmlShells, shellInputs } from './shells.ts';

/** The running stack to which `npm run dev` forwards API requests. */
const api = process.env['TIDEMARK_URL'] ?? 'http://127.0.0.1:3000';

/** The path prefixes of the API. The CDN behaviours in `template.yaml` contain the same list. */
const apiPaths = [
  ...['/clicks', '/stats', '/users', '/days', '/games', '/players', '/products', '/activities', '/journal'],
  '/okusuri/api',
];

/** The routes of the local stack itself. A deployed stack does not have them. */
const stackPath = '/_local';

/** The service worker of the medication log, and the page that it serves offline. */
const worker = { name: 'okusuri-worker', file: 'okusuri/sw.js', page: 'okusuri/index.html' };

/**
 * Adds the list of the page's files to the service worker. The cache name contains a hash of the
 * files, so that a new build replaces the cache.
 */
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
      // The names of assets contain a hash of their content. The name of the HTML document does
      // not, so its content is added.
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

/** The HTML document, scripts, styles and fonts of a page. */
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
  plugins: [htmlShells(), svelte(), offlineShell()],
  build: {
    rolldownOptions: {
      input: {
        ...shellInputs,
        [worker.name]: 'src/okusuri/worker/worker.ts',
      },
      output: {
        // The address of a service worker must not change, or the browser could not find its
        // update.
        entryFileNames: ({ name }) => (name === worker.name ? worker.file : 'assets/[name]-[hash].js'),
      },
    },
    // Without data: URLs, the content security policy `default-src 'self'` is sufficient.
    assetsInlineLimit: 0,
    target: 'es2022',
    // The first versions that support light-dark(), which the design tokens use.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  server: {
    // The words of the game's bots are a file of the rules.
    fs: { allow: ['..'] },
    proxy: {
      ...Object.fromEntries([...apiPaths, stackPath].map((path) => [path, { target: api, changeOrigin: true }])),
      '/ws': { target: api, ws: true },
    },
  },
});
