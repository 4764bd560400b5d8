/** Which screen the address names: `?game=<id>`, `?history`, or the start. */
import { Route } from '../shared/route.svelte.ts';
import type { Role } from './protocol.ts';

export type Screen =
  | { readonly is: 'start' | 'history' }
  | {
      readonly is: 'game';
      readonly gameId: string;
      /** Take a seat at once, without asking: somebody who comes over from the game before. Not part of the address. */
      readonly enterAs?: Role;
    };

/** The one address of this page. */
export const route = new Route<Screen>(read, print);

/** The link to a game, to be shared. */
export function gameLink(gameId: string): string {
  return new URL(route.path({ is: 'game', gameId }), location.href).href;
}

function print(screen: Screen): URLSearchParams {
  switch (screen.is) {
    case 'start':
      return new URLSearchParams();
    case 'history':
      return new URLSearchParams({ history: '' });
    case 'game':
      return new URLSearchParams({ game: screen.gameId });
  }
}

function read(query: URLSearchParams): Screen {
  const gameId = query.get('game');
  if (gameId !== null && gameId !== '') return { is: 'game', gameId };
  return { is: query.has('history') ? 'history' : 'start' };
}
