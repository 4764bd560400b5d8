//! Checks every step of a game: its own account of points and turns, and the secrets in views and
//! effects.

use std::collections::{BTreeMap, BTreeSet};

use domain::game::*;

use super::table::player;

/// The words that participants who do not know the answer must not see: the answer or the options.
pub(crate) fn hidden(game: &Game) -> Vec<String> {
    let secret_turn = game.room.turn().filter(|turn| turn.phase.is_secret());
    let secret = secret_turn.and_then(|turn| game.secret.turn.as_ref().filter(|secret| secret.id == turn.id));
    secret.map_or(vec![], |secret| match &secret.answer {
        Some(answer) => vec![answer.word.to_string()],
        None => secret.options.iter().map(ToString::to_string).collect(),
    })
}

/// Whether a debug text contains the word. Identifiers of the code are English too, so an English
/// word is searched only in string values, as a whole word.
fn tells(debug: &str, word: &str) -> bool {
    let mut texts = debug.split('"').skip(1).step_by(2);
    match word.is_ascii() {
        false => debug.contains(word),
        true => texts.any(|text| {
            let ends = |part: &str| part.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
            let begins = |part: &str| part.chars().next().is_none_or(|c| !c.is_ascii_alphanumeric());
            text.match_indices(word).any(|(at, _)| ends(&text[..at]) && begins(&text[at + word.len()..]))
        }),
    }
}

/// Keeps its own account of a game and compares.
#[derive(Default)]
pub(crate) struct Auditor {
    /// The points of each player since they took their seat.
    pub earned: BTreeMap<PlayerId, u32>,
    /// The players who have scored, by turn.
    scored: BTreeSet<(TurnId, PlayerId)>,
    /// The players who drew, by round, since they took their seat.
    drew: BTreeSet<(u8, PlayerId)>,
    /// The drawer of each turn.
    drawers: BTreeMap<TurnId, PlayerId>,
}

impl Auditor {
    /// Checks one step of a game, from `before` to `after`.
    pub(crate) fn look(&mut self, before: &Game, after: &Game) {
        let (old, new) = (&before.room, &after.room);
        assert_eq!(old.version == new.version, old == new, "a version is a state");
        assert!(old.version <= new.version && old.updated_at_ms <= new.updated_at_ms);
        assert!(progress(old) <= progress(new), "phases move forward: {old:?} {new:?}");

        for seat in &new.players {
            if old.player(seat.id).is_none_or(|before| before.joined_at_ms != seat.joined_at_ms) {
                self.earned.insert(seat.id, 0);
                self.drew.retain(|(_, drawer)| *drawer != seat.id);
            }
        }
        self.look_at_turn(old, new);
        for seat in &new.players {
            assert_eq!(seat.score, self.earned[&seat.id], "a score is the sum of awards");
        }
        if !new.players.is_empty() {
            assert!(new.player(new.host).is_some(), "the host has a seat");
        }
        assert!(new.players.len() <= usize::from(new.settings.player_count.get()));
    }

    fn look_at_turn(&mut self, old: &Room, new: &Room) {
        if let Some(drawn) = old.turn().filter(|turn| matches!(turn.phase, Phase::Drawing { .. })) {
            assert_eq!(new.turn().map(|turn| turn.id), Some(drawn.id), "a drawing ends in its reveal");
        }
        let before = old.turn().filter(|before| new.turn().is_some_and(|turn| turn.id == before.id));
        let Some(turn) = new.turn() else { return };
        if before.is_none() {
            assert!(self.drew.insert((turn.id.round(), turn.drawer)), "everybody draws once a round");
            assert!(new.player(turn.drawer).is_some_and(Player::is_connected), "who draws is here");
        }
        assert_eq!(*self.drawers.entry(turn.id).or_insert(turn.drawer), turn.drawer, "one drawer a turn");
        let known = before.map_or(0, |before| before.solvers.len());
        for solver in &turn.solvers[known..] {
            let has_points = new.settings.scoring != Scoring::None;
            assert!(solver.player != turn.drawer && (solver.points > 0) == has_points);
            assert!(self.scored.insert((turn.id, solver.player)), "nobody scores twice in a turn");
            *self.earned.entry(solver.player).or_default() += solver.points;
        }
        if let Phase::Reveal { awards, .. } = &turn.phase
            && before.is_none_or(|before| before.phase.is_secret())
        {
            let solved = awards.iter().filter(|award| award.reason == AwardReason::CorrectAnswer);
            let paid = turn.solvers.iter().filter(|solver| solver.points > 0);
            assert!(solved.map(|award| (award.player, award.points)).eq(paid.map(|s| (s.player, s.points))));
            for award in awards.iter().filter(|award| award.reason == AwardReason::Drawing) {
                assert!(award.player == turn.drawer && (1..=100).contains(&award.points));
                assert!(self.scored.insert((turn.id, award.player)), "nobody scores twice in a turn");
                *self.earned.entry(award.player).or_default() += award.points;
            }
        }
    }
}

