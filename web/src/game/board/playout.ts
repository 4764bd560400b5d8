/**
 * Plays batches over the time in which they were drawn, point by point, so that a stroke grows
 * smoothly instead of jumping.
 */
import type { Point } from './brush.ts';
import type { Picture } from './picture.ts';
import { decodePoints, encodePoints } from './points.ts';
import { pointCount, type Batch, type Op, type StrokeOp } from './protocol.ts';

/** The drawing time that a batch covers while a stroke goes on. */
const BATCH_MS = 750;
/** What comes before the first point of a new stroke is played in this time. */
const HURRY_MS = 75;
/** A replay takes this for a point: the drawer's page keeps about as many. */
const POINT_MS = 25;
/** When more batches than this wait, the oldest are shown at once. */
const WAITING_MAX = 6;

/** The time that a replay takes for a batch. */
export function replayMs({ ops }: Batch): number {
  const points = ops.reduce((sum, op) => sum + Math.max(1, pointCount(op)), 0);
  return Math.min(BATCH_MS, points * POINT_MS);
}

export class Playout {
  readonly #picture: Picture;
  readonly #isReplay: boolean;
  readonly #waiting: Batch[] = [];
  /** The steps of the current batch: one for each point, or for an op without points. */
  #steps: readonly Step[] = [];
  #taken = 0;
  #elapsedMs = 0;
  #durationMs = 0;

  /** Without `isReplay`, the batches are of a drawing that goes on, and come while it does. */
  constructor(picture: Picture, isReplay = false) {
    this.#picture = picture;
    this.#isReplay = isReplay;
  }

  get isIdle(): boolean {
    return this.#taken === this.#steps.length && this.#waiting.length === 0;
  }

  /**
   * Queues a batch. The queue stays short even if {@link advance} is not called, as in a hidden
   * tab.
   */
  push(batch: Batch): void {
    this.#waiting.push(batch);
    while (this.#waiting.length > WAITING_MAX) this.#showNext();
  }

  /**
   * Advances by `ms`, faster when more batches wait. Returns the time that was left over when the
   * queue became empty.
   */
  advance(ms: number): number {
    let leftMs = ms * (this.#isUrgent ? BATCH_MS / HURRY_MS : Math.max(1, this.#waiting.length));
    while (!this.isIdle && leftMs > 0) {
      if (this.#taken === this.#steps.length) this.#startNext();
      const passedMs = Math.min(leftMs, this.#durationMs - this.#elapsedMs);
      this.#elapsedMs += passedMs;
      leftMs -= passedMs;
      // The first point is shown at once, as the drawer's page sent it at once.
      const share = this.#durationMs === 0 ? 1 : this.#elapsedMs / this.#durationMs;
      const position = 1 + share * (this.#steps.length - 1);
      this.#showUpTo(Math.min(position, this.#steps.length));
    }
    return leftMs;
  }

  /** Shows everything at once. */
  flush(): void {
    while (!this.isIdle) this.#showNext();
  }

  /** Drops everything that was not shown yet. */
  reset(): void {
    this.#waiting.length = 0;
    this.#steps = [];
    this.#taken = 0;
  }

  /** Whether a new stroke waits for what comes before it. */
  get #isUrgent(): boolean {
    if (this.#isReplay || this.#waiting.length > 1) return false;
    const [next] = this.#waiting;
    return this.#steps.slice(this.#taken).some(({ op }) => begins(op)) || (next?.ops.some(begins) ?? false);
  }

  #startNext(): void {
    const batch = this.#waiting.shift();
    if (batch === undefined) return;
    this.#steps = stepsOf(batch.ops);
    this.#taken = 0;
    this.#elapsedMs = 0;
    const liveMs = this.#steps.length > 1 ? BATCH_MS : 0;
    this.#durationMs = this.#isReplay ? replayMs(batch) : liveMs;
  }

  #showNext(): void {
    if (this.#taken === this.#steps.length) {
      this.#picture.apply(this.#waiting.shift()?.ops ?? []);
      return;
    }
    this.#showUpTo(this.#steps.length);
  }

  /** Shows the completed steps, and the next one in part. */
  #showUpTo(position: number): void {
    const whole = Math.floor(position + 1e-9);
    const ops = this.#steps.slice(this.#taken, whole).map((step) => step.op);
    this.#taken = Math.max(this.#taken, whole);
    if (ops.length > 0) this.#picture.apply(ops);
    const from = this.#steps[this.#taken - 1];
    const to = this.#steps[this.#taken];
    if (from?.point && to?.point && from.op.id === to.op.id) {
      this.#picture.guess([between(from.point, to.point, position - whole)]);
    } else {
      this.#picture.guess([]);
    }
  }
}

function begins(op: Op): boolean {
  return op.op === 'stroke' && op.color !== undefined;
}

interface Step {
  readonly op: Op;
  readonly point?: Point;
}

function stepsOf(ops: readonly Op[]): Step[] {
  return ops.flatMap((op) => (op.op === 'stroke' ? strokeSteps(op) : [{ op }]));
}

/** Splits a stroke op into one op for each point. */
function strokeSteps(op: StrokeOp): Step[] {
  const { points: flat, end, ...begin } = op;
  const points = decodePoints(flat);
  if (points.length === 0) return [{ op }];
  return points.map((point, index) => ({
    point,
    op: {
      ...(index === 0 ? begin : { op: op.op, id: op.id }),
      points: encodePoints([point]),
      ...(end === true && index === points.length - 1 ? { end } : {}),
    },
  }));
}

function between(from: Point, to: Point, share: number): Point {
  return {
    x: from.x + (to.x - from.x) * share,
    y: from.y + (to.y - from.y) * share,
    pressure: from.pressure + (to.pressure - from.pressure) * share,
  };
}
