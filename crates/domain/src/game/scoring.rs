//! Points and ranks.

use super::room::{Award, AwardReason, Solver};
use super::{PlayerId, PlayerName, Room, Scoring};

/// The points for a guess at once, without the bonus for the first three.
const POINTS_MAX: u64 = 100;
/// The points for a guess at the last moment.
const POINTS_MIN: u64 = 20;
/// The points for any guess, if all are worth the same.
const EQUAL_POINTS: u32 = 100;
/// The bonus for the first, second and third correct guess.
const RANK_BONUS: [u32; 3] = [20, 10, 5];
/// The drawer's points when all connected players guess.
const DRAWER_POINTS: u32 = 100;

/// The points for a correct guess with `remaining_ms` of `limit_ms` left, after `faster` other
/// correct guesses. By speed, they fall linearly from 100 to 20 with the time; the first three
/// guesses get 20, 10 and 5 more. Equal points are 100.
pub(super) fn solver_points(scoring: Scoring, remaining_ms: u64, limit_ms: u64, faster: usize) -> u32 {
    match scoring {
        Scoring::Speed => {}
        Scoring::Equal => return EQUAL_POINTS,
        Scoring::None => return 0,
    }
    let share = (POINTS_MAX - POINTS_MIN) * remaining_ms.min(limit_ms) / limit_ms.max(1);
    let by_time = u32::try_from(POINTS_MIN + share).unwrap_or(u32::MAX);
    by_time + RANK_BONUS.get(faster).copied().unwrap_or(0)
}

/// The awards of a turn: each solver's points, and those of the drawer, if the drawer earns any.
/// `missed` is the number of connected players who did not guess; it reduces the drawer's 100
/// points in proportion. Without points there are no awards.
pub(super) fn awards(scoring: Scoring, solvers: &[Solver], drawer: Option<PlayerId>, missed: usize) -> Vec<Award> {
    if scoring == Scoring::None {
        return Vec::new();
    }
    let solved = solvers.iter().map(|solver| Award {
        player: solver.player,
        points: solver.points,
        reason: AwardReason::CorrectAnswer,
    });
    let count = |of: usize| u32::try_from(of).unwrap_or(u32::MAX);
    let points = DRAWER_POINTS * count(solvers.len()) / count(solvers.len() + missed).max(1);
    let drawn = drawer.filter(|_| points > 0).map(|player| Award { player, points, reason: AwardReason::Drawing });
    solved.chain(drawn).collect()
}

/// A player's place in the final standings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The player's id.
    pub player: PlayerId,
    /// The player's name.
    pub name: PlayerName,
    /// The player's points.
    pub score: u32,
    /// 1 for the best. Players with equal points share a rank; the rank after them counts them all.
    pub rank: u8,
}

/// The standings, best first; ties in the order of joining.
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
    fn points_decrease_with_time_and_with_rank() {
        let solver_points =
            |remaining_ms, limit_ms, faster| solver_points(Scoring::Speed, remaining_ms, limit_ms, faster);
        assert_eq!(solver_points(80_000, 80_000, 0), 120);
        assert_eq!(solver_points(40_000, 80_000, 0), 80);
        assert_eq!(solver_points(40_000, 80_000, 1), 70);
        assert_eq!(solver_points(40_000, 80_000, 2), 65);
        assert_eq!(solver_points(40_000, 80_000, 3), 60);
        assert_eq!(solver_points(1, 80_000, 9), 20);
    }

    #[test]
    fn points_may_be_equal_or_none() {
        for (remaining_ms, faster) in [(80_000, 0), (1, 9)] {
            assert_eq!(solver_points(Scoring::Equal, remaining_ms, 80_000, faster), 100);
            assert_eq!(solver_points(Scoring::None, remaining_ms, 80_000, faster), 0);
        }
        let solver = |points| Solver { player: PlayerId(uuid::Uuid::from_u128(1)), points };
        let drawer = PlayerId(uuid::Uuid::from_u128(9));
        let points = |scoring, points| {
            let awards = awards(scoring, &[solver(points)], Some(drawer), 1);
            awards.into_iter().map(|award| award.points).collect::<Vec<_>>()
        };
        assert_eq!(points(Scoring::Equal, 100), [100, 50]);
        assert_eq!(points(Scoring::None, 0), [0; 0]);
        assert_eq!(Scoring::with_name("equal"), Some(Scoring::Equal));
        assert_eq!(Scoring::with_name("fair"), None);
        let names = Scoring::NAMES.map(|(scoring, _)| scoring.other_than_default());
        assert_eq!(names, [None, Some("equal"), Some("none")]);
    }

    #[test]
    fn the_drawer_earns_a_share_for_each_solver() {
        let solver = |n: u128| Solver { player: PlayerId(uuid::Uuid::from_u128(n)), points: 50 };
        let drawer = PlayerId(uuid::Uuid::from_u128(9));
        let earned = |solvers: &[Solver], missed| {
            let awards = awards(Scoring::Speed, solvers, Some(drawer), missed);
            awards.iter().find(|award| award.reason == AwardReason::Drawing).map(|award| award.points)
        };
        assert_eq!(earned(&[solver(1), solver(2)], 0), Some(100));
        assert_eq!(earned(&[solver(1), solver(2)], 1), Some(66));
        assert_eq!(earned(&[solver(1)], 8), Some(11));
        assert_eq!(earned(&[], 3), None);
        assert_eq!(earned(&[], 0), None);
        assert_eq!(awards(Scoring::Speed, &[solver(1)], None, 0).len(), 1);
    }
}
