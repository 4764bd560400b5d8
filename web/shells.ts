/** The HTML documents of the pages: one template, and what differs. */
import path from 'node:path';
import type { Plugin } from 'vite';

interface Shell {
  /** The folder with the page's `main.ts` in `src/`. */
  readonly source: string;
  readonly title: string;
  readonly description: string;
  /** Added to the viewport. */
  readonly viewport?: string;
  /** More elements for the head, instead of the icon. */
  readonly head?: string;
}

const shells: Readonly<Record<string, Shell>> = {
  '/': {
    source: 'start',
    title: 'Tidemark',
    description:
      'Five apps on AWS Lambda and DynamoDB: clicks, a drawing game, a shop, a medication log and recent events.',
  },
  '/tide/': {
    source: 'clicks',
    title: 'Clicks · Tidemark',
    description: 'Clicks and unique visitors, counted exactly once: today, by day and by month.',
  },
  '/game/': {
    source: 'game',
    title: 'Draw &amp; guess · Tidemark',
    description: 'A multiplayer game in the browser: one player draws, the others guess.',
    // The keyboard of a phone makes the page smaller and does not cover the chat's field.
    viewport: ', interactive-widget=resizes-content',
  },
  '/shop/': {
    source: 'shop',
    title: 'Shop · Tidemark',
    description: 'Products with their stock and the history of their prices.',
  },
  '/okusuri/': {
    source: 'okusuri',
    title: 'Okusuri · Tidemark',
    description: 'A medication log: one tap a day, with streaks, rest days and reminders.',
    viewport: ', viewport-fit=cover',
    head: `<meta name="theme-color" content="#fffefa" media="(prefers-color-scheme: light)" />
    <meta name="theme-color" content="#111f28" media="(prefers-color-scheme: dark)" />
    <meta name="apple-mobile-web-app-title" content="Okusuri" />
    <link rel="icon" href="/okusuri/icon.svg" type="image/svg+xml" />
    <link rel="apple-touch-icon" href="/okusuri/icon-180.png" />
    <link rel="manifest" href="/okusuri/manifest.webmanifest" />`,
  },
  '/lately/': {
    source: 'journal',
    title: 'Recent events · Tidemark',
    description: 'Recent events: finished games, price changes, stock movements. Newest first.',
  },
  '/operator/': {
    source: 'operator',
    title: 'Operator · Tidemark',
    description: 'Live metrics of the functions, streams, tables and queues of the local stack.',
  },
};

const ICON = '<link rel="icon" href="/favicon.svg" type="image/svg+xml" />';

const documentOf = ({ source, title, description, viewport = '', head = ICON }: Shell): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1${viewport}" />
    <meta name="description" content="${description}" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    ${head}
    <script src="/early.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>
      <p>This page needs JavaScript. Please enable it in your browser.</p>
      <p lang="ja">このページには JavaScript が必要です。ブラウザーで有効にしてください。</p>
    </noscript>
    <script type="module" src="/src/${source}/main.ts"></script>
  </body>
</html>
`;

/** The documents as inputs of the build, by the name of their script. */
export const shellInputs = Object.fromEntries(
  Object.entries(shells).map(([at, { source }]) => [source, `${at.slice(1)}index.html`]),
);

/** Gives Vite the documents, which are not files. */
export function htmlShells(): Plugin {
  const byFile = new Map(Object.entries(shells).map(([at, shell]) => [path.resolve(`.${at}index.html`), shell]));
  return {
    name: 'html-shells',
    enforce: 'pre',
    resolveId: (id) => (id.endsWith('.html') && byFile.has(path.resolve(id)) ? path.resolve(id) : null),
    load(id) {
      const shell = byFile.get(id);
      return shell ? documentOf(shell) : null;
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const at = new URL(request.url ?? '/', 'http://localhost').pathname;
        const shell = shells[at];
        if (!shell) return next();
        server.transformIndexHtml(`${at}index.html`, documentOf(shell)).then((html) => {
          response.setHeader('content-type', 'text/html');
          response.end(html);
        }, next);
      });
    },
  };
}
