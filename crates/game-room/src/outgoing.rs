//! Chooses the messages for each listener. Every broadcast goes through here, so that no connection
//! gets a secret.

use bytes::Bytes;
use domain::game::{Audience, DisconnectReason, Effect, Game, Line, Participant, PlayerId, Refusal};
use game_store::{Listener, StoredLine};

use crate::fan_out::Delivery;
use crate::protocol::{RoomMessage, ServerMessage};

/// The outcome of a command, and who is told.
pub(crate) struct PlayOutcome {
    /// The game as it was written.
    pub(crate) game: Game,
    /// The listeners to send the changes to.
    pub(crate) listeners: Vec<Listener>,
    /// The number of spectators.
    pub(crate) spectators: usize,
    /// The participant who sent the command.
    pub(crate) asker: Option<Participant>,
    pub(crate) has_changed: bool,
    pub(crate) effects: Vec<Effect>,
    pub(crate) refusal: Option<Refusal>,
}

/// The messages that a command brings to each listener.
pub(crate) struct OutgoingMessages<'a> {
    played: &'a PlayOutcome,
    asker: Option<&'a str>,
    now_ms: u64,
}

impl<'a> OutgoingMessages<'a> {
    pub(crate) fn new(played: &'a PlayOutcome, asker: Option<&'a str>, now_ms: u64) -> Self {
        Self { played, asker, now_ms }
    }

    /// One delivery for each listener with at least one message or whose connection ends.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.played.listeners.iter().filter_map(|listener| self.delivery(listener)).collect()
    }

    /// Whether the listener's connection ends.
    pub(crate) fn disconnects(&self, listener: &Listener) -> bool {
        self.disconnect_reason(listener).is_some()
    }

    fn delivery(&self, listener: &Listener) -> Option<Delivery> {
        let is_asker = self.asker == Some(&*listener.connection_id);
        let effects = &self.played.effects;
        let lines: Vec<_> = effects.iter().filter_map(|effect| self.line(effect, listener, is_asker)).collect();
        let mut messages = Vec::new();
        if self.played.has_changed || is_asker && effects.contains(&Effect::Show) {
            let room = room_for(&self.played.game, &listener.who, self.played.spectators, self.now_ms);
            messages.push(ServerMessage::room(room, lines).encode());
        } else if !lines.is_empty() {
            messages.push(ServerMessage::chat(lines).encode());
        }
        messages.extend(effects.iter().filter_map(|effect| message(effect, is_asker)));
        let disconnect_reason = self.disconnect_reason(listener);
        if disconnect_reason == Some(DisconnectReason::Kicked) {
            messages.push(ServerMessage::Kicked.encode());
        }
        let is_last = disconnect_reason.is_some();
        let delivery = Delivery { is_last, ..Delivery::new(&*listener.connection_id, messages) };
        (is_last || !delivery.messages.is_empty()).then_some(delivery)
    }

    /// The chat line of an effect, if the listener may read it.
    fn line<'e>(&self, effect: &'e Effect, listener: &Listener, is_asker: bool) -> Option<&'e Line> {
        let Effect::Chat { line, audience } = effect else { return None };
        let is_for = match audience {
            Audience::Everyone => true,
            Audience::KnowsAnswer(turn) => self.played.game.room.may_read(listener.who.player(), Some(*turn)),
            Audience::Asker => is_asker,
        };
        is_for.then_some(line)
    }

    fn disconnect_reason(&self, listener: &Listener) -> Option<DisconnectReason> {
        self.played.effects.iter().find_map(|effect| match effect {
            Effect::Disconnect { player, reason } if *player == listener.who.id() => Some(*reason),
            _ => None,
        })
    }
}

fn message(effect: &Effect, is_asker: bool) -> Option<Bytes> {
    let message = match effect {
        Effect::Near { id, text } => is_asker.then(|| ServerMessage::near(*id, text)),
        Effect::Wait { version, next_ms } => is_asker.then(|| ServerMessage::wait(*version, *next_ms)),
        Effect::Rematch { game, new } => (*new || is_asker).then(|| ServerMessage::rematch(*game)),
        Effect::Chat { .. } | Effect::Show | Effect::Disconnect { .. } => None,
    };
    message.map(|message| message.encode())
}

/// The room as a participant may see it.
pub(crate) fn room_for(game: &Game, who: &Participant, spectators: usize, now_ms: u64) -> RoomMessage {
    let player: Option<PlayerId> = who.player();
    RoomMessage::new(game.view(player, now_ms), spectators)
}

/// The chat line that an effect stores in the table.
pub(crate) fn stored_line(effect: &Effect) -> Option<StoredLine> {
    let Effect::Chat { line, audience } = effect else { return None };
    let solvers_of = match audience {
        Audience::Everyone => None,
        Audience::KnowsAnswer(turn) => Some(*turn),
        Audience::Asker => return None,
    };
    Some(StoredLine { line: line.clone(), solvers_of })
}
