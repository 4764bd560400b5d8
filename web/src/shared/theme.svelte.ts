/** The light or dark theme. It follows the system until the reader chooses one. */
import { StoredText } from './storage.ts';

/** The two sets of design tokens. */
export type Theme = 'light' | 'dark';

const stored = new StoredText('localStorage', 'tidemark.theme');
const systemDark = matchMedia('(prefers-color-scheme: dark)');

class ThemeChoice {
  #system = $state<Theme>(systemDark.matches ? 'dark' : 'light');
  #chosen = $state<Theme | null>(parse(stored.read()));
  /** The theme that is shown. */
  readonly current = $derived(this.#chosen ?? this.#system);

  constructor() {
    systemDark.addEventListener('change', (event) => (this.#system = event.matches ? 'dark' : 'light'));
  }

  /** Changes the theme and remembers it. */
  choose(theme: Theme): void {
    this.#chosen = theme;
    stored.write(theme);
    document.documentElement.dataset['theme'] = theme;
  }
}

/** The theme choice that all components share. */
export const theme = new ThemeChoice();

function parse(text: string | null): Theme | null {
  return text === 'light' || text === 'dark' ? text : null;
}
