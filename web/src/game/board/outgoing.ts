/**
 * The drawer's side: strokes become ops, ops batches, batches chunks.
 *
 * Every batch leaves twice: as `draw` for those who watch, and up to two seconds later in a `save` for those who come late and for what got
 * lost. Nobody acknowledges a `save`, so chunks are kept until a `catch-up` has shown that they are stored.
 */
import type { Point } from './brush.ts';
import { encodePoints, snapped, thinned } from './points.ts';
import {
  BATCH_OPS_MAX,
  BATCH_POINTS_MAX,
  CHUNK_BATCHES_MAX,
  INK_FULL,
  inkOf,
  pointCount,
  type Batch,
  type DrawMessage,
  type InkMessage,
  type Op,
  type SaveMessage,
  type Tool,
} from './protocol.ts';

/** From the first change to the batch that carries it. */
export const BATCH_AFTER_MS = 175;
/** From the first batch to the chunk that carries it. */
export const SAVE_AFTER_MS = 2_000;
/** A message may have 32 KB. What is in `batches` is ASCII, a character a byte. */
const CHUNK_CHARS_MAX = 24_000;
/** Chunks that are sent again at a time: well below the messages that a connection may send at once. */
const AGAIN_MAX = 10;
/** So many batches survive a reload of the page: about five seconds, far more than a chunk waits. */
const KEPT_MAX = 32;

/** Ink that is left for undo and the like when there is none for drawing. */
const INK_RESERVE = 4_000;

/** How a stroke is drawn. */
export interface Brush {
  readonly tool: Tool;
  readonly colour: number;
  readonly width: number;
}

export interface OutgoingWorld {
  readonly turnId: string;
  readonly send: (message: DrawMessage | SaveMessage) => void;
  /** Shows the ops on the drawer's own board. */
  readonly apply: (ops: readonly Op[]) => void;
  /** A batch has been made. */
  readonly made: (seq: number) => void;
  /** Remembers the youngest batches, and the last chunk's number, over a reload. */
  readonly keep: (batches: readonly Batch[], chunk: number) => void;
}

interface StrokeUnderWay {
  readonly id: number;
  readonly width: number;
  /** The last point that has become part of an op. */
  last: Point;
  pending: Point[];
}

