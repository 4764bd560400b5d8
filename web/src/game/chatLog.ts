/** The chat as it is shown: each line once, in the order of arrival, and no more than a room needs. */
import type { Line, Room } from './protocol.ts';

/** Lines that are kept; a game may have thousands. */
export const CHAT_LINES_MAX = 200;

/** A line, and whether only those who know the answer can read it. */
export interface ChatLine extends Line {
  readonly secret: boolean;
}

/** Adds lines; what came before under the same id stays as it is. `room` is the one of a reader who knows the answer, otherwise `null`. */
export function addLines(log: readonly ChatLine[], lines: readonly Line[], room: Room | null): readonly ChatLine[] {
  const known = new Set(log.map((line) => line.id));
  const fresh = lines.filter((line) => !known.has(line.id) && known.add(line.id));
  if (fresh.length === 0) return log;
  return [...log, ...fresh.map((line) => ({ ...line, secret: isSecret(line, room) }))].slice(-CHAT_LINES_MAX);
}

/** While somebody draws, what the drawer and the solvers say reaches only each other. */
export function isSecret(line: Line, room: Room | null): boolean {
  return line.kind === 'talk' && room !== null && knowsAnswer(room, line.playerId);
}

/** Whether a player knows the word that others still guess. */
export function knowsAnswer(room: Room, playerId: string): boolean {
  const turn = room.turn;
  if (turn?.phase !== 'drawing') return false;
  return turn.drawerId === playerId || turn.solvers.some((solver) => solver.playerId === playerId);
}
