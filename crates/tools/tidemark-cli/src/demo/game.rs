//! A finished game, whose drawings the bots draw too.

use anyhow::{Context, Result};
use domain::game::{Choice, Command, Language, RoundCount, Settings, Stage, Word};
use game_store::{Chunk, Rooms};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::value::RawValue;
use store_base::Table;

use super::Ids;
use crate::play::{Play, settings};

/// The drawings in the order of the turns. A test of the page compares them with those of its bots.
const DRAWINGS: &str = include_str!("drawings.json");
/// Three players in two rounds draw all of them.
const PLAYERS: u8 = 3;
const ROUNDS: u16 = 2;
/// Batches of one chunk.
const CHUNK_BATCHES: usize = 8;
/// How long before the demo the game began.
const BEFORE: SignedDuration = SignedDuration::from_mins(20);

#[derive(Deserialize)]
struct Drawing<'a> {
    word: &'a str,
    #[serde(borrow)]
    batches: Vec<&'a RawValue>,
}

pub(super) async fn add(table: &Table, ids: Ids) -> Result<()> {
    let rooms = Rooms::new(table);
    match rooms.room(ids.game()).await? {
        Some(room) if matches!(room.stage, Stage::Finished { .. }) => return Ok(()),
        // An interrupted command has left it.
        Some(_) => rooms.delete(ids.game()).await?,
        None => {}
    }
    let drawings: Vec<Drawing<'_>> = serde_json::from_str(DRAWINGS).context("the drawings cannot be read")?;
    let settings = Settings {
        language: Language::English,
        round_count: RoundCount::new(ROUNDS)?,
        ..settings(ROUNDS, PLAYERS.into())?
    };
    let began_ms = u64::try_from((ids.at - BEFORE).as_millisecond())?;
    let (client, name, game) = (table.client(), table.name(), ids.game());
    let mut play = Play::with_players(client, name, game, settings, PLAYERS, began_ms).await?;
    play.start().await?;
    for Drawing { word, batches } in drawings {
        let answer = play.choose_word(Choice::Word(Word::new(Language::English, word)?)).await?;
        for (number, part) in (1..).zip(batches.chunks(CHUNK_BATCHES)) {
            let from = u32::from(number - 1) * CHUNK_BATCHES as u32 + 1;
            let to = from + part.len() as u32 - 1;
            let texts: Vec<_> = part.iter().map(|batch| batch.get()).collect();
            play.save(number, &Chunk { from, to, batches: format!("[{}]", texts.join(",")) }).await?;
        }
        play.now_ms += 8_000;
        play.guess(&answer, "boat?").await?;
    }
    play.apply(0, Command::Share(true)).await?;
    for player in 0..PLAYERS {
        play.apply(player, Command::Disconnect).await?;
    }
    Ok(())
}

pub(super) async fn remove(table: &Table, ids: Ids) -> Result<()> {
    Ok(Rooms::new(table).delete(ids.game()).await?)
}
