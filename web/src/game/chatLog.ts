/**
 * The chat log: each line once, in the order of arrival, and no more than {@link CHAT_LINES_MAX}.
 */
import type { Line, Room } from './protocol.ts';

/** Older lines are dropped, because a game may have thousands. */
export const CHAT_LINES_MAX = 200;

/** A chat line, and whether only the drawer and the solvers can read it. */
export interface ChatLine extends Line {
  readonly secret: boolean;
}

/**
 * Adds lines and skips those whose id is already in the log. `room` is the current room when the
 * reader knows the answer, and `null` otherwise.
 */
export function addLines(log: readonly ChatLine[], lines: readonly Line[], room: Room | null): readonly ChatLine[] {
  const known = new Set(log.map((line) => line.id));
  const fresh = lines.filter((line) => !known.has(line.id) && known.add(line.id));
  if (fresh.length === 0) return log;
  return [...log, ...fresh.map((line) => ({ ...line, secret: isSecret(line, room) }))].slice(-CHAT_LINES_MAX);
}

/** During the drawing phase only the drawer and the solvers receive each other's messages. */
export function isSecret(line: Line, room: Room | null): boolean {
  return line.kind === 'talk' && room !== null && knowsAnswer(room, line.playerId);
}

/** Whether a player knows the word that others still guess: the drawer and the solvers do. */
export function knowsAnswer(room: Room, playerId: string): boolean {
  const turn = room.turn;
  if (turn?.phase !== 'drawing') return false;
  return turn.drawerId === playerId || turn.solvers.some((solver) => solver.playerId === playerId);
}
