/** Maps the query of the address to a screen of the page. */

/** The current screen as reactive state. */
export class Route<Screen> {
  /** The current screen. */
  current: Screen = $state.raw()!;
  readonly #print: (screen: Screen) => URLSearchParams;

  /** `read` turns a query into a screen, `print` turns a screen into a query. */
  constructor(read: (query: URLSearchParams) => Screen, print: (screen: Screen) => URLSearchParams) {
    const now = (): Screen => read(new URLSearchParams(location.search));
    this.#print = print;
    this.current = now();
    addEventListener('popstate', () => (this.current = now()));
  }

  /** Goes to a screen and adds it to the browser's history. */
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
