/** Tokens of the staff and of the operator. One is kept until the tab closes: a token must not outlive the sitting. */
import { StoredText } from './storage.ts';

export class AccessToken {
  readonly #stored: StoredText;
  /** The token in use; empty when there is none. */
  current = $state('');

  constructor(name: string) {
    this.#stored = new StoredText('sessionStorage', name);
    this.current = this.#stored.read() ?? '';
  }

  /** Uses and keeps a token; an empty text forgets it. */
  use(text: string): void {
    this.current = text;
    this.#stored.write(text === '' ? null : text);
  }
}

/** The staff's token of this tab: shop and journal. */
export const staffToken = new AccessToken('tidemark.staff-token');

/** The operator's token of this tab: people's clicks. */
export const operatorToken = new AccessToken('tidemark.operator-token');
