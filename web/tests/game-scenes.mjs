/** The states of the game's page, made by a scripted server, for screenshots and accessibility tests. */
import { anzu, bunta, chie, example, gameId, GameServer } from './browser/game-server.mjs';
import { problem } from './browser/harness.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { Json } from './browser/game-server.mjs' */

/** The addresses of the start screen and of a game. */
export const start = '/game/';
export const table = `/game/?game=${gameId}`;

/**
 * `prepare` runs before the page loads, `play` afterwards.
 *
 * @typedef {{ at: string, prepare: (page: Page) => Promise<unknown>, play?: (page: Page) => Promise<unknown> }} Scene
 */

/** A player's view of a game in the state of an example. @param {string} room @param {string} playerId @returns {Scene} */
function seated(room, playerId) {
  return played(room, playerId, async () => {});
}

/**
 * A player's view of a game, after some more messages.
 *
 * @param {string} room
 * @param {string} playerId
 * @param {(page: Page, server: GameServer) => Promise<unknown>} play
 * @returns {Scene}
 */
function played(room, playerId, play) {
  /** One server for each page, because a scene runs in several. @type {WeakMap<Page, GameServer>} */
  const servers = new WeakMap();
  return {
    at: table,
    prepare: async (page) => {
      const server = await GameServer.at(room);
      server.playerId = playerId;
      server.lines = (await example('chat'))['lines'];
      server.batches = drawing.batches;
      servers.set(page, server);
      await server.seat(page);
    },
    play: async (page) => {
      await page.locator('[data-connection=live]').waitFor({ state: 'attached' });
      const server = servers.get(page);
      if (server) await play(page, server);
    },
  };
}

const { settings } = (await example('room-waiting'))['room'];
const waitingGames = [
  { gameId, hostName: 'あんず', players: 3, settings },
  {
    gameId: anzu,
    hostName: 'Captain 7',
    players: 1,
    settings: { ...settings, language: 'en', playerCount: 4, roundCount: 10, timeLimit: 120 },
  },
];

/** @param {Json} answers of the API, by path @param {string} [at] @returns {Scene} */
function answered(answers, at = start) {
  return {
    at,
    prepare: async (page) => {
      const server = await GameServer.at('room-waiting');
      for (const [path, answer] of Object.entries(answers))
        server.answers[`GET ${path}`] = (route) => route.fulfill(answer);
      await server.install(page);
      await page.addInitScript(
        ([id]) => {
          localStorage.setItem('tidemark.game.player', String(id));
          localStorage.setItem('tidemark.game.token', 'token-1');
        },
        [anzu],
      );
    },
    play: (page) => page.locator('h1').waitFor(),
  };
}

const pastGame = {
  gameId,
  name: 'あんず',
  finishedAt: Date.UTC(2026, 10, 20, 19, 30),
  score: 540,
  rank: 1,
  players: 4,
};
export const turns = [
  { id: '01.01', drawerName: 'あんず', answer: 'えんぴつ' },
  { id: '01.02', drawerName: 'ぶんた', answer: 'くじら' },
];
/** The drawing of the examples: a pencil. */
export const drawing = {
  batches: [
    stroke(1, 12, [400, 800, 900, 300, 1040, 440, 540, 940, 400, 800]),
    stroke(2, 12, [400, 800, 330, 1010, 540, 940]),
    stroke(3, 12, [900, 300, 960, 240, 1100, 380, 1040, 440]),
    { seq: 4, ops: [{ op: 'fill', id: 4, color: 6, at: [700, 640] }] },
    { seq: 5, ops: [{ op: 'fill', id: 5, color: 3, at: [1000, 340] }] },
    stroke(6, 12, [330, 1010, 500, 1040, 800, 1000, 1100, 1040, 1300, 1020]),
  ],
};

/** A batch with one stroke through the given corners. @param {number} seq @param {number} color @param {number[]} corners */
function stroke(seq, color, corners) {
  const points = [];
  for (let i = 0; i < corners.length; i += 2) {
    const [x = 0, y = 0, fromX = 0, fromY = 0] = [corners[i], corners[i + 1], corners[i - 2], corners[i - 1]];
    points.push(x - fromX, y - fromY, i === 0 ? 50 : 0);
  }
  return { seq, ops: [{ op: 'stroke', id: seq, points, color, width: 14, tool: 'pen', end: true }] };
}

