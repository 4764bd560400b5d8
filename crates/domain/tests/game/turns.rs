//! Tests of turns: words, guesses, chat, points, hints, and the passing of time.

use domain::game::*;

use super::table::{START_MS, Table, name, player, talk, word};

fn spectator() -> Participant {
    Participant::Spectator(player(9), name(9))
}

#[test]
fn everybody_draws_once_a_round_and_late_joiners_last() {
    let mut table = Table::playing(2);
    table.does(2, Command::Join { name: name(2) });
    table.does(2, Command::Connect);
    let mut drawers = vec![];
    while let Some(turn) = table.game.room.turn() {
        if drawers.last().is_none_or(|(id, _)| *id != turn.id.to_string()) {
            drawers.push((turn.id.to_string(), turn.drawer));
        }
        table.pass_steps(1);
    }
    let expected = ["01.01", "01.02", "01.03", "02.01", "02.02", "02.03", "03.01", "03.02", "03.03"];
    assert_eq!(drawers, expected.map(|id| (id.to_owned(), player(id.as_bytes()[4] - b'1'))));
}

#[test]
fn round_ends_while_drawers_leave_and_rejoin() {
    let mut table = Table::playing(3);
    let mut turns = 0;
    while table.turn().id.round() == 1 {
        turns += 1;
        assert!(turns <= TURNS_PER_ROUND_MAX);
        let drawer = (0..3).find(|n| player(*n) == table.turn().drawer).expect("one of three");
        table.does(drawer, Command::Leave);
        table.does(drawer, Command::Join { name: name(drawer) });
        table.does(drawer, Command::Connect);
    }
    assert_eq!(turns, TURNS_PER_ROUND_MAX);
}

#[test]
fn away_player_is_passed_over_and_draws_after_returning() {
    let mut table = Table::playing(3);
    table.does(1, Command::Disconnect);
    table.does(0, Command::Skip { turn: TurnId::new(1, 1).expect("a turn") });
    assert_eq!(table.turn().drawer, player(2));
    table.does(1, Command::Connect);
    let turn = table.turn().id;
    table.does(2, Command::Skip { turn });
    assert_eq!((table.turn().drawer, table.turn().id.to_string()), (player(1), "01.03".to_owned()));
}

#[test]
fn idle_drawer_gets_a_word_and_absent_drawer_is_skipped() {
    let mut table = Table::playing(3);
    let options = table.sees(0).turn.expect("a turn").options;
    table.pass(CHOOSING_MS);
    table.does(1, Command::Tick { version: 0 });
    let answer = table.sees(0).turn.and_then(|turn| turn.answer).expect("an answer");
    assert!(options.contains(&answer));

    let mut table = Table::playing(3);
    table.does(0, Command::Disconnect);
    table.pass(CHOOSING_MS);
    table.does(1, Command::Tick { version: 0 });
    assert_eq!(table.turn().drawer, player(1));
    assert_eq!(table.told(), [(SystemText::Skipped, player(0))]);
}

#[test]
fn a_turn_ends_when_its_drawer_went_away_before_drawing() {
    let mut table = Table::drawing(3);
    table.does(0, Command::Disconnect);
    table.does(0, Command::DrewNothing);
    table.pass(UNDRAWN_AWAY_MS - 1);
    table.does(1, Command::Tick { version: 0 });
    assert!(table.turn().phase.is_secret());
    table.pass(1);
    table.does(1, Command::Tick { version: 0 });
    assert_eq!(table.told(), [(SystemText::Skipped, player(0))]);
    assert!(!table.turn().phase.is_secret());

    for back in [Command::Connect, Command::Leave] {
        let mut table = Table::drawing(3);
        table.does(0, Command::DrewNothing);
        assert_eq!(table.turn().abandoned_at_ms, None, "a connected drawer may take their time");
        table.does(0, Command::Disconnect);
        table.does(0, Command::DrewNothing);
        table.does(0, back);
        assert_eq!(table.turn().abandoned_at_ms, None);
    }
}

