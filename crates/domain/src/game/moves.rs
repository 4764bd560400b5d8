//! Commands of seated players: settings, choice of the word, chat and guesses, rematch.

use super::command::{Audience, Choice, Effect, Line, LineKind, Participant, Refusal, SystemText};
use super::guess::judge;
use super::guess_result::GuessResult;
use super::play::{Asked, check_words};
use super::room::{DRAWER_AWAY_MS, PLAYERS_MIN, Phase, Solver, Stage};
use super::settings::Settings;
use super::{GameId, LineId, PlayerId, Talk, TurnId, scoring};

impl Asked {
    fn host(&mut self, me: PlayerId) -> Result<(), Refusal> {
        self.seat(me)?;
        self.waiting()?;
        (self.game.room.host == me).then_some(()).ok_or(Refusal::NotHost)
    }

    pub(super) fn configure(&mut self, me: PlayerId, settings: Settings) -> Result<(), Refusal> {
        self.host(me)?;
        let room = &mut self.game.room;
        let seated = u16::try_from(room.players.len()).unwrap_or(u16::MAX);
        if settings.player_count.get() < seated {
            return Err(Refusal::TooFewSeats(seated));
        }
        check_words(&settings, usize::from(room.custom_words))?;
        if room.custom_words > 0 && settings.language != room.settings.language {
            return Err(Refusal::OwnWords(room.settings.language));
        }
        room.settings = settings;
        Ok(())
    }

    pub(super) fn ready(&mut self, me: PlayerId, ready: bool) -> Result<(), Refusal> {
        self.waiting()?;
        self.seat(me)?.ready = ready;
        Ok(())
    }

    pub(super) fn start(&mut self, me: PlayerId) -> Result<(), Refusal> {
        self.host(me)?;
        let here = || self.game.room.players.iter().filter(|player| player.is_connected());
        if here().count() < PLAYERS_MIN {
            return Err(Refusal::TooFewPlayers);
        }
        if !here().all(|player| player.ready || player.id == me) {
            return Err(Refusal::NotReady);
        }
        self.game.begin_turn(TurnId::FIRST, self.now_ms, self.now_ms);
        Ok(())
    }

    pub(super) fn choose(&mut self, me: PlayerId, id: TurnId, choice: Choice) -> Result<(), Refusal> {
        self.seat(me)?;
        let turn = self.turn(id)?;
        if turn.drawer != me {
            return Err(Refusal::NotDrawer);
        }
        if turn.phase != Phase::Choosing {
            return Err(Refusal::WordChosen);
        }
        let language = self.game.room.settings.language;
        let word = match choice {
            Choice::Word(word) if !word.suits(language) => return Err(Refusal::WrongLanguage(language)),
            Choice::Word(word) => word,
            Choice::Option(index) => {
                let options = self.game.secret.turn.as_ref().map_or(&[][..], |secret| &secret.options);
                options.get(usize::from(index)).cloned().ok_or(Refusal::NoSuchOption)?
            }
        };
        self.game.begin_drawing(word, self.now_ms);
        Ok(())
    }

    pub(super) fn skip(&mut self, me: PlayerId, id: TurnId) -> Result<(), Refusal> {
        self.seat(me)?;
        let turn = self.turn(id)?;
        let (drawer, is_choosing) = (turn.drawer, turn.phase == Phase::Choosing);
        if !turn.phase.is_secret() {
            return Err(Refusal::TurnOver);
        }
        let drawer_is_here =
            || self.game.room.player(drawer).is_some_and(|player| !player.is_away_for(DRAWER_AWAY_MS, self.now_ms));
        if drawer != me && drawer_is_here() {
            return Err(Refusal::DrawerIsHere);
        }
        self.tell(SystemText::Skipped, drawer);
        if is_choosing {
            self.game.next_turn(self.now_ms);
        } else {
            self.game.reveal(self.now_ms, false);
        }
        Ok(())
    }

