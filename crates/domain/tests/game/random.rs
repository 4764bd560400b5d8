//! Random commands at random times, by players who come, go, cheat and sleep.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tidemark_domain::game::*;

use super::table::{Table, name, player, talk, word};

/// How many people there are; one is a spectator.
const PEOPLE: u8 = 6;
const SPECTATOR: u8 = 5;

/// What somebody does, said so that it means something in any game.
#[derive(Debug, Clone)]
enum Act {
    Join,
    Connect,
    Disconnect,
    Leave,
    Ready(bool),
    Start,
    Configure(Settings),
    ChooseOption(u8),
    ChooseWord(&'static str),
    SayAnswer,
    SayAnswerInKatakana,
    SayWithAnswer,
    SayNear,
    SayOption(u8),
    Say(&'static str),
    Tick,
    TickOld,
    Skip,
    Kick(u8),
    Rematch,
}

/// When it happens.
#[derive(Debug, Clone, Copy)]
enum Pause {
    None,
    Ms(u64),
    /// So many milliseconds around the next thing that time brings.
    Next(i64),
    Long,
    /// The clock of another machine, which is behind.
    Back(u64),
}

/// Who does it.
#[derive(Debug, Clone, Copy)]
enum Who {
    /// Whoever that is, and whatever they may do.
    Person(u8),
    /// Who draws.
    Drawer,
    /// One of those who still guess.
    Guesser(usize),
}

#[derive(Debug, Clone)]
struct Step {
    who: Who,
    act: Act,
    pause: Pause,
}

fn acts() -> impl Strategy<Value = (Who, Act)> {
    let anybody = (0..PEOPLE).prop_map(Who::Person);
    let drawer = prop_oneof![1 => anybody.clone(), 9 => Just(Who::Drawer)];
    let guesser = prop_oneof![1 => anybody.clone(), 4 => (0..usize::from(PEOPLE)).prop_map(Who::Guesser)];
    let whatever = prop_oneof![
        2 => Just(Act::Join),
        6 => Just(Act::Connect),
        3 => Just(Act::Disconnect),
        1 => Just(Act::Leave),
        1 => any::<bool>().prop_map(Act::Ready),
        2 => Just(Act::Start),
        1 => settings().prop_map(Act::Configure),
        2 => (0..3u8).prop_map(Act::SayOption),
        3 => proptest::sample::select(vec!["hello", "what is it?", "おしい", "林檎"]).prop_map(Act::Say),
        5 => Just(Act::Tick),
        1 => Just(Act::TickOld),
        3 => (0..PEOPLE).prop_map(Act::Kick),
        1 => Just(Act::Rematch),
    ];
    let drawing = prop_oneof![
        6 => (0..4u8).prop_map(Act::ChooseOption),
        2 => proptest::sample::select(vec!["りんご", "けーき", "あ", "てるてるぼうず"]).prop_map(Act::ChooseWord),
        1 => Just(Act::SayAnswer),
        1 => Just(Act::Skip),
    ];
    let guessing = prop_oneof![
        6 => Just(Act::SayAnswer),
        2 => Just(Act::SayAnswerInKatakana),
        1 => Just(Act::SayWithAnswer),
        1 => Just(Act::SayNear),
        1 => Just(Act::Say("hello")),
        1 => Just(Act::Skip),
    ];
    prop_oneof![3 => (anybody, whatever), 2 => (drawer, drawing), 3 => (guesser, guessing)]
}

fn pauses() -> impl Strategy<Value = Pause> {
    prop_oneof![
        24 => Just(Pause::None),
        24 => (1..5_000u64).prop_map(Pause::Ms),
        12 => (-1..=1i64).prop_map(Pause::Next),
        2 => (5_000..60_000u64).prop_map(Pause::Ms),
        4 => (1..2_000u64).prop_map(Pause::Back),
        1 => Just(Pause::Long),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (acts(), pauses()).prop_map(|((who, act), pause)| Step { who, act, pause });
    proptest::collection::vec(step, 1..120)
}

fn settings() -> impl Strategy<Value = Settings> {
    let words = prop_oneof![Just(WordSource::BuiltIn), Just(WordSource::Custom), Just(WordSource::Both)];
    (30..=60u16, 1..=3u16, 2..=5u16, any::<bool>(), words).prop_map(|(limit, rounds, seats, hints, words)| Settings {
        time_limit: TimeLimit::new(limit).expect("in bounds"),
        round_count: RoundCount::new(rounds).expect("in bounds"),
        player_count: PlayerCount::new(seats).expect("in bounds"),
        hints,
        words,
    })
}

fn katakana(text: &str) -> String {
    let shift = |c| if matches!(c, 'ぁ'..='ゖ') { char::from_u32(c as u32 + 0x60).expect("katakana") } else { c };
    text.chars().map(shift).collect()
}

/// The words that those who are not in the know must not learn: the answer, or what it may become.
fn hidden(game: &Game) -> Vec<String> {
    let secret_turn = game.room.turn().filter(|turn| turn.phase.is_secret());
    let secret = secret_turn.and_then(|turn| game.secret.turn.as_ref().filter(|secret| secret.id == turn.id));
    secret.map_or(vec![], |secret| match &secret.answer {
        Some(answer) => vec![answer.word.to_string()],
        None => secret.options.iter().map(ToString::to_string).collect(),
    })
}

/// Which person that is in this game, if it is anybody.
fn person(game: &Game, who: Who) -> Option<u8> {
    let find = |id: PlayerId| (0..PEOPLE).find(|n| player(*n) == id);
    match who {
        Who::Person(n) => Some(n),
        Who::Drawer => find(game.room.turn()?.drawer),
        Who::Guesser(n) => {
            let guesses = |id| !game.room.is_in_the_know(id);
            let guessers: Vec<_> = game.room.players.iter().map(|player| player.id).filter(|id| guesses(*id)).collect();
            find(*guessers.get(n % guessers.len().max(1))?)
        }
    }
}

fn command(table: &mut Table, act: &Act) -> Option<Command> {
    let turn = table.game.room.turn().map_or(TurnId::new(1, 1).expect("a turn"), |turn| turn.id);
    let hidden = hidden(&table.game);
    let hidden = |n: u8| hidden.get(usize::from(n)).cloned();
    let text = match act {
        Act::Join => return None,
        Act::Connect => return Some(Command::Connect),
        Act::Disconnect => return Some(Command::Disconnect),
        Act::Leave => return Some(Command::Leave),
        Act::Ready(ready) => return Some(Command::Ready(*ready)),
        Act::Start => return Some(Command::Start),
        Act::Configure(settings) => return Some(Command::Configure(*settings)),
        Act::ChooseOption(n) => return Some(Command::Choose { turn, choice: Choice::Option(*n) }),
        Act::ChooseWord(text) => return Some(Command::Choose { turn, choice: Choice::Word(word(text)) }),
        Act::Tick => return Some(Command::Tick { version: table.game.room.version }),
        Act::TickOld => return Some(Command::Tick { version: 0 }),
        Act::Skip => return Some(Command::Skip { turn }),
        Act::Kick(n) => return Some(Command::Kick { target: player(*n) }),
        Act::Rematch => return Some(Command::Rematch { game: table.game.room.id }),
        Act::SayAnswer => hidden(0)?,
        Act::SayAnswerInKatakana => katakana(&hidden(0)?),
        Act::SayWithAnswer => format!("is it {} ?", hidden(0)?),
        Act::SayNear => format!("{}ん", hidden(0)?),
        Act::SayOption(n) => hidden(*n)?,
        Act::Say(text) => (*text).to_owned(),
    };
    Some(Command::Say { id: table.line_id(), text: talk(&text) })
}

/// Keeps its own books beside a game, and compares.
#[derive(Default)]
struct Auditor {
    /// Points since each took their seat.
    earned: BTreeMap<PlayerId, u32>,
    /// Who has scored in which turn, and for what, ever.
    scored: BTreeSet<(TurnId, PlayerId)>,
    /// Who drew in which round since they took their seat.
    drew: BTreeSet<(u8, PlayerId)>,
    /// Who draws in which turn.
    drawers: BTreeMap<TurnId, PlayerId>,
}

impl Auditor {
    /// One step of a game, from `before` to `after`.
    fn look(&mut self, before: &Game, after: &Game) {
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
            assert!(solver.player != turn.drawer && solver.points > 0);
            assert!(self.scored.insert((turn.id, solver.player)), "nobody scores twice in a turn");
            *self.earned.entry(solver.player).or_default() += solver.points;
        }
        if let Phase::Reveal { awards, .. } = &turn.phase
            && before.is_none_or(|before| before.phase.is_secret())
        {
            let solved = awards.iter().filter(|award| award.reason == Reason::CorrectAnswer);
            assert!(
                solved.map(|award| (award.player, award.points)).eq(turn.solvers.iter().map(|s| (s.player, s.points)))
            );
            for award in awards.iter().filter(|award| award.reason == Reason::DrawerPenalty) {
                assert!(award.player == turn.drawer && (1..=100).contains(&award.points));
                assert!(self.scored.insert((turn.id, award.player)), "nobody scores twice in a turn");
                *self.earned.entry(award.player).or_default() += award.points;
            }
        }
    }
}

/// How far a game is, to be compared.
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

/// Nothing that the room, a view or an effect of the command `before -> after` shows to those who still guess has a hidden word in it.
fn check_secrets(before: &Game, after: &Game, asker: u8, effects: &[Effect]) {
    for game in [before, after] {
        let hidden = hidden(game);
        if hidden.is_empty() {
            continue;
        }
        let shows = |text: &str| hidden.iter().any(|word| text.contains(word.as_str()));
        assert!(!shows(&format!("{:?}", game.room)), "the room tells: {:?}", game.room);
        let open = game.room.view(game.room.updated_at_ms);
        assert!(!shows(&format!("{open:?}")), "a view tells: {open:?}");
        for viewer in (0..PEOPLE).map(|n| Some(player(n))).chain([None]) {
            if !viewer.is_some_and(|viewer| game.room.is_in_the_know(viewer)) {
                assert_eq!(game.view(viewer, game.room.updated_at_ms), open, "who guesses sees what anybody may see");
            }
        }
        if let Some(Phase::Drawing { mask, .. }) = game.room.turn().map(|turn| &turn.phase) {
            assert!(mask.iter().flatten().count() <= mask.len() / 2, "half of the letters stay closed");
        }
    }
    // What is said reaches people who knew nothing before it. A word of one letter is in too much talk to be kept out.
    let hidden: Vec<_> = hidden(before).into_iter().filter(|word| word.chars().count() > 1).collect();
    let drawing = before.room.turn().is_some_and(|turn| turn.phase != Phase::Choosing);
    for effect in effects {
        let Effect::Chat { line, audience: Audience::Everyone } = effect else { continue };
        // While the drawer chooses, others may say any word: they do not know that it is one of three.
        let knows = before.room.is_in_the_know(player(asker));
        let text = format!("{:?}", line.kind);
        if drawing || knows {
            assert!(!hidden.iter().any(|word| text.contains(word.as_str())), "the chat tells: {text}");
        }
    }
}

/// Plays the steps, and then lets time end the game.
fn play(settings: Settings, seated: u8, steps: &[Step]) -> Table {
    let words: Vec<_> = ["どらごん", "まほうつかい", "ゆきおんな", "ざしきわらし"].map(word).into();
    let mut table = Table::new(settings, &words);
    let mut auditor = Auditor::default();
    auditor.earned.insert(player(0), 0);
    // The usual beginning, so that most games get to be played.
    let at_once = |who, act| Step { who: Who::Person(who), act, pause: Pause::None };
    let beginning =
        (0..seated).flat_map(|who| [Act::Join, Act::Connect, Act::Ready(true)].map(|act| at_once(who, act)));
    let start = (seated > 1).then(|| at_once(0, Act::Start));
    for step in beginning.chain(start).chain(steps.iter().cloned()) {
        take(&mut table, &mut auditor, &step);
    }
    let mut ticks = 0;
    while let Some(at_ms) = table.game.room.next_at_ms() {
        assert!(at_ms >= table.game.room.updated_at_ms && ticks < 3 * 20 * 8, "the game does not end");
        let before = table.game.clone();
        table.game = before.bring_to(at_ms).game;
        assert!(table.game.room.version == before.room.version + 1, "time brings one thing at a time");
        auditor.look(&before, &table.game);
        ticks += 1;
    }
    assert!(table.game.room.playing().is_none(), "time ends every game that was begun");
    table
}

fn take(table: &mut Table, auditor: &mut Auditor, step: &Step) {
    let next_ms = table.game.room.next_at_ms().unwrap_or(table.now_ms);
    let now_ms = match step.pause {
        Pause::None => table.now_ms,
        Pause::Ms(ms) => table.now_ms + ms,
        Pause::Next(around) => table.now_ms.max(next_ms.saturating_add_signed(around)),
        Pause::Long => table.now_ms + 16 * 60_000,
        Pause::Back(ms) => table.now_ms - ms,
    };
    // Step by step, with the auditor looking on, and in one go: the same.
    let start = table.game.clone();
    let mut game = start.clone();
    while let Some(at_ms) = game.room.next_at_ms().filter(|at_ms| *at_ms <= now_ms) {
        let after = game.bring_to(at_ms).game;
        auditor.look(&game, &after);
        game = after;
    }
    assert_eq!(start.bring_to(now_ms).game, game, "one step is many steps");
    assert_eq!(game.bring_to(now_ms).game, game, "a second tick does nothing");

    table.game = game.clone();
    table.now_ms = table.now_ms.max(now_ms);
    let Some(asker) = person(&game, step.who) else { return };
    let who = match asker {
        SPECTATOR => Participant::Spectator(player(SPECTATOR), name(SPECTATOR)),
        n => Participant::Player(player(n)),
    };
    let command = match step.act {
        Act::Join => Some(Command::Join { name: name(asker) }),
        ref act => command(table, act),
    };
    let Some(command) = command else { return };
    let outcome = start.apply(&who, command.clone(), now_ms);
    assert_eq!(outcome.game, game.apply(&who, command.clone(), now_ms).game, "who is late decides the same");
    let is_overdue = |at_ms: u64| at_ms <= now_ms;
    assert!(!outcome.game.room.next_at_ms().is_some_and(is_overdue), "nothing is left overdue");
    auditor.look(&game, &outcome.game);
    let brought = start.bring_to(now_ms).effects.len();
    check_secrets(&game, &outcome.game, asker, &outcome.effects[brought..]);
    if outcome.refusal.is_some() {
        assert_eq!(outcome.game, game, "what is refused does nothing");
    }
    if let Command::Say { .. } = command {
        check_guess(&start, &outcome.game, now_ms);
    }
    Game::assemble(outcome.game.room.clone(), outcome.game.secret.clone(), outcome.game.words.clone()).expect("whole");
    table.game = outcome.game;
}

/// A guess that comes after the deadline of the turn that its sender saw does not count in it.
fn check_guess(seen: &Game, after: &Game, now_ms: u64) {
    let (Some(playing), Some(turn)) = (seen.room.playing(), after.room.turn()) else { return };
    if playing.turn.id == turn.id && playing.paused_at_ms.is_none() {
        let is_late = !matches!(playing.turn.phase, Phase::Drawing { .. }) || now_ms >= playing.turn.deadline_ms;
        assert!(
            !is_late || turn.solvers == playing.turn.solvers || playing.turn.phase == Phase::Choosing,
            "a late guess"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn any_game_keeps_its_books_and_its_secrets_and_ends(
        settings in settings(),
        seated in 1..SPECTATOR,
        steps in steps(),
    ) {
        play(settings, seated, &steps);
    }
}

/// The games above would prove little if nobody ever guessed, drew or was kicked in them.
#[test]
fn random_games_get_everywhere() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let games = (settings(), 2..SPECTATOR, steps());
    let (mut solved, mut kicked, mut last_round, mut rematches) = (0, 0, 0, 0);
    for _ in 0..200 {
        let (settings, seated, steps) = games.new_tree(&mut runner).expect("a game").current();
        let room = play(settings, seated, &steps).game.room;
        solved += usize::from(room.players.iter().any(|player| player.score > 0));
        kicked += usize::from(!room.kicked.is_empty());
        last_round += usize::from(room.players.iter().any(|player| player.drew_in_round == 3));
        rematches += usize::from(matches!(room.stage, Stage::Finished { rematch: Some(_), .. }));
    }
    println!("solved {solved}, kicked {kicked}, third round {last_round}, rematches {rematches} of 200");
    assert!(
        solved > 100 && kicked > 4 && last_round > 20 && rematches > 10,
        "{solved} {kicked} {last_round} {rematches}"
    );
}