#[test]
fn the_drawer_alone_chooses_and_once() {
    let mut table = Table::playing(2);
    let turn = table.turn().id;
    let choose = |choice| Command::Choose { turn, choice };
    assert_eq!(table.tries(1, choose(Choice::Option(0))), Err(Refusal::NotDrawer));
    assert_eq!(table.tries(0, choose(Choice::Option(3))), Err(Refusal::NoSuchOption));
    let old = TurnId::new(9, 9).expect("a turn");
    assert_eq!(table.tries(0, Command::Choose { turn: old, choice: Choice::Option(0) }), Err(Refusal::WrongTurn));
    let option = table.sees(0).turn.expect("a turn").options[2].clone();
    table.does(0, choose(Choice::Option(2)));
    assert_eq!(table.sees(0).turn.and_then(|turn| turn.answer), Some(option));
    assert_eq!(table.tries(0, choose(Choice::Word(word("いぬ")))), Err(Refusal::WordChosen));
}

#[test]
fn points_fall_with_time_and_drawer_earns_by_solvers() {
    let mut table = Table::drawing(4);
    table.pass(20_000);
    table.says(1, "リンゴ");
    table.pass(20_000);
    table.says(2, "りんご");
    assert_eq!((table.score(1), table.score(2)), (80 + 20, 60 + 10));
    assert_eq!(table.score(0), 0, "the drawer's share is known in the end");
    table.pass(40_000);
    table.does(3, Command::Tick { version: 0 });
    assert_eq!(table.score(0), 66);
    let awards = table.sees(3).turn.expect("a turn").awards;
    let award = |n, points, reason| Award { player: player(n), points, reason };
    let expected = [
        award(1, 100, AwardReason::CorrectAnswer),
        award(2, 70, AwardReason::CorrectAnswer),
        award(0, 66, AwardReason::Drawing),
    ];
    assert_eq!(awards, expected);
}

#[test]
fn turn_ends_when_all_connected_players_guessed() {
    let mut table = Table::drawing(4);
    table.does(3, Command::Disconnect);
    table.says(1, "りんご");
    assert!(table.turn().phase.is_secret());
    table.says(2, "りんご");
    assert!(!table.turn().phase.is_secret());
    assert_eq!(table.score(0), 100, "who is away does not count");

    let mut table = Table::drawing(3);
    table.says(1, "りんご");
    table.does(2, Command::Disconnect);
    assert!(!table.turn().phase.is_secret(), "the last one who guessed is gone");
}

#[test]
fn wrong_guess_is_public_and_correct_guess_is_hidden() {
    let mut table = Table::drawing(3);
    table.says(1, "みかん");
    let [Effect::Chat { line, audience: Audience::Everyone }] = &table.effects[..] else { panic!("a line") };
    assert_eq!(line.kind, LineKind::Guess(talk("みかん")));
    table.says(1, "りんこ");
    assert!(matches!(&table.effects[..], [Effect::Near { .. }]));
    table.says(1, "りんご");
    let [Effect::Chat { line, audience: Audience::Everyone }] = &table.effects[..] else { panic!("a line") };
    assert_eq!(line.kind, LineKind::Correct);
    let before = table.game.clone();
    table.says(1, "りんご");
    assert_eq!(table.game, before, "nobody guesses twice");
}

#[test]
fn those_who_know_talk_among_themselves() {
    let mut table = Table::playing(3);
    let turn = table.turn().id;
    table.says(0, "what shall I draw");
    assert_eq!(table.audiences(), [Audience::KnowsAnswer(turn)]);
    table.says(1, "hurry");
    assert_eq!(table.audiences(), [Audience::Everyone]);
    table.chooses(0, "りんご");
    table.says(1, "りんご");
    for knowing in [0, 1] {
        table.says(knowing, "easy");
        assert_eq!(table.audiences(), [Audience::KnowsAnswer(turn)]);
    }
    let may_read = |table: &Table, n: u8| table.game.room.may_read(Some(player(n)), Some(turn));
    assert!(may_read(&table, 0) && may_read(&table, 1) && !may_read(&table, 2));
    assert!(!table.game.room.may_read(None, Some(turn)) && table.game.room.may_read(None, None));
    table.says(2, "りんご");
    assert!(may_read(&table, 2), "from the reveal on it is for everybody");
    table.says(0, "well done");
    assert_eq!(table.audiences(), [Audience::Everyone]);
}

