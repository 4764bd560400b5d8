/**
 * Sends the drawer's strokes: points become ops, ops become batches, and batches become chunks.
 *
 * Every batch is sent twice: as `draw` to those who watch, and up to two seconds later in a `save`,
 * for late joiners and for lost batches. A `save` has no acknowledgement, so chunks are kept until
 * a `catch-up` shows that they are stored.
 */
import type { Point } from './brush.ts';
import { encodePoints, snapped, simplified } from './points.ts';
import {
  BATCH_OPS_MAX,
  BATCH_POINTS_MAX,
  CHUNK_BATCHES_MAX,
  INK_BUDGET,
  inkOf,
  pointCount,
  type Batch,
  type DrawMessage,
  type InkMessage,
  type Op,
  type SaveMessage,
  type Tool,
} from './protocol.ts';

/** Delay from a change to its batch, while a stroke goes on. Each batch is a message to everybody. */
export const BATCH_AFTER_MS = 750;
/**
 * The first point of a stroke and all other ops leave at once, but not sooner after the last batch:
 * many short strokes may not exceed the messages of a connection.
 */
const PAUSE_MS = 120;
/** Delay from the first batch to its chunk. */
export const SAVE_AFTER_MS = 2_000;
/** A message may have 32 KB. `batches` is ASCII, so a character is a byte. */
const CHUNK_CHARS_MAX = 24_000;
/**
 * How many chunks are sent again at a time: far fewer messages than a connection may send at once.
 */
const RESEND_CHUNKS_MAX = 10;
/** How many batches survive a reload of the page: those of more time than a chunk waits. */
const KEPT_BATCHES_MAX = 32;

/** Reserve for undo, redo and clear when the ink for drawing is used up. */
const INK_RESERVE = 4_000;

/** Tool, colour and width of a stroke. */
export interface Brush {
  readonly tool: Tool;
  readonly colour: number;
  readonly width: number;
}

export interface OutgoingOptions {
  readonly turnId: string;
  readonly send: (message: DrawMessage | SaveMessage) => void;
  /** Applies the ops to the drawer's own picture. */
  readonly apply: (ops: readonly Op[]) => void;
  /** Called for every new batch. */
  readonly made: (seq: number) => void;
  /** Stores the newest batches and the number of the last chunk, for a reload of the page. */
  readonly keep: (batches: readonly Batch[], chunk: number) => void;
}

interface OpenStroke {
  readonly id: number;
  readonly width: number;
  /** The last point that an op contains. */
  last: Point;
  pending: Point[];
}

export class OutgoingBatches {
  readonly #options: OutgoingOptions;
  #seq = 0;
  #chunk = 0;
  #nextId = 1;
  #stroke: OpenStroke | null = null;
  #isFinished = false;
  #ink = INK_BUDGET;
  #ops: Op[] = [];
  #pointCount = 0;
  /** Batches that are not in a chunk yet. */
  #unsaved: Batch[] = [];
  /** Chunks that are not confirmed as stored. */
  #chunks: SaveMessage[] = [];
  /** The `seq` of every batch confirmed as stored, and the highest one without a gap before it. */
  readonly #stored = new Set<number>();
  #storedUpTo = 0;
  /** Whether chunks were sent again after the last answer. */
  #isResending = false;
  #youngest: Batch[] = [];
  /** An op waits for the end of the pause. */
  #isUrgent = false;
  /** Runs after each batch for {@link PAUSE_MS}. */
  #pauseTimer: ReturnType<typeof setTimeout> | undefined;
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  #saveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  /**
   * Continues an existing drawing, given the `seq` of its last batch, its highest id, and the
   * number of its last chunk. If the chunk number is unknown, pass `seq`: a chunk has at least one
   * batch.
   */
  resume(seq: number, lastId: number, chunk: number): void {
    this.#seq = seq;
    this.#nextId = lastId + 1;
    this.#chunk = Math.max(this.#chunk, chunk);
  }

  /** Subtracts the ink of ops from before a reload. */
  spend(ops: readonly Op[]): void {
    for (const op of ops) this.#ink -= inkOf(op);
  }

  /** Whether there is ink to draw with. Undo, redo and clear can still use the reserve. */
  get hasInk(): boolean {
    return this.#ink > INK_RESERVE;
  }

