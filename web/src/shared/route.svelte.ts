/** Which of a page's screens the address names. */

/** The address of a page as reactive state. */
export class Route<Screen> {
  /** The screen that is shown. */
  current: Screen = $state.raw()!;
  readonly #print: (screen: Screen) => URLSearchParams;

  /** `read` makes a screen of the address's query, `print` the query of a screen. */
  constructor(read: (query: URLSearchParams) => Screen, print: (screen: Screen) => URLSearchParams) {
    const now = (): Screen => read(new URLSearchParams(location.search));
    this.#print = print;
    this.current = now();
    addEventListener('popstate', () => (this.current = now()));
  }

  /** Turns to a screen; the browser's way back leads to the one before. */
  go(screen: Screen): void {
    history.pushState(null, '', this.path(screen));
    this.current = screen;
    scrollTo(0, 0);
  }

  /** The path of a screen, for a link. */
  path(screen: Screen): string {
    const query = String(this.#print(screen));
    return query === '' ? location.pathname : `${location.pathname}?${query}`;
  }
}
