//! Drawing: batches are relayed at once, saved in chunks by the drawer's page, and read by clients
//! that missed some.

use domain::game::TurnId;
use domain::game::drawing::Batch;
use game_store::{Chunk, Freshness, Listener, Live, PutChunkOutcome};
use serde_json::value::{RawValue, to_raw_value};
use store_base::StoreError;

use crate::fan_out::{Delivery, deliver};
use crate::game_room::{Asker, Failure, GameRoom};
use crate::play::asking_participant;
use crate::protocol::{BatchMessage, GAME_NOT_FOUND, Ink, NO_DRAWING, NOT_DRAWING, Reaction, ServerMessage};
use crate::sockets::Sockets;

/// The approximate maximum size of one part of a catch-up; well below a frame of 32 KB.
const JOINED_CHUNKS_BYTES: usize = 24 * 1024;

impl<S: Sockets> GameRoom<S> {
    /// Relays a batch to the other players. Spectators get it when it is saved. Nothing is written.
    pub(crate) async fn draw(&self, asker: Asker<'_>, turn: TurnId, batch: &Batch) -> Result<(), Failure> {
        let live = self
            .live_game_if(asker, |live, player| live.room.may_draw(player, turn, asker.now_ms))
            .await?
            .ok_or(NOT_DRAWING)?;
        let is_player = |listener: &Listener| listener.who.player().is_some();
        self.relay(asker, &live, &ServerMessage::ink(turn, batch), is_player).await;
        Ok(())
    }

    /// Relays a reaction to all other listeners. Nothing is written.
    pub(crate) async fn react(&self, asker: Asker<'_>, turn: TurnId, reaction: Reaction) -> Result<(), Failure> {
        let live = self.live_game_if(asker, |live, who| live.room.may_react(who, turn)).await?.ok_or(NO_DRAWING)?;
        let player_id = asking_participant(&live.listeners, asker.connection_id)?.id().to_string();
        let message = ServerMessage::Reaction { turn_id: turn.to_string(), player_id, reaction };
        self.relay(asker, &live, &message, |_| true).await;
        Ok(())
    }

    /// Sends a message to all other listeners for whom it is.
    async fn relay(
        &self,
        asker: Asker<'_>,
        live: &Live,
        message: &ServerMessage<'_>,
        is_for: impl Fn(&Listener) -> bool,
    ) {
        let message = message.encode();
        let others = live.listeners.iter().filter(|other| other.connection_id != asker.connection_id && is_for(other));
        let deliveries = others.map(|other| Delivery::new(&*other.connection_id, vec![message.clone()])).collect();
        let gone = deliver(&self.sockets, deliveries).await;
        self.remove_dead_connections(asker.game_id, &live.listeners, gone, asker.now_ms).await;
    }

    /// Stores a chunk, and sends it to the spectators: one message in place of one for each batch.
    pub(crate) async fn save(
        &self,
        asker: Asker<'_>,
        turn: TurnId,
        number: u16,
        batches: &[Batch],
    ) -> Result<(), Failure> {
        let live = self
            .live_game_if(asker, |live, player| live.room.may_save(player, turn, asker.now_ms))
            .await?
            .ok_or(NOT_DRAWING)?;
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return Ok(()) };
        let messages: Vec<BatchMessage> = batches.iter().map(BatchMessage::from).collect();
        let json = to_raw_value(&messages).map_err(|error| StoreError::Refused(error.to_string()))?;
        let chunk = Chunk { from: first.seq(), to: last.seq(), batches: json.get().to_owned() };
        // A chunk that was stored before has been sent too.
        if self.strokes.put(asker.game_id, turn, number, &chunk, asker.now_ms).await? == PutChunkOutcome::Stored {
            let batches = Ink::Stored(&json);
            let message = ServerMessage::Ink { turn_id: turn.to_string(), batches, saved: None, last: None };
            self.relay(asker, &live, &message, |listener| listener.who.player().is_none()).await;
        }
        Ok(())
    }

    /// Sends the stored batches after `after` to the asker, in parts.
    pub(crate) async fn catch_up(&self, asker: Asker<'_>, turn: TurnId, after: u32) -> Result<(), Failure> {
        self.live_game_if(asker, |live, _| live.room.may_see_drawing(turn)).await?.ok_or(NO_DRAWING)?;
        let chunks = self.strokes.of_turn(asker.game_id, turn).await?;
        let saved = chunks.iter().map(|chunk| chunk.to).max().unwrap_or(0);
        let parts = join_chunks(chunks.iter().filter(|chunk| chunk.to > after));
        let last = parts.len() - 1;
        let messages = parts.iter().enumerate().map(|(index, part)| {
            let batches = Ink::Stored(part);
            let is_last = Some(index == last);
            ServerMessage::Ink { turn_id: turn.to_string(), batches, saved: Some(saved), last: is_last }.encode()
        });
        deliver(&self.sockets, vec![Delivery::new(asker.connection_id, messages.collect())]).await;
        Ok(())
    }

    /// The game, if `may` allows the request; `None` if not. The first read is eventually
    /// consistent and may be old. So a refusal is checked again with a consistent read.
    async fn live_game_if(
        &self,
        asker: Asker<'_>,
        may: impl Fn(&Live, domain::game::PlayerId) -> bool,
    ) -> Result<Option<Live>, Failure> {
        for freshness in [Freshness::Eventual, Freshness::Consistent] {
            let is_last = freshness == Freshness::Consistent;
            let Some(live) = self.rooms.live(asker.game_id, freshness).await? else {
                if is_last {
                    return Err(GAME_NOT_FOUND.into());
                }
                continue;
            };
            match asking_participant(&live.listeners, asker.connection_id) {
                Ok(who) if may(&live, who.id()) => return Ok(Some(live)),
                Err(failure) if is_last => return Err(failure),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(None)
    }
}

/// Joins chunks into parts of limited size. There is always at least one part, so a catch-up
/// without chunks gets an answer.
fn join_chunks<'a>(chunks: impl Iterator<Item = &'a Chunk>) -> Vec<Box<RawValue>> {
    let mut parts = vec![String::new()];
    for chunk in chunks {
        let inside = chunk.batches.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
        // `save` writes only JSON lists; anything else is skipped.
        let Some(batches) = inside else { continue };
        match parts.last_mut() {
            Some(part) if part.is_empty() => part.push_str(batches),
            Some(part) if part.len() + batches.len() < JOINED_CHUNKS_BYTES => {
                part.push(',');
                part.push_str(batches);
            }
            _ => parts.push(batches.to_owned()),
        }
    }
    parts.into_iter().filter_map(|part| RawValue::from_string(format!("[{part}]")).ok()).collect()
}
