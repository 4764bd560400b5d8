/**
 * The signed-in user, the user's cached data in this browser, and the writes that are not sent yet.
 */
import { tick } from 'svelte';
import { asApiError, type ApiError } from '../shared/api.ts';
import { presence } from '../shared/online.svelte.ts';
import { StoredText } from '../shared/storage.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { get, post, put, remove, type User } from './api.ts';
import { ResponseCache } from './responseCache.ts';
import { WriteQueue, type Write } from './writeQueue.ts';

const WRITES_KEY = 'tidemark.okusuri.writes';

const storedWrites = remembered(new StoredText('localStorage', WRITES_KEY));
/** `here` or `everywhere`: this browser has signed out, but the server does not know it yet. */
const unfinishedSignOut = new StoredText('localStorage', 'tidemark.okusuri.leaving');

/** Cached responses, to read without a network. */
export const responseCache = new ResponseCache(new StoredText('localStorage', 'tidemark.okusuri.kept'));

class Account {
  /** `asking` until the first answer. */
  phase = $state<'asking' | 'in' | 'out'>('asking');
  user = $state.raw<User | null>(null);
  /** Why the server could not be asked. */
  error = $state.raw<ApiError | null>(null);
  /**
   * Why the user is signed out: `ended` by the server, `unsent` when the server does not know it
   * yet, or `deleted`.
   */
  signedOutReason = $state<'ended' | 'unsent' | 'deleted' | null>(null);
  /** The writes that are not sent or were refused, oldest first. */
  writes = $state.raw<readonly Write[]>([]);
  /** Increases when data on the server has changed. Screens then read their data again. */
  version = $state(0);
  /** Increases with every sign-out, so that late answers of an earlier session are recognised. */
  sessionNumber = 0;
  #writes: WriteQueue | null = null;
  /** The writes that were sent, until the screens have read their data again. */
  #sent = $state.raw<readonly Write[]>([]);
  readonly #reads = new Set<Promise<void>>();

