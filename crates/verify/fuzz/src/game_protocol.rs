//! The game's messages, applied to the game's rules: a game with three players and one spectator.
//!
//! Each line is a message after two characters: the sender, and the time since the previous
//! message. `$turn` and `$answer` are replaced with the current turn id and answer, which a fuzzer
//! would not guess.

#![no_main]

use std::sync::Arc;

use domain::game::drawing::{Batch, check_chunk};
use domain::game::{
    Choice, Command, CommandOutcome, Game, GameId, NewGame, Participant, Phase, PlayerId, PlayerName, Settings,
};
use game_room::protocol::{ClientMessage, MESSAGE_BYTES_MAX, decode};
use libfuzzer_sys::fuzz_target;
use uuid::Uuid;

const START_MS: u64 = 1_760_000_000_000;

fn player(n: u8) -> PlayerId {
    PlayerId(Uuid::from_u128(0x0199_c0de_0000_7000_8000_0000_0000_0000 + u128::from(n)))
}

fn name(n: u8) -> PlayerName {
    PlayerName::new(&format!("p{n}")).expect("a name")
}

fn participant(n: u8) -> Participant {
    if n < 3 { Participant::Player(player(n)) } else { Participant::Spectator(player(n), name(n)) }
}

fn table() -> Game {
    let new = NewGame {
        id: GameId(Uuid::from_u128(1)),
        host: player(0),
        name: name(0),
        settings: Settings::default(),
        public: true,
        words: Arc::from([]),
        seed: 42,
    };
    let mut game = Game::new(new, START_MS).expect("a game");
    for n in 0..3 {
        for command in [Command::Join { name: name(n) }, Command::Connect, Command::Ready(true)] {
            game = game.apply(&participant(n), command, START_MS).game;
        }
    }
    game
}

fn of_the_moment(game: &Game, text: &str) -> String {
    let turn = game.room.turn().map_or_else(String::new, |turn| turn.id.to_string());
    let answer = game.secret.turn.as_ref().and_then(|turn| turn.answer.as_ref());
    let answer = answer.map_or("", |answer| answer.word.as_str());
    text.replace("$turn", &turn).replace("$answer", answer)
}

/// Checks that only players who know the answer are shown it.
fn keeps_its_secret(game: &Game, now_ms: u64) {
    let Some(turn) = game.room.turn().filter(|turn| matches!(turn.phase, Phase::Drawing { .. })) else { return };
    for n in 0..4 {
        let seen = game.view(Some(player(n)), now_ms).turn.expect("a turn is shown");
        let knows = turn.drawer == player(n) || turn.solvers.iter().any(|solver| solver.player == player(n));
        assert_eq!(seen.answer.is_some(), knows, "player {n} in {turn:?}");
        assert!(seen.options.is_empty() || turn.drawer == player(n));
    }
}

fn apply(game: Game, who: &Participant, command: Command, now_ms: u64) -> Game {
    let CommandOutcome { game: after, refusal, .. } = game.apply(who, command, now_ms);
    if refusal.is_some() {
        assert_eq!(after, game.advance_to(now_ms).game, "a refused command changes nothing");
    }
    assert!(after.room.version >= game.room.version);
    assert_eq!(after.room.version == game.room.version, after.room == game.room);
    assert!(after.room.next_at_ms().is_none_or(|next_ms| next_ms > now_ms), "no deadline is in the past");
    let parts = (after.room.clone(), after.secret.clone(), after.words.clone());
    assert!(Game::assemble(parts.0, parts.1, parts.2).is_ok(), "room and secret belong together");
    keeps_its_secret(&after, now_ms);
    after
}

fuzz_target!(|lines: &str| {
    let mut game = table();
    let mut now_ms = START_MS;
    for line in lines.lines().take(64) {
        let mut letters = line.chars();
        let (Some(who), Some(pause)) = (letters.next(), letters.next()) else { continue };
        let who = participant(u8::try_from(who.to_digit(4).unwrap_or(3)).expect("below 4"));
        // `a` means at once; each following letter doubles the time, up to half an hour.
        now_ms += 1 << u32::from(pause).saturating_sub('a'.into()).min(21);
        let text = of_the_moment(&game, letters.as_str());
        let (message, echo) = match decode(&text) {
            Ok(read) => read,
            Err(refused) => {
                assert!((400..500).contains(&refused.problem.status()), "{:?}", refused.problem);
                continue;
            }
        };
        assert!(text.len() <= MESSAGE_BYTES_MAX && echo.action.is_some());
        assert_eq!(decode(&text), Ok((message.clone(), echo)), "parsing a message is deterministic");
        match message {
            ClientMessage::Command(command) => {
                if let Command::Choose { choice: Choice::Word(word), .. } = &command {
                    assert_eq!(domain::game::Word::read(word.as_str()).as_ref(), Ok(word));
                }
                game = apply(game, &who, command, now_ms);
            }
            ClientMessage::Draw { batch, .. } => {
                assert_eq!(Batch::new(batch.seq(), batch.ops().to_vec()).as_ref(), Ok(&batch));
            }
            ClientMessage::Save { chunk, batches, .. } => assert_eq!(check_chunk(chunk, &batches), Ok(())),
            ClientMessage::Rematch => {
                let command = Command::Rematch { game: GameId(Uuid::from_u128(2)) };
                game = apply(game, &who, command, now_ms);
            }
            ClientMessage::Hello => game = apply(game, &who, Command::Connect, now_ms),
            ClientMessage::Ping | ClientMessage::CatchUp { .. } | ClientMessage::React { .. } => {}
        }
    }
});
