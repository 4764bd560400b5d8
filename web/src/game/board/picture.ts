/**
 * The picture on the board. It depends only on the ops that were applied.
 *
 * Strokes, fills and clears are items in the order in which they began; `undo` and `redo` only
 * switch items off and on. Finished items are painted into a raster, and the current stroke is a
 * mask above it. Snapshots of the raster let an undo repaint from a point near the undone item.
 */
import { blankMask, coverSegment, type Mask, type Point } from './brush.ts';
import { PAPER } from './palette.ts';
import { decodePoints } from './points.ts';
import { BOARD_WIDTH, type FillOp, type Op, type StrokeOp } from './protocol.ts';
import { blankRaster, EMPTY, floodFill, isEmpty, over, union, WHOLE, type Raster, type Rect } from './raster.ts';

/** A snapshot is taken after this many finished items... */
const SNAPSHOT_EVERY = 8;
/** ...and this many are kept. One has 3.8 MB. */
const SNAPSHOTS_MAX = 6;

interface Stroke {
  readonly kind: 'stroke';
  readonly id: number;
  readonly colour: number;
  readonly width: number;
  readonly points: Point[];
  ended: boolean;
  undone: boolean;
}

interface Fill {
  readonly kind: 'fill';
  readonly id: number;
  readonly colour: number;
  readonly at: readonly [number, number];
  undone: boolean;
}

interface Clear {
  readonly kind: 'clear';
  readonly id: number;
  undone: boolean;
}

type Item = Stroke | Fill | Clear;

/** The stroke that is still being drawn, as a mask above the raster. */
interface LiveStroke {
  readonly stroke: Stroke;
  /** How many segments of its curve are final in the mask. */
  segments: number;
  /** The bounding box of the final segments. */
  box: Rect;
  /**
   * The bounding box of the tail: the last segment and the predicted points, which may still
   * change.
   */
  tailBox: Rect;
}

export class Picture {
  readonly #items: Item[] = [];
  readonly #places = new Map<number, number>();
  readonly #raster: Raster = blankRaster();
  /** How many items are painted into the raster. */
  #painted = 0;
  #snapshots: { readonly painted: number; readonly raster: Raster }[] = [];
  #live: LiveStroke | null = null;
  #guess: readonly Point[] = [];
  readonly #mask: Mask = blankMask();
  readonly #tail: Mask = blankMask();
  #dirty: Rect = WHOLE;

  /** The highest id so far. 0 for none. */
  get lastId(): number {
    return this.#items.reduce((highest, item) => Math.max(highest, item.id), 0);
  }

  /** The id of the item that the next undo removes. */
  get undoable(): number | null {
    return this.#items.findLast((item) => !item.undone)?.id ?? null;
  }

  /** Applies ops in order. Invalid ones, such as the undo of an unknown id, are ignored. */
  apply(ops: readonly Op[]): void {
    for (const op of ops) this.#take(op);
    this.#paint();
  }

  /**
   * Shows predicted points at the end of the current stroke until real ones arrive. They never
   * become part of the picture.
   */
  guess(points: readonly Point[]): void {
    if (this.#live === null) return;
    this.#guess = points;
    this.#paintTail();
  }

  /** Removes everything. */
  reset(): void {
    this.#items.length = 0;
    this.#places.clear();
    this.#rewind(0);
  }

  /** Marks the whole picture as changed, for a new canvas. */
  touchAll(): void {
    this.#dirty = WHOLE;
  }

  /** The area that has changed since the last call. */
  takeDirty(): Rect {
    const dirty = this.#dirty;
    this.#dirty = EMPTY;
    return dirty;
  }

  /** Copies an area of the visible picture into an image as wide as the board. */
  copyTo(image: Uint32Array, part: Rect, colours: Uint32Array): void {
    const colour = this.#live?.stroke.colour ?? PAPER;
    for (let y = part.top; y < part.bottom; y++) {
      for (let i = y * BOARD_WIDTH + part.left; i < y * BOARD_WIDTH + part.right; i++) {
        const coverage = Math.max(this.#mask[i] ?? 0, this.#tail[i] ?? 0);
        const pixel = this.#raster[i] ?? 0;
        image[i] = colours[coverage === 0 ? pixel : over(pixel, colour, coverage)] ?? 0;
      }
    }
  }

  #take(op: Op): void {
    const place = this.#places.get(op.id);
    const item = place === undefined ? undefined : this.#items[place];
    switch (op.op) {
      case 'stroke':
        if (item === undefined && isBeginning(op)) this.#extend(this.#add(newStroke(op)), op);
        else if (item?.kind === 'stroke' && !item.ended) this.#extend(item, op);
        break;
      case 'fill':
        if (item === undefined) this.#add(newFill(op));
        break;
      case 'clear':
        if (item === undefined) this.#add({ kind: 'clear', id: op.id, undone: false });
        break;
      case 'undo':
      case 'redo':
        if (item === undefined || place === undefined || item.undone === (op.op === 'undo')) break;
        item.undone = op.op === 'undo';
        this.#changed(place);
        break;
    }
  }

  #add<Added extends Item>(item: Added): Added {
    this.#places.set(item.id, this.#items.length);
    this.#items.push(item);
    return item;
  }