  /** The writes that wait to be sent. */
  readonly pending = $derived(this.writes.filter(({ refusedAs }) => refusedAs === null));
  /** The writes whose effect the data of the screens may not have, oldest first. */
  readonly unread = $derived([...this.#sent, ...this.pending]);
  /** The writes that the server refused. */
  readonly refused = $derived(this.writes.filter(({ refusedAs }) => refusedAs !== null));

  /** Finds out who is signed in: at the start, and again after a failure. */
  async start(): Promise<void> {
    this.error = null;
    if (!(await this.finishSignOut())) return;
    const before = (responseCache.read('me')?.body ?? null) as User | null;
    if (before) this.#enter(before);
    try {
      await this.refresh();
    } catch (failure) {
      const error = asApiError(failure);
      // The user has signed in while this request was on its way.
      if (!before && this.user !== null) return;
      if (error.problem?.status === 401) this.end(before ? 'ended' : null);
      else if (!before) {
        this.phase = 'out';
        this.error = error;
      }
    }
  }

  /** Reads the signed-in user again. */
  async refresh(): Promise<void> {
    const sessionNumber = this.sessionNumber;
    const user = await get<User>('me');
    // Signed out meanwhile: a late answer must not be cached.
    if (this.sessionNumber !== sessionNumber) return;
    if (this.user && this.user.id !== user.id) responseCache.forget();
    responseCache.write('me', user, Date.now());
    this.#enter(user);
  }

  /**
   * The page is visible or online again. Reads the user before anything is sent: somebody else may
   * have signed in, and the pending writes are not theirs.
   */
  async resume(): Promise<void> {
    if (this.phase === 'out') return this.start();
    await this.refresh().catch(() => {});
    this.flush();
    this.changed();
  }

  /** Called after a successful sign-in. */
  async signedIn(user: User): Promise<void> {
    if (this.user?.id !== user.id) responseCache.forget();
    this.#enter(user);
    await this.refresh().catch(() => {});
  }

  /**
   * Signs out. This browser deletes its data at once; the server is told now or when it can be
   * reached.
   */
  async signOut(everywhere: boolean): Promise<void> {
    unfinishedSignOut.write(everywhere ? 'everywhere' : 'here');
    storedWrites.write(null);
    this.end(null);
    await this.finishSignOut();
  }

  /**
   * Ends the session in this browser. Cached responses are deleted. Unsent writes are kept for the
   * same user, unless the user signed out.
   */
  end(signedOutReason: Account['signedOutReason']): void {
    this.sessionNumber += 1;
    responseCache.forget();
    this.#writes?.close();
    this.#writes = null;
    this.writes = [];
    this.#sent = [];
    this.user = null;
    this.phase = 'out';
    this.signedOutReason = signedOutReason;
  }

  /** The account was deleted, so its unsent writes are dropped. */
  deleted(): void {
    storedWrites.write(null);
    this.end('deleted');
  }

  /** Adds a write to the queue. `false` when too many are unsent. */
  write(method: Write['method'], path: string, body: Write['body'] = null): boolean {
    return this.#writes?.add(method, path, body) ?? false;
  }

  /** Sends the pending writes. */
  flush(): void {
    void this.#writes?.flush();
  }

  /** Removes the refused writes. */
  dismissRefused(): void {
    this.#writes?.dismissRefused();
  }

  /** Called with each read of a screen. */
  reads(read: Promise<void>): Promise<void> {
    this.#reads.add(read);
    return read.finally(() => this.#reads.delete(read));
  }

  /** Called after a change that was sent without the queue. */
  changed(): void {
    this.version += 1;
  }

  #enter(user: User): void {
    this.user = user;
    this.phase = 'in';
    this.signedOutReason = null;
    this.error = null;
    if (this.#writes?.userId === user.id) return;
    this.#writes?.close();
    this.#writes = this.#open(user.id);
    this.writes = this.#writes.all;
    this.flush();
  }

  #open(userId: string): WriteQueue {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const writes: WriteQueue = new WriteQueue(
      {
        ...storedWrites,
        newId: () => newUuidV7(Date.now()),
        send: ({ method, path, body }) => (method === 'PUT' ? put(path, body) : remove(path)),
        exclusive: (task) => navigator.locks?.request(WRITES_KEY, task) ?? task(),
        isOnline: () => presence.online,
        later: (ms, task) => {
          clearTimeout(timer);
          timer = setTimeout(task, ms);
        },
        random: Math.random,
        onChange: (all) => {
          this.writes = all.filter((write) => write.userId === userId);
          // Also after a refusal: what was sent before it would hide newer data.
          if (this.pending.length === 0 && this.#sent.length > 0) void this.#readAgain();
        },
        onSent: (write) => (this.#sent = [...this.#sent, { ...write, isSent: true }]),
        onSignedOut: () => this.end('ended'),
      },
      userId,
    );
    addEventListener('storage', ({ key }) => {
      if (key === WRITES_KEY && this.#writes === writes) writes.reread();
    });
    return writes;
  }

  /** Lets the screens read the effects of the sent writes, and keeps these until then. */
  async #readAgain(): Promise<void> {
    const sent = this.#sent;
    this.changed();
    await tick();
    await Promise.allSettled(this.#reads);
    this.#sent = this.#sent.filter((write) => !sent.includes(write));
  }

  /**
   * Tells the server about an unfinished sign-out. `false` when it cannot be reached: then nobody
   * may sign in, because the sign-out would end the new session.
   */
  async finishSignOut(): Promise<boolean> {
    const how = unfinishedSignOut.read();
    if (how === null) return true;
    try {
      await post('sign-out', { everywhere: how === 'everywhere' });
    } catch (failure) {
      const error = asApiError(failure);
      if (error.isTransient) {
        this.phase = 'out';
        this.signedOutReason = 'unsent';
        return false;
      }
    }
    unfinishedSignOut.write(null);
    if (this.signedOutReason === 'unsent') this.signedOutReason = null;
    this.phase = 'out';
    return true;
  }
}

/** The account of this page. */
export const account = new Account();

/** Wraps a stored text so that it is kept in memory when the browser refuses to store it. */
function remembered(stored: StoredText): { read: () => string | null; write: (text: string | null) => void } {
  let text: string | null = null;
  let refuses = false;
  return {
    read: () => (refuses ? text : stored.read()),
    write: (next) => {
      stored.write(next);
      text = next;
      refuses = stored.read() !== next;
    },
  };
}