  /**
   * Takes over batches from before a reload whose chunk may not have been sent. In order, after
   * `seq`.
   */
  adopt(batches: readonly Batch[]): void {
    for (const batch of batches) {
      if (batch.seq !== this.#seq + 1) continue;
      this.#seq = batch.seq;
      this.spend(batch.ops);
      this.#options.apply(batch.ops);
      this.#queue(batch);
    }
  }

  /** The highest `seq` confirmed as stored, without a gap before it. */
  get storedUpTo(): number {
    return this.#storedUpTo;
  }

  /** The points of the open stroke that are not in an op yet. */
  get pending(): readonly Point[] {
    return this.#stroke?.pending ?? [];
  }

  begin(brush: Brush, at: Point): void {
    this.end();
    if (!this.hasInk) return;
    const first = snapped(at);
    const id = this.#nextId++;
    this.#stroke = { id, width: brush.width, last: first, pending: [] };
    const { tool, colour: color, width } = brush;
    this.#emitNow({ op: 'stroke', id, color, width, tool, points: encodePoints([first]) });
  }

  extend(points: readonly Point[]): void {
    if (!this.hasInk) return;
    this.#stroke?.pending.push(...points);
    this.#armBatch();
  }

  end(): void {
    this.#emitPoints(true);
    this.#stroke = null;
  }

  /** Discards the open stroke. */
  cancel(): void {
    const { id } = this.#stroke ?? {};
    if (id === undefined) return;
    this.end();
    this.undo(id);
  }

  fill(colour: number, at: Point): void {
    if (!this.hasInk) return;
    const { x, y } = snapped(at);
    this.#emitNow({ op: 'fill', id: this.#nextId++, color: colour, at: [x, y] });
  }

  clear(): void {
    this.#emitNow({ op: 'clear', id: this.#nextId++ });
  }

  undo(id: number): void {
    this.#emitNow({ op: 'undo', id });
  }

  redo(id: number): void {
    this.#emitNow({ op: 'redo', id });
  }

  /** Sends the collected ops as a batch. */
  flush(): void {
    this.#emitPoints(false);
    this.#cutBatch();
  }

  /** The drawing phase is over. The remaining batches are saved, but not relayed any more. */
  finish(): void {
    this.#isFinished = true;
    this.end();
    this.#cutBatch();
    this.#save();
  }

  /**
   * Reads which batches the answer to a `catch-up` confirms as stored, and sends some of the
   * missing chunks again at its end. `true` when another `catch-up` is worthwhile: chunks are still
   * missing, and the last attempt made progress.
   */
  confirm(ink: Pick<InkMessage, 'batches' | 'last'>): boolean {
    for (const { seq } of ink.batches) this.#stored.add(seq);
    while (this.#stored.has(this.#storedUpTo + 1)) this.#storedUpTo++;
    if (ink.last !== true) return false;
    const before = this.#chunks.length;
    this.#chunks = this.#chunks.filter(({ batches }) => !batches.every(({ seq }) => this.#stored.has(seq)));
    const isFirstTime = before === this.#chunks.length && !this.#isResending;
    this.#isResending = this.#chunks.length > 0;
    for (const chunk of this.#chunks.slice(0, RESEND_CHUNKS_MAX)) this.#options.send(chunk);
    // A watcher who missed the end notices it by the `seq` of the last batch.
    const last = this.#youngest.at(-1);
    if (last !== undefined) this.#draw(last);
    return this.#chunks.length > 0 && (isFirstTime || this.#chunks.length < before);
  }

  /** Stops the timers. Nothing more is sent. */
  dispose(): void {
    clearTimeout(this.#batchTimer);
    clearTimeout(this.#pauseTimer);
    clearTimeout(this.#saveTimer);
  }

  #emitPoints(end: boolean): void {
    const stroke = this.#stroke;
    if (stroke === null || (stroke.pending.length === 0 && !end)) return;
    const points = simplified(stroke.last, stroke.pending, stroke.width).map(snapped);
    // An op that ends a stroke needs a point: repeat the last one.
    if (points.length === 0) points.push(stroke.last);
    stroke.pending = [];
    stroke.last = points.at(-1) ?? stroke.last;
    const id = stroke.id;
    while (points.length > 0) {
      const part = encodePoints(points.splice(0, BATCH_POINTS_MAX - 1));
      const isLast = end && points.length === 0;
      this.#emit({ op: 'stroke', id, points: part, ...(isLast ? { end: true } : {}) });
    }
  }

  #emit(op: Op): void {
    if (inkOf(op) > this.#ink) return;
    this.#ink -= inkOf(op);
    const count = pointCount(op);
    if (this.#ops.length === BATCH_OPS_MAX || this.#pointCount + count > BATCH_POINTS_MAX) this.#cutBatch();
    this.#ops.push(op);
    this.#pointCount += count;
    this.#options.apply([op]);
    this.#armBatch();
  }

  #emitNow(op: Op): void {
    this.#emit(op);
    if (this.#pauseTimer === undefined) this.#cutBatch();
    else this.#isUrgent = true;
  }

  #armBatch(): void {
    this.#batchTimer ??= setTimeout(() => this.flush(), BATCH_AFTER_MS);
  }

  #cutBatch(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    this.#isUrgent = false;
    if (this.#ops.length === 0) return;
    clearTimeout(this.#pauseTimer);
    this.#pauseTimer = setTimeout(() => {
      this.#pauseTimer = undefined;
      if (this.#isUrgent) this.flush();
    }, PAUSE_MS);
    const batch = { seq: ++this.#seq, ops: this.#ops };
    this.#ops = [];
    this.#pointCount = 0;
    this.#draw(batch);
    this.#queue(batch);
  }

  #draw(batch: Batch): void {
    if (this.#isFinished) return;
    this.#options.send({ action: 'draw', turnId: this.#options.turnId, ...batch });
  }

  #queue(batch: Batch): void {
    this.#options.made(batch.seq);
    this.#unsaved.push(batch);
    this.#youngest = [...this.#youngest, batch].slice(-KEPT_BATCHES_MAX);
    this.#options.keep(this.#youngest, this.#chunk);
    this.#saveTimer ??= setTimeout(() => this.#save(), SAVE_AFTER_MS);
  }

  #save(): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    while (this.#unsaved.length > 0) {
      let count = 0;
      let chars = 0;
      for (const batch of this.#unsaved.slice(0, CHUNK_BATCHES_MAX)) {
        chars += JSON.stringify(batch).length;
        if (count > 0 && chars > CHUNK_CHARS_MAX) break;
        count++;
      }
      const batches = this.#unsaved.splice(0, count);
      const chunk: SaveMessage = { action: 'save', turnId: this.#options.turnId, chunk: ++this.#chunk, batches };
      this.#chunks.push(chunk);
      this.#options.send(chunk);
    }
    this.#options.keep(this.#youngest, this.#chunk);
  }
}
