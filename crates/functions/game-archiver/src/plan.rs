//! What a change of a room leaves to be done.

use domain::game::{Award, AwardReason, Phase, Room, Stage, Turn, TurnId};
use store::game::EndedTurn;

/// Something to do. Doing it twice changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArchiveStep<'a> {
    /// A turn's drawing has ended, and its answer is shown: it goes into its round, with its
    /// awards.
    AddToRound(EndedTurn<'a>),
    /// The game ended in the middle of a drawing. What its solvers had earned by then stands.
    AwardPoints {
        /// Which turn.
        turn_id: TurnId,
        /// Its awards.
        awards: Vec<Award>,
        /// When it ended, Unix milliseconds.
        at_ms: u64,
    },
    /// Nobody can add to a turn's drawing any more: it goes into one item.
    PackDrawing {
        /// Which turn.
        turn_id: TurnId,
        /// When it ended, Unix milliseconds.
        at_ms: u64,
    },
    /// The game is over.
    FinishGame {
        /// When, Unix milliseconds.
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
