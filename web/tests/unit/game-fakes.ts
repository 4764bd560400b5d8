/** Helpers of the game's tests: example messages and a fake clock. */
import { readFileSync } from 'node:fs';
import { parseMessage, type Room } from '../../src/game/protocol.ts';
import type { Later } from '../../src/game/transport.ts';

/** The text of an example in `tests/protocol`. */
export function example(name: string): string {
  return readFileSync(`tests/protocol/${name}.json`, 'utf8');
}

/** The room in an example. */
export function exampleRoom(name: string): Room {
  const message = parseMessage(example(name));
  if (message?.type !== 'room' && message?.type !== 'welcome') throw new Error(`${name} has no room`);
  return message.room;
}

/** Timers in the order of their time. */
export class FakeTime {
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];

  readonly later: Later = (ms, run) => {
    const timer = { atMs: this.#nowMs + ms, run };
    this.#timers.push(timer);
    return () => (this.#timers = this.#timers.filter((other) => other !== timer));
  };

  get pending(): number {
    return this.#timers.length;
  }

  pass(ms: number): void {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#nowMs = next.atMs;
      next.run();
    }
    this.#nowMs = untilMs;
  }
}
