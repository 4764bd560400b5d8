//! Tests of seats: the waiting room, connecting, the host, kicks, the end and the rematch.

use domain::game::*;

use super::table::{Table, name, player, word};

fn seats(count: u16) -> Settings {
    Settings { player_count: PlayerCount::new(count).expect("in bounds"), ..Settings::default() }
}

#[test]
fn players_with_one_name_are_told_apart_by_a_number() {
    let mut table = Table::new(Settings::default(), &[]);
    let join = |name: &str| Command::Join { name: PlayerName::new(name).expect("a name") };
    for (n, name) in [(1, "あんずのきのしたのこ"), (2, "あんずのきのしたのこ"), (3, "Ann"), (4, "ＡＮＮ"), (5, "ann")]
    {
        table.does(n, join(name));
    }
    let names: Vec<_> = table.game.room.players.iter().map(|player| player.name.as_str()).collect();
    assert_eq!(names, ["p0", "あんずのきのしたのこ", "あんずのきのした 2", "Ann", "ＡＮＮ 2", "ann 3"]);
}

#[test]
fn game_start_needs_two_connected_players_and_ready_guests() {
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
fn a_word_that_a_game_brings_twice_is_one_word() {
    let words = ["あり", "くも", "あり"].map(word);
    assert_eq!(Table::new(Settings::default(), &words).game.room.custom_words, 2);
}

#[test]
fn a_word_in_two_spellings_is_one_word() {
    let english = Settings { language: Language::English, ..Settings::default() };
    let words = ["Hot dog", "hot-dog", "piñata", "pinata"].map(word);
    assert_eq!(Table::new(english, &words).game.room.custom_words, 2);
}

#[test]
fn host_changes_language_unless_game_has_own_words() {
    let english = Settings { language: Language::English, ..Settings::default() };
    let mut table = Table::new(Settings::default(), &[]);
    table.seat(2);
    table.does(0, Command::Configure(english));
    table.does(0, Command::Start);
    let options = table.sees(0).turn.expect("a turn").options;
    assert!(options.iter().all(|option| option.word.suits(Language::English) && option.gloss.is_none()));
    let turn = table.turn().id;
    let choose = |text| Command::Choose { turn, choice: Choice::Word(word(text)) };
    assert_eq!(table.tries(0, choose("いぬ")), Err(Refusal::WrongLanguage(Language::English)));
    table.does(0, choose("dog"));

    let mut table = Table::new(Settings::default(), &["いぬ"].map(word));
    table.seat(1);
    assert_eq!(table.tries(0, Command::Configure(english)), Err(Refusal::OwnWords(Language::Japanese)));
}

#[test]
fn a_game_with_words_of_another_language_is_not_made() {
    let new = |language| NewGame {
        id: GameId(uuid::Uuid::from_u128(1)),
        host: player(0),
        name: name(0),
        settings: Settings { language, ..Settings::default() },
        public: true,
        words: ["dog"].map(word).into(),
        seed: 42,
    };
    assert_eq!(Game::new(new(Language::Japanese), 0).err(), Some(Refusal::WrongLanguage(Language::Japanese)));
    assert!(Game::new(new(Language::English), 0).is_ok());
}

#[test]
fn full_game_gives_away_a_seat_nobody_connected_to() {
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
fn kick_needs_votes_of_more_than_half_of_connected_others() {
    let mut table = Table::drawing(5);
    table.does(4, Command::Disconnect);
    let kick = Command::Kick { target: player(1) };
    assert_eq!(table.tries(0, kick.clone()), Err(Refusal::TooNewToVote));
    table.pass(VOTER_SEATED_MS);
    table.does(0, kick.clone());
    table.does(0, kick.clone());
    assert_eq!(table.sees(1).players[1].kick_votes, 1);
    table.does(2, kick.clone());
    assert!(table.game.room.player(player(1)).is_none(), "2 of 3");
    assert_eq!(table.told(), [(SystemText::Kicked, player(1))]);
    assert!(table.effects.contains(&Effect::Disconnect { player: player(1), reason: DisconnectReason::Kicked }));
    assert_eq!(table.tries(1, Command::Join { name: name(1) }), Err(Refusal::Kicked));
    assert_eq!(table.tries(1, Command::Connect), Err(Refusal::Kicked));
    assert_eq!(table.tries(0, Command::Kick { target: player(0) }), Err(Refusal::NoSuchPlayer));
    assert_eq!(table.tries(0, kick), Err(Refusal::NoSuchPlayer));
}

#[test]
fn the_vote_of_somebody_who_has_gone_does_not_count() {
    let mut table = Table::drawing(4);
    table.pass(VOTER_SEATED_MS);
    let kick = Command::Kick { target: player(1) };
    table.does(2, kick.clone());
    table.does(2, Command::Disconnect);
    table.does(3, kick.clone());
    assert!(table.game.room.player(player(1)).is_some(), "1 of 2");
    table.does(2, Command::Leave);
    table.does(2, Command::Join { name: name(2) });
    table.does(2, Command::Connect);
    assert_eq!(table.sees(1).players[1].kick_votes, 1, "nor when they are back on another seat");
    table.does(0, kick);
    assert!(table.game.room.player(player(1)).is_none());
}

/// A game with one player for each address. All are seated long enough to vote.
fn playing_from(addresses: &[u32]) -> Table {
    let mut table = Table::drawing(u8::try_from(addresses.len()).expect("few"));
    for (n, address) in (0..).zip(addresses) {
        table.game.room.remember_client(player(n), Some(ClientTag(*address)));
    }
    table.pass(VOTER_SEATED_MS);
    table
}

#[test]
fn kick_votes_from_one_address_count_as_one() {
    let kick = Command::Kick { target: player(0) };
    let mut table = playing_from(&[1, 2, 2]);
    table.does(1, kick.clone());
    table.does(2, kick.clone());
    assert!(table.game.room.player(player(0)).is_some(), "two puppets and their host");
    assert_eq!(table.sees(0).players[0].kick_votes, 1);

    let mut table = playing_from(&[1, 2]);
    table.does(1, kick.clone());
    assert!(table.game.room.player(player(0)).is_some(), "one of two");

    let mut table = playing_from(&[1, 1, 1]);
    table.does(1, kick.clone());
    table.does(2, kick.clone());
    assert!(table.game.room.player(player(0)).is_none(), "a class at one address votes head by head");

    let mut table = playing_from(&[1, 2, 3]);
    table.does(1, kick.clone());
    table.does(2, kick);
    assert!(table.game.room.player(player(0)).is_none(), "two people");
    assert!(table.game.room.bars_client(Some(ClientTag(1))) && !table.game.room.bars_client(None));
}

#[test]
fn kicked_address_is_barred_unless_it_is_the_hosts() {
    let mut table = playing_from(&[1, 2, 3]);
    for n in [0, 1] {
        table.does(n, Command::Kick { target: player(2) });
    }
    assert_eq!(
        (table.game.room.bars_client(Some(ClientTag(3))), table.game.room.bars_client(Some(ClientTag(2)))),
        (true, false)
    );

    let mut table = playing_from(&[1, 2, 1]);
    for n in [0, 1] {
        table.does(n, Command::Kick { target: player(2) });
    }
    assert!(table.game.room.player(player(2)).is_none() && !table.game.room.bars_client(Some(ClientTag(1))));
}

#[test]
fn room_remembers_a_bounded_number_of_kicked_players() {
    let mut table = playing_from(&[1, 2, 3]);
    for n in 10..30 {
        table.does(n, Command::Join { name: name(n) });
        table.game.room.remember_client(player(n), Some(ClientTag(n.into())));
        for voter in [0, 1, 2] {
            let _ = table.tries(voter, Command::Kick { target: player(n) });
        }
        assert!(table.game.room.player(player(n)).is_none(), "{n}");
    }
    assert_eq!((table.game.room.kicked.len(), table.game.room.kicked_from.len()), (KICKED_MAX, KICKED_MAX));
    assert!(table.game.room.bars_client(Some(ClientTag(29))));
}

#[test]
fn turn_ends_when_solvers_reach_their_maximum() {
    let mut table = Table::drawing(3);
    for n in 10..10 + u8::try_from(SOLVERS_MAX).expect("few") {
        assert_eq!(table.sees(0).turn.map(|turn| turn.phase), Some("drawing"), "{n}");
        table.does(n, Command::Join { name: name(n) });
        table.does(n, Command::Connect);
        table.says(n, "りんご");
        table.does(n, Command::Leave);
    }
    let turn = table.sees(0).turn.expect("a turn");
    assert_eq!((turn.phase, turn.solvers.len()), ("reveal", SOLVERS_MAX));
}

#[test]
fn host_role_passes_to_next_connected_player() {
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
fn game_below_two_players_finishes_after_the_reveal() {
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
fn abandoned_game_reveals_its_turn_and_finishes() {
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
fn player_who_returns_before_pause_limit_continues_the_game() {
    let mut table = Table::drawing(2);
    table.does(0, Command::Disconnect);
    table.does(1, Command::Disconnect);
    table.pass(PAUSE_MS_MAX - 1);
    table.does(1, Command::Connect);
    let turn = table.sees(1).turn.expect("a turn");
    assert_eq!((turn.phase, turn.remaining_ms), ("reveal", REVEAL_MS));
}

#[test]
fn turn_of_departed_drawer_ends_when_play_resumes() {
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
    assert_eq!((table.score(1), table.audiences()), (0, vec![Audience::KnowsAnswer(turn)]), "still who has guessed it");
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
fn rematch_is_made_by_the_first_request_only() {
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
fn only_the_host_shares_drawings_of_a_finished_game() {
    let mut table = Table::drawing(2);
    assert_eq!(table.tries(0, Command::Share(true)), Err(Refusal::NotFinished));
    table.pass(60 * 60_000);
    assert_eq!(table.tries(1, Command::Share(true)), Err(Refusal::NotHost));
    assert!(!table.game.room.is_shared());
    table.does(0, Command::Share(true));
    assert!(table.game.room.is_shared() && table.sees(1).shared);
    let next = table.game.rematch(GameId(uuid::Uuid::from_u128(7)), player(0), 3, table.now_ms).expect("a game");
    assert!(!next.room.shared, "a rematch is not shared");
    table.does(0, Command::Share(false));
    assert!(!table.game.room.is_shared());
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
