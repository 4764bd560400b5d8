/** The last answers of the server, kept in the browser so that they can be read without a network. Signing out forgets them. */
import { isObject, type JsonObject } from '../shared/api.ts';

/** Answers that are kept: a year of months and doses, and room for the rest. */
export const ANSWERS_MAX = 60;

/** An answer, and when it came. */
export interface Answer {
  readonly atMs: number;
  readonly body: JsonObject;
}

/** Where the text is. */
export interface KeptWorld {
  readonly read: () => string | null;
  readonly write: (text: string | null) => void;
}

/** The kept answers, by what was asked. */
export class Kept {
  readonly #world: KeptWorld;

  constructor(world: KeptWorld) {
    this.#world = world;
  }

  /** The answer to a question; `null` when it was never asked, or long ago. */
  read(question: string): Answer | null {
    return this.#all().get(question) ?? null;
  }

  /** Keeps an answer; those that were least lately given go first. */
  write(question: string, body: JsonObject, atMs: number): void {
    const others = [...this.#all()].filter(([other]) => other !== question);
    this.#world.write(JSON.stringify([...others, [question, { atMs, body }]].slice(-ANSWERS_MAX)));
  }

  /** Forgets everything. */
  forget(): void {
    this.#world.write(null);
  }

  /** Anything else than what was kept, as a hand-edited text, is nothing. */
  #all(): ReadonlyMap<string, Answer> {
    let list: unknown;
    try {
      list = JSON.parse(this.#world.read() ?? '[]');
    } catch {
      return new Map();
    }
    return new Map(Array.isArray(list) ? list.filter(isEntry) : []);
  }
}

function isEntry(value: unknown): value is [string, Answer] {
  if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== 'string') return false;
  const answer: unknown = value[1];
  return isObject(answer) && typeof answer['atMs'] === 'number' && isObject(answer['body']);
}
