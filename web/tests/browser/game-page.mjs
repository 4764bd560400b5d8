/** The game's page, opened against a scripted server, and what its tests look at. */
import { table } from '../game-scenes.mjs';
import { GameServer } from './game-server.mjs';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

/** A browser for a file's tests. */
export function useGame() {
  const open = useBrowser('/game/');

  /** Opens the page for a player who has a seat in a game that is as in an example. @param {string} room @param {string} playerId @param {object} [options] */
  async function sit(room, playerId, options = {}) {
    const server = await GameServer.at(room);
    server.playerId = playerId;
    const visit = await open({ at: table, prepare: (page) => server.seat(page), ...options });
    await server.hears('hello');
    await visit.page.locator('[data-connection=live]').waitFor({ state: 'attached' });
    return { server, ...visit };
  }

  return { open, sit };
}

/** The line in the chat with that text. @param {Page} page @param {string | RegExp} text */
export const line = (page, text) => page.getByTestId('chat').getByText(text);
