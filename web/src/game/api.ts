/** The HTTP requests of the game's page. Responses are checked on arrival. */
import { ApiError, requestJson, unexpectedAnswer, type ApiRequest, type JsonObject } from '../shared/api.ts';
import { count, optionalText, page, text, type Page } from '../shared/decode.ts';
import type { Batch } from './board/protocol.ts';
import { recallIdentity, rememberIdentity } from './identity.ts';
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
export interface Seat {
  readonly gameId: string;
  readonly ticket: string;
  readonly role: Role;
  readonly room: Room;
}

/** A finished game of a player. */
export interface PastGame {
  readonly gameId: string;
  /** The name that the player used in this game. */
  readonly name: string;
  /** Epoch milliseconds. */
  readonly finishedAt: number;
  readonly score: number;
  /** 1 for the best. */
  readonly rank: number;
  /** How many players finished the game. */
  readonly players: number;
}

/** A finished turn. */
export interface PastTurn {
  readonly turnId: string;
  /** `null` when the drawer left before the reveal. */
  readonly drawerName: string | null;
  readonly answer: string;
}

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
 * has.
 */
export function joinGame(gameId: string, name: string, role: Role): Promise<Seat> {
  return takeSeat(`/games/${encodeURIComponent(gameId)}/players`, { name, role });
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
  if (identity === null) return { items: [], cursor: null };
  const query = cursor === null ? '' : `?${new URLSearchParams({ cursor })}`;
  const body = await requestJson(`/players/${encodeURIComponent(identity.playerId)}/games${query}`, authorized());
  return page(body, (item) => ({
    gameId: text(item, 'gameId'),
    name: text(item, 'name'),
    finishedAt: count(item, 'finishedAt'),
    score: count(item, 'score'),
    rank: count(item, 'rank'),
    players: count(item, 'players'),
  }));
}

/** `GET /games/{gameId}/turns`: the finished turns in order. */
export async function getTurns(gameId: string): Promise<readonly PastTurn[]> {
  const body = await requestJson(`/games/${encodeURIComponent(gameId)}/turns`, authorized());
  return page(body, (item) => ({
    turnId: text(item, 'id'),
    drawerName: optionalText(item, 'drawerName'),
    answer: text(item, 'answer'),
  })).items;
}

/** `GET /games/{gameId}/turns/{turnId}/drawing`. */
export async function getDrawing(gameId: string, turnId: string): Promise<readonly Batch[]> {
  const path = `/games/${encodeURIComponent(gameId)}/turns/${encodeURIComponent(turnId)}/drawing`;
  const batches = parseBatches((await requestJson(path, authorized()))['batches']);
  if (batches === null) throw new ApiError(unexpectedAnswer(200));
  return batches;
}

async function takeSeat(path: string, body: JsonObject): Promise<Seat> {
  let answer: JsonObject;
  try {
    answer = await requestJson(path, { method: 'POST', body, ...authorized() });
  } catch (failure) {
    // The stored token has expired or belongs to another stack. A request without a token creates a
    // new player.
    if (!(failure instanceof ApiError) || failure.problem?.status !== 401 || recallIdentity() === null) throw failure;
    rememberIdentity(null);
    answer = await requestJson(path, { method: 'POST', body });
  }
  rememberIdentity({ playerId: text(answer, 'playerId'), token: text(answer, 'playerToken') });
  return {
    gameId: text(answer, 'gameId'),
    ticket: text(answer, 'ticket'),
    role: answer['role'] === 'spectator' ? 'spectator' : 'player',
    room: readRoom(answer['room']),
  };
}

function authorized(): ApiRequest {
  const identity = recallIdentity();
  return identity === null ? {} : { headers: { authorization: `Bearer ${identity.token}` } };
}

function readRoom(value: unknown): Room {
  const room = parseRoom(value);
  if (room === null) throw new ApiError(unexpectedAnswer(200));
  return room;
}
