//! Changes by the passing of time. A room holds the deadline of its phase. A function that works on
//! a room applies the overdue changes in order, each at its own time. So the result does not depend
//! on which function does it, how late, or how often.

use super::command::{Audience, Effect, Line, SystemText};
use super::room::{
    CHOOSING_MS, HOST_AWAY_MS, PAUSE_MS_MAX, PLAYERS_MIN, Phase, Playing, REVEAL_MS, Stage, TURNS_PER_ROUND_MAX, Turn,
};
use super::{Answer, Game, PlayerId, Room, TurnId, Word, hints, scoring};

impl Room {
    /// When time alone changes the room next; `None` if it does not.
    pub fn next_at_ms(&self) -> Option<u64> {
        match &self.stage {
            Stage::Finished { .. } => None,
            Stage::Waiting => {
                let host = self.player(self.host)?;
                let others = self.players.iter().any(|player| player.is_connected());
                // The host may have left long before the other player connected; the result must
                // not be before the room's last change.
                host.away_since_ms.filter(|_| others).map(|since| (since + HOST_AWAY_MS).max(self.updated_at_ms))
            }
            Stage::Playing(Playing { paused_at_ms: Some(since), turn, .. }) => {
                let is_drawing = matches!(turn.phase, Phase::Drawing { .. });
                Some(since + PAUSE_MS_MAX - if is_drawing { REVEAL_MS } else { 0 })
            }
            Stage::Playing(Playing { turn, .. }) => {
                let ordinary = self.hint_at_ms(turn).unwrap_or(turn.deadline_ms);
                Some(turn.abandoned_at_ms.map_or(ordinary, |at_ms| ordinary.min(at_ms)))
            }
        }
    }

    /// When the next hint opens letters.
    fn hint_at_ms(&self, turn: &Turn) -> Option<u64> {
        let Phase::Drawing { mask, hints } = &turn.phase else { return None };
        let letters = if self.settings.hints { hints::open_max(mask) } else { 0 };
        let limit_ms = self.limit_ms();
        let started_at_ms = turn.deadline_ms.saturating_sub(limit_ms);
        hints::next_ms(letters, *hints, limit_ms).map(|after_ms| started_at_ms + after_ms)
    }

    /// The time for one drawing.
    pub(super) fn limit_ms(&self) -> u64 {
        u64::from(self.settings.time_limit.get()) * 1000
    }

    /// The time on the game's clock; it stands still during a pause.
    pub(super) fn clock_ms(&self, now_ms: u64) -> u64 {
        self.playing().and_then(|playing| playing.paused_at_ms).unwrap_or(now_ms)
    }
}

impl Game {
    /// Applies all changes that are due until `now_ms`.
    pub(super) fn pass_time(&mut self, now_ms: u64, effects: &mut Vec<Effect>) {
        while let Some(at_ms) = self.room.next_at_ms().filter(|at_ms| *at_ms <= now_ms) {
            self.step(at_ms, effects);
            self.touch(at_ms);
        }
    }

    /// Applies the one change that is due at this time.
    fn step(&mut self, at_ms: u64, effects: &mut Vec<Effect>) {
        let Stage::Playing(playing) = &self.room.stage else {
            return self.pass_host_on(at_ms, effects);
        };
        let Playing { turn, paused_at_ms, .. } = playing;
        match (&turn.phase, *paused_at_ms) {
            // Even with all players away, the turn's awards have to be in its reveal. Its time is
            // that of the stopped clock.
            (Phase::Drawing { .. }, Some(since)) => self.reveal(since, false),
            (_, Some(_)) => self.finish(at_ms),
            (Phase::Choosing, None) => self.choose_for_drawer(at_ms, effects),
            (Phase::Drawing { .. }, None) if turn.abandoned_at_ms == Some(at_ms) => {
                self.tell(SystemText::Skipped, turn.drawer, at_ms, effects);
                self.reveal(at_ms, false);
            }
            (Phase::Drawing { .. }, None) if at_ms < turn.deadline_ms => self.open_hint(),
            (Phase::Drawing { .. }, None) => self.reveal(at_ms, true),
            (Phase::Reveal { .. }, None) => self.next_turn(at_ms),
        }
    }

    fn choose_for_drawer(&mut self, at_ms: u64, effects: &mut Vec<Effect>) {
        let Some((id, drawer)) = self.room.turn().map(|turn| (turn.id, turn.drawer)) else { return };
        let is_here = self.room.player(drawer).is_some_and(|player| player.is_connected());
        let options = self.secret.turn.as_ref().map_or(&[][..], |turn| &turn.options);
        match self.secret.chance(id).choice(options).filter(|_| is_here).cloned() {
            Some(word) => self.begin_drawing(word, at_ms),
            None => {
                self.tell(SystemText::Skipped, drawer, at_ms, effects);
                self.next_turn(at_ms);
            }
        }
    }

