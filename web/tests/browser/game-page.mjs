/** Opens the game's page against a scripted server, with helpers for its tests. */
import { table } from '../game-scenes.mjs';
import { GameServer } from './game-server.mjs';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

/** The browser of a test file. */
export function useGame() {
  const open = useBrowser('/game/');

  /** Opens the page for a player with a seat in a game in the state of an example. @param {string} room @param {string} playerId @param {object} [options] */
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

/** The chat line with that text. @param {Page} page @param {string | RegExp} text */
export const line = (page, text) => page.getByTestId('chat').getByText(text);
