//! Points and ranks.

use super::room::{Award, AwardReason, Solver};
use super::{PlayerId, PlayerName, Room};

/// What guessing at once is worth, before the bonus for being among the first.
const POINTS_MAX: u64 = 100;
/// What guessing at the last moment is worth.
const POINTS_MIN: u64 = 20;
/// On top, for the first, the second and the third.
const RANK_BONUS: [u32; 3] = [20, 10, 5];
/// What the drawer earns when everybody guesses.
const DRAWER_POINTS: u32 = 100;

/// The points of a correct guess, with `remaining_ms` of `limit_ms` left and this many faster
/// players: 20 to 100 in proportion to the time left, and 20, 10 and 5 more for the first three.
pub(super) fn solver_points(remaining_ms: u64, limit_ms: u64, faster: usize) -> u32 {
    let share = (POINTS_MAX - POINTS_MIN) * remaining_ms.min(limit_ms) / limit_ms.max(1);
    let by_time = u32::try_from(POINTS_MIN + share).unwrap_or(u32::MAX);
    by_time + RANK_BONUS.get(faster).copied().unwrap_or(0)
}

/// What a turn brings: each solver's points, and the drawer's if there is one to earn them.
/// `missed` is how many are here and did not guess; each takes its share of the drawer's 100.
pub(super) fn awards(solvers: &[Solver], drawer: Option<PlayerId>, missed: usize) -> Vec<Award> {
    let solved = solvers.iter().map(|solver| Award {
        player: solver.player,
        points: solver.points,
        reason: AwardReason::CorrectAnswer,
    });
    let count = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
    let points = DRAWER_POINTS * count(solvers.len()) / count(solvers.len() + missed).max(1);
    let drawn =
        drawer.filter(|_| points > 0).map(|player| Award { player, points, reason: AwardReason::DrawerPenalty });
    solved.chain(drawn).collect()
}

/// Somebody's place in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Who.
    pub player: PlayerId,
    /// Their name.
    pub name: PlayerName,
    /// Their points.
    pub score: u32,
    /// 1 for the best. Equal points share a rank, and the next rank counts all players before it.
    pub rank: u8,
}

/// Everybody's place, best first, ties in the order of joining.
pub fn standings(room: &Room) -> Vec<Standing> {
    let mut standings: Vec<_> = room
        .players
        .iter()
        .map(|player| {
            let better = room.players.iter().filter(|other| other.score > player.score).count();
            let rank = u8::try_from(better + 1).unwrap_or(u8::MAX);
            Standing { player: player.id, name: player.name.clone(), score: player.score, rank }
        })
        .collect();
    standings.sort_by_key(|standing| standing.rank);
    standings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_fall_with_time_and_with_rank() {
        assert_eq!(solver_points(80_000, 80_000, 0), 120);
        assert_eq!(solver_points(40_000, 80_000, 0), 80);
        assert_eq!(solver_points(40_000, 80_000, 1), 70);
        assert_eq!(solver_points(40_000, 80_000, 2), 65);
        assert_eq!(solver_points(40_000, 80_000, 3), 60);
        assert_eq!(solver_points(1, 80_000, 9), 20);
    }

    #[test]
    fn the_drawer_earns_by_how_many_guess() {
        let solver = |n: u128| Solver { player: PlayerId(uuid::Uuid::from_u128(n)), points: 50 };
        let drawer = PlayerId(uuid::Uuid::from_u128(9));
        let earned = |solvers: &[Solver], missed| {
            let awards = awards(solvers, Some(drawer), missed);
            awards.iter().find(|award| award.reason == AwardReason::DrawerPenalty).map(|award| award.points)
        };
        assert_eq!(earned(&[solver(1), solver(2)], 0), Some(100));
        assert_eq!(earned(&[solver(1), solver(2)], 1), Some(66));
        assert_eq!(earned(&[solver(1)], 8), Some(11));
        assert_eq!(earned(&[], 3), None);
        assert_eq!(earned(&[], 0), None);
        assert_eq!(awards(&[solver(1)], None, 0).len(), 1);
    }
}
