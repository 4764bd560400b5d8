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

/** What a push may say; all of it is shown as it is. */
interface Message {
  readonly title?: unknown;
  readonly body?: unknown;
  readonly tag?: unknown;
}

self.addEventListener('push', (event) => {
  let message: Message = {};
  try {
    message = (event.data?.json() ?? {}) as Message;
  } catch {
    // A push must show something, or the browser shows a line of its own.
  }
  const text = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);
  const show = self.registration.showNotification(text(message.title, 'Okusuri'), {
    body: text(message.body, ''),
    tag: text(message.tag, 'okusuri'),
    icon: `${PAGE}icon-192.png`,
    badge: `${PAGE}icon-192.png`,
  });
  event.waitUntil(show);
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