    /// Starts the drawing phase.
    pub(super) fn begin_drawing(&mut self, word: Word, at_ms: u64) {
        let limit_ms = self.room.limit_ms();
        let Stage::Playing(Playing { turn, .. }) = &mut self.room.stage else { return };
        let hint_order = hints::order(&word, &mut self.secret.chance(turn.id));
        let Some(secret) = &mut self.secret.turn else { return };
        turn.phase = Phase::Drawing { mask: hints::mask(&word, &hint_order, 0), hints: 0 };
        turn.deadline_ms = at_ms + limit_ms;
        secret.answer = Some(Answer { word, hint_order });
    }

    fn open_hint(&mut self) {
        let Stage::Playing(Playing { turn, .. }) = &mut self.room.stage else { return };
        let Some(answer) = self.secret.answer(turn.id) else { return };
        let Phase::Drawing { mask, hints } = &mut turn.phase else { return };
        *hints += 1;
        *mask = hints::mask(&answer.word, &answer.hint_order, hints::open_letters(answer.hint_order.len(), *hints));
    }

    /// Starts the reveal phase. The drawer earns nothing if the turn was skipped or ended without a
    /// drawer.
    pub(super) fn reveal(&mut self, at_ms: u64, drawer_earns: bool) {
        let Stage::Playing(Playing { turn, .. }) = &mut self.room.stage else { return };
        let Some(answer) = self.secret.answer(turn.id) else { return };
        let players = &mut self.room.players;
        let missed = players.iter().filter(|player| player.is_connected() && is_guessing(turn, player.id)).count();
        let drawer = players.iter_mut().find(|player| player.id == turn.drawer && drawer_earns);
        let awards =
            scoring::awards(self.room.settings.scoring, &turn.solvers, drawer.as_ref().map(|player| player.id), missed);
        if let Some(drawer) = drawer {
            let earned = awards.iter().filter(|award| award.player == drawer.id).map(|award| award.points);
            drawer.score += earned.sum::<u32>();
        }
        turn.phase = Phase::Reveal { answer: answer.word.clone(), awards, at_ms };
        turn.deadline_ms = at_ms + REVEAL_MS;
        turn.abandoned_at_ms = None;
    }

    /// Starts the turn of the next connected player who has not drawn in this round, or the next
    /// round, or finishes the game.
    pub(super) fn next_turn(&mut self, at_ms: u64) {
        let Stage::Playing(playing) = &self.room.stage else { return };
        let (id, round_started_at_ms) = (playing.turn.id, playing.round_started_at_ms);
        if self.room.players.len() < PLAYERS_MIN {
            return self.finish(at_ms);
        }
        if id.number() < TURNS_PER_ROUND_MAX && self.begin_turn(id.next_in_round(), round_started_at_ms, at_ms) {
            return;
        }
        let is_last = u16::from(id.round()) >= self.room.settings.round_count.get();
        if is_last || !self.begin_turn(id.next_round(), at_ms, at_ms) {
            self.finish(at_ms);
        }
    }

    /// Starts a turn if a connected player has not drawn in this round.
    pub(super) fn begin_turn(&mut self, id: TurnId, round_started_at_ms: u64, at_ms: u64) -> bool {
        let mut players = self.room.players.iter_mut();
        let Some(drawer) = players.find(|player| player.is_connected() && player.drew_in_round < id.round()) else {
            return false;
        };
        drawer.drew_in_round = id.round();
        let turn = Turn {
            id,
            drawer: drawer.id,
            started_at_ms: at_ms,
            deadline_ms: at_ms + CHOOSING_MS,
            abandoned_at_ms: None,
            solvers: vec![],
            phase: Phase::Choosing,
        };
        self.room.stage = Stage::Playing(Playing { round_started_at_ms, turn, paused_at_ms: None });
        self.secret.deal(id, &self.room.settings, &self.words);
        true
    }

    /// Finishes the game. Never from the drawing phase: the awards of a turn are in its reveal, and
    /// the archive reads them there.
    pub(super) fn finish(&mut self, at_ms: u64) {
        self.room.stage = Stage::Finished { at_ms, rematch: None };
    }

    /// Makes the first connected player the host, or the first player if none is connected.
    pub(super) fn pass_host_on(&mut self, at_ms: u64, effects: &mut Vec<Effect>) {
        let players = &self.room.players;
        if let Some(player) = players.iter().find(|player| player.is_connected()).or(players.first()) {
            self.room.host = player.id;
            self.tell(SystemText::Host, player.id, at_ms, effects);
        }
    }

    /// Adds a line of the system about a seated player.
    pub(super) fn tell(&self, text: SystemText, about: PlayerId, at_ms: u64, effects: &mut Vec<Effect>) {
        if let Some(player) = self.room.player(about) {
            let turn = self.room.turn().map(|turn| turn.id);
            let line = Line::system(text, (player.id, player.name.clone()), at_ms, self.room.version, turn);
            effects.push(Effect::Chat { line, audience: Audience::Everyone });
        }
    }

    /// Marks the room as changed.
    pub(super) fn touch(&mut self, at_ms: u64) {
        self.room.version += 1;
        self.room.updated_at_ms = self.room.updated_at_ms.max(at_ms);
    }
}

/// Whether a player neither draws nor has guessed.
pub(super) fn is_guessing(turn: &Turn, player: PlayerId) -> bool {
    turn.drawer != player && turn.solvers.iter().all(|solver| solver.player != player)
}
