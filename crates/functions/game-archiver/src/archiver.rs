//! Doing it.

use std::collections::HashMap;

use domain::game::{GameId, Room};
use lambda_kit::stream::{StreamEvent, StreamRecord};
use metrics::counter;
use serde_json::value::RawValue;
use store::StoreError;
use store::game::{Archive, Drawing, Drawings, GameChange, GameImage, Rounds, Strokes};

use crate::plan::{Step, steps};

/// Archives games.
#[derive(Debug, Clone)]
pub struct Archiver {
    rounds: Rounds,
    strokes: Strokes,
    drawings: Drawings,
    archive: Archive,
}

/// What became of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Archived {
    pub(crate) turns: u64,
    pub(crate) drawings: u64,
    pub(crate) games: u64,
    pub(crate) lines_deleted: u64,
    pub(crate) unreadable: u64,
    /// The first record that is not done, as its number is spelled.
    pub(crate) failed_from: Option<String>,
}

/// A record, read as far as it can be.
struct Record<'a> {
    number: Option<String>,
    change: Result<Option<GameChange>, StoreError>,
    raw: &'a RawValue,
}

impl<'a> Record<'a> {
    fn read(raw: &'a RawValue) -> Self {
        match serde_json::from_str::<StreamRecord<'_, GameImage, GameImage>>(raw.get()) {
            Ok(record) => {
                let (before, after) = (record.change.old_image.as_ref(), record.change.new_image.as_ref());
                let number = Some(record.change.sequence_number.into_owned());
                Self { number, change: GameChange::of(before, after), raw }
            }
            Err(error) => Self { number: None, change: Err(StoreError::Unreadable(error.to_string())), raw },
        }
    }
}

impl Archiver {
    /// An archiver of the games in `table`.
    pub fn new(client: aws_sdk_dynamodb::Client, table: &str) -> Self {
        Self {
            rounds: Rounds::new(client.clone(), table),
            strokes: Strokes::new(client.clone(), table),
            drawings: Drawings::new(client.clone(), table),
            archive: Archive::new(client, table),
        }
    }

    /// Does what a batch tells, record by record, up to the first that fails. A record that cannot be read would not be
    /// readable the next time either: it is left out, and an alarm tells.
    pub(crate) async fn archive(&self, event: &StreamEvent<'_>) -> Result<Archived, StoreError> {
        let records: Vec<_> = event.records.iter().map(|raw| Record::read(raw)).collect();
        // One look at a game's chat is enough for all that a batch brings: at its last line.
        let mut last_line = HashMap::new();
        for (index, record) in records.iter().enumerate() {
            if let Ok(Some(GameChange::Said(game_id))) = record.change {
                last_line.insert(game_id, index);
            }
        }
        let mut archived = Archived::default();
        for (index, Record { number, change, raw }) in records.into_iter().enumerate() {
            let outcome = match change {
                Ok(Some(GameChange::Room { before, after })) => self.change(&before, &after, &mut archived).await,
                Ok(Some(GameChange::Said(game_id))) if last_line.get(&game_id) == Some(&index) => {
                    self.trim(game_id, &mut archived).await
                }
                Ok(_) => Ok(()),
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => {}
                Err(StoreError::Unreadable(error)) => {
                    archived.unreadable += 1;
                    tracing::error!(
                        error,
                        sequence_number = number,
                        size_bytes = raw.get().len(),
                        "a record cannot be read"
                    );
                }
                Err(error) => {
                    tracing::warn!(%error, sequence_number = number, "a record is not done; it comes again");
                    // Without a number there is no place to go on from: the whole batch comes again.
                    let Some(number) = number else { return Err(error) };
                    archived.failed_from = Some(number);
                    break;
                }
            }
        }
        Ok(archived)
    }

    async fn change(&self, before: &Room, after: &Room, archived: &mut Archived) -> Result<(), StoreError> {
        for step in steps(before, after) {
            match step {
                Step::Keep(ended) => {
                    self.rounds.award(after, ended.id, ended.awards, ended.at_ms).await?;
                    self.rounds.add(&ended).await?;
                    archived.turns += 1;
                }
                Step::Award { turn_id, awards, at_ms } => self.rounds.award(after, turn_id, &awards, at_ms).await?,
                Step::Pack { turn_id, at_ms } => {
                    let chunks = self.strokes.of_turn(after.id, turn_id).await?;
                    // Nothing was drawn, or the record comes so late that the strokes have expired.
                    if chunks.is_empty() {
                        continue;
                    }
                    let drawing = Drawing::of(&chunks)?;
                    if drawing.dropped() > 0 {
                        counter!("DrawingsCut").increment(1);
                        tracing::warn!(game_id = %after.id, %turn_id, batches = drawing.batches(), dropped = drawing.dropped(), "a drawing is too large to be kept whole");
                    }
                    self.drawings.put(after.id, turn_id, &drawing, at_ms).await?;
                    archived.drawings += 1;
                }
                Step::Finish { at_ms } => {
                    self.archive.finish(after, at_ms).await?;
                    archived.games += 1;
                }
            }
        }
        Ok(())
    }

    async fn trim(&self, game_id: GameId, archived: &mut Archived) -> Result<(), StoreError> {
        archived.lines_deleted += self.archive.trim_chat(game_id).await? as u64;
        Ok(())
    }
}
