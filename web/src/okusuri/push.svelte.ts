/**
 * Push notifications on this device: the permission, the browser's subscription, and its
 * registration with the server.
 */
import type { Schema } from '../shared/api.ts';
import { get, post } from './api.ts';
import { SCOPE } from './scope.ts';

/** The state of notifications on this device. Only the browser's settings can change `denied`. */
export type PushState = 'asking' | 'unsupported' | 'denied' | 'off' | 'on';

class Push {
  state = $state<PushState>('asking');

  /** Reads the current state. */
  async refresh(): Promise<void> {
    if (!('serviceWorker' in navigator) || !('PushManager' in globalThis) || !('Notification' in globalThis)) {
      this.state = 'unsupported';
    } else if (Notification.permission === 'denied') {
      this.state = 'denied';
    } else {
      const made = Notification.permission === 'granted' ? await subscription() : null;
      // Sent again each time: the server may have removed this subscription, or it may belong to an
      // earlier session.
      if (made) await sendSubscription(made).catch(() => {});
      this.state = made ? 'on' : 'off';
    }
  }

  /** Stores the page's language in the cache, where the service worker reads it. */
  async storeLanguage(language: string): Promise<void> {
    if (!('caches' in globalThis)) return;
    const cache = await caches.open('language');
    await cache.put(`${SCOPE}language`, new Response(language));
  }

  /**
   * Asks for the permission and registers the subscription. Browsers allow this only in response to
   * a tap.
   */
  async turnOn(): Promise<void> {
    if ((await Notification.requestPermission()) !== 'granted') return this.refresh();
    const key = bytesOf((await get<Schema<'PushKey'>>('push/key')).publicKey);
    const { pushManager } = await registration();
    const before = await pushManager.getSubscription();
    // A subscription made with another key can never receive a message.
    if (before && !sameBytes(before.options.applicationServerKey, key)) await before.unsubscribe();
    const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    await sendSubscription(made);
    this.state = 'on';
  }

  /**
   * Removes the subscription, also on the server if it can be reached. Otherwise the server
   * disables it when a delivery fails.
   */
  async turnOff(): Promise<void> {
    const made = await subscription().catch(() => null);
    if (made) {
      await post('push/unsubscribe', { endpoint: made.endpoint }).catch(() => {});
      await made.unsubscribe();
    }
    await this.refresh();
  }
}

/** The notifications of this device. */
export const push = new Push();

/** Registers the subscription with the server. */
async function sendSubscription(made: PushSubscription): Promise<void> {
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

/** Decodes base64url (RFC 4648, section 5). */
function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
}

function sameBytes(some: ArrayBuffer | null, others: Uint8Array): boolean {
  const bytes = new Uint8Array(some ?? new ArrayBuffer(0));
  return bytes.length === others.length && bytes.every((byte, i) => byte === others[i]);
}
