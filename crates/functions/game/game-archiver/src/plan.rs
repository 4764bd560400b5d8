//! Derives the archiving steps from a change of a room.

use domain::game::{Award, AwardReason, Phase, Room, Stage, Turn, TurnId};
use game_store::EndedTurn;

/// One archiving step. Each is idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArchiveStep<'a> {
    /// A turn's drawing has ended and its answer is public: add the turn to its round, with its
    /// awards.
    AddToRound(EndedTurn<'a>),
    /// The game ended during a drawing. The players who had guessed the word keep their points.
    AwardPoints {
        /// The turn.
        turn_id: TurnId,
        /// The awards up to the end.
        awards: Vec<Award>,
        /// When the turn ended, in Unix milliseconds.
        at_ms: u64,
    },
    /// Nobody can add to a turn's drawing any more: join it into one item.
    PackDrawing {
        /// The turn.
        turn_id: TurnId,
        /// When the turn ended, in Unix milliseconds.
        at_ms: u64,
    },
    /// The game is finished.
    FinishGame {
        /// When it finished, in Unix milliseconds.
        at_ms: u64,
    },
}

/// The steps after a room has changed from `before` to `after`, in order.
pub(crate) fn steps<'a>(before: &Room, after: &'a Room) -> Vec<ArchiveStep<'a>> {
    let mut steps = Vec::new();
    let left = before.turn().filter(|turn| after.turn().is_none_or(|now| now.id != turn.id));
    if let Some(Turn { id, phase, solvers, .. }) = left
        && !matches!(phase, Phase::Choosing)
    {
        let at_ms = after.updated_at_ms;
        if phase.is_secret() && !solvers.is_empty() {
            let award = |by: &domain::game::Solver| Award {
                player: by.player,
                points: by.points,
                reason: AwardReason::CorrectAnswer,
            };
            steps.push(ArchiveStep::AwardPoints { turn_id: *id, awards: solvers.iter().map(award).collect(), at_ms });
        }
        steps.push(ArchiveStep::PackDrawing { turn_id: *id, at_ms });
    }
    if let Some(ended) = EndedTurn::of(after)
        && EndedTurn::of(before).is_none_or(|known| known.id != ended.id)
    {
        steps.push(ArchiveStep::AddToRound(ended));
    }
    if let Stage::Finished { at_ms, .. } = after.stage
        && !matches!(before.stage, Stage::Finished { .. })
    {
        steps.push(ArchiveStep::FinishGame { at_ms });
    }
    steps
}
