/**
 * Access tokens of staff and operators. They are kept in `sessionStorage`, so that closing the tab
 * removes them.
 */
import { StoredText } from './storage.ts';

export class AccessToken {
  readonly #stored: StoredText;
  /** The token in use; empty when there is none. */
  current = $state('');

  constructor(name: string) {
    this.#stored = new StoredText('sessionStorage', name);
    this.current = this.#stored.read() ?? '';
  }

  /** Stores a token; an empty text removes it. */
  use(text: string): void {
    this.current = text;
    this.#stored.write(text === '' ? null : text);
  }
}

/** The staff token of this tab, for the shop and the journal. */
export const staffToken = new AccessToken('tidemark.staff-token');

/** The operator token of this tab, for single clicks. */
export const operatorToken = new AccessToken('tidemark.operator-token');