#[test]
fn spectator_saying_the_answer_reaches_only_those_who_know() {
    let mut table = Table::drawing(3);
    let turn = table.turn().id;
    let say = Command::Say { id: table.line_id(), text: talk("りんご") };
    table.asks(&spectator(), say.clone()).expect("allowed");
    assert_eq!(table.audiences(), [Audience::Asker, Audience::KnowsAnswer(turn)]);
    assert!(table.turn().solvers.is_empty(), "and earns nothing");
    assert_eq!(table.asks(&spectator(), Command::Skip { turn }), Err(Refusal::NotSeated));
    table.says(1, "りんご");
    table.says(2, "りんご");
    table.asks(&spectator(), say).expect("allowed");
    assert_eq!(table.audiences(), [Audience::Everyone]);
}

#[test]
fn spectator_with_a_players_name_speaks_under_another() {
    let mut table = Table::drawing(2);
    let impostor = Participant::Spectator(player(9), name(1));
    let id = table.line_id();
    table.asks(&impostor, Command::Say { id, text: talk("りんご") }).expect("allowed");
    let names = table.effects.iter().filter_map(|effect| match effect {
        Effect::Chat { line, .. } => Some(line.name.clone()),
        _ => None,
    });
    assert!(
        names.clone().count() > 0 && names.clone().all(|spoken| spoken != name(1)),
        "{:?}",
        names.collect::<Vec<_>>()
    );
}

#[test]
fn guess_after_deadline_earns_nothing_even_without_a_tick() {
    let mut table = Table::drawing(3);
    table.pass(80_000);
    table.says(1, "りんご");
    assert_eq!(table.score(1), 0);
    assert!(table.turn().solvers.is_empty() && !table.turn().phase.is_secret());

    let mut table = Table::drawing(3);
    table.pass(79_999);
    table.says(1, "りんご");
    assert_eq!(table.score(1), 20 + 20);
}

#[test]
fn hints_open_letters_over_time_up_to_half() {
    let mut table = Table::playing(2);
    table.chooses(0, "ちゅーりっぷ");
    let closed =
        |table: &Table| table.sees(1).turn.and_then(|turn| turn.mask).expect("a mask").matches(CLOSED_LETTER).count();
    assert_eq!((closed(&table), table.sees(1).turn.expect("a turn").next_ms), (6, 20_000));
    for (left, next_ms) in [(5, 20_000), (4, 20_000), (3, 20_000)] {
        table.pass(20_000);
        table.does(1, Command::Tick { version: 0 });
        assert_eq!((closed(&table), table.sees(1).turn.expect("a turn").next_ms), (left, next_ms));
    }

    let mut table = Table::new(Settings { hints: false, ..Settings::default() }, &[]);
    table.seat(2);
    table.does(0, Command::Start);
    table.chooses(0, "ちゅーりっぷ");
    assert_eq!(table.sees(1).turn.expect("a turn").next_ms, 80_000);
}

#[test]
fn early_tick_waits_and_outdated_tick_gets_the_room() {
    let mut table = Table::drawing(2);
    let version = table.game.room.version;
    table.pass(5_000);
    table.does(1, Command::Tick { version });
    assert_eq!(table.effects, [Effect::Wait { version, next_ms: Some(40_000 - 5_000) }]);
    table.does(1, Command::Tick { version: version - 1 });
    assert_eq!(table.effects, [Effect::Show]);
    table.pass(35_000);
    table.does(1, Command::Tick { version });
    assert_eq!((table.game.room.version, &table.effects[..]), (version + 1, &[][..]));
}

