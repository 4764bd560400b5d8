//! The rules one by one; `docs/rules.md` has them for people.

use tidemark_domain::game::*;

use super::table::{START_MS, Table, name, player, talk, word};

fn seats(count: u16) -> Settings {
    Settings { player_count: PlayerCount::new(count).expect("in bounds"), ..Settings::default() }
}

fn audiences(table: &Table) -> Vec<Audience> {
    let chat = |effect: &Effect| match effect {
        Effect::Chat { audience, .. } => Some(*audience),
        _ => None,
    };
    table.effects.iter().filter_map(chat).collect()
}

fn spectator() -> Participant {
    Participant::Spectator(player(9), name(9))
}

#[test]
fn a_game_starts_when_two_are_here_and_all_but_the_host_are_ready() {
    let mut table = Table::new(Settings::default(), &[]);
    table.seat(1);
    assert_eq!(table.tries(0, Command::Start), Err(Refusal::TooFewPlayers));
    table.does(1, Command::Join { name: name(1) });
    assert_eq!(table.tries(0, Command::Start), Err(Refusal::TooFewPlayers), "a seat is not a connection");
    table.does(1, Command::Connect);
    assert_eq!(table.tries(0, Command::Start), Err(Refusal::NotReady));
    table.does(1, Command::Ready(true));
    assert_eq!(table.tries(1, Command::Start), Err(Refusal::NotHost));
    table.does(0, Command::Ready(false));
    table.does(0, Command::Start);
    assert_eq!(table.turn().drawer, player(0));
    assert_eq!(table.tries(0, Command::Start), Err(Refusal::NotWaiting));
}

#[test]
fn only_the_host_configures_and_not_below_what_is_seated() {
    let mut table = Table::new(Settings::default(), &[]);
    table.seat(3);
    assert_eq!(table.tries(1, Command::Configure(seats(4))), Err(Refusal::NotHost));
    assert_eq!(table.tries(0, Command::Configure(seats(2))), Err(Refusal::TooFewSeats(3)));
    let own = Settings { words: WordSource::Custom, ..Settings::default() };
    assert_eq!(table.tries(0, Command::Configure(own)), Err(Refusal::TooFewWords));
    table.does(0, Command::Configure(seats(3)));
    assert_eq!(table.game.room.settings, seats(3));
}

#[test]
fn a_full_game_seats_nobody_but_gives_away_a_seat_that_nobody_came_to() {
    let mut table = Table::new(seats(2), &[]);
    table.seat(1);
    table.does(1, Command::Join { name: name(1) });
    assert_eq!(table.tries(2, Command::Join { name: name(2) }), Err(Refusal::GameFull(2)));
    table.pass(SEAT_HELD_MS);
    table.does(2, Command::Join { name: name(2) });
    assert!(table.game.room.player(player(1)).is_none());
    table.does(2, Command::Connect);
    table.does(2, Command::Disconnect);
    table.pass(SEAT_HELD_MS);
    assert_eq!(table.tries(1, Command::Join { name: name(1) }), Err(Refusal::GameFull(2)), "who was here keeps it");
}

