/**
 * The messages of the game's protocol, version 1, as in `docs/protocol.md`. Every received message
 * is checked here, once; a message that does not match is ignored.
 */
import { isObject, type Item, type JsonObject, type Schema } from '../shared/api.ts';
import type { Batch, BoardMessage, InkMessage } from './board/protocol.ts';

/** The version that `hello` announces. */
export const PROTOCOL_VERSION = 1;

/**
 * The state of a game, limited to what this browser may see. It has the members of the schema
 * `Room` in `docs/openapi.yaml`; a missing one is `null` or empty.
 */
export type Room = ReturnType<typeof room>;
/** A game's settings. Times are in seconds. */
export type Settings = ReturnType<typeof settings>;
/** One player's turn to draw. */
export type Turn = ReturnType<typeof turn>;
/** A seat and the player in it. */
export type Player = Room['players'][number];
/** A word that the drawer can choose, with the English meaning of a Japanese word if known. */
export type WordOption = Turn['options'][number];
export type Award = Turn['awards'][number];
export type Standing = Room['standings'][number];
export type Phase = Turn['phase'];
export type Role = Schema<'Seat'>['role'];
export type WordSource = Settings['words'];
/** The languages of a game's words. */
export const WORD_LANGUAGES = ['ja', 'en', 'de', 'fr', 'es', 'pt'] as const;
export type WordLanguage = (typeof WORD_LANGUAGES)[number];
/** How points are given. */
export const SCORINGS = ['speed', 'equal', 'none'] as const;
export type Scoring = (typeof SCORINGS)[number];
/** What a player can think of a drawing. */
export const REACTIONS = ['like', 'laugh'] as const;
export type Reaction = (typeof REACTIONS)[number];
export type LineKind = Item<'ChatPage'>['kind'];

/**
 * A chat line. A line of kind `correct` has no text. In a line of kind `system`, `text` is the
 * event and `name` is the player concerned.
 */
export type Line = Omit<Item<'ChatPage'>, 'at'> & { readonly at: number | null };

/** An error. Its `type` is one of `docs/problems.md`, with or without the URN prefix. */
export interface ErrorMessage {
  readonly type: 'error';
  readonly error: { readonly type: string; readonly title: string; readonly detail: string | null };
  readonly action: string | null;
  readonly id: string | null;
  readonly turnId: string | null;
}

/** Every message that the server sends. */
export type ServerMessage =
  | { readonly type: 'welcome'; readonly you: { readonly playerId: string; readonly role: Role }; readonly room: Room }
  | { readonly type: 'room'; readonly room: Room; readonly lines?: readonly Line[] }
  | InkMessage
  | { readonly type: 'chat'; readonly lines: readonly Line[] }
  | { readonly type: 'reaction'; readonly turnId: string; readonly playerId: string; readonly reaction: Reaction }
  | { readonly type: 'near'; readonly id: string; readonly text: string }
  | { readonly type: 'wait'; readonly version: number; readonly nextMs: number | null }
  | { readonly type: 'rematch'; readonly gameId: string }
  | { readonly type: 'pong' | 'replaced' | 'kicked' }
  | ErrorMessage;

/** Every message that a client sends. */
export type ClientMessage =
  | { readonly action: 'hello'; readonly protocol: typeof PROTOCOL_VERSION }
  | { readonly action: 'ping' | 'start' | 'leave' | 'rematch' }
  | { readonly action: 'configure'; readonly settings: ChosenSettings }
  | { readonly action: 'share'; readonly shared: boolean }
  | { readonly action: 'ready'; readonly ready: boolean }
  | { readonly action: 'choose'; readonly turnId: string; readonly option: number }
  | { readonly action: 'choose'; readonly turnId: string; readonly word: string }
  | BoardMessage
  | { readonly action: 'react'; readonly turnId: string; readonly reaction: Reaction }
  | { readonly action: 'say'; readonly id: string; readonly text: string }
  | { readonly action: 'tick'; readonly version: number }
  | { readonly action: 'skip'; readonly turnId: string }
  | { readonly action: 'kick'; readonly playerId: string };

/** The settings that a host can choose. The server counts the custom words itself. */
export type ChosenSettings = Omit<Settings, 'customWords'>;

/** Parses a frame. `null` for unknown messages: a newer server may send more types. */
export function parseMessage(text: string): ServerMessage | null {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? message(body) : null;
  } catch (fault) {
    if (fault instanceof SyntaxError || fault instanceof UnexpectedShape) return null;
    throw fault;
  }
}

/** Parses a room from an HTTP response. `null` when it does not match. */
export function parseRoom(value: unknown): Room | null {
  try {
    return room(value);
  } catch (fault) {
    if (fault instanceof UnexpectedShape) return null;
    throw fault;
  }
}

/** Parses the batches of a finished drawing. `null` when they do not match. */
export function parseBatches(value: unknown): readonly Batch[] | null {
  try {
    return readBatches(value);
  } catch (fault) {
    if (fault instanceof UnexpectedShape) return null;
    throw fault;
  }
}

/** A value does not have the documented shape. */
class UnexpectedShape extends Error {}

