/** Compares the versions of a room, and calculates the time left in its phase. */
import type { Room } from './protocol.ts';

/**
 * Whether `room` replaces `than`. The same version is accepted again, because its times are
 * fresher.
 */
export function isNewer(room: Room, than: Room): boolean {
  return room.gameId === than.gameId && room.version >= than.version;
}

/**
 * The time left in the phase, `elapsedMs` after the room arrived. The clock of a paused game does
 * not run.
 */
export function remainingMs(room: Room, elapsedMs: number): number {
  if (room.turn === null) return 0;
  return Math.max(0, room.turn.remainingMs - (room.paused ? 0 : elapsedMs));
}

/** The full length of the phase, to show the time left as a share of it. */
export function phaseMs(room: Room): number {
  const lengths = { choosing: 20_000, drawing: (room.turn?.timeLimit ?? 0) * 1_000, reveal: 8_000 };
  return room.turn === null ? 0 : lengths[room.turn.phase];
}
