/** The drawing of one turn, for the one who draws it and for those who watch. */
import { StoredText } from '../../shared/storage.ts';
import type { Point } from './brush.ts';
import { Incoming } from './incoming.ts';
import { Outgoing, type Brush } from './outgoing.ts';
import { Picture } from './picture.ts';
import { Playout } from './playout.ts';
import type { Batch, BoardMessage, InkMessage } from './protocol.ts';

/** So long a chunk is on its way at most before it is worth looking whether it was stored. */
const LOOK_AGAIN_AFTER_MS = 1_500;
/** When a watcher who came after a stroke asks for it once more: a chunk's two seconds, and some for its way. */
const SAVED_AFTER_MS = 3_000;

export interface SessionOptions {
  readonly turnId: string;
  /** Whether this player is the turn's drawer; fixed for the turn. */
  readonly isDrawer: boolean;
  /** Hands a message to the socket. What is sent while there is no connection may be dropped: {@link BoardSession.connected} makes up for it. */
  readonly send: (message: BoardMessage) => void;
  /** Keeps the youngest batches over a reload of the page; a name that is this game's and this player's own. None: nothing is kept. */
  readonly keepAs?: string;
}

/** Made by the page when a turn's drawing begins or is found running, shown by `Board.svelte`. */
export class BoardSession {
  readonly turnId: string;
  readonly isDrawer: boolean;
  readonly picture = new Picture();
  /** Set by whoever shows the picture: something has changed. */
  onChange: () => void = () => {};
  readonly #incoming: Incoming;
  readonly #outgoing: Outgoing;
  readonly #playout = new Playout(this.picture);
  readonly #kept: StoredText | null;
  /** What may be redone, the latest last. */
  #undone: number[] = [];
  #isReady = false;
  #isFinished = false;
  #guess: readonly Point[] = [];
  #look: ReturnType<typeof setTimeout> | undefined;