#[test]
fn joining_twice_is_joining_once() {
    let mut table = Table::drawing(3);
    let before = table.game.clone();
    table.does(1, Command::Join { name: name(7) });
    assert_eq!(table.game, before);
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
fn who_is_away_is_passed_over_and_draws_when_they_are_back_in_the_round() {
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
fn a_word_is_chosen_for_a_drawer_who_does_not_and_a_missing_one_is_skipped() {
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
fn points_fall_with_time_and_the_drawer_earns_by_how_many_guess() {
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
        award(1, 100, Reason::CorrectAnswer),
        award(2, 70, Reason::CorrectAnswer),
        award(0, 66, Reason::DrawerPenalty),
    ];
    assert_eq!(awards, expected);
}

#[test]
fn a_turn_ends_early_when_all_who_are_here_have_guessed() {
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
fn a_guess_is_for_everybody_a_near_one_for_the_guesser_and_a_right_one_says_nothing() {
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
    assert_eq!(audiences(&table), [Audience::InTheKnow(turn)]);
    table.says(1, "hurry");
    assert_eq!(audiences(&table), [Audience::Everyone]);
    table.chooses(0, "りんご");
    table.says(1, "りんご");
    for knowing in [0, 1] {
        table.says(knowing, "easy");
        assert_eq!(audiences(&table), [Audience::InTheKnow(turn)]);
    }
    let may_read = |table: &Table, n: u8| table.game.room.may_read(Some(player(n)), Some(turn));
    assert!(may_read(&table, 0) && may_read(&table, 1) && !may_read(&table, 2));
    assert!(!table.game.room.may_read(None, Some(turn)) && table.game.room.may_read(None, None));
    table.says(2, "りんご");
    assert!(may_read(&table, 2), "from the reveal on it is for everybody");
    table.says(0, "well done");
    assert_eq!(audiences(&table), [Audience::Everyone]);
}

#[test]
fn a_spectator_who_sees_what_it_is_tells_only_those_who_know() {
    let mut table = Table::drawing(3);
    let turn = table.turn().id;
    let say = Command::Say { id: table.line_id(), text: talk("りんご") };
    table.asks(&spectator(), say.clone()).expect("allowed");
    assert_eq!(audiences(&table), [Audience::Asker, Audience::InTheKnow(turn)]);
    assert!(table.turn().solvers.is_empty(), "and earns nothing");
    assert_eq!(table.asks(&spectator(), Command::Skip { turn }), Err(Refusal::NotSeated));
    table.says(1, "りんご");
    table.says(2, "りんご");
    table.asks(&spectator(), say).expect("allowed");
    assert_eq!(audiences(&table), [Audience::Everyone]);
}

#[test]
fn a_guess_after_the_deadline_is_talk_even_when_no_tick_has_come() {
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
fn hints_open_letters_as_time_passes_and_never_more_than_half() {
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
fn an_early_tick_is_told_to_wait_and_a_late_one_is_shown_the_room() {
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
fn the_drawer_skips_at_once_and_others_when_the_drawer_is_away() {
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
fn more_than_half_of_the_others_who_are_here_vote_somebody_out() {
    let mut table = Table::drawing(5);
    table.does(4, Command::Disconnect);
    let kick = Command::Kick { target: player(1) };
    table.does(0, kick.clone());
    table.does(0, kick.clone());
    assert_eq!(table.sees(1).players[1].kick_votes, 1);
    table.does(2, kick.clone());
    assert!(table.game.room.player(player(1)).is_none(), "2 of 3");
    assert_eq!(table.told(), [(SystemText::Kicked, player(1))]);
    assert!(table.effects.contains(&Effect::Farewell { player: player(1), why: Farewell::Kicked }));
    assert_eq!(table.tries(1, Command::Join { name: name(1) }), Err(Refusal::Kicked));
    assert_eq!(table.tries(1, Command::Connect), Err(Refusal::Kicked));
    assert_eq!(table.tries(0, Command::Kick { target: player(0) }), Err(Refusal::NoSuchPlayer));
    assert_eq!(table.tries(0, kick), Err(Refusal::NoSuchPlayer));
}

#[test]
fn the_vote_of_somebody_who_has_gone_does_not_count() {
    let mut table = Table::drawing(4);
    let kick = Command::Kick { target: player(1) };
    table.does(2, kick.clone());
    table.does(2, Command::Disconnect);
    table.does(3, kick.clone());
    assert!(table.game.room.player(player(1)).is_some(), "1 of 2");
    table.does(2, Command::Leave);
    assert_eq!(table.sees(1).players[1].kick_votes, 1);
    table.does(0, kick);
    assert!(table.game.room.player(player(1)).is_none());
}

#[test]
fn when_the_host_goes_the_next_one_who_is_here_is_host() {
    let mut table = Table::new(Settings::default(), &[]);
    table.seat(3);
    table.does(1, Command::Disconnect);
    table.does(0, Command::Leave);
    assert_eq!(table.game.room.host, player(2));
    assert_eq!(table.told(), [(SystemText::Left, player(0)), (SystemText::Host, player(2))]);

    table.does(1, Command::Connect);
    table.does(2, Command::Disconnect);
    table.pass(HOST_AWAY_MS - 1);
    assert_eq!(table.tries(1, Command::Configure(seats(5))), Err(Refusal::NotHost));
    table.pass(1);
    table.does(1, Command::Configure(seats(5)));
    assert_eq!(table.game.room.host, player(1));
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
fn a_game_with_fewer_than_two_is_over_once_what_the_turn_brought_was_shown() {
    let mut table = Table::drawing(3);
    table.says(1, "りんご");
    table.does(0, Command::Leave);
    table.does(2, Command::Leave);
    let turn = table.sees(1).turn.expect("a turn");
    assert_eq!((turn.phase, turn.awards.len()), ("reveal", 1));
    table.pass(REVEAL_MS);
    table.does(1, Command::Tick { version: 0 });
    assert_eq!(table.sees(1).status, "finished");

    let mut table = Table::playing(2);
    table.does(1, Command::Leave);
    assert_eq!(table.sees(0).status, "finished", "nobody has drawn");
    let mut table = Table::new(Settings::default(), &[]);
    table.does(0, Command::Leave);
    assert_eq!(table.sees(0).status, "finished", "a waiting game without anybody");
}

#[test]
fn the_clock_stands_while_everybody_is_away() {
    let mut table = Table::drawing(2);
    table.pass(30_000);
    table.does(0, Command::Disconnect);
    table.does(1, Command::Disconnect);
    table.pass(PAUSE_MS_MAX - REVEAL_MS - 1);
    let view = table.sees(1);
    assert!(view.paused);
    assert_eq!(view.turn.expect("a turn").remaining_ms, 50_000);
    table.does(1, Command::Connect);
    let view = table.sees(1);
    assert!(!view.paused);
    assert_eq!(view.turn.map(|turn| (turn.remaining_ms, turn.next_ms)), Some((50_000, 10_000)));
    table.says(1, "りんご");
    assert_eq!(table.score(1), 20 + 50 + 20);
}

#[test]
fn a_game_that_nobody_comes_back_to_is_finished_as_it_stands() {
    let mut table = Table::drawing(3);
    table.says(1, "りんご");
    for n in 0..3 {
        table.does(n, Command::Disconnect);
    }
    let paused_ms = table.now_ms;
    table.pass_steps(1);
    let turn = table.sees(1).turn.expect("a turn");
    assert_eq!((turn.phase, turn.awards.len()), ("reveal", 1), "what the turn brought comes first");
    table.pass_steps(1);
    assert_eq!(table.now_ms, paused_ms + PAUSE_MS_MAX);
    table.does(1, Command::Connect);
    let view = table.sees(1);
    assert_eq!((view.status, view.paused), ("finished", false));
    assert_eq!(view.standings[0].player, player(1));
}

#[test]
fn who_comes_back_in_the_last_seconds_still_has_a_game() {
    let mut table = Table::drawing(2);
    table.does(0, Command::Disconnect);
    table.does(1, Command::Disconnect);
    table.pass(PAUSE_MS_MAX - 1);
    table.does(1, Command::Connect);
    let turn = table.sees(1).turn.expect("a turn");
    assert_eq!((turn.phase, turn.remaining_ms), ("reveal", REVEAL_MS));
}

#[test]
fn a_drawer_who_leaves_last_is_passed_over_when_somebody_comes_back() {
    let mut table = Table::drawing(3);
    table.does(1, Command::Disconnect);
    table.does(2, Command::Disconnect);
    table.does(0, Command::Leave);
    assert!(table.sees(1).paused);
    table.pass(60_000);
    table.does(1, Command::Connect);
    assert_eq!(table.sees(1).turn.map(|turn| turn.phase), Some("reveal"));
}

#[test]
fn a_seat_given_up_is_given_up_with_its_points() {
    let mut table = Table::drawing(3);
    table.says(1, "りんご");
    table.does(1, Command::Leave);
    table.does(1, Command::Join { name: name(1) });
    table.does(1, Command::Connect);
    assert_eq!(table.score(1), 0);
    let turn = table.turn().id;
    table.says(1, "りんご");
    assert_eq!((table.score(1), audiences(&table)), (0, vec![Audience::InTheKnow(turn)]), "still who has guessed it");
}

#[test]
fn standings_share_ranks() {
    let mut table = Table::drawing(5);
    for n in [2, 3] {
        table.game.room.players[n].score = 70;
    }
    table.game.room.players[4].score = 30;
    let ranks = standings(&table.game.room).into_iter().map(|standing| (standing.rank, standing.player));
    let expected = [(1, 2), (1, 3), (3, 4), (4, 0), (4, 1)];
    assert!(ranks.eq(expected.map(|(rank, n)| (rank, player(n)))));
}

#[test]
fn the_first_to_ask_makes_the_rematch_and_the_others_are_told_which() {
    let mut table = Table::drawing(2);
    let rematch = |n: u128| Command::Rematch { game: GameId(uuid::Uuid::from_u128(n)) };
    assert_eq!(table.tries(0, rematch(7)), Err(Refusal::NotFinished));
    table.pass(60 * 60_000);
    table.does(1, rematch(7));
    let game = GameId(uuid::Uuid::from_u128(7));
    assert_eq!(table.effects.last(), Some(&Effect::Rematch { game, new: true }));
    table.does(0, rematch(8));
    assert_eq!(table.effects, [Effect::Rematch { game, new: false }]);
    assert_eq!(table.sees(0).rematch, Some(game));

    let next = table.game.rematch(game, player(1), 3, table.now_ms).expect("a game");
    assert_eq!((next.room.host, next.room.settings), (player(1), table.game.room.settings));
    assert_eq!(next.room.players.len(), 1);
}

#[test]
fn the_drawer_draws_while_time_runs_and_saves_until_the_reveal_is_over() {
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
    assert_eq!(assemble(&chosen.room, &table.game.secret), Err(Torn));
    assert_eq!(assemble(&table.game.room, &chosen.secret), Err(Torn));
    assert_eq!(assemble(&table.game.room, &waiting), Err(Torn));
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
}

#[test]
fn system_lines_have_ids_of_their_own() {
    let mut table = Table::new(Settings::default(), &[]);
    let mut ids = vec![];
    for n in 0..4 {
        table.does(n, Command::Join { name: name(n) });
        table.does(n, Command::Connect);
        ids.extend(table.effects.iter().filter_map(|effect| match effect {
            Effect::Chat { line, .. } => Some(line.id),
            _ => None,
        }));
        assert_eq!(table.told(), [(SystemText::Joined, player(n))]);
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (4, 4));
    table.does(1, Command::Disconnect);
    table.pass(1);
    table.does(1, Command::Connect);
    assert_eq!(table.told(), [], "coming back is no news");
}
