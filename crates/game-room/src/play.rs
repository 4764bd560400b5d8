//! The command loop: load the room, advance it to now, apply the command, write conditionally,
//! broadcast.

use domain::game::{Command, Effect, Game, GameId, Participant, Phase, Refusal, Room};
use game_store::{Freshness, Listener, Live, PersistOutcome, StoredLine, spectators};
use lambda_kit::problem::BUSY;
use store_base::{Retry, StoreError};

use crate::game_room::{Asker, Failure, GameRoom};
use crate::outgoing::{OutgoingMessages, PlayOutcome, stored_line};
use crate::protocol::{GAME_NOT_FOUND, refusal_problem};
use crate::sockets::Sockets;

/// The maximum number of overdue reveals: those of a whole game without a tick, ten rounds of
/// twenty turns.
const REVEALS_MAX: u32 = 200;

/// The maximum number of passes that remove dead connections and tell the others, which may find
/// more dead ones.
const GONE_ROUNDS_MAX: u32 = 3;

/// A command and the connection that sent it. Without both, only time and presence are updated.
#[derive(Default)]
pub(crate) struct PlayRequest<'a> {
    pub(crate) asker: Option<&'a str>,
    /// The sender, if the connection has ended since.
    pub(crate) ended: Option<Participant>,
    pub(crate) command: Option<Command>,
}

/// A decision that is not written yet.
struct Decision {
    after: Game,
    effects: Vec<Effect>,
    refusal: Option<Refusal>,
    /// The new game of a rematch.
    next: Option<Game>,
}

impl<S: Sockets> GameRoom<S> {
    /// Carries out a command and broadcasts its outcome.
    pub(crate) async fn command(&self, asker: Asker<'_>, command: Command) -> Result<(), Failure> {
        let request = PlayRequest { asker: Some(asker.connection_id), ended: None, command: Some(command) };
        let played = self.play(asker.game_id, &request, asker.now_ms).await?;
        let refusal = played.refusal;
        self.broadcast(played, request.asker, asker.now_ms).await?;
        refusal.map_or(Ok(()), |refusal| Err(refusal_problem(refusal).into()))
    }

    /// Updates a game's time and presence, and broadcasts the changes. Returns the dead
    /// connections.
    pub(crate) async fn refresh(&self, game_id: GameId, now_ms: u64) -> Result<Vec<String>, Failure> {
        let played = self.play(game_id, &PlayRequest::default(), now_ms).await?;
        self.send_to_listeners(played, None, now_ms).await
    }

    /// Broadcasts, then removes the dead connections that it found.
    pub(crate) async fn broadcast(&self, played: PlayOutcome, asker: Option<&str>, now_ms: u64) -> Result<(), Failure> {
        let (game_id, listeners) = (played.game.room.id, played.listeners.clone());
        let gone = self.send_to_listeners(played, asker, now_ms).await?;
        self.remove_dead_connections(game_id, &listeners, gone, now_ms).await;
        Ok(())
    }

    /// Removes dead connections; their players are away then. An error is only logged, because the
    /// next message repairs the presence.
    pub(crate) async fn remove_dead_connections(
        &self,
        game_id: GameId,
        listeners: &[Listener],
        mut gone: Vec<String>,
        now_ms: u64,
    ) {
        for _ in 0..GONE_ROUNDS_MAX {
            if gone.is_empty() {
                return;
            }
            for listener in listeners.iter().filter(|listener| gone.contains(&listener.connection_id)) {
                if let Err(error) = self.connections.forget(game_id, listener, now_ms).await {
                    tracing::warn!(%error, "a connection that is gone could not be forgotten");
                }
            }
            gone = match self.refresh(game_id, now_ms).await {
                Ok(gone) => gone,
                Err(failure) => {
                    tracing::warn!(?failure, "the others could not be told that somebody is gone");
                    return;
                }
            };
        }
    }