    pub(super) fn say(&mut self, who: &Participant, id: LineId, text: Talk) -> Result<(), Refusal> {
        let (player, name) = match who {
            Participant::Player(me) => (*me, self.seat(*me)?.name.clone()),
            // Nobody speaks under a player's name.
            Participant::Spectator(id, name) => (*id, self.game.room.distinct_name(name.clone())),
        };
        let turn = self.game.room.turn();
        let is_drawing = turn.is_some_and(|turn| matches!(turn.phase, Phase::Drawing { .. }));
        let turn = turn.map(|turn| turn.id);
        let line = Line { id, player, name, kind: LineKind::Talk(text.clone()), at_ms: self.now_ms, turn };
        let audience = match (who, turn) {
            (_, Some(turn)) if self.game.room.knows_answer(player) => Audience::KnowsAnswer(turn),
            (Participant::Player(_), Some(turn)) if is_drawing => return self.guess(turn, line, text),
            // A spectator may have recognised the drawing. Players who still guess read the line
            // later.
            (Participant::Spectator(..), Some(turn)) if is_drawing => {
                self.effects.push(Effect::Chat { line: line.clone(), audience: Audience::Asker });
                Audience::KnowsAnswer(turn)
            }
            _ => Audience::Everyone,
        };
        self.effects.push(Effect::Chat { line, audience });
        Ok(())
    }

    fn guess(&mut self, turn: TurnId, line: Line, text: Talk) -> Result<(), Refusal> {
        let Some(answer) = self.game.secret.answer(turn) else { return Err(Refusal::WrongTurn) };
        let kind = match judge(self.game.room.settings.language, &answer.word, text.as_str()) {
            GuessResult::Near => {
                self.effects.push(Effect::Near { id: line.id, text });
                return Ok(());
            }
            GuessResult::Wrong => LineKind::Guess(text),
            GuessResult::Correct => LineKind::Correct,
        };
        let is_correct = kind == LineKind::Correct;
        let player = line.player;
        self.effects.push(Effect::Chat { line: Line { kind, ..line }, audience: Audience::Everyone });
        if is_correct {
            self.solve(turn, player)?;
        }
        Ok(())
    }

    fn solve(&mut self, turn: TurnId, me: PlayerId) -> Result<(), Refusal> {
        let (clock_ms, limit_ms) = (self.game.room.clock_ms(self.now_ms), self.game.room.limit_ms());
        let scoring = self.game.room.settings.scoring;
        let turn = self.turn(turn)?;
        let remaining_ms = turn.deadline_ms.saturating_sub(clock_ms);
        let points = scoring::solver_points(scoring, remaining_ms, limit_ms, turn.solvers.len());
        turn.solvers.push(Solver { player: me, points });
        self.seat(me)?.score += points;
        self.settle();
        Ok(())
    }

    pub(super) fn tick(&mut self, version: u64) -> Result<(), Refusal> {
        let room = &self.game.room;
        if room.version == version {
            let clock_ms = room.clock_ms(self.now_ms);
            let next_ms = room.next_at_ms().map(|at_ms| at_ms.saturating_sub(clock_ms));
            self.effects.push(Effect::Wait { version, next_ms });
        } else if !self.has_moved {
            self.effects.push(Effect::Show);
        }
        Ok(())
    }

    pub(super) fn share(&mut self, me: PlayerId, shared: bool) -> Result<(), Refusal> {
        self.seat(me)?;
        let room = &mut self.game.room;
        let Stage::Finished { .. } = room.stage else { return Err(Refusal::NotFinished) };
        if room.host != me {
            return Err(Refusal::NotHost);
        }
        room.shared = shared;
        Ok(())
    }

    pub(super) fn rematch(&mut self, me: PlayerId, game: GameId) -> Result<(), Refusal> {
        self.seat(me)?;
        let Stage::Finished { rematch, .. } = &mut self.game.room.stage else { return Err(Refusal::NotFinished) };
        let new = rematch.is_none();
        let game = *rematch.get_or_insert(game);
        self.effects.push(Effect::Rematch { game, new });
        Ok(())
    }
}
