/** The order of the players on the scoreboard, and what each is doing in the turn. */
import type { Player, Room } from './protocol.ts';

/** A player's place on the board: those with the same score share one. */
export interface Place {
  readonly player: Player;
  readonly rank: number;
  readonly isDrawer: boolean;
  /** The points of a solver in this turn; `null` for who has not solved. */
  readonly solved: number | null;
}

/** Highest score first; among equals, the order of the seats. */
export function places(room: Room): readonly Place[] {
  return room.players
    .toSorted((a, b) => b.score - a.score)
    .map((player) => ({
      player,
      rank: 1 + room.players.filter((other) => other.score > player.score).length,
      isDrawer: room.turn?.drawerId === player.playerId,
      solved: room.turn?.solvers.find((solver) => solver.playerId === player.playerId)?.points ?? null,
    }));
}
