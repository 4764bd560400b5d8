//! Random commands at random times, by players who join, leave, cheat and stay away.

use domain::game::*;
use proptest::prelude::*;

use super::auditor::{Auditor, check_secrets, hidden};
use super::table::{Table, name, player, talk, word};

/// The number of people; one is a spectator.
const PEOPLE: u8 = 6;
const SPECTATOR: u8 = 5;

/// An action that makes sense in every game.
#[derive(Debug, Clone)]
enum Act {
    Join,
    Connect,
    Disconnect,
    DrewNothing,
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
    Share(bool),
}

/// The time of a step.
#[derive(Debug, Clone, Copy)]
enum Pause {
    None,
    Ms(u64),
    /// A number of milliseconds before or after the next change by time.
    Next(i64),
    Long,
    /// The time on another machine, whose clock is behind by this many milliseconds.
    Back(u64),
}

/// The person who acts.
#[derive(Debug, Clone, Copy)]
enum Who {
    /// This person, in any role.
    Person(u8),
    /// The drawer.
    Drawer,
    /// One of the players who still guess.
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
        2 => Just(Act::DrewNothing),
        1 => Just(Act::Leave),
        1 => any::<bool>().prop_map(Act::Ready),
        2 => Just(Act::Start),
        1 => settings().prop_map(Act::Configure),
        2 => (0..3u8).prop_map(Act::SayOption),
        3 => proptest::sample::select(vec!["hello", "what is it?", "おしい", "林檎", "bear", "りんご"]).prop_map(Act::Say),
        5 => Just(Act::Tick),
        1 => Just(Act::TickOld),
        10 => (0..3u8).prop_map(Act::Kick),
        1 => Just(Act::Rematch),
        1 => any::<bool>().prop_map(Act::Share),
    ];
    let drawing = prop_oneof![
        6 => (0..4u8).prop_map(Act::ChooseOption),
        2 => proptest::sample::select(vec!["りんご", "けーき", "あ", "てるてるぼうず", "bear", "hot dog", "x"]).prop_map(Act::ChooseWord),
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
    let language = proptest::sample::select(&Language::ALL[..]);
    let scoring = proptest::sample::select(Scoring::NAMES.map(|(scoring, _)| scoring).to_vec());
    let numbers = (30..=60u16, 1..=3u16, 2..=5u16);
    (numbers, any::<bool>(), words, (language, scoring)).prop_map(
        |((limit, rounds, seats), hints, words, (language, scoring))| Settings {
            time_limit: TimeLimit::new(limit).expect("in bounds"),
            round_count: RoundCount::new(rounds).expect("in bounds"),
            player_count: PlayerCount::new(seats).expect("in bounds"),
            hints,
            scoring,
            words,
            language,
        },
    )
}

fn katakana(text: &str) -> String {
    let shift = |c| if matches!(c, 'ぁ'..='ゖ') { char::from_u32(c as u32 + 0x60).expect("katakana") } else { c };
    text.chars().map(shift).collect()
}

/// The number of that person in this game, if there is one.
fn person(game: &Game, who: Who) -> Option<u8> {
    let find = |id: PlayerId| (0..PEOPLE).find(|n| player(*n) == id);
    match who {
        Who::Person(n) => Some(n),
        Who::Drawer => find(game.room.turn()?.drawer),
        Who::Guesser(n) => {
            let guesses = |id| !game.room.knows_answer(id);
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
        Act::DrewNothing => return Some(Command::DrewNothing),
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
        Act::Share(shared) => return Some(Command::Share(*shared)),
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

/// Plays the steps, then lets time end the game.
fn play(settings: Settings, seated: u8, steps: &[Step]) -> Table {
    let words = match settings.language {
        Language::Japanese => ["どらごん", "まほうつかい", "ゆきおんな", "ざしきわらし"],
        _ => ["house elf", "Yeti", "kraken", "will-o'-the-wisp"],
    };
    let words: Vec<_> = words.map(word).into();
    let mut table = Table::new(settings, &words);
    let mut auditor = Auditor::default();
    auditor.earned.insert(player(0), 0);
    // A normal start, so that most games are played.
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
        table.game = before.advance_to(at_ms).game;
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
    // Advancing step by step, with the auditor's checks, and advancing at once give the same game.
    let start = table.game.clone();
    let mut game = start.clone();
    while let Some(at_ms) = game.room.next_at_ms().filter(|at_ms| *at_ms <= now_ms) {
        let after = game.advance_to(at_ms).game;
        assert_ne!(after, game, "what is due happens");
        auditor.look(&game, &after);
        game = after;
    }
    assert_eq!(start.advance_to(now_ms).game, game, "one step is many steps");
    assert_eq!(game.advance_to(now_ms).game, game, "a second tick does nothing");

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
    let brought = start.advance_to(now_ms).effects.len();
    check_secrets(&game, &outcome.game, asker, PEOPLE, &outcome.effects[brought..]);
    if outcome.refusal.is_some() {
        assert_eq!(outcome.game, game, "what is refused does nothing");
    }
    if let Command::Say { .. } = command {
        check_guess(&start, &outcome.game, now_ms);
    }
    Game::assemble(outcome.game.room.clone(), outcome.game.secret.clone(), outcome.game.words.clone()).expect("whole");
    table.game = outcome.game;
}

/// A guess after the deadline of the turn that its sender saw does not count.
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

/// Checks the coverage of the random games: points, kicks, third rounds and rematches all occur.
#[test]
fn random_games_get_everywhere() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let games = (settings(), 2..SPECTATOR, steps());
    let (mut solved, mut kicked, mut last_round, mut rematches) = (0, 0, 0, 0);
    for _ in 0..100 {
        let (settings, seated, steps) = games.new_tree(&mut runner).expect("a game").current();
        let room = play(settings, seated, &steps).game.room;
        solved += usize::from(room.players.iter().any(|player| player.score > 0));
        kicked += usize::from(!room.kicked.is_empty());
        last_round += usize::from(room.players.iter().any(|player| player.drew_in_round == 3));
        rematches += usize::from(matches!(room.stage, Stage::Finished { rematch: Some(_), .. }));
    }
    println!("solved {solved}, kicked {kicked}, third round {last_round}, rematches {rematches} of 100");
    assert!(
        solved > 50 && kicked > 1 && last_round > 10 && rematches > 5,
        "{solved} {kicked} {last_round} {rematches}"
    );
}
