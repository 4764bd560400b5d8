//! The settings of a game.

use super::Language;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within<const MIN: u16, const MAX: u16>(u16);

/// A number is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {min} to {max}")]
pub struct OutOfBounds {
    /// The smallest allowed number.
    pub min: u16,
    /// The largest allowed number.
    pub max: u16,
}

impl<const MIN: u16, const MAX: u16> Within<MIN, MAX> {
    /// The largest allowed number.
    pub const MOST: u16 = MAX;

    /// Checks the bounds.
    pub fn new(number: u16) -> Result<Self, OutOfBounds> {
        (MIN..=MAX).contains(&number).then_some(Self(number)).ok_or(OutOfBounds { min: MIN, max: MAX })
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0
    }

    const fn literal(number: u16) -> Self {
        assert!(MIN <= number && number <= MAX);
        Self(number)
    }
}

/// The time for one drawing, in seconds.
pub type TimeLimit = Within<30, 300>;
/// The number of rounds of a game.
pub type RoundCount = Within<1, 10>;
/// The number of seats of a game.
pub type PlayerCount = Within<2, 10>;

/// The source of the word options of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordSource {
    /// The built-in list.
    BuiltIn,
    /// The game's own words.
    Custom,
    /// One of the game's own words and two of the built-in list.
    Both,
}

/// How a right guess and a drawing are rewarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scoring {
    /// A guess is worth more the sooner it comes.
    Speed,
    /// Each right guess is worth the same.
    Equal,
    /// Nobody gets points.
    None,
}

impl Scoring {
    /// All of them, with their names in the protocol, the API and the table.
    pub const NAMES: [(Self, &str); 3] = [(Self::Speed, "speed"), (Self::Equal, "equal"), (Self::None, "none")];

    /// The scoring with this name.
    pub fn with_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(scoring, _)| *scoring)
    }

    /// Its name; `None` for the scoring that needs none because it is the default.
    pub fn other_than_default(self) -> Option<&'static str> {
        Self::NAMES[1..].iter().find(|(scoring, _)| *scoring == self).map(|(_, name)| *name)
    }
}

/// The settings of a game. Source: the original design, except hints and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The time for each drawing.
    pub time_limit: TimeLimit,
    /// The number of rounds.
    pub round_count: RoundCount,
    /// The number of seats; spectators need none, and there are at most [`super::SPECTATORS_MAX`].
    pub player_count: PlayerCount,
    /// Whether letters of the answer open as time passes.
    pub hints: bool,
    /// The source of the words to draw.
    pub words: WordSource,
    /// The language of the words.
    pub language: Language,
    /// How points are given.
    pub scoring: Scoring,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            time_limit: TimeLimit::literal(80),
            round_count: RoundCount::literal(3),
            player_count: PlayerCount::literal(8),
            hints: true,
            words: WordSource::BuiltIn,
            language: Language::Japanese,
            scoring: Scoring::Speed,
        }
    }
}

/// The maximum number of own words of a game.
pub const CUSTOM_WORDS_MAX: usize = 100;

/// The number of words that a drawer chooses from. With [`WordSource::Custom`], a game needs at
/// least as many of its own.
pub const OPTIONS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stay_within_their_bounds() {
        assert_eq!(TimeLimit::new(29), Err(OutOfBounds { min: 30, max: 300 }));
        assert_eq!(TimeLimit::new(300).map(TimeLimit::get), Ok(300));
        assert!(RoundCount::new(0).is_err() && RoundCount::new(11).is_err());
        assert!(PlayerCount::new(1).is_err() && PlayerCount::new(2).is_ok());
        assert!(PlayerCount::new(10).is_ok() && PlayerCount::new(11).is_err());
    }
}