    /// The loop up to the write of the room. It sends nothing.
    pub(crate) async fn play(
        &self,
        game_id: GameId,
        request: &PlayRequest<'_>,
        now_ms: u64,
    ) -> Result<PlayOutcome, Failure> {
        let (mut retry, mut reveals) = (Retry::new(), 0);
        let mut earlier_effects = Vec::new();
        let (mut has_changed, mut has_taken_allowance) = (false, false);
        while reveals < REVEALS_MAX {
            let live = self.rooms.live(game_id, Freshness::Consistent).await?.ok_or(GAME_NOT_FOUND)?;
            let words = self.words_of(&live.room).await?;
            let Live { room, secret, listeners } = live;
            let Ok(before) = Game::assemble(room, secret, words) else {
                // Another request wrote the room while the query ran.
                if retry.wait().await {
                    continue;
                }
                break;
            };
            let asker = match request.asker {
                Some(connection_id) => Some(asking_participant(&listeners, connection_id)?),
                None => request.ended.clone(),
            };
            if !std::mem::replace(&mut has_taken_allowance, true) {
                self.take_allowance(&before.room, &listeners, request, now_ms).await?;
            }
            let overdue = overdue_reveal(&before, now_ms);
            let is_step = overdue.is_some();
            let decision = match overdue {
                Some(step) => step,
                None => self.decide(&before, &listeners, asker.as_ref(), request, now_ms).await?,
            };
            let Decision { after, mut effects, refusal, next } = decision;
            if after.room.version != before.room.version {
                let persisted = match &next {
                    None => self.rooms.persist(&before, &after).await,
                    Some(next) => self.rooms.persist_with_rematch(&before, &after, next).await,
                };
                match persisted {
                    Ok(PersistOutcome::Yes) => has_changed = true,
                    Ok(PersistOutcome::Lost) | Err(StoreError::Busy(_)) => {
                        if retry.wait().await {
                            continue;
                        }
                        break;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            earlier_effects.append(&mut effects);
            if is_step {
                reveals += 1;
                continue;
            }
            let effects = earlier_effects;
            let spectators = spectators(&listeners);
            return Ok(PlayOutcome { game: after, listeners, spectators, asker, has_changed, effects, refusal });
        }
        tracing::warn!(%game_id, reveals, "a decision was overtaken each time");
        Err(BUSY.into())
    }

    /// Applies time first, then presence, then the command.
    async fn decide(
        &self,
        before: &Game,
        listeners: &[Listener],
        asker: Option<&Participant>,
        request: &PlayRequest<'_>,
        now_ms: u64,
    ) -> Result<Decision, Failure> {
        let outcome = before.advance_to(now_ms);
        let (mut game, mut effects) = (outcome.game, outcome.effects);
        for (player, command) in self.presence_commands(&game.room, listeners).await? {
            let outcome = game.apply(&Participant::Player(player), command, now_ms);
            game = outcome.game;
            effects.extend(outcome.effects);
        }
        let mut refusal = None;
        if let (Some(asker), Some(command)) = (asker, &request.command) {
            let outcome = game.apply(asker, command.clone(), now_ms);
            game = outcome.game;
            effects.extend(outcome.effects);
            refusal = outcome.refusal;
        }
        let new_game = effects.iter().find_map(|effect| match effect {
            Effect::Rematch { game, new: true } => Some(*game),
            _ => None,
        });
        let next = match (new_game, asker) {
            (Some(id), Some(asker)) => {
                Some(game.rematch(id, asker.id(), (self.random_u64)(), now_ms).map_err(refusal_problem)?)
            }
            _ => None,
        };
        Ok(Decision { after: game, effects, refusal, next })
    }

    /// Stores the chat lines that others may read later.
    pub(crate) async fn store_chat_lines(&self, room: &Room, effects: &[Effect]) -> Result<(), StoreError> {
        let lines: Vec<StoredLine> = effects.iter().filter_map(stored_line).collect();
        let puts = lines.iter().map(|line| self.chat.put(room.id, line));
        futures::future::try_join_all(puts).await.map(drop)
    }

    async fn send_to_listeners(
        &self,
        played: PlayOutcome,
        asker: Option<&str>,
        now_ms: u64,
    ) -> Result<Vec<String>, Failure> {
        if let Err(error) = self.store_chat_lines(&played.game.room, &played.effects).await {
            if !played.has_changed {
                return Err(error.into());
            }
            // The room has changed, so everybody has to see it even if a chat line is lost.
            tracing::error!(%error, "a line of the chat could not be stored");
        }
        let (game_id, listeners) = (played.game.room.id, played.listeners.clone());
        let outgoing = OutgoingMessages::new(&played, asker, now_ms);
        let gone = crate::fan_out::deliver(&self.sockets, outgoing.deliveries()).await;
        for listener in listeners.iter().filter(|listener| outgoing.disconnects(listener)) {
            if let Err(error) = self.connections.forget(game_id, listener, now_ms).await {
                tracing::warn!(%error, "a connection that was closed could not be forgotten");
            }
        }
        Ok(gone)
    }
}

/// The participant of a connection. A connection that is not among the listeners was replaced or
/// has ended.
pub(crate) fn asking_participant(listeners: &[Listener], connection_id: &str) -> Result<Participant, Failure> {
    let listener = listeners.iter().find(|listener| listener.connection_id == connection_id);
    listener.map(|listener| listener.who.clone()).ok_or(Failure::NotConnected)
}

/// The game at the first overdue reveal that would be skipped on the way to now.
///
/// Each reveal is written as its own version. The archiver reads the table's stream, and would lose
/// the awards of a skipped reveal.
fn overdue_reveal(game: &Game, now_ms: u64) -> Option<Decision> {
    let mut at = game.clone();
    while let Some(next_ms) = at.room.next_at_ms().filter(|next_ms| *next_ms <= now_ms) {
        at = at.advance_to(next_ms).game;
        let is_reveal = at.room.turn().is_some_and(|turn| matches!(turn.phase, Phase::Reveal { .. }));
        let is_passed = at.room.next_at_ms().is_some_and(|end_ms| end_ms <= now_ms);
        if is_reveal && is_passed && at.room.turn().map(|turn| turn.id) != revealed_turn(game) {
            let outcome = game.advance_to(at.room.updated_at_ms);
            return Some(Decision { after: outcome.game, effects: outcome.effects, refusal: None, next: None });
        }
    }
    None
}

/// The turn whose reveal is already stored.
fn revealed_turn(game: &Game) -> Option<domain::game::TurnId> {
    game.room.turn().filter(|turn| matches!(turn.phase, Phase::Reveal { .. })).map(|turn| turn.id)
}
