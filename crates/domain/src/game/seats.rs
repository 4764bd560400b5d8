//! Seats: joining, connecting, leaving, kicking, and their effects on a running game.

use super::command::{DisconnectReason, Effect, Refusal, SystemText};
use super::play::Asked;
use super::room::{
    KICKED_MAX, PLAYERS_MIN, Phase, Player, Playing, SEAT_HELD_MS, SOLVERS_MAX, Stage, UNDRAWN_AWAY_MS,
    VOTER_SEATED_MS, VOTES_MIN,
};
use super::time::is_guessing;
use super::{PlayerId, PlayerName};

impl Player {
    /// A new seat. The player has no connection yet.
    pub(super) fn new(id: PlayerId, name: PlayerName, now_ms: u64) -> Self {
        Self {
            id,
            name,
            score: 0,
            ready: false,
            joined_at_ms: now_ms,
            away_since_ms: Some(now_ms),
            drew_in_round: 0,
            kick_votes: vec![],
            client: None,
        }
    }

    /// Whether the player took the seat and has never connected.
    pub(super) fn has_never_come(&self) -> bool {
        self.away_since_ms == Some(self.joined_at_ms)
    }
}

impl Asked {
    pub(super) fn join(&mut self, me: PlayerId, name: PlayerName) -> Result<(), Refusal> {
        match self.seat(me) {
            Ok(_) => return Ok(()),
            Err(Refusal::NotSeated) => {}
            Err(refusal) => return Err(refusal),
        }
        let room = &mut self.game.room;
        if matches!(room.stage, Stage::Finished { .. }) {
            return Err(Refusal::GameFinished);
        }
        let seats = room.settings.player_count.get();
        if room.players.len() >= usize::from(seats) {
            let unused = |player: &Player| player.has_never_come() && player.is_away_for(SEAT_HELD_MS, self.now_ms);
            let index = room.players.iter().position(unused).ok_or(Refusal::GameFull(seats))?;
            room.players.remove(index);
        }
        let name = room.distinct_name(name);
        room.players.push(Player::new(me, name, self.now_ms));
        self.settle();
        Ok(())
    }

    pub(super) fn connect(&mut self, me: PlayerId) -> Result<(), Refusal> {
        let seat = self.seat(me)?;
        let is_new = seat.has_never_come();
        seat.away_since_ms = None;
        if is_new {
            self.tell(SystemText::Joined, me);
        }
        let now_ms = self.now_ms;
        if let Stage::Playing(Playing { turn, paused_at_ms, .. }) = &mut self.game.room.stage {
            let paused_ms = paused_at_ms.take().map_or(0, |since| now_ms - since);
            turn.deadline_ms += paused_ms;
            let abandoned_at_ms = turn.abandoned_at_ms.filter(|_| turn.drawer != me);
            turn.abandoned_at_ms = abandoned_at_ms.map(|at_ms| at_ms + paused_ms);
        }
        self.settle();
        Ok(())
    }

    pub(super) fn disconnect(&mut self, me: PlayerId) -> Result<(), Refusal> {
        let now_ms = self.now_ms;
        // A player who left or was kicked has no seat to mark.
        if let Ok(seat) = self.seat(me)
            && seat.is_connected()
        {
            // `away_since_ms` equal to `joined_at_ms` means "never connected", so it has to be
            // later here.
            seat.away_since_ms = Some(now_ms.max(seat.joined_at_ms + 1));
            self.settle();
        }
        Ok(())
    }