function message(body: JsonObject): ServerMessage | null {
  switch (body['type']) {
    case 'welcome': {
      const you = object(body['you']);
      return {
        type: 'welcome',
        you: { playerId: string(you['playerId']), role: oneOf(you['role'], ['player', 'spectator']) },
        room: room(body['room']),
      };
    }
    case 'room':
      return {
        type: 'room',
        room: room(body['room']),
        ...(body['lines'] === undefined ? {} : { lines: readLines(body['lines']) }),
      };
    case 'ink':
      return {
        type: 'ink',
        turnId: string(body['turnId']),
        batches: readBatches(body['batches']),
        ...(body['saved'] === undefined ? {} : { saved: number(body['saved']) }),
        last: body['last'] === true,
      };
    case 'chat':
      return { type: 'chat', lines: readLines(body['lines']) };
    case 'reaction': {
      const [turnId, playerId] = [string(body['turnId']), string(body['playerId'])];
      return { type: 'reaction', turnId, playerId, reaction: oneOf(body['reaction'], REACTIONS) };
    }
    case 'near':
      return { type: 'near', id: string(body['id']), text: string(body['text']) };
    case 'wait':
      return { type: 'wait', version: number(body['version']), nextMs: optional(body['nextMs'], number) };
    case 'rematch':
      return { type: 'rematch', gameId: string(body['gameId']) };
    case 'pong':
    case 'replaced':
    case 'kicked':
      return { type: body['type'] };
    case 'error': {
      const error = object(body['error']);
      return {
        type: 'error',
        error: {
          type: string(error['type']),
          title: string(error['title']),
          detail: optional(error['detail'], string),
        },
        action: optional(body['action'], string),
        id: optional(body['id'], string),
        turnId: optional(body['turnId'], string),
      };
    }
    default:
      return null;
  }
}

function readLines(value: unknown): readonly Line[] {
  return list(value, (line) => ({
    id: string(line['id']),
    playerId: string(line['playerId']),
    name: string(line['name']),
    text: string(line['text']),
    kind: oneOf(line['kind'], ['talk', 'guess', 'correct', 'system']),
    at: optional(line['at'], number),
  }));
}

function readBatches(value: unknown): readonly Batch[] {
  // The board checks the ops itself.
  return list(value, (batch) => ({ seq: number(batch['seq']), ops: array(batch['ops']) as Batch['ops'] }));
}

function room(value: unknown) {
  const body = object(value);
  return {
    gameId: string(body['gameId']),
    version: number(body['version']),
    status: oneOf(body['status'], ['waiting', 'playing', 'finished']),
    public: body['public'] === true,
    /** Anybody may watch the drawings of this finished game. */
    shared: body['shared'] === true,
    settings: settings(object(body['settings'])),
    hostId: string(body['hostId']),
    round: optional(body['round'], number) ?? 0,
    players: list(body['players'], (player) => ({
      playerId: string(player['playerId']),
      name: string(player['name']),
      score: number(player['score']),
      ready: player['ready'] === true,
      connected: player['connected'] === true,
      kickVotes: optional(player['kickVotes'], number) ?? 0,
    })),
    spectators: optional(body['spectators'], number) ?? 0,
    paused: body['paused'] === true,
    turn: optional(body['turn'], (value) => turn(object(value))),
    standings: list(body['standings'] ?? [], (standing) => ({
      playerId: string(standing['playerId']),
      name: string(standing['name']),
      score: number(standing['score']),
      rank: number(standing['rank']),
    })),
    rematch: optional(body['rematch'], string),
  };
}

function settings(body: JsonObject) {
  return {
    timeLimit: number(body['timeLimit']),
    roundCount: number(body['roundCount']),
    playerCount: number(body['playerCount']),
    hints: body['hints'] === true,
    words: oneOf(body['words'], ['built-in', 'custom', 'both']),
    language: oneOf(body['language'], WORD_LANGUAGES),
    scoring: oneOf(body['scoring'] ?? 'speed', SCORINGS),
    customWords: optional(body['customWords'], number) ?? 0,
  };
}

function turn(body: JsonObject) {
  return {
    turnId: string(body['turnId']),
    drawerId: string(body['drawerId']),
    phase: oneOf(body['phase'], ['choosing', 'drawing', 'reveal']),
    timeLimit: number(body['timeLimit']),
    remainingMs: number(body['remainingMs']),
    nextMs: number(body['nextMs']),
    mask: optional(body['mask'], string),
    solvers: list(body['solvers'] ?? [], solver),
    answer: optional(body['answer'], string),
    gloss: optional(body['gloss'], string),
    options: list(body['options'] ?? [], (option) => ({
      word: string(option['word']),
      gloss: optional(option['gloss'], string),
    })),
    awards: list(body['awards'] ?? [], (award) => ({
      ...solver(award),
      reason: oneOf(award['reason'], ['correct_answer', 'drawer_penalty']),
    })),
  };
}

function solver(body: JsonObject) {
  return { playerId: string(body['playerId']), points: number(body['points']) };
}

function object(value: unknown): JsonObject {
  if (!isObject(value)) throw new UnexpectedShape();
  return value;
}

function array(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new UnexpectedShape();
  return value;
}

function list<T>(value: unknown, decode: (item: JsonObject) => T): readonly T[] {
  return array(value).map((item) => decode(object(item)));
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw new UnexpectedShape();
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new UnexpectedShape();
  return value;
}

function oneOf<T extends string>(value: unknown, choices: readonly T[]): T {
  const chosen = choices.find((choice) => choice === value);
  if (chosen === undefined) throw new UnexpectedShape();
  return chosen;
}

function optional<T>(value: unknown, decode: (value: unknown) => T): T | null {
  return value === undefined || value === null ? null : decode(value);
}
