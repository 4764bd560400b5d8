/** Draws a picture onto a canvas. Each frame copies only the changed area. */
import { PALETTE } from './palette.ts';
import { Picture } from './picture.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, type Batch } from './protocol.ts';
import { isEmpty, screenColours, WHOLE } from './raster.ts';

const COLOURS = screenColours(PALETTE.map(({ hex }) => hex));

/** Longer frames, as after a pause of the tab, count as this long. */
const FRAME_MS_MAX = 100;

export interface SurfaceSource {
  readonly picture: Picture;
  /** Advances by `ms`. `true` while the picture changes by itself. */
  advance(ms: number): boolean;
}

/** A canvas of the board's size. CSS scales it. */
export class Surface {
  readonly #shown: SurfaceSource;
  readonly #context: CanvasRenderingContext2D | null;
  readonly #image = new ImageData(BOARD_WIDTH, BOARD_HEIGHT);
  readonly #pixels = new Uint32Array(this.#image.data.buffer);
  #frame: number | null = null;
  #atMs: number | null = null;

  constructor(canvas: HTMLCanvasElement, shown: SurfaceSource) {
    this.#shown = shown;
    this.#context = canvas.getContext('2d', { alpha: false });
    shown.picture.touchAll();
    this.wake();
  }

  /** Draws the next frame, and continues while the picture changes. */
  wake(): void {
    this.#frame ??= requestAnimationFrame((nowMs) => this.#show(nowMs));
  }

  dispose(): void {
    if (this.#frame !== null) cancelAnimationFrame(this.#frame);
  }

  #show(nowMs: number): void {
    this.#frame = null;
    const passedMs = this.#atMs === null ? 0 : Math.min(nowMs - this.#atMs, FRAME_MS_MAX);
    const goesOn = this.#shown.advance(passedMs);
    this.#atMs = goesOn ? nowMs : null;
    this.#paint();
    if (goesOn) this.wake();
  }

  #paint(): void {
    const dirty = this.#shown.picture.takeDirty();
    if (isEmpty(dirty)) return;
    this.#shown.picture.copyTo(this.#pixels, dirty, COLOURS);
    const { left, top, right, bottom } = dirty;
    this.#context?.putImageData(this.#image, 0, 0, left, top, right - left, bottom - top);
  }
}

/** Draws the batches as a PNG of the board's size. `null` when the browser cannot. */
export function toPng(batches: readonly Batch[]): Promise<Blob | null> {
  return new Promise((resolve) => paint(batches).toBlob(resolve, 'image/png'));
}

/** Draws the batches in this width, as the address of an image. */
export function toThumbnail(batches: readonly Batch[], width: number): string {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, (width * BOARD_HEIGHT) / BOARD_WIDTH];
  canvas.getContext('2d')?.drawImage(paint(batches), 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/webp', 0.8);
}

function paint(batches: readonly Batch[]): HTMLCanvasElement {
  const picture = new Picture();
  picture.apply(batches.flatMap(({ ops }) => ops));
  const image = new ImageData(BOARD_WIDTH, BOARD_HEIGHT);
  picture.copyTo(new Uint32Array(image.data.buffer), WHOLE, COLOURS);
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [BOARD_WIDTH, BOARD_HEIGHT];
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}