export class Outgoing {
  readonly #world: OutgoingWorld;
  #seq = 0;
  #chunk = 0;
  #nextId = 1;
  #stroke: StrokeUnderWay | null = null;
  #isFinished = false;
  #ink = INK_FULL;
  #ops: Op[] = [];
  #pointCount = 0;
  /** Batches that are in no chunk yet. */
  #unsaved: Batch[] = [];
  /** Chunks that nobody has seen stored. */
  #chunks: SaveMessage[] = [];
  /** What has been seen stored, and up to where without a gap. */
  readonly #stored = new Set<number>();
  #storedUpTo = 0;
  /** Whether the last answer had chunks sent again. */
  #isAgain = false;
  #youngest: Batch[] = [];
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  #saveTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(world: OutgoingWorld) {
    this.#world = world;
  }

  /**
   * Goes on after a drawing that is there already: `seq` of its last batch, its highest id, and the last chunk's number. Whoever does
   * not know that one takes `seq`: a chunk has at least one batch.
   */
  resume(seq: number, lastId: number, chunk: number): void {
    this.#seq = seq;
    this.#nextId = lastId + 1;
    this.#chunk = Math.max(this.#chunk, chunk);
  }

  /** An earlier visit to the page has drawn that much. */
  spend(ops: readonly Op[]): void {
    for (const op of ops) this.#ink -= inkOf(op);
  }

  /** Whether there is ink to draw with. Undo, redo and clear go on without for a while. */
  get hasInk(): boolean {
    return this.#ink > INK_RESERVE;
  }

  /** Batches that an earlier visit to the page made, whose chunk perhaps never left. In order, after `seq`. */
  adopt(batches: readonly Batch[]): void {
    for (const batch of batches) {
      if (batch.seq !== this.#seq + 1) continue;
      this.#seq = batch.seq;
      this.spend(batch.ops);
      this.#world.apply(batch.ops);
      this.#queue(batch);
    }
  }

  /** The last `seq` that is seen stored, with all before it. */
  get storedUpTo(): number {
    return this.#storedUpTo;
  }

  /** The points of the stroke under way that are in no op yet. */
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
    this.#emit({ op: 'stroke', id, color, width, tool, points: encodePoints([first]) });
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

  /** The stroke under way was not meant. */
  cancel(): void {
    const { id } = this.#stroke ?? {};
    if (id === undefined) return;
    this.end();
    this.#emit({ op: 'undo', id });
  }

  fill(colour: number, at: Point): void {
    if (!this.hasInk) return;
    const { x, y } = snapped(at);
    this.#emit({ op: 'fill', id: this.#nextId++, color: colour, at: [x, y] });
  }

  clear(): void {
    this.#emit({ op: 'clear', id: this.#nextId++ });
  }

  undo(id: number): void {
    this.#emit({ op: 'undo', id });
  }

  redo(id: number): void {
    this.#emit({ op: 'redo', id });
  }

  /** Sends what is there, as a batch. */
  flush(): void {
    this.#emitPoints(false);
    this.#cutBatch();
  }

  /** The drawing is over: what is left is saved, but no longer relayed. */
  finish(): void {
    this.#isFinished = true;
    this.end();
    this.#cutBatch();
    this.#save();
  }

  /**
   * Takes the answer to a `catch-up`: what of ours is stored. At its end some of the rest is sent again; `true` when it is worth asking
   * once more, because more is left and the last time has helped.
   */
  confirm(ink: Pick<InkMessage, 'batches' | 'last'>): boolean {
    for (const { seq } of ink.batches) this.#stored.add(seq);
    while (this.#stored.has(this.#storedUpTo + 1)) this.#storedUpTo++;
    if (ink.last !== true) return false;
    const before = this.#chunks.length;
    this.#chunks = this.#chunks.filter(({ batches }) => !batches.every(({ seq }) => this.#stored.has(seq)));
    const isFirstTime = before === this.#chunks.length && !this.#isAgain;
    this.#isAgain = this.#chunks.length > 0;
    for (const chunk of this.#chunks.slice(0, AGAIN_MAX)) this.#world.send(chunk);
    // Whoever watches and has missed the end sees by the last batch that there was more.
    const last = this.#youngest.at(-1);
    if (last !== undefined) this.#draw(last);
    return this.#chunks.length > 0 && (isFirstTime || this.#chunks.length < before);
  }

  /** Stops the timers; nothing more is sent. */
  dispose(): void {
    clearTimeout(this.#batchTimer);
    clearTimeout(this.#saveTimer);
  }

  #emitPoints(end: boolean): void {
    const stroke = this.#stroke;
    if (stroke === null || (stroke.pending.length === 0 && !end)) return;
    const points = thinned(stroke.last, stroke.pending, stroke.width).map(snapped);
    // An end needs a point: the last one again.
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
    this.#world.apply([op]);
    this.#armBatch();
  }

  #armBatch(): void {
    this.#batchTimer ??= setTimeout(() => this.flush(), BATCH_AFTER_MS);
  }

  #cutBatch(): void {
    clearTimeout(this.#batchTimer);
    this.#batchTimer = undefined;
    if (this.#ops.length === 0) return;
    const batch = { seq: ++this.#seq, ops: this.#ops };
    this.#ops = [];
    this.#pointCount = 0;
    this.#draw(batch);
    this.#queue(batch);
  }

  #draw(batch: Batch): void {
    if (this.#isFinished) return;
    this.#world.send({ action: 'draw', turnId: this.#world.turnId, ...batch });
  }

  #queue(batch: Batch): void {
    this.#world.made(batch.seq);
    this.#unsaved.push(batch);
    this.#youngest = [...this.#youngest, batch].slice(-KEPT_MAX);
    this.#world.keep(this.#youngest, this.#chunk);
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
      const chunk: SaveMessage = { action: 'save', turnId: this.#world.turnId, chunk: ++this.#chunk, batches };
      this.#chunks.push(chunk);
      this.#world.send(chunk);
    }
    this.#world.keep(this.#youngest, this.#chunk);
  }
}
