/** The screen in the address: `?game=<id>`, `?history`, or the start screen. */
import { Route } from '../shared/route.svelte.ts';
import type { Role } from './protocol.ts';

export type Screen =
  | { readonly is: 'start' | 'history' }
  | {
      readonly is: 'game';
      readonly gameId: string;
      /**
       * Join at once, without asking for a name: the player comes from the previous game. Not part
       * of the address.
       */
      readonly joinAs?: Role;
    };

/** The current screen of this page. */
export const route = new Route<Screen>(read, print);

/** The link that invites to a game. */
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