#[test]
fn drawer_skips_at_once_others_only_when_drawer_is_away() {
    let mut table = Table::drawing(3);
    let skip = Command::Skip { turn: table.turn().id };
    assert_eq!(table.tries(1, skip.clone()), Err(Refusal::DrawerIsHere));
    table.says(1, "りんご");
    table.does(0, Command::Disconnect);
    table.pass(DRAWER_AWAY_MS - 1);
    assert_eq!(table.tries(1, skip.clone()), Err(Refusal::DrawerIsHere));
    table.pass(1);
    table.does(2, skip.clone());
    assert_eq!(table.told(), [(SystemText::Skipped, player(0))]);
    assert_eq!(table.score(0), 0, "a skipped turn gives its drawer nothing");
    assert!(table.score(1) > 0, "and takes nothing from who guessed");
    assert_eq!(table.tries(2, skip), Err(Refusal::TurnOver));
}

#[test]
fn a_turn_whose_drawer_leaves_is_over() {
    let mut table = Table::drawing(3);
    table.does(0, Command::Leave);
    assert!(!table.turn().phase.is_secret());
    let mut table = Table::playing(3);
    table.does(0, Command::Leave);
    assert_eq!(table.turn().drawer, player(1));
}

#[test]
fn drawer_draws_until_deadline_and_saves_until_reveal_ends() {
    let mut table = Table::playing(3);
    let turn = table.turn().id;
    let start_ms = table.now_ms;
    let may = |table: &Table, n: u8, after_ms: u64| {
        let (room, now_ms) = (&table.game.room, start_ms + after_ms);
        (room.may_draw(player(n), turn, now_ms), room.may_save(player(n), turn, now_ms))
    };
    assert_eq!(may(&table, 0, 0), (false, false));
    assert!(!table.game.room.may_see_drawing(turn));
    table.chooses(0, "りんご");
    assert_eq!(may(&table, 0, 79_999), (true, true));
    assert_eq!(may(&table, 0, 80_000), (false, true));
    assert_eq!(may(&table, 0, 88_000), (false, false));
    assert_eq!(may(&table, 1, 0), (false, false));
    assert!(table.game.room.may_see_drawing(turn) && !table.game.room.may_replay(turn));
    table.pass(80_000);
    table.does(1, Command::Tick { version: 0 });
    assert_eq!(may(&table, 0, 87_999), (false, true));
    assert_eq!(may(&table, 0, 88_000), (false, false));
    assert!(table.game.room.may_replay(turn));
}

#[test]
fn parts_of_different_moments_are_recognised() {
    let table = Table::playing(2);
    let chosen = Table::drawing(2).game;
    let waiting = Secret::new(42);
    let assemble =
        |room: &Room, secret: &Secret| Game::assemble(room.clone(), secret.clone(), chosen.words.clone()).map(|_| ());
    assert_eq!(assemble(&table.game.room, &table.game.secret), Ok(()));
    assert_eq!(assemble(&chosen.room, &table.game.secret), Err(TornRead));
    assert_eq!(assemble(&table.game.room, &chosen.secret), Err(TornRead));
    assert_eq!(assemble(&table.game.room, &waiting), Err(TornRead));
}

#[test]
fn a_clock_that_is_behind_takes_nothing_back() {
    let mut table = Table::drawing(2);
    table.pass(85_000);
    table.does(1, Command::Tick { version: 0 });
    let before = table.game.room.clone();
    table.now_ms = START_MS;
    table.does(1, Command::Disconnect);
    assert_eq!(table.game.room.updated_at_ms, before.updated_at_ms);
    assert_eq!(table.turn().phase, before.turn().expect("a turn").phase);

    let mut table = Table::playing(2);
    let started_ms = table.now_ms;
    table.now_ms -= 60_000;
    table.chooses(0, "りんご");
    assert_eq!(table.turn().deadline_ms, started_ms + 80_000, "nobody loses a second by it");
}
