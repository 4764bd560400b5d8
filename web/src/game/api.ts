/** The HTTP requests of the game's page. Rooms and drawings are checked, as on the socket. */
import { ApiError, bearer, query, requestJson, requestPage, unexpectedAnswer } from '../shared/api.ts';
import type { ApiRequest, Item, Page, Schema } from '../shared/api.ts';
import type { Batch } from './board/protocol.ts';
import { browserIdentity, recallIdentity } from './identity.ts';
import { parseBatches, parseRoom, type ChosenSettings, type Role, type Room } from './protocol.ts';

/**
 * The address of the game's WebSocket: the page's own origin, or the address in the page's meta tag
 * when the page is served without the CDN.
 */
export function socketUrl(ticket: string): string {
  const elsewhere = document.querySelector<HTMLMetaElement>('meta[name="game-sockets"]')?.content;
  const url = new URL(elsewhere ?? '/ws', location.href);
  url.protocol = url.protocol.replace('http', 'ws');
  url.searchParams.set('ticket', ticket);
  return url.href;
}

/** A place in a game. The `ticket` opens one WebSocket connection and is valid for a minute. */
export type Seat = Pick<Schema<'Seat'>, 'gameId' | 'ticket' | 'role'> & { readonly room: Room };

/** A finished game of a player. */
export type PastGame = Item<'FinishedGames'>;

/** A finished turn. It has no drawer's name when the drawer left before the reveal. */
export type PastTurn = Item<'Turns'>;

/** The request to create a game. */
export interface NewGame {
  readonly name: string;
  readonly settings: ChosenSettings;
  readonly public: boolean;
  readonly words: readonly string[];
}

/** `POST /games`: creates a game with this player as its host. */
export async function createGame(game: NewGame): Promise<Seat> {
  const { words, ...body } = game;
  return takeSeat('/games', { ...body, ...(words.length > 0 ? { words } : {}) });
}

/**
 * `POST /games/{gameId}/players`: joins a game, or returns to the seat that this browser already
 * has. A bot has a player of its own.
 */
export function joinGame(gameId: string, name: string, role: Role, player = browserIdentity): Promise<Seat> {
  return takeSeat(`/games/${encodeURIComponent(gameId)}/players`, { name, role }, player);
}

/** `GET /games/{gameId}`: the public state of a game. */
export async function getGame(gameId: string, signal: AbortSignal): Promise<Room> {
  return readRoom(await requestJson(`/games/${encodeURIComponent(gameId)}`, { signal }));
}

/**
 * `GET /players/{playerId}/games`: this browser's finished games, newest first. Empty before the
 * first game.
 */
export async function getPastGames(cursor: string | null): Promise<Page<PastGame>> {
  const identity = recallIdentity();
  if (identity === null) return { items: [] };
  return requestPage(`/players/${encodeURIComponent(identity.playerId)}/games${query({ cursor })}`, authorized());
}

/** `GET /games/{gameId}/turns`: the finished turns in order. */
export async function getTurns(gameId: string): Promise<readonly PastTurn[]> {
  const path = `/games/${encodeURIComponent(gameId)}/turns`;
  return (await readShown((request) => requestPage<PastTurn>(path, request))).items;
}

/** `GET /games/{gameId}/turns/{turnId}/drawing`. */
export async function getDrawing(gameId: string, turnId: string): Promise<readonly Batch[]> {
  const path = `/games/${encodeURIComponent(gameId)}/turns/${encodeURIComponent(turnId)}/drawing`;
  const batches = parseBatches((await readShown((request) => requestJson(path, request)))['batches']);
  if (batches === null) throw new ApiError(unexpectedAnswer(200));
  return batches;
}

/**
 * Reads what a host may show to everybody. When the stored token has expired or belongs to another
 * stack, it reads once more without a token.
 */
async function readShown<T>(read: (request: ApiRequest) => Promise<T>): Promise<T> {
  try {
    return await read(authorized());
  } catch (failure) {
    if (!isTokenRefused(failure)) throw failure;
    return read({});
  }
}

async function takeSeat(path: string, body: object, player = browserIdentity): Promise<Seat> {
  let answer: Schema<'Seat'>;
  try {
    answer = await requestJson(path, { method: 'POST', body, ...authorized(player) });
  } catch (failure) {
    // The stored token has expired or belongs to another stack. A request without a token creates a
    // new player.
    if (!isTokenRefused(failure, player)) throw failure;
    player.remember(null);
    answer = await requestJson(path, { method: 'POST', body });
  }
  player.remember({ playerId: answer.playerId, token: answer.playerToken });
  return { ...answer, room: readRoom(answer.room) };
}

/** Whether the server answered 401 although the request had a token. */
function isTokenRefused(failure: unknown, player = browserIdentity): boolean {
  return failure instanceof ApiError && failure.problem?.status === 401 && player.recall() !== null;
}

function authorized(player = browserIdentity): ApiRequest {
  const identity = player.recall();
  return identity === null ? {} : { headers: bearer(identity.token) };
}

function readRoom(value: unknown): Room {
  const room = parseRoom(value);
  if (room === null) throw new ApiError(unexpectedAnswer(200));
  return room;
}
