/** Which state of a room is the newer one, and what is left of its phase. */
import type { Room } from './protocol.ts';

/** Whether a room takes the place of the one that is there. The same version again is welcome: its times are fresher. */
export function isNewer(room: Room, than: Room): boolean {
  return room.gameId === than.gameId && room.version >= than.version;
}

/** What is left of the phase, `elapsedMs` after the room was read. The clock of a paused game stands. */
export function remainingMs(room: Room, elapsedMs: number): number {
  if (room.turn === null) return 0;
  return Math.max(0, room.turn.remainingMs - (room.paused ? 0 : elapsedMs));
}

/** The whole length of the phase, for a share of it to be shown. */
export function phaseMs(room: Room): number {
  const lengths = { choosing: 20_000, drawing: (room.turn?.timeLimit ?? 0) * 1_000, reveal: 8_000 };
  return room.turn === null ? 0 : lengths[room.turn.phase];
}
