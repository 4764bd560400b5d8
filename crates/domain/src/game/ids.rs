//! The ids of games, players, chat lines and turns.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Why a text is not a valid id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a UUID.
    #[error("is no {0}'s id: check that it was copied whole")]
    NotAUuid(&'static str),
    /// Not `<round>.<turn>`.
    #[error("must be a round and a turn of two digits each, as 02.01")]
    NotATurn,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub Uuid);

        impl FromStr for $name {
            type Err = IdError;

            /// Accepts every spelling of a UUID. `Display` writes only one, so an id has one key in
            /// the table.
            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::try_parse(text.trim()).map(Self).map_err(|_| IdError::NotAUuid($what))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

uuid_id! {
    /// A game.
    GameId, "game"
}
uuid_id! {
    /// A player or a spectator; a person has the same id in every game.
    PlayerId, "player"
}
uuid_id! {
    /// A chat line.
    LineId, "line"
}

/// A turn of a game: `02.01` is the first turn of the second round. Values and texts both sort in
/// the order of play.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId {
    round: u8,
    number: u8,
}

impl TurnId {
    /// The turn with this number in this round; both count from 1 and have at most two digits.
    pub fn new(round: u8, number: u8) -> Result<Self, IdError> {
        let fits = (1..=99).contains(&round) && (1..=99).contains(&number);
        fits.then_some(Self { round, number }).ok_or(IdError::NotATurn)
    }

    /// The round, from 1.
    pub fn round(self) -> u8 {
        self.round
    }

    /// The number within the round, from 1.
    pub fn number(self) -> u8 {
        self.number
    }

    pub(super) const FIRST: Self = Self { round: 1, number: 1 };

    pub(super) fn next_in_round(self) -> Self {
        Self { number: self.number + 1, ..self }
    }

    pub(super) fn next_round(self) -> Self {
        Self { round: self.round + 1, number: 1 }
    }
}

impl FromStr for TurnId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let digits = |part: &str| match part.as_bytes() {
            [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => Some((tens - b'0') * 10 + (ones - b'0')),
            _ => None,
        };
        let (round, number) = text.split_once('.').ok_or(IdError::NotATurn)?;
        let (round, number) = digits(round).zip(digits(number)).ok_or(IdError::NotATurn)?;
        Self::new(round, number)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}.{:02}", self.round, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn game_id_parses_any_spelling_and_prints_one() {
        let text = "0199c0de-0000-7000-8000-00000000000a";
        for other in [text, &text.to_uppercase(), &text.replace('-', ""), &format!("{{{text}}}"), &format!(" {text}\n")]
        {
            assert_eq!(other.parse::<GameId>().map(|id| id.to_string()).as_deref(), Ok(text), "{other:?}");
        }
        for other in ["", "x", &text[1..], &format!("{text}0")] {
            assert_eq!(other.parse::<GameId>(), Err(IdError::NotAUuid("game")), "{other:?}");
        }
        assert_eq!(
            "x".parse::<PlayerId>().map_err(|why| why.to_string()),
            Err("is no player's id: check that it was copied whole".to_owned())
        );
    }

    #[test]
    fn turn_id_is_round_and_number_of_two_digits_each() {
        let turn = TurnId::new(2, 1).expect("a turn");
        assert_eq!(turn.to_string(), "02.01");
        assert_eq!("02.01".parse(), Ok(turn));
        for text in ["2.1", "02.1", "00.01", "01.00", "02-01", "+2.01", "02.01.03", "100.01", "０２.01", ""] {
            assert_eq!(text.parse::<TurnId>(), Err(IdError::NotATurn), "{text:?}");
        }
    }
}
