/** Draws a drawing of a bot, stroke by stroke and about as fast as a person. */
import { OutgoingBatches, type OutgoingOptions } from '../board/outgoing.ts';
import type { Later } from '../transport.ts';
import type { Drawing } from './drawings.ts';

/** The pen moves by some points in each step. A point is about 24 board units from the next. */
const STEP_MS = 100;
const STEP_POINTS = 3;
/** The pause after each stroke and fill. */
const PAUSE_MS = 250;

export class Pen {
  readonly turnId: string;
  readonly #outgoing: OutgoingBatches;
  readonly #moves: Generator<number, void>;
  readonly #later: Later;
  #cancel = () => {};

  constructor(turnId: string, drawing: Drawing, send: OutgoingOptions['send'], later: Later) {
    this.turnId = turnId;
    this.#later = later;
    // Nobody looks at the bot's own picture, and a reload of the page ends its drawing.
    this.#outgoing = new OutgoingBatches({ turnId, send, apply: () => {}, made: () => {}, keep: () => {} });
    this.#moves = moves(drawing, this.#outgoing);
    this.#next();
  }

  /** The drawing phase is over: saves what is drawn. */
  finish(): void {
    this.#cancel();
    this.#outgoing.finish();
  }

  dispose(): void {
    this.#cancel();
    this.#outgoing.dispose();
  }

  #next(): void {
    const { value, done } = this.#moves.next();
    if (done !== true) this.#cancel = this.#later(value, () => this.#next());
  }
}

/** Yields the milliseconds until the next move. */
function* moves({ marks }: Drawing, outgoing: OutgoingBatches): Generator<number, void> {
  for (const mark of marks) {
    if (mark.is === 'fill') {
      outgoing.fill(mark.colour, mark.at);
    } else {
      const [first, ...points] = mark.points;
      if (first !== undefined) outgoing.begin(mark.brush, first);
      while (points.length > 0) {
        yield STEP_MS;
        outgoing.extend(points.splice(0, STEP_POINTS));
      }
      outgoing.end();
    }
    yield PAUSE_MS;
  }
}