/// The progress of a game, for comparison.
fn progress(room: &Room) -> (u8, Option<TurnId>, u8, u8) {
    match &room.stage {
        Stage::Waiting => (0, None, 0, 0),
        Stage::Playing(Playing { turn, .. }) => match &turn.phase {
            Phase::Choosing => (1, Some(turn.id), 0, 0),
            Phase::Drawing { hints, .. } => (1, Some(turn.id), 1, *hints),
            Phase::Reveal { .. } => (1, Some(turn.id), 2, 0),
        },
        Stage::Finished { rematch, .. } => (2, None, u8::from(rematch.is_some()), 0),
    }
}

/// Checks that no hidden word is in the room, a view or an effect that players who still guess
/// receive after the step `before -> after`.
pub(crate) fn check_secrets(before: &Game, after: &Game, asker: u8, people: u8, effects: &[Effect]) {
    for game in [before, after] {
        let hidden = hidden(game);
        if hidden.is_empty() {
            continue;
        }
        let shows = |text: &str| hidden.iter().any(|word| tells(text, word));
        assert!(!shows(&format!("{:?}", game.room)), "the room tells: {:?}", game.room);
        let open = game.room.view(game.room.updated_at_ms);
        assert!(!shows(&format!("{open:?}")), "a view tells: {open:?}");
        for viewer in (0..people).map(|n| Some(player(n))).chain([None]) {
            if !viewer.is_some_and(|viewer| game.room.knows_answer(viewer)) {
                assert_eq!(game.view(viewer, game.room.updated_at_ms), open, "who guesses sees what anybody may see");
            }
        }
        if let Some(Phase::Drawing { mask, .. }) = game.room.turn().map(|turn| &turn.phase) {
            let letters = mask.iter().filter(|place| place.is_none_or(char::is_alphanumeric)).count();
            assert!(
                mask.iter().filter(|place| place.is_none()).count() * 2 >= letters,
                "half of the letters stay closed"
            );
        }
    }
    // A chat line reaches players who did not know the answer. Words of one letter are skipped,
    // because they are in too many lines.
    let hidden: Vec<_> = hidden(before).into_iter().filter(|word| word.chars().count() > 1).collect();
    let drawing = before.room.turn().is_some_and(|turn| turn.phase != Phase::Choosing);
    for effect in effects {
        if let Effect::Chat { audience: Audience::KnowsAnswer(turn), .. } = effect {
            let may_read = (0..people).map(player).filter(|id| after.room.may_read(Some(*id), Some(*turn)));
            assert!(may_read.eq((0..people).map(player).filter(|id| after.room.knows_answer(*id))), "who reads what");
        }
        let Effect::Chat { line, audience: Audience::Everyone } = effect else { continue };
        // While the drawer chooses, others may happen to write an option: they do not know the
        // options.
        let knows = before.room.knows_answer(player(asker));
        let text = format!("{:?}", line.kind);
        if drawing || knows {
            assert!(!hidden.iter().any(|word| tells(&text, word)), "the chat tells: {text}");
        }
    }
}
