/** The replay of a finished drawing. Batches have no times: {@link replayMs} counts their points. */
import { Picture } from './picture.ts';
import { Playout, replayMs } from './playout.ts';
import type { Batch } from './protocol.ts';
import type { SurfaceSource } from './surface.ts';

export class Replay implements SurfaceSource {
  readonly picture = new Picture();
  readonly durationMs: number;
  /** The playback speed: 2 plays two seconds of drawing in one. */
  speed = 1;
  /** Called when `positionMs` or `isPlaying` has changed. */
  onChange: () => void = () => {};
  readonly #batches: readonly Batch[];
  /** When each batch begins; the last number is the end. */
  readonly #starts = [0];
  readonly #playout = new Playout(this.picture, true);
  /** The batches before this index are shown or being played. */
  #next = 0;
  #positionMs = 0;
  #isPlaying = false;

  /** Starts with the finished picture. */
  constructor(batches: readonly Batch[]) {
    this.#batches = batches;
    for (const batch of batches) this.#starts.push((this.#starts.at(-1) ?? 0) + replayMs(batch));
    this.durationMs = this.#starts.at(-1) ?? 0;
    this.seek(this.durationMs);
  }

  get positionMs(): number {
    return this.#positionMs;
  }

  get isPlaying(): boolean {
    return this.#isPlaying;
  }

  /** Plays from the start if the replay is at its end. */
  play(): void {
    if (this.#positionMs >= this.durationMs) this.seek(0);
    this.#isPlaying = true;
    this.onChange();
  }

  pause(): void {
    this.#isPlaying = false;
    this.onChange();
  }

  seek(ms: number): void {
    const positionMs = Math.min(Math.max(0, ms), this.durationMs);
    const next = this.#starts.findLastIndex((startMs) => startMs <= positionMs);
    this.#playout.flush();
    if (next < this.#next) {
      this.picture.reset();
      this.#next = 0;
    }
    this.picture.apply(this.#batches.slice(this.#next, next).flatMap(({ ops }) => ops));
    this.#next = next;
    this.#playOn(positionMs - (this.#starts[next] ?? 0));
    this.#positionMs = positionMs;
    this.onChange();
  }

  advance(ms: number): boolean {
    if (!this.#isPlaying) return false;
    this.#playOn(ms * this.speed);
    this.#positionMs = Math.min(this.durationMs, this.#positionMs + ms * this.speed);
    if (this.#next === this.#batches.length && this.#playout.isIdle) {
      this.#positionMs = this.durationMs;
      this.#isPlaying = false;
    }
    this.onChange();
    return this.#isPlaying;
  }

  #playOn(ms: number): void {
    let leftMs = ms;
    while (leftMs > 0) {
      if (this.#playout.isIdle) {
        const batch = this.#batches[this.#next];
        if (batch === undefined) return;
        this.#next++;
        this.#playout.push(batch);
      }
      leftMs = this.#playout.advance(leftMs);
    }
  }
}