  #extend(stroke: Stroke, op: StrokeOp): void {
    stroke.points.push(...decodePoints(op.points));
    stroke.ended = op.end === true;
    this.#changed(this.#places.get(op.id) ?? 0);
  }

  /** Invalidates the painted state of an item and of all items after it. */
  #changed(place: number): void {
    if (place < this.#painted) this.#rewind(place);
  }

  #rewind(place: number): void {
    this.#snapshots = this.#snapshots.filter((snapshot) => snapshot.painted <= place);
    const snapshot = this.#snapshots.at(-1);
    if (snapshot === undefined) this.#raster.fill(PAPER);
    else this.#raster.set(snapshot.raster);
    this.#painted = snapshot?.painted ?? 0;
    this.#dropLive();
    this.#dirty = WHOLE;
  }

  #paint(): void {
    this.#skipToClear();
    for (; this.#painted < this.#items.length; this.#painted++) {
      const item = this.#items[this.#painted];
      if (item === undefined) break;
      if (this.#live !== null && (this.#live.stroke !== item || item.undone)) this.#dropLive();
      if (item.undone) continue;
      if (item.kind === 'stroke') {
        const goesOn = !item.ended && this.#painted === this.#items.length - 1;
        this.#coverStroke(item, goesOn);
        if (goesOn) break;
        this.#settle(item);
      } else if (item.kind === 'fill') {
        const [x, y] = item.at;
        this.#dirty = union(this.#dirty, floodFill(this.#raster, x, y, item.colour));
      }
      this.#keepSnapshot();
    }
    this.#paintTail();
  }

  /** Skips the items before the last clear. */
  #skipToClear(): void {
    const clear = this.#items.findLastIndex((item) => item.kind === 'clear' && !item.undone);
    if (clear < this.#painted) return;
    this.#dropLive();
    this.#raster.fill(PAPER);
    this.#painted = clear + 1;
    this.#dirty = WHOLE;
  }

  /**
   * Extends the mask to the stroke's points. While the stroke is open, its last segment belongs to
   * the tail.
   */
  #coverStroke(stroke: Stroke, goesOn: boolean): void {
    this.#live ??= { stroke, segments: 0, box: EMPTY, tailBox: EMPTY };
    const live = this.#live;
    const final = goesOn ? stroke.points.length - 1 : stroke.points.length;
    for (; live.segments < final; live.segments++) {
      const box = coverSegment(this.#mask, stroke.points, live.segments, stroke.width);
      live.box = union(live.box, box);
      this.#dirty = union(this.#dirty, box);
    }
  }

  /** Paints a finished stroke into the raster. */
  #settle(stroke: Stroke): void {
    const live = this.#live;
    if (live === null) return;
    for (let y = live.box.top; y < live.box.bottom; y++) {
      for (let i = y * BOARD_WIDTH + live.box.left; i < y * BOARD_WIDTH + live.box.right; i++) {
        const coverage = this.#mask[i] ?? 0;
        if (coverage !== 0) this.#raster[i] = over(this.#raster[i] ?? 0, stroke.colour, coverage);
      }
    }
    this.#dropLive();
  }

  /** Draws the end of the current stroke, including the predicted points. */
  #paintTail(): void {
    const live = this.#live;
    if (live === null) return;
    this.#wipe(this.#tail, live.tailBox);
    const { stroke } = live;
    const points = [...stroke.points, ...this.#guess];
    let box = EMPTY;
    for (let index = live.segments; index < points.length; index++) {
      box = union(box, coverSegment(this.#tail, points, index, stroke.width));
    }
    live.tailBox = box;
    this.#dirty = union(this.#dirty, box);
  }

  #dropLive(): void {
    if (this.#live === null) return;
    this.#wipe(this.#mask, this.#live.box);
    this.#wipe(this.#tail, this.#live.tailBox);
    this.#live = null;
    this.#guess = [];
  }

  #wipe(mask: Mask, box: Rect): void {
    if (isEmpty(box)) return;
    for (let y = box.top; y < box.bottom; y++) mask.fill(0, y * BOARD_WIDTH + box.left, y * BOARD_WIDTH + box.right);
    this.#dirty = union(this.#dirty, box);
  }

  /** Called after the item at `#painted`: the raster then contains one item more. */
  #keepSnapshot(): void {
    const painted = this.#painted + 1;
    if (painted - (this.#snapshots.at(-1)?.painted ?? 0) < SNAPSHOT_EVERY) return;
    this.#snapshots.push({ painted, raster: this.#raster.slice() });
    if (this.#snapshots.length > SNAPSHOTS_MAX) this.#snapshots.shift();
  }
}

/** The first op of a stroke has its colour and width. */
type Beginning = StrokeOp & Required<Pick<StrokeOp, 'color' | 'width'>>;

function isBeginning(op: StrokeOp): op is Beginning {
  return op.color !== undefined && op.width !== undefined;
}

function newStroke(op: Beginning): Stroke {
  const colour = op.tool === 'eraser' ? PAPER : op.color;
  return { kind: 'stroke', id: op.id, colour, width: op.width, points: [], ended: false, undone: false };
}

function newFill(op: FillOp): Fill {
  return { kind: 'fill', id: op.id, colour: op.color, at: op.at, undone: false };
}
