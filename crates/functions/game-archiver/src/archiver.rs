//! Doing it.

use std::collections::HashSet;

use domain::game::{GameId, Room};
use lambda_kit::stream::{Progress, StreamEvent, StreamRecord};
use metrics::counter;
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

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Archived {
    pub(crate) turns: u64,
    pub(crate) drawings: u64,
    pub(crate) games: u64,
    pub(crate) lines_deleted: u64,
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

    /// Does what a batch tells, record by record, up to the first that fails.
    pub(crate) async fn archive(&self, event: &StreamEvent<'_>) -> Result<(Archived, Progress), StoreError> {
        let of = |record: &StreamRecord<'_, GameImage, GameImage>| {
            GameChange::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
        };
        let mut records = event.read(of);
        // One look at a game's chat is enough for all that a batch brings: at its last line.
        let mut looked_at = HashSet::new();
        for record in records.iter_mut().rev() {
            if let Ok(Some(GameChange::Said(game_id))) = record.content
                && !looked_at.insert(game_id)
            {
                record.content = Ok(None);
            }
        }
        let mut archived = Archived::default();
        let progress = Progress::through(records, StoreError::is_unreadable, async |change| match change {
            Some(GameChange::Room { before, after }) => self.change(&before, &after, &mut archived).await,
            Some(GameChange::Said(game_id)) => self.trim(game_id, &mut archived).await,
            None => Ok(()),
        });
        let progress = progress.await?;
        Ok((archived, progress))
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