/** @type {Record<string, Scene>} */
export const scenes = {
  start: answered({ '/games': { json: { items: waitingGames } } }),
  'start-empty': answered({ '/games': { json: { items: [] } } }),
  'start-failing': {
    ...answered({ '/games': problem(503, 'The database asks for patience') }),
    play: async (page) => {
      await page.getByRole('button', { name: /Create game|ゲームを作る/ }).click();
      await page.getByRole('button', { name: /^(Open|開く)$/ }).click();
    },
  },
  entry: answered({}, table),
  'entry-full': answered(
    {
      [`/games/${gameId}`]: {
        json: {
          ...(await example('room-waiting'))['room'],
          settings: { ...(await example('room-waiting'))['room'].settings, playerCount: 3 },
        },
      },
    },
    table,
  ),
  'entry-not-found': answered(
    {
      [`/games/${gameId}`]: {
        status: 404,
        json: { type: 'urn:tidemark:problem:game-not-found', title: 'No such game', status: 404 },
      },
    },
    table,
  ),
  'lobby-host': seated('welcome', anzu),
  'lobby-guest': seated('room-waiting', bunta),
  'choosing-drawer': seated('room-choosing-drawer', anzu),
  'choosing-others': seated('room-choosing', bunta),
  guessing: played('room-drawing-guesser', bunta, async (page, server) => {
    server.say(await example('near'));
    await page
      .getByText(/is close!|おしい/)
      .last()
      .waitFor();
  }),
  'guessing-english': played('room-drawing-guesser', bunta, async (page, server) => {
    const { turn } = (await example('room-drawing-guesser'))['room'];
    await server.show('room-drawing-guesser', {
      settings: { ...settings, language: 'en' },
      turn: { ...turn, mask: '＿＿＿＿-＿-＿＿＿＿d' },
    });
    await page.getByTestId('word').getByText('4 + 1 + 5').waitFor({ state: 'attached' });
  }),
  solved: seated('room-drawing-solver', bunta),
  drawing: seated('room-drawing-drawer', anzu),
  reveal: seated('room-reveal', chie),
  paused: seated('room-paused', bunta),
  spectating: seated('welcome-spectator', '0199c0d0-5555-7eee-8eee-000000000005'),
  reconnecting: played('room-drawing-guesser', bunta, async (page, server) => {
    server.answers[`POST /games/${gameId}/players`] = (route) => route.abort();
    await server.socket?.close();
    await page.locator('[data-connection=reconnecting]').waitFor({ state: 'attached' });
  }),
  unsent: played('room-drawing-guesser', bunta, async (page, server) => {
    await page.clock.install();
    await page.locator('#say').fill('くじら');
    await page.locator('#say').press('Enter');
    await server.hears('say');
    await page.clock.fastForward('00:01');
    await server.hears('ping');
    await page.clock.fastForward('00:10');
    await page.clock.resume();
    await page.locator('.failed').waitFor();
  }),
  flooded: played('room-drawing-guesser', bunta, async (page, server) => {
    server.say(await example('error'));
    await page.getByRole('alert').waitFor();
  }),
  replaced: played('room-drawing-guesser', bunta, async (page, server) => {
    server.say(await example('replaced'));
    await page.getByRole('alert').waitFor();
  }),
  kicked: played('room-drawing-guesser', bunta, async (page, server) => {
    server.say(await example('kicked'));
    await page.getByRole('alert').waitFor();
  }),
  finished: {
    at: table,
    prepare: async (page) => {
      const server = await GameServer.at('room-finished');
      server.playerId = anzu;
      server.lines = (await example('chat'))['lines'];
      server.answers[`GET /games/${gameId}/turns`] = (route) => route.fulfill({ json: { items: turns } });
      server.answers[`GET /games/${gameId}/turns/01.01/drawing`] = (route) => route.fulfill({ json: drawing });
      await server.seat(page);
    },
    play: async (page) => {
      await page.locator('[data-connection=live]').waitFor({ state: 'attached' });
      await page.getByRole('button', { name: 'えんぴつ' }).click();
      await page.locator('canvas').first().waitFor();
    },
  },
  history: answered(
    {
      [`/players/${anzu}/games`]: {
        json: { items: [pastGame, { ...pastGame, gameId: bunta, rank: 3, score: 402 }], cursor: 'next' },
      },
    },
    '/game/?history',
  ),
  'history-empty': answered({ [`/players/${anzu}/games`]: { json: { items: [] } } }, '/game/?history'),
};
