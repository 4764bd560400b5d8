/** Who is signed in, what is kept of theirs in this browser, and what of theirs is still to be sent. */
import { asApiError, type ApiError } from '../shared/api.ts';
import { presence } from '../shared/online.svelte.ts';
import { StoredText } from '../shared/storage.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { ask, decodeUser, post, put, remove, type User } from './api.ts';
import { Kept } from './kept.ts';
import { Writes, type Write } from './writes.ts';

const WRITES_KEY = 'tidemark.okusuri.writes';

const storedWrites = remembered(new StoredText('localStorage', WRITES_KEY));
/** `here` or `everywhere`: signed out in this browser, but the server has not heard of it yet. */
const leaving = new StoredText('localStorage', 'tidemark.okusuri.leaving');

/** The answers that can be read without a network. */
export const kept = new Kept(new StoredText('localStorage', 'tidemark.okusuri.kept'));

class Account {
  /** `asking` until it is known. */
  phase = $state<'asking' | 'in' | 'out'>('asking');
  user = $state.raw<User | null>(null);
  /** The server could not be asked. */
  error = $state.raw<ApiError | null>(null);
  /** Why somebody who was signed in no longer is: `ended` by the server, `unsent` when it has not heard of the sign-out yet. */
  farewell = $state<'ended' | 'unsent' | 'deleted' | null>(null);
  /** What is still to be sent, oldest first. */
  writes = $state.raw<readonly Write[]>([]);
  /** Grows when something has changed on the server: what is shown is then read anew. */
  version = $state(0);
  /** Which sitting this is: each ends with a sign-out. */
  sitting = 0;
  #writes: Writes | null = null;

  /** What waits for the network or its turn. */
  readonly waiting = $derived(this.writes.filter(({ refusedAs }) => refusedAs === null));
  /** What the server would not take. */
  readonly refused = $derived(this.writes.filter(({ refusedAs }) => refusedAs !== null));

  /** Finds out who is there: at the start, and again when that failed. */
  async start(): Promise<void> {
    this.error = null;
    if (!(await this.#finishLeaving())) return;
    const before = keptUser();
    if (before) this.#enter(before);
    try {
      await this.refresh();
    } catch (failure) {
      const error = asApiError(failure);
      // Somebody has signed in while the answer was on its way.
      if (!before && this.user !== null) return;
      if (error.problem?.status === 401) this.end(before ? 'ended' : null);
      else if (!before) {
        this.phase = 'out';
        this.error = error;
      }
    }
  }

  /** Reads who is signed in once more. */
  async refresh(): Promise<void> {
    const sitting = this.sitting;
    const body = await ask('me');
    // Signed out meanwhile: what comes late must not be kept.
    if (this.sitting !== sitting) return;
    const user = decodeUser(body);
    if (this.user && this.user.id !== user.id) kept.forget();
    kept.write('me', body, Date.now());
    this.#enter(user);
  }

  /** Somebody looks at the page again. Who is signed in comes first: it may be somebody else by now, and what waits is not theirs to send. */
  async comeBack(): Promise<void> {
    if (this.phase === 'out') return this.start();
    await this.refresh().catch(() => {});
    this.flush();
    this.changed();
  }

  /** Somebody has signed in. */
  async entered(user: User): Promise<void> {
    if (this.user?.id !== user.id) kept.forget();
    this.#enter(user);
    await this.refresh().catch(() => {});
  }

  /** Before somebody signs in: an unfinished sign-out must not end the new session. */
  async finishLeaving(): Promise<void> {
    await this.#finishLeaving();
  }

  /** Signs out. This browser forgets at once; the server hears of it now or when it can be reached. */
  async leave(everywhere: boolean): Promise<void> {
    leaving.write(everywhere ? 'everywhere' : 'here');
    storedWrites.write(null);
    this.end(null);
    await this.#finishLeaving();
  }

  /** Nobody is signed in any more. Answers are forgotten; what was not sent waits for the same person, unless they signed out. */
  end(farewell: Account['farewell']): void {
    this.sitting += 1;
    kept.forget();
    this.#writes?.close();
    this.#writes = null;
    this.writes = [];
    this.user = null;
    this.phase = 'out';
    this.farewell = farewell;
  }

  /** The account is gone, with all that was to be sent to it. */
  deleted(): void {
    storedWrites.write(null);
    this.end('deleted');
  }

  /** Writes something down. `false`: too much is unsent. */
  write(method: Write['method'], path: string, body: Write['body'] = null): boolean {
    return this.#writes?.add(method, path, body) ?? false;
  }

  /** Sends what waits. */
  flush(): void {
    void this.#writes?.flush();
  }

  /** Lets go of what the server refused. */
  dismissRefused(): void {
    this.#writes?.dismissRefused();
  }

  /** Something was changed by a request of its own. */
  changed(): void {
    this.version += 1;
  }

  #enter(user: User): void {
    this.user = user;
    this.phase = 'in';
    this.farewell = null;
    this.error = null;
    if (this.#writes?.userId === user.id) return;
    this.#writes?.close();
    this.#writes = this.#open(user.id);
    this.writes = this.#writes.all;
    this.flush();
  }

  #open(userId: string): Writes {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const writes: Writes = new Writes(
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
        onChange: (all) => (this.writes = all.filter((write) => write.userId === userId)),
        onSent: () => {
          if (this.waiting.length === 0) this.version += 1;
        },
        onSignedOut: () => this.end('ended'),
      },
      userId,
    );
    addEventListener('storage', ({ key }) => {
      if (key === WRITES_KEY && this.#writes === writes) writes.reread();
    });
    return writes;
  }

  /** Whether no sign-out is left unfinished. */
  async #finishLeaving(): Promise<boolean> {
    const how = leaving.read();
    if (how === null) return true;
    try {
      await post('sign-out', { everywhere: how === 'everywhere' });
    } catch (failure) {
      const error = asApiError(failure);
      if (error.isTransient) {
        this.phase = 'out';
        this.farewell = 'unsent';
        return false;
      }
    }
    leaving.write(null);
    if (this.farewell === 'unsent') this.farewell = null;
    this.phase = 'out';
    return true;
  }
}

/** The one account of this page. */
export const account = new Account();

/** Who was signed in here last; what an older page kept may be nobody. */
function keptUser(): User | null {
  try {
    const answer = kept.read('me');
    return answer && decodeUser(answer.body);
  } catch {
    return null;
  }
}

/** A stored text that is remembered at least until the page is left, where the browser refuses to store anything. */
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
