//! A round in a room's item: its turn, the solvers, and their points.

use domain::game::{Award, AwardReason, Phase, Playing, Solver, Turn, TurnId};
use serde::{Deserialize, Serialize};

use super::{player_id, player_ids, word};
use store_base::StoreError;

/// One `_` for each letter that is still closed. No answer has it.
const CLOSED: char = '_';

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoundRow {
    round_number: u8,
    started_at: u64,
    current_turn: TurnRow,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TurnRow {
    turn_number: u8,
    drawer_id: String,
    status: TurnStatus,
    started_at: u64,
    deadline: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    abandoned_at: Option<u64>,
    #[serde(default)]
    correct_player_ids: Vec<String>,
    /// What each of those earned, in the same order.
    #[serde(default)]
    correct_points: Vec<u32>,
    /// While somebody draws: the opened letters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mask: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hints: Option<u8>,
    /// From the reveal on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_awards: Vec<AwardRow>,
}

/// An award that does not follow from who guessed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AwardRow {
    player_id: String,
    points: u32,
    reason: ReasonRow,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReasonRow {
    CorrectAnswer,
    DrawerPenalty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TurnStatus {
    SettingAnswer,
    Drawing,
    Finished,
}

impl From<&Playing> for RoundRow {
    fn from(playing: &Playing) -> Self {
        let turn = &playing.turn;
        let mut row = TurnRow {
            turn_number: turn.id.number(),
            drawer_id: turn.drawer.to_string(),
            status: TurnStatus::SettingAnswer,
            started_at: turn.started_at_ms,
            deadline: turn.deadline_ms,
            abandoned_at: turn.abandoned_at_ms,
            correct_player_ids: turn.solvers.iter().map(|solver| solver.player.to_string()).collect(),
            correct_points: turn.solvers.iter().map(|solver| solver.points).collect(),
            mask: None,
            hints: None,
            answer: None,
            ended_at: None,
            other_awards: Vec::new(),
        };
        match &turn.phase {
            Phase::Choosing => {}
            Phase::Drawing { mask, hints } => {
                row.status = TurnStatus::Drawing;
                row.mask = Some(mask.iter().map(|letter| letter.unwrap_or(CLOSED)).collect());
                row.hints = Some(*hints);
            }
            Phase::Reveal { answer, awards, at_ms } => {
                row.status = TurnStatus::Finished;
                row.answer = Some(answer.to_string());
                row.ended_at = Some(*at_ms);
                let solved = awards_of(&turn.solvers);
                row.other_awards = awards.iter().filter(|award| !solved.contains(award)).map(AwardRow::from).collect();
            }
        }
        Self { round_number: turn.id.round(), started_at: playing.round_started_at_ms, current_turn: row }
    }
}

impl RoundRow {
    pub(super) fn read(self, paused_at_ms: Option<u64>) -> Result<Playing, StoreError> {
        let row = self.current_turn;
        if row.correct_player_ids.len() != row.correct_points.len() {
            return Err(StoreError::unreadable("a turn with more solvers than points, or fewer"));
        }
        let solvers = player_ids(&row.correct_player_ids)?.into_iter().zip(row.correct_points);
        let solvers: Vec<_> = solvers.map(|(player, points)| Solver { player, points }).collect();
        let phase = match (row.status, row.mask, row.hints, row.answer, row.ended_at) {
            (TurnStatus::SettingAnswer, ..) => Phase::Choosing,
            (TurnStatus::Drawing, Some(mask), Some(hints), ..) => {
                Phase::Drawing { mask: mask.chars().map(|c| (c != CLOSED).then_some(c)).collect(), hints }
            }
            (TurnStatus::Finished, _, _, Some(answer), Some(at_ms)) => {
                let mut awards = awards_of(&solvers);
                for award in row.other_awards {
                    awards.push(award.try_into()?);
                }
                Phase::Reveal { answer: word(&answer)?, awards, at_ms }
            }
            _ => return Err(StoreError::unreadable("a turn whose status and answer do not go together")),
        };
        let id = TurnId::new(self.round_number, row.turn_number).map_err(StoreError::unreadable)?;
        let turn = Turn {
            id,
            drawer: player_id(&row.drawer_id)?,
            started_at_ms: row.started_at,
            deadline_ms: row.deadline,
            abandoned_at_ms: row.abandoned_at,
            solvers,
            phase,
        };
        Ok(Playing { round_started_at_ms: self.started_at, turn, paused_at_ms })
    }
}

/// What those who guessed have got for it.
pub(super) fn awards_of(solvers: &[Solver]) -> Vec<Award> {
    let award =
        |solver: &Solver| Award { player: solver.player, points: solver.points, reason: AwardReason::CorrectAnswer };
    solvers.iter().map(award).collect()
}

impl From<&Award> for AwardRow {
    fn from(award: &Award) -> Self {
        let reason = match award.reason {
            AwardReason::CorrectAnswer => ReasonRow::CorrectAnswer,
            AwardReason::Drawing => ReasonRow::DrawerPenalty,
        };
        Self { player_id: award.player.to_string(), points: award.points, reason }
    }
}

impl TryFrom<AwardRow> for Award {
    type Error = StoreError;

    fn try_from(row: AwardRow) -> Result<Self, StoreError> {
        let reason = match row.reason {
            ReasonRow::CorrectAnswer => AwardReason::CorrectAnswer,
            ReasonRow::DrawerPenalty => AwardReason::Drawing,
        };
        Ok(Self { player: player_id(&row.player_id)?, points: row.points, reason })
    }
}