    pub(super) fn drew_nothing(&mut self, me: PlayerId) -> Result<(), Refusal> {
        let ends_at_ms = self.now_ms + UNDRAWN_AWAY_MS;
        let is_away = !self.seat(me)?.is_connected();
        if let Stage::Playing(Playing { turn, .. }) = &mut self.game.room.stage
            && turn.drawer == me
            && is_away
            && matches!(turn.phase, Phase::Drawing { .. })
        {
            turn.abandoned_at_ms.get_or_insert(ends_at_ms);
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, me: PlayerId) -> Result<(), Refusal> {
        self.seat(me)?;
        if matches!(self.game.room.stage, Stage::Finished { .. }) {
            // The standings still show the player.
            self.disconnect(me)?;
        } else {
            self.tell(SystemText::Left, me);
            self.give_up(me);
        }
        self.disconnect_player(me, DisconnectReason::Left)
    }

    /// Removes a player when more than half of the other connected players voted for it; at least
    /// two votes are needed.
    pub(super) fn kick(&mut self, me: PlayerId, target: PlayerId) -> Result<(), Refusal> {
        let joined_at_ms = self.seat(me)?.joined_at_ms;
        let now_ms = self.now_ms;
        let room = &mut self.game.room;
        if matches!(room.stage, Stage::Finished { .. }) {
            return Err(Refusal::GameFinished);
        }
        let seat = room.players.iter_mut().find(|player| player.id == target && target != me);
        let seat = seat.ok_or(Refusal::NoSuchPlayer)?;
        if now_ms.saturating_sub(joined_at_ms) < VOTER_SEATED_MS {
            return Err(Refusal::TooNewToVote);
        }
        if !seat.kick_votes.contains(&me) {
            seat.kick_votes.push(me);
        }
        let target_seat = seat.clone();
        let (votes, others) = room.votes_against(&target_seat);
        if votes >= VOTES_MIN && votes * 2 > others {
            push_bounded(&mut room.kicked, target);
            // Does not bar the host's own address: the rest of a household or class may still join.
            let host = room.player(room.host).filter(|host| host.id != target).and_then(|host| host.client);
            if let Some(client) = target_seat.client.filter(|client| Some(*client) != host) {
                push_bounded(&mut room.kicked_from, client);
            }
            self.tell(SystemText::Kicked, target);
            self.give_up(target);
            self.disconnect_player(target, DisconnectReason::Kicked)?;
        }
        Ok(())
    }

    pub(super) fn disconnect_player(&mut self, player: PlayerId, reason: DisconnectReason) -> Result<(), Refusal> {
        self.effects.push(Effect::Disconnect { player, reason });
        Ok(())
    }

    fn give_up(&mut self, player: PlayerId) {
        let players = &mut self.game.room.players;
        players.retain(|other| other.id != player);
        for other in players {
            other.kick_votes.retain(|voter| *voter != player);
        }
        self.settle();
    }

    /// Follow-up changes after a player came, left or guessed the answer: a new host, a pause, or
    /// the end of the turn or game.
    pub(super) fn settle(&mut self) {
        let now_ms = self.now_ms;
        let game = &mut self.game;
        if game.room.player(game.room.host).is_none() {
            game.pass_host_on(now_ms, &mut self.effects);
        }
        let players = &game.room.players;
        let turn = match &mut game.room.stage {
            Stage::Waiting if players.is_empty() => return game.finish(now_ms),
            Stage::Waiting | Stage::Finished { .. } => return,
            Stage::Playing(Playing { turn, paused_at_ms, .. }) => {
                if players.iter().all(|player| !player.is_connected()) {
                    paused_at_ms.get_or_insert(now_ms);
                    return;
                }
                turn
            }
        };
        let drawer_is_gone = players.iter().all(|player| player.id != turn.drawer);
        let too_few = players.len() < PLAYERS_MIN;
        let all_have_guessed = !turn.solvers.is_empty()
            && !players.iter().any(|player| player.is_connected() && is_guessing(turn, player.id))
            || turn.solvers.len() >= SOLVERS_MAX;
        match turn.phase {
            Phase::Choosing if drawer_is_gone || too_few => game.next_turn(now_ms),
            Phase::Drawing { .. } if drawer_is_gone || too_few => game.reveal(now_ms, false),
            Phase::Drawing { .. } if all_have_guessed => game.reveal(now_ms, true),
            Phase::Choosing | Phase::Drawing { .. } | Phase::Reveal { .. } => {}
        }
    }
}

/// Appends an item and drops the oldest one beyond [`KICKED_MAX`].
fn push_bounded<T>(list: &mut Vec<T>, item: T) {
    if list.len() >= KICKED_MAX {
        list.remove(0);
    }
    list.push(item);
}
