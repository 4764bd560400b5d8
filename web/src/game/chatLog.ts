/**
 * The chat log: each line once, in the server's order, and no more than {@link CHAT_LINES_MAX}.
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
  const all = [...log];
  for (const line of fresh) {
    // Messages may overtake each other; every screen shows one order.
    const before = all.findLastIndex((other) => !isLater(other, line));
    all.splice(before + 1, 0, { ...line, secret: isSecret(line, room) });
  }
  return all.slice(-CHAT_LINES_MAX);
}

function isLater(one: Line, other: Line): boolean {
  if (one.at === null || other.at === null) return false;
  return one.at > other.at || (one.at === other.at && one.id > other.id);
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
