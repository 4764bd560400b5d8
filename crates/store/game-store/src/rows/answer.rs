//! The item with what a game hides from its players.

use domain::game::{Answer, Secret, TurnSecret};
use serde::{Deserialize, Serialize};

use super::word;
use store_base::StoreError;

/// What a game hides.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerRow {
    seed: u64,
    dealt: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hint_order: Vec<u8>,
}

impl From<&Secret> for AnswerRow {
    fn from(secret: &Secret) -> Self {
        let turn = secret.turn.as_ref();
        let answer = turn.and_then(|turn| turn.answer.as_ref());
        Self {
            seed: secret.seed,
            dealt: secret.dealt,
            turn_id: turn.map(|turn| turn.id.to_string()),
            options: turn.map(|turn| turn.options.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            answer: answer.map(|answer| answer.word.to_string()),
            hint_order: answer.map(|answer| answer.hint_order.clone()).unwrap_or_default(),
        }
    }
}

impl TryFrom<AnswerRow> for Secret {
    type Error = StoreError;

    fn try_from(row: AnswerRow) -> Result<Self, StoreError> {
        let turn = match row.turn_id {
            None => None,
            Some(id) => {
                let options = row.options.iter().map(|option| word(option)).collect::<Result<_, _>>()?;
                let answer = match row.answer {
                    None => None,
                    Some(answer) => Some(Answer { word: word(&answer)?, hint_order: row.hint_order }),
                };
                Some(TurnSecret { id: id.parse().map_err(StoreError::unreadable)?, options, answer })
            }
        };
        Ok(Self { seed: row.seed, dealt: row.dealt, turn })
    }
}
