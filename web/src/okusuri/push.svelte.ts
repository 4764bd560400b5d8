/** Notifications on this device: the browser's permission, its subscription, and the server's knowledge of it. */
import { text } from '../shared/decode.ts';
import { ask, post } from './api.ts';
import { SCOPE } from './scope.ts';

/** How it stands with notifications here. `denied` can be changed in the browser's settings alone. */
export type PushState = 'asking' | 'unsupported' | 'denied' | 'off' | 'on';

class Push {
  state = $state<PushState>('asking');

  /** Finds out. */
  async look(): Promise<void> {
    if (!('serviceWorker' in navigator) || !('PushManager' in globalThis) || !('Notification' in globalThis)) {
      this.state = 'unsupported';
    } else if (Notification.permission === 'denied') {
      this.state = 'denied';
    } else {
      const made = Notification.permission === 'granted' ? await subscription() : null;
      // The server may have given this browser up meanwhile, or belong to somebody else's session now: to tell it again changes nothing else.
      if (made) await tell(made).catch(() => {});
      this.state = made ? 'on' : 'off';
    }
  }

  /** Leaves the language of the page where the worker finds it. */
  async speak(language: string): Promise<void> {
    if (!('caches' in globalThis)) return;
    const cache = await caches.open('language');
    await cache.put(`${SCOPE}language`, new Response(language));
  }

  /** Asks for the permission, which only somebody's tap may do, and tells the server where to send. */
  async turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== 'granted') return this.look();
    const key = bytesOf(text(await ask('push/key'), 'publicKey'));
    const { pushManager } = await registration();
    const before = await pushManager.getSubscription();
    // One that was made with another key can never be sent to.
    if (before && !sameBytes(before.options.applicationServerKey, key)) await before.unsubscribe();
    const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await tell(made);
    this.state = 'on';
  }

  /** Ends it, on the server too as far as that can be reached: what is sent nowhere disables itself. */
  async turnOff(): Promise<void> {
    const made = await subscription().catch(() => null);
    if (made) {
      await post('push/unsubscribe', { endpoint: made.endpoint }).catch(() => {});
      await made.unsubscribe();
    }
    await this.look();
  }
}

/** The one device that this page runs on. */
export const push = new Push();

/** Tells the server where to send. */
async function tell(made: PushSubscription): Promise<void> {
  await post('push/subscriptions', { ...made.toJSON(), platform: 'web' });
}

async function registration(): Promise<ServiceWorkerRegistration> {
  const made = await navigator.serviceWorker.getRegistration(SCOPE);
  if (made?.active) return made;
  await navigator.serviceWorker.register(`${SCOPE}sw.js`, { scope: SCOPE });
  return navigator.serviceWorker.ready;
}

async function subscription(): Promise<PushSubscription | null> {
  const made = await navigator.serviceWorker.getRegistration(SCOPE);
  return (await made?.pushManager.getSubscription()) ?? null;
}

/** The bytes of base64url (RFC 4648, section 5). */
function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function sameBytes(some: ArrayBuffer | null, others: Uint8Array): boolean {
  const bytes = new Uint8Array(some ?? new ArrayBuffer(0));
  return bytes.length === others.length && bytes.every((byte, i) => byte === others[i]);
}
