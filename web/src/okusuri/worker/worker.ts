/**
 * The service worker of the medication log: opens the page without a network, and shows push
 * notifications.
 *
 * It caches the page's own files and no user data. The page caches user data itself, and deletes it
 * at sign-out. This file has no imports, so that it stays one file.
 */
// Makes this file a module, so that its names are not global.
export {};

declare const self: ServiceWorkerGlobalScope;
/**
 * The files of the page. The build inserts them, with a cache name that changes when a file
 * changes.
 */
declare const SHELL: { readonly name: string; readonly files: readonly string[] };

const PAGE = '/okusuri/';
const CACHES = 'okusuri-';

self.addEventListener('install', (event) => {
  const fetchAll = async (): Promise<void> => {
    const cache = await caches.open(SHELL.name);
    // Bypass the HTTP cache: an old early.js from it would stay as long as this worker.
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
  // All addresses of the page are one document. The API below it, including sign-in at a provider,
  // goes to the network.
  const isPage = request.mode === 'navigate' && (pathname === PAGE || pathname === PAGE.slice(0, -1));
  const file = isPage ? PAGE : pathname;
  if (isPage || SHELL.files.includes(file)) event.respondWith(fromCache(file, request));
});

async function fromCache(file: string, request: Request): Promise<Response> {
  const cache = await caches.open(SHELL.name);
  return (await cache.match(file)) ?? fetch(request);
}

/** A push message. Only `dose` has more than a kind. */
interface Message {
  readonly kind?: unknown;
  readonly times?: unknown;
  readonly names?: unknown;
  readonly low?: unknown;
  readonly count?: unknown;
}

/** The kind of a push message. The worker has the texts, in the page's language. */
type Kind = 'reminder' | 'dose' | 'test';

const WORDS: Readonly<Record<'en' | 'ja', Readonly<Record<Kind, string>>>> = {
  en: {
    reminder: 'You have no entry for today yet. Tap to add one.',
    dose: 'Time for your medicine.',
    test: 'This is a test. Reminders look like this.',
  },
  ja: {
    reminder: '今日の記録がまだありません。タップして記録してください。',
    dose: 'おくすりの時間です。',
    test: 'テスト通知です。リマインダーはこのように届きます。',
  },
};
const BUY = { en: (names: string) => `Buy soon: ${names}`, ja: (names: string) => `残りわずか：${names}` } as const;
const TITLES = { en: 'Okusuri', ja: 'おくすり' } as const;

/**
 * The language in which the page was last shown. The page stores it in the cache, the only storage
 * that a worker can read too.
 */
async function language(): Promise<'en' | 'ja'> {
  const left = await (await caches.match(`${PAGE}language`))?.text();
  return (left ?? navigator.language).startsWith('ja') ? 'ja' : 'en';
}

/** The times, and the medicines as far as the message names them; then those to buy. */
function doses(of: 'en' | 'ja', { times, names, low, count }: Message): string[] {
  const some = Array.isArray(names) ? names : [];
  const more = typeof count === 'number' && count > some.length ? [`+${count - some.length}`] : [];
  const listed = (all: readonly unknown[]) => all.join(of === 'ja' ? '、' : ', ');
  const parts = [Array.isArray(times) ? times.join(', ') : '', listed([...some, ...more])];
  const buy = Array.isArray(low) && low.length > 0 ? BUY[of](listed(low)) : '';
  return [parts.filter((part) => part !== '').join(' · '), buy].filter((line) => line !== '');
}

async function show(kind: Kind, message: Message): Promise<void> {
  const of = await language();
  const said = WORDS[of][kind];
  await self.registration.showNotification(TITLES[of], {
    body: kind === 'dose' ? [said, ...doses(of, message)].join('\n') : said,
    lang: of,
    tag: kind,
    icon: `${PAGE}icon-192.png`,
    badge: `${PAGE}icon-192.png`,
  });
}

self.addEventListener('push', (event) => {
  let message: Message = {};
  try {
    message = (event.data?.json() as Message | null) ?? {};
  } catch {
    // Ignore unknown data: every push must show a notification, or the browser shows its own text.
  }
  const { kind } = message;
  event.waitUntil(show(kind === 'test' || kind === 'dose' ? kind : 'reminder', message));
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

// The browser has replaced the subscription. Register the new one with the server.
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
