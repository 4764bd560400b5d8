/** The rows of the scoreboard: each player's rank, and the role in the current turn. */
import type { Player, Room } from './protocol.ts';

/** A player's row. Players with the same score share a rank. */
export interface ScoreboardRow {
  readonly player: Player;
  readonly rank: number;
  readonly isDrawer: boolean;
  /** The points for solving this turn. `null` for players who have not solved it. */
  readonly solved: number | null;
}

/** Highest score first. Equal scores keep the order of the seats. */
export function scoreboardRows(room: Room): readonly ScoreboardRow[] {
  return room.players
    .toSorted((a, b) => b.score - a.score)
    .map((player) => ({
      player,
      rank: 1 + room.players.filter((other) => other.score > player.score).length,
      isDrawer: room.turn?.drawerId === player.playerId,
      solved: room.turn?.solvers.find((solver) => solver.playerId === player.playerId)?.points ?? null,
    }));
}
