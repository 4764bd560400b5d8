/**
 * Moves the game on when its time is up. Nothing on the server waits, so the browsers say when.
 *
 * All of them count the same time; to spare the crowd each waits its place in the row a little longer, and most never need to speak.
 */
import type { Room } from './protocol.ts';
import type { Later } from './socket.ts';

/** How much later than the player before it a browser speaks. */
export const PLACE_MS = 120;
/** A tick or its answer may be lost: it is said again after this, then after twice as long, and so on. */
const AGAIN_MS = 2_000;
const AGAIN_MAX_MS = 30_000;

/** Sends `tick` at the end of `nextMs`. */
export class Ticker {
  readonly #later: Later;
  readonly #tick: (version: number) => void;
  #cancel = () => {};
  #version = -1;
  #placeMs = 0;

  constructor(later: Later, tick: (version: number) => void) {
    this.#later = later;
    this.#tick = tick;
  }

  /** A room was accepted; its times count from now. */
  see(room: Room, playerId: string): void {
    this.#cancel();
    this.#version = room.version;
    const place = room.players.findIndex((player) => player.playerId === playerId);
    this.#placeMs = (place === -1 ? room.players.length : place) * PLACE_MS;
    if (room.turn !== null && !room.paused) this.#schedule(room.turn.nextMs);
  }

  /** The server says that it was too early; `null`: that time brings nothing at all. */
  wait(version: number, nextMs: number | null): void {
    if (version !== this.#version) return;
    if (nextMs === null) this.#cancel();
    else this.#schedule(nextMs);
  }

  stop(): void {
    this.#cancel();
    this.#version = -1;
  }

  #schedule(nextMs: number): void {
    this.#after(Math.max(0, nextMs) + this.#placeMs, AGAIN_MS);
  }

  #after(ms: number, againMs: number): void {
    this.#cancel();
    this.#cancel = this.#later(ms, () => {
      this.#tick(this.#version);
      this.#after(againMs, Math.min(AGAIN_MAX_MS, againMs * 2));
    });
  }
}
