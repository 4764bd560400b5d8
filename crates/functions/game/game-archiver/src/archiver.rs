//! Archives finished turns: awards, round history, compressed drawing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use domain::game::{GameId, Room, standings};
use domain::journal::SuiteEvent;
use game_store::{Archive, Drawing, Drawings, GameChange, GameImage, Rounds, Strokes};
use jiff::Timestamp;
use journal_store::Journal;
use lambda_kit::stream::{BatchProgress, StreamEvent, StreamRecord};
use metrics::counter;
use store_base::StoreError;
use store_base::Table;

use crate::plan::{ArchiveStep, steps};

/// An instance counts a game's chat at the first line that it sees, then once in so many. Counting
/// reads all of the chat.
const LINES_FOR_A_COUNT: u32 = 50;

/// How many games an instance remembers.
const GAMES_MAX: usize = 10_000;

/// Archives games.
#[derive(Debug, Clone)]
pub struct Archiver {
    rounds: Rounds,
    strokes: Strokes,
    drawings: Drawings,
    archive: Archive,
    journal: Journal,
    /// How many lines of each game this instance has seen.
    lines: Arc<Mutex<HashMap<GameId, u32>>>,
}

/// The results of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchCounts {
    pub(crate) turns: u64,
    pub(crate) drawings: u64,
    pub(crate) games: u64,
    pub(crate) lines_deleted: u64,
}

impl Archiver {
    /// An archiver of the games in `table`; finished games get an entry in `journal`.
    pub fn new(table: &Table, journal: Journal) -> Self {
        Self {
            rounds: Rounds::new(table),
            strokes: Strokes::new(table),
            drawings: Drawings::new(table),
            archive: Archive::new(table),
            journal,
            lines: Arc::default(),
        }
    }

    /// Handles a batch record by record, up to the first that fails.
    pub(crate) async fn archive(
        &self,
        event: &StreamEvent<'_>,
        now: Timestamp,
    ) -> Result<(BatchCounts, BatchProgress), StoreError> {
        let of = |record: &StreamRecord<'_, GameImage, GameImage>| {
            GameChange::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
        };
        let mut counts = BatchCounts::default();
        let progress = BatchProgress::process(event.read(of), StoreError::is_unreadable, async |change| match change {
            Some(GameChange::Room { before, after }) => self.change(&before, &after, &mut counts, now).await,
            Some(GameChange::Said(game_id)) => self.trim_chat(game_id, &mut counts).await,
            None => Ok(()),
        });
        let progress = progress.await?;
        Ok((counts, progress))
    }

    async fn change(
        &self,
        before: &Room,
        after: &Room,
        counts: &mut BatchCounts,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        for step in steps(before, after) {
            match step {
                ArchiveStep::AddToRound(ended) => {
                    self.rounds.award(after, ended.id, ended.awards, ended.at_ms).await?;
                    self.rounds.add(&ended).await?;
                    counts.turns += 1;
                }
                ArchiveStep::AwardPoints { turn_id, awards, at_ms } => {
                    self.rounds.award(after, turn_id, &awards, at_ms).await?
                }
                ArchiveStep::PackDrawing { turn_id, at_ms } => {
                    let chunks = self.strokes.of_turn(after.id, turn_id).await?;
                    // Nothing was drawn, or the record is so late that the chunks have expired.
                    if chunks.is_empty() {
                        continue;
                    }
                    let drawing = Drawing::of(&chunks)?;
                    if drawing.dropped() > 0 {
                        counter!("DrawingsCut").increment(1);
                        tracing::warn!(game_id = %after.id, %turn_id, batches = drawing.batches(), dropped = drawing.dropped(), "a drawing is too large to be stored whole");
                    }
                    self.drawings.put(after.id, turn_id, &drawing, at_ms).await?;
                    counts.drawings += 1;
                }
                ArchiveStep::FinishGame { at_ms } => {
                    self.archive.finish(after, at_ms).await?;
                    self.append_to_journal(after, at_ms, now).await?;
                    counts.games += 1;
                }
            }
        }
        Ok(())
    }

    /// Writes an entry for a finished game into the journal. It names no player. It names the game
    /// only if the game is public, because the id of a private game gives access to it.
    async fn append_to_journal(&self, room: &Room, at_ms: u64, now: Timestamp) -> Result<(), StoreError> {
        let id = room.id.to_string();
        let event = SuiteEvent::GameFinished {
            game_id: room.public.then_some(&*id),
            players: room.players.len(),
            rounds: room.settings.round_count.get(),
            best_score: standings(room).first().map_or(0, |best| best.score),
        };
        let at = i64::try_from(at_ms).ok().and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok());
        let at = at.ok_or_else(|| StoreError::Unreadable("a game that ends after the year 9999".to_owned()))?;
        self.journal.append(&event.entry(at, &id), now).await?;
        Ok(())
    }

    async fn trim_chat(&self, game_id: GameId, counts: &mut BatchCounts) -> Result<(), StoreError> {
        let is_due = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if lines.len() >= GAMES_MAX {
                lines.clear();
            }
            let lines = lines.entry(game_id).or_default();
            *lines += 1;
            *lines % LINES_FOR_A_COUNT == 1
        };
        if is_due {
            counts.lines_deleted += self.archive.trim_chat(game_id).await? as u64;
        }
        Ok(())
    }
}
