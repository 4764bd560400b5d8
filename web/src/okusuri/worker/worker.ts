/**
 * The service worker of the medication log: opens the page without a network, and shows the reminder.
 *
 * It keeps the page's own files and nothing of anybody's data; those the page keeps itself, and forgets at sign-out. It imports
 * nothing, so that it is one file.
 */
// Makes this a module to the compiler, so that its names are its own.
export {};

declare const self: ServiceWorkerGlobalScope;
/** What the page is made of: put in by the build, with a name that changes when any of it does. */
declare const SHELL: { readonly name: string; readonly files: readonly string[] };

const PAGE = '/okusuri/';
const CACHES = 'okusuri-';

self.addEventListener('install', (event) => {
  const fetchAll = async (): Promise<void> => {
    const cache = await caches.open(SHELL.name);
    // Past the browser's own cache: a stored early.js of an older page would stay for as long as this one.
    await cache.addAll(SHELL.files.map((file) => new Request(file, { cache: 'reload' })));
    await self.skipWaiting();
  };
  event.waitUntil(fetchAll());
});

self.addEventListener('activate', (event) => {
  const takeOver = async (): Promise<void> => {
    const names = await caches.keys();
    await Promise.all(
      names.filter((name) => name.startsWith(CACHES) && name !== SHELL.name).map((name) => caches.delete(name)),
    );
    await self.clients.claim();
  };
  event.waitUntil(takeOver());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== location.origin) return;
  // Every address of the page is one document; the API below it, sign-in by a provider too, is the network's.
  const isPage = request.mode === 'navigate' && (pathname === PAGE || pathname === PAGE.slice(0, -1));
  const file = isPage ? PAGE : pathname;
  if (isPage || SHELL.files.includes(file)) event.respondWith(kept(file, request));
});

async function kept(file: string, request: Request): Promise<Response> {
  const cache = await caches.open(SHELL.name);
  return (await cache.match(file)) ?? fetch(request);
}

/** What a push is about; its words are the page's matter, in the language of the page. */
type Kind = 'reminder' | 'test';

const WORDS: Readonly<Record<'en' | 'ja', Readonly<Record<Kind, string>>>> = {
  en: { reminder: 'Today is not noted yet. One tap, and it is.', test: 'This is how a reminder arrives.' },
  ja: { reminder: '今日の記録がまだです。ひと押しで記録できます。', test: 'お知らせはこのように届きます。' },
};
const TITLES = { en: 'Okusuri', ja: 'おくすり' } as const;

/** The language that the page was last shown in; it leaves it here, since a worker has no other storage that both reach. */
async function language(): Promise<'en' | 'ja'> {
  const left = await (await caches.match(`${PAGE}language`))?.text();
  return (left ?? navigator.language).startsWith('ja') ? 'ja' : 'en';
}

async function show(kind: Kind): Promise<void> {
  const of = await language();
  await self.registration.showNotification(TITLES[of], {
    body: WORDS[of][kind],
    lang: of,
    tag: kind,
    icon: `${PAGE}icon-192.png`,
    badge: `${PAGE}icon-192.png`,
  });
}

self.addEventListener('push', (event) => {
  let kind: unknown;
  try {
    kind = (event.data?.json() as { readonly kind?: unknown } | null)?.kind;
  } catch {
    // Whatever it was: a push must show something, or the browser shows a line of its own.
  }
  event.waitUntil(show(kind === 'test' ? 'test' : 'reminder'));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const open = async (): Promise<void> => {
    const all = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    const page = all.find(({ url }) => new URL(url).pathname === PAGE);
    await (page ? page.focus() : self.clients.openWindow(PAGE));
  };
  event.waitUntil(open());
});

// The browser has replaced the subscription: the server is told where to send from now on.
self.addEventListener('pushsubscriptionchange', (event) => {
  const { oldSubscription } = event as Event & { readonly oldSubscription?: PushSubscription | null };
  const renew = async (): Promise<void> => {
    const key = oldSubscription?.options.applicationServerKey;
    if (!key) return;
    const made = await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await fetch(`${PAGE}api/push/subscriptions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...made.toJSON(), platform: 'web' }),
    });
  };
  (event as ExtendableEvent).waitUntil(renew());
});
