/**
 * Sends `tick` when the time of a phase or hint is up. The server has no timers, so the clients
 * trigger these changes.
 *
 * All clients know the same time. Each one waits a little longer than the player before it, so
 * usually only the first one sends.
 */
import type { Room } from './protocol.ts';
import type { Later } from './transport.ts';

/** How much longer each player waits than the one before. */
export const STAGGER_MS = 120;
/**
 * A tick or its answer may get lost. It is sent again after this, with a delay that doubles up to
 * {@link RETRY_MAX_MS}.
 */
const RETRY_MS = 2_000;
const RETRY_MAX_MS = 30_000;

/** Schedules `tick` for the end of `nextMs`. */
export class Ticker {
  readonly #later: Later;
  readonly #tick: (version: number) => void;
  #cancel = () => {};
  #version = -1;
  #staggerMs = 0;

  constructor(later: Later, tick: (version: number) => void) {
    this.#later = later;
    this.#tick = tick;
  }

  /** A new room was accepted. Its times count from now. */
  see(room: Room, playerId: string): void {
    this.#cancel();
    this.#version = room.version;
    const place = room.players.findIndex((player) => player.playerId === playerId);
    this.#staggerMs = (place === -1 ? room.players.length : place) * STAGGER_MS;
    if (room.turn !== null && !room.paused) this.#schedule(room.turn.nextMs);
  }

  /** The server answers that the tick was too early. `null`: no timed change is due at all. */
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
    this.#after(Math.max(0, nextMs) + this.#staggerMs, RETRY_MS);
  }

  #after(ms: number, retryMs: number): void {
    this.#cancel();
    this.#cancel = this.#later(ms, () => {
      this.#tick(this.#version);
      this.#after(retryMs, Math.min(RETRY_MAX_MS, retryMs * 2));
    });
  }
}
