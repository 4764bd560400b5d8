//! A word to draw. All words of a game are in the game's language.

use std::fmt;

use super::spelling::{self, Dash, is_letter_or_digit};
use super::text::{Hiragana, TextError, compose};

/// The language of a game's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Language {
    /// In hiragana: the language of the original design, and the default.
    #[default]
    Japanese,
    /// In Latin letters.
    English,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 2] = [Self::Japanese, Self::English];

    /// The BCP 47 code, used in the table and the protocol.
    pub fn code(self) -> &'static str {
        match self {
            Self::Japanese => "ja",
            Self::English => "en",
        }
    }

    /// The language with this code.
    pub fn with_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Japanese => "Japanese",
            Self::English => "English",
        })
    }
}

/// An English word or phrase to draw: 1 to 50 characters after composition. Its parts consist of
/// Latin letters, digits and apostrophes, with one space or hyphen between two parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct English(String);

impl English {
    /// The maximum number of characters of a word.
    pub const CHARS_MAX: usize = 50;

    /// Composes and checks a word. A typographic apostrophe becomes a plain one.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let word = compose(text, Self::CHARS_MAX)?.replace('’', "'");
        if let Some(character) = word.chars().find(|c| !is_letter_or_digit(*c) && !matches!(c, ' ' | '-' | '\'')) {
            let allowed = "an English word has Latin letters, digits, spaces, hyphens and apostrophes";
            return Err(TextError::Character { character, allowed });
        }
        let is_well_parted = word.split([' ', '-']).all(|part| part.contains(is_letter_or_digit));
        is_well_parted.then_some(Self(word)).ok_or(TextError::Shape)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A word of either language.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// A word of a Japanese game.
    Japanese(Hiragana),
    /// A word of an English game.
    English(English),
}

impl Word {
    /// A word of this language.
    pub fn new(language: Language, text: &str) -> Result<Self, TextError> {
        match language {
            Language::Japanese => Hiragana::new(text).map(Self::Japanese),
            Language::English => English::new(text).map(Self::English),
        }
    }

    /// A word in the language of its letters: no letter belongs to both languages.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let is_english = text.chars().any(is_letter_or_digit);
        Self::new(if is_english { Language::English } else { Language::Japanese }, text)
    }

    /// The word's language.
    pub fn language(&self) -> Language {
        match self {
            Self::Japanese(_) => Language::Japanese,
            Self::English(_) => Language::English,
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Japanese(word) => word.as_str(),
            Self::English(word) => word.as_str(),
        }
    }

    /// The characters, one for each position of a mask.
    pub fn chars(&self) -> impl Iterator<Item = char> + '_ {
        self.as_str().chars()
    }

    /// The normalised spelling. Two words with the same spelling are equal for guesses.
    pub fn spelling(&self) -> String {
        match self {
            Self::Japanese(word) => spelling::kana(word.as_str(), Dash::IsLongVowel),
            Self::English(word) => spelling::english(word.as_str()),
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_english_word_has_letters_with_single_separators_between_them() {
        for word in ["dog", "ice cream", "jack-o'-lantern", "Eiffel Tower", "piñata", "crème brûlée", "3D glasses", "x"]
        {
            assert_eq!(English::new(word).as_ref().map(English::as_str), Ok(word));
        }
        assert_eq!(English::new("cat’s eye").as_ref().map(English::as_str), Ok("cat's eye"));
        assert_eq!(English::new("pin\u{303}ata").as_ref().map(English::as_str), Ok("piñata"));
        assert!(English::new(&"a".repeat(50)).is_ok());
        assert_eq!(English::new(&"a".repeat(51)), Err(TextError::TooLong { max: 50 }));
        assert_eq!(English::new(""), Err(TextError::Empty));
        for word in [" dog", "dog ", "ice  cream", "-", "a--b", "a - b", "'"] {
            assert_eq!(English::new(word), Err(TextError::Shape), "{word:?}");
        }
        for word in ["いぬ", "dog!", "собака", "dog\t", "a_b", "a\u{200b}b", "½", "×", "ｄｏｇ"] {
            assert!(matches!(English::new(word), Err(TextError::Character { .. })), "{word:?}");
        }
    }

    #[test]
    fn the_language_of_a_word_follows_from_its_letters() {
        for (text, language) in
            [("いぬ", Language::Japanese), ("けーき", Language::Japanese), ("dog", Language::English)]
        {
            assert_eq!(Word::read(text).map(|word| word.language()), Ok(language), "{text}");
        }
        for text in ["", "犬", "いnu", "ー", "dogいぬ"] {
            assert!(Word::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_code() {
        for language in Language::ALL {
            assert_eq!(Language::with_code(language.code()), Some(language));
        }
        assert_eq!(Language::with_code("JA"), None);
    }
}
