//! How a game is to be played.

use super::Language;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Within<const MIN: u16, const MAX: u16>(u16);

/// A number that is not within its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from {min} to {max}")]
pub struct OutOfBounds {
    /// The smallest that is allowed.
    pub min: u16,
    /// The largest that is allowed.
    pub max: u16,
}

impl<const MIN: u16, const MAX: u16> Within<MIN, MAX> {
    /// The largest that is allowed.
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

/// How long a turn's drawing takes, in seconds.
pub type TimeLimit = Within<30, 300>;
/// How many rounds a game has.
pub type RoundCount = Within<1, 10>;
/// How many players a game seats.
pub type PlayerCount = Within<2, 10>;

/// Where a turn's words come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordSource {
    /// The list that comes with the game.
    BuiltIn,
    /// The words that the game was made with.
    Custom,
    /// One of those, two of these.
    Both,
}

/// The settings of a game. Source: the original design, but for hints and words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Of each turn.
    pub time_limit: TimeLimit,
    /// Of the game.
    pub round_count: RoundCount,
    /// The number of seats. Spectators need none; there are at most [`super::SPECTATORS_MAX`].
    pub player_count: PlayerCount,
    /// Whether letters open as time passes.
    pub hints: bool,
    /// The source of the words.
    pub words: WordSource,
    /// What the words are written in.
    pub language: Language,
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
        }
    }
}

/// The most words of its own that a game has.
pub const CUSTOM_WORDS_MAX: usize = 100;

/// How many words a drawer chooses from; with [`WordSource::Custom`], a game needs as many of its
/// own.
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
    }
}
