/** The operator's token. It is kept until the tab closes: a token must not outlive the sitting. */
import { StoredText } from './storage.ts';

const stored = new StoredText('sessionStorage', 'tidemark.admin-token');

class AdminToken {
  /** The token in use; empty when there is none. */
  current = $state(stored.read() ?? '');

  /** Uses and keeps a token; an empty text forgets it. */
  use(text: string): void {
    this.current = text;
    stored.write(text === '' ? null : text);
  }
}

/** The one token of this tab. */
export const adminToken = new AdminToken();
