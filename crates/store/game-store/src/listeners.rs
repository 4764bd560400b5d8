//! Who gets a game's messages. Each has a slot, and there are no more slots than seats and places
//! for spectators: so however many sockets are opened, the items that every message reads stay few.

use std::hash::{DefaultHasher, Hash, Hasher};

use domain::game::{Participant, PlayerCount, PlayerId, PlayerName, Room, SPECTATORS_MAX};
use serde::{Deserialize, Serialize};

use super::connections::Connection;
use super::keys::Item;
use super::rows::player_id;
use store_base::StoreError;

/// The most listeners of a game.
pub const LISTENERS_MAX: usize = SEATS_MAX + SPECTATORS_MAX;

/// The seats of the largest game.
const SEATS_MAX: usize = PlayerCount::MOST as usize;

/// The role of a participant in a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Has a seat.
    Player,
    /// Looks on.
    Spectator,
}

impl Role {
    /// Reads what [`Role::as_str`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Player, Self::Spectator].into_iter().find(|role| role.as_str() == text)
    }

    /// As it is written: `player`, `spectator`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Spectator => "spectator",
        }
    }

    /// The slots of listeners in this role.
    fn slots(self) -> impl Iterator<Item = String> {
        let (letter, count) = match self {
            Self::Player => ('P', SEATS_MAX),
            Self::Spectator => ('S', SPECTATORS_MAX),
        };
        (0..count).map(move |number| format!("{letter}{number:02}"))
    }
}

/// How many look on.
pub fn spectators(listeners: &[Listener]) -> usize {
    listeners.iter().filter(|listener| listener.is_spectator()).count()
}

/// Whether there is a free place for a spectator. A returning spectator takes no second place.
pub fn may_spectate(listeners: &[Listener], player_id: PlayerId) -> bool {
    let others = listeners.iter().filter(|listener| listener.is_spectator() && listener.who.id() != player_id);
    others.count() < SPECTATORS_MAX
}

/// What a listener may not do without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Talk, and other messages to everyone.
    Talk,
    /// A guess.
    Guess,
}

impl MessageKind {
    pub(super) const ALL: [Self; 2] = [Self::Talk, Self::Guess];

    pub(super) fn attribute(self) -> &'static str {
        match self {
            Self::Talk => "talkUntil",
            Self::Guess => "guessUntil",
        }
    }
}

/// A connection that has said hello and receives a game's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Where the messages go.
    pub connection_id: String,
    /// Who, and by what name.
    pub who: Participant,
    /// The connection that this one took the place of.
    pub replaces: Option<String>,
    /// Until when their talk is taken, by its pace.
    pub(super) talk_until_ms: u64,
    /// The same of their guesses.
    pub(super) guess_until_ms: u64,
    /// Their place among the listeners.
    pub(super) slot: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListenerRow {
    connection_id: String,
    player_id: String,
    player_name: String,
    role: Role,
    slot: String,
    #[serde(default)]
    replaces: Option<String>,
    #[serde(default)]
    talk_until: u64,
    #[serde(default)]
    guess_until: u64,
}

impl Listener {
    /// Until when that is taken.
    pub fn until_ms(&self, what: MessageKind) -> u64 {
        match what {
            MessageKind::Talk => self.talk_until_ms,
            MessageKind::Guess => self.guess_until_ms,
        }
    }

    fn is_spectator(&self) -> bool {
        self.who.player().is_none()
    }

    pub(crate) fn read(item: Item) -> Result<Self, StoreError> {
        let row: ListenerRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let player_id = player_id(&row.player_id)?;
        let who = match row.role {
            Role::Player => Participant::Player(player_id),
            Role::Spectator => {
                let name = PlayerName::new(&row.player_name).map_err(StoreError::unreadable)?;
                Participant::Spectator(player_id, name)
            }
        };
        let ListenerRow { connection_id, slot, replaces, talk_until, guess_until, .. } = row;
        Ok(Self { connection_id, who, replaces, talk_until_ms: talk_until, guess_until_ms: guess_until, slot })
    }
}

/// A slot for a connection, with its current listener; `None` if no slot is free.
pub(super) fn slot_for<'a>(
    listeners: &'a [Listener],
    room: &Room,
    connection_id: &str,
    connection: &Connection,
) -> Option<(String, Option<&'a Listener>)> {
    let who = connection.who();
    let is_own = |listener: &&Listener| listener.who.id() == who.id() && listener.who.player() == who.player();
    if let Some(own) = listeners.iter().find(is_own) {
        return Some((own.slot.clone(), Some(own)));
    }
    let free: Vec<String> =
        connection.role.slots().filter(|slot| listeners.iter().all(|listener| listener.slot != *slot)).collect();
    if !free.is_empty() {
        // Connections that arrive at the same time choose different slots.
        let mut hasher = DefaultHasher::new();
        connection_id.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % free.len() as u64).unwrap_or_default();
        return free.into_iter().nth(index).map(|slot| (slot, None));
    }
    // The slot belongs to a participant without a seat, left behind by a crashed function.
    let is_stale = |listener: &&Listener| listener.who.player().is_some_and(|player| room.player(player).is_none());
    let stale = listeners.iter().find(|listener| connection.role == Role::Player && is_stale(listener))?;
    Some((stale.slot.clone(), Some(stale)))
}