  constructor({ turnId, isDrawer, send, keepAs }: SessionOptions) {
    this.turnId = turnId;
    this.isDrawer = isDrawer;
    this.#kept = keepAs === undefined ? null : new StoredText('sessionStorage', keepAs);
    this.#incoming = new Incoming({
      ask: (after) => send({ action: 'catch-up', turnId, after: isDrawer ? this.#outgoing.storedUpTo : after }),
      deliver: (batch) => this.#deliver(batch),
    });
    this.#outgoing = new Outgoing({
      turnId,
      send,
      apply: (ops) => {
        this.#showPending();
        this.picture.apply(ops);
      },
      made: (seq) => this.#incoming.skipTo(seq),
      keep: (batches, chunk) => this.#kept?.write(JSON.stringify({ turnId, batches, chunk })),
    });
  }

  /** Whether the drawer may begin: what was drawn before is here. */
  get isReady(): boolean {
    return this.isDrawer && this.#isReady && !this.#isFinished;
  }

  get canUndo(): boolean {
    return this.isReady && this.picture.undoable !== null;
  }

  get canRedo(): boolean {
    return this.isReady && this.#undone.length > 0;
  }

  /** Whether there is ink to draw with; a turn has only so much, so that its drawing can be kept. */
  get hasInk(): boolean {
    return this.#outgoing.hasInk;
  }

  /** After every `welcome` of a connection, the first too: asks for what is missing, and sends again what was not stored. */
  connected(): void {
    this.#incoming.catchUp();
    if (this.isDrawer) return;
    // What was drawn last is stored two seconds later, and its batches went to those who were here.
    this.#lookLater(SAVED_AFTER_MS);
  }

  /** Takes an `ink`; one of another turn is ignored. */
  receive(ink: InkMessage): void {
    if (ink.turnId !== this.turnId) return;
    this.#incoming.receive(ink);
    if (this.isDrawer) this.#confirm(ink);
    this.onChange();
  }

  /** The drawing's time is over (reveal): the drawer's last points are saved, the others get what they have missed. */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    if (this.isDrawer) this.#outgoing.finish();
    this.#lookLater(LOOK_AGAIN_AFTER_MS);
    this.onChange();
  }

  /** The page leaves the turn: stops all timers. */
  dispose(): void {
    clearTimeout(this.#look);
    this.#incoming.dispose();
    this.#outgoing.dispose();
  }

  /** Plays on what arrives. `true` while there is more to play. */
  advance(ms: number): boolean {
    this.#playout.advance(ms);
    return !this.#playout.isIdle;
  }

  /** Shows at once what is waiting to be played. */
  showAll(): void {
    this.#playout.flush();
  }

  begin(brush: Brush, at: Point): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.begin(brush, at);
    this.onChange();
  }

  /** The stroke goes on through `points`, and probably on through `guess`. */
  extend(points: readonly Point[], guess: readonly Point[]): void {
    if (!this.isReady) return;
    this.#outgoing.extend(points);
    this.#guess = guess;
    this.#showPending();
  }

  end(): void {
    if (!this.isReady) return;
    this.#guess = [];
    this.#outgoing.end();
    this.onChange();
  }

  /** The stroke under way was not meant. */
  cancel(): void {
    if (!this.isReady) return;
    this.#guess = [];
    this.#outgoing.cancel();
    this.onChange();
  }

  fill(colour: number, at: Point): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.fill(colour, at);
    this.onChange();
  }

  clear(): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.clear();
    this.onChange();
  }

  undo(): void {
    if (!this.isReady) return;
    this.#outgoing.end();
    const id = this.picture.undoable;
    if (id === null) return;
    this.#undone.push(id);
    this.#outgoing.undo(id);
    this.onChange();
  }

  redo(): void {
    const id = this.#undone.pop();
    if (!this.isReady || id === undefined) return;
    this.#outgoing.redo(id);
    this.onChange();
  }

  #showPending(): void {
    this.picture.guess([...this.#outgoing.pending, ...this.#guess]);
    this.onChange();
  }

  #deliver(batch: Batch): void {
    if (this.isDrawer) {
      // Only what an earlier visit to the page drew: of this one's own batches none is new.
      this.picture.apply(batch.ops);
      this.#outgoing.spend(batch.ops);
    } else if (this.#incoming.isAsking) {
      // What was drawn while this one was away need not be played.
      this.#playout.flush();
      this.picture.apply(batch.ops);
    } else {
      this.#playout.push(batch);
    }
  }

  #confirm(ink: InkMessage): void {
    if (!this.#isReady && ink.last === true) {
      const kept = readKept(this.#kept?.read() ?? null, this.turnId);
      const { last } = this.#incoming;
      this.#outgoing.resume(last, this.picture.lastId, kept?.chunk ?? last);
      this.#outgoing.adopt(kept?.batches ?? []);
      this.#outgoing.resume(this.#incoming.last, this.picture.lastId, 0);
      this.#isReady = true;
    }
    if (this.#outgoing.confirm(ink)) this.#lookLater(LOOK_AGAIN_AFTER_MS);
  }

  #lookLater(afterMs: number): void {
    clearTimeout(this.#look);
    this.#look = setTimeout(() => this.#incoming.catchUp(), afterMs);
  }
}

interface Kept {
  readonly batches: readonly Batch[];
  /** The number of the last chunk. */
  readonly chunk: number;
}

/** What an earlier visit to this page had kept of a turn; anything else, as a hand-edited text, is nothing. */
function readKept(json: string | null, turnId: string): Kept | null {
  try {
    const kept = JSON.parse(json ?? 'null') as Partial<Record<keyof Kept | 'turnId', unknown>> | null;
    if (kept?.turnId !== turnId || !Array.isArray(kept.batches) || typeof kept.chunk !== 'number') return null;
    return { batches: kept.batches.filter(isBatch), chunk: kept.chunk };
  } catch {
    return null;
  }
}

function isBatch(value: unknown): value is Batch {
  const batch = value as Partial<Record<keyof Batch, unknown>> | null;
  return typeof batch?.seq === 'number' && Array.isArray(batch.ops);
}
