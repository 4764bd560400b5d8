/**
 * What is on the board: a function of the ops that it was given, and of nothing else.
 *
 * Strokes, fills and clears stand in the order in which they began; `undo` and `redo` only say which of them count. Finished ones are in
 * the raster, the stroke under way lies over it as a mask, and copies of the raster let an undo begin near its place.
 */
import { blankMask, coverPart, type Mask, type Point } from './brush.ts';
import { PAPER } from './palette.ts';
import { decodePoints } from './points.ts';
import { BOARD_WIDTH, type FillOp, type Op, type StrokeOp } from './protocol.ts';
import { blankRaster, EMPTY, floodFill, isEmpty, over, union, WHOLE, type Raster, type Rect } from './raster.ts';

/** A copy of the raster is kept after this many finished items... */
const SNAPSHOT_EVERY = 8;
/** ...and so many of them, of 3.8 MB each. */
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

/** The stroke that is drawn over the raster until it has ended. */
interface Live {
  readonly stroke: Stroke;
  /** So many parts of its curve are in the mask for good. */
  parts: number;
  /** Around them. */
  box: Rect;
  /** Around what may still change: the last part, and the points that are only guessed. */
  tailBox: Rect;
}

export class Picture {
  readonly #items: Item[] = [];
  readonly #places = new Map<number, number>();
  readonly #raster: Raster = blankRaster();
  /** So many items are in the raster. */
  #painted = 0;
  #snapshots: { readonly painted: number; readonly raster: Raster }[] = [];
  #live: Live | null = null;
  #guess: readonly Point[] = [];
  readonly #mask: Mask = blankMask();
  readonly #tail: Mask = blankMask();
  #dirty: Rect = WHOLE;

  /** The highest id so far; 0 for none. */
  get lastId(): number {
    return this.#items.reduce((highest, item) => Math.max(highest, item.id), 0);
  }

  /** What an undo would take back. */
  get undoable(): number | null {
    return this.#items.findLast((item) => !item.undone)?.id ?? null;
  }

  /** Takes ops in their order. Those that make no sense, as the undo of nothing, change nothing. */
  apply(ops: readonly Op[]): void {
    for (const op of ops) this.#take(op);
    this.#paint();
  }

  /** Points that the stroke under way will perhaps go through: shown until it really goes on, never part of the picture. */
  guess(points: readonly Point[]): void {
    if (this.#live === null) return;
    this.#guess = points;
    this.#paintTail();
  }

  /** Nothing has been drawn. */
  reset(): void {
    this.#items.length = 0;
    this.#places.clear();
    this.#rewind(0);
  }

  /** Somebody sees the picture for the first time: all of it has changed. */
  touchAll(): void {
    this.#dirty = WHOLE;
  }

  /** Where the picture has changed since it was asked last. */
  takeDirty(): Rect {
    const dirty = this.#dirty;
    this.#dirty = EMPTY;
    return dirty;
  }

  /** Writes what is seen in a part of the board into an image as wide as the board. */
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

  /** What is painted of an item and of all after it no longer holds. */
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

  /** All that stands before the last clear need not be painted. */
  #skipToClear(): void {
    const clear = this.#items.findLastIndex((item) => item.kind === 'clear' && !item.undone);
    if (clear < this.#painted) return;
    this.#dropLive();
    this.#raster.fill(PAPER);
    this.#painted = clear + 1;
    this.#dirty = WHOLE;
  }

  /** Brings the mask up to the stroke's points; while the stroke goes on, its last part is left to the tail. */
  #coverStroke(stroke: Stroke, goesOn: boolean): void {
    this.#live ??= { stroke, parts: 0, box: EMPTY, tailBox: EMPTY };
    const live = this.#live;
    const final = goesOn ? stroke.points.length - 1 : stroke.points.length;
    for (; live.parts < final; live.parts++) {
      const box = coverPart(this.#mask, stroke.points, live.parts, stroke.width);
      live.box = union(live.box, box);
      this.#dirty = union(this.#dirty, box);
    }
  }

  /** The stroke has ended: into the raster with it. */
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

  /** Draws the end of the stroke under way as if the guess were true. */
  #paintTail(): void {
    const live = this.#live;
    if (live === null) return;
    this.#wipe(this.#tail, live.tailBox);
    const { stroke } = live;
    const points = [...stroke.points, ...this.#guess];
    let box = EMPTY;
    for (let index = live.parts; index < points.length; index++) {
      box = union(box, coverPart(this.#tail, points, index, stroke.width));
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

  /** After `#painted` has been painted: that many and one are in the raster. */
  #keepSnapshot(): void {
    const painted = this.#painted + 1;
    if (painted - (this.#snapshots.at(-1)?.painted ?? 0) < SNAPSHOT_EVERY) return;
    this.#snapshots.push({ painted, raster: this.#raster.slice() });
    if (this.#snapshots.length > SNAPSHOTS_MAX) this.#snapshots.shift();
  }
}

/** The op that begins a stroke says how it is drawn. */
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
