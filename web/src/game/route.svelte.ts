/** Which screen the address names: `?game=<id>`, `?history`, or the start. */

import type { Role } from './protocol.ts';

export type Screen =
  | { readonly is: 'start' | 'history' }
  | {
      readonly is: 'game';
      readonly gameId: string;
      /** Take a seat at once, without asking: somebody who comes over from the game before. Not part of the address. */
      readonly enterAs?: Role;
    };

class Route {
  current = $state.raw<Screen>(read());

  constructor() {
    addEventListener('popstate', () => (this.current = read()));
  }

  /** Turns to a screen; the browser's way back leads to the one before. */
  go(screen: Screen): void {
    history.pushState(null, '', screenPath(screen));
    this.current = screen;
    scrollTo(0, 0);
  }
}

/** The one address of this page. */
export const route = new Route();

/** The link to a game, to be shared. */
export function gameLink(gameId: string): string {
  return new URL(screenPath({ is: 'game', gameId }), location.href).href;
}

function screenPath(screen: Screen): string {
  switch (screen.is) {
    case 'start':
      return location.pathname;
    case 'history':
      return `${location.pathname}?history`;
    case 'game':
      return `${location.pathname}?${new URLSearchParams({ game: screen.gameId })}`;
  }
}

function read(): Screen {
  const query = new URLSearchParams(location.search);
  const gameId = query.get('game');
  if (gameId !== null && gameId !== '') return { is: 'game', gameId };
  return { is: query.has('history') ? 'history' : 'start' };
}
