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
    /// English, with the names of both sides of the Atlantic.
    English,
    /// German.
    German,
    /// French.
    French,
    /// Spanish, with the names of Spain and of America.
    Spanish,
    /// Portuguese, with the names of Brazil and of Portugal.
    Portuguese,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 6] =
        [Self::Japanese, Self::English, Self::German, Self::French, Self::Spanish, Self::Portuguese];

    /// The BCP 47 code, used in the table and the protocol.
    pub fn code(self) -> &'static str {
        match self {
            Self::Japanese => "ja",
            Self::English => "en",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Portuguese => "pt",
        }
    }

    /// The language with this code.
    pub fn with_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.code() == code)
    }

    /// All codes, for messages to people.
    pub fn codes() -> String {
        Self::ALL.map(Self::code).join(", ")
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A word or phrase in Latin letters to draw: 1 to 50 characters after composition. Its parts
/// consist of Latin letters, digits and apostrophes, with one space or hyphen between two parts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Latin(String);

impl Latin {
    /// The maximum number of characters of a word.
    pub const CHARS_MAX: usize = 50;

    /// Composes and checks a word. A typographic apostrophe becomes a plain one.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let word = compose(text, Self::CHARS_MAX)?.replace('’', "'");
        if let Some(character) = word.chars().find(|c| !is_letter_or_digit(*c) && !matches!(c, ' ' | '-' | '\'')) {
            let allowed = "a word has Latin letters, digits, spaces, hyphens and apostrophes";
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

/// A word in the letters of the game's language. The letters tell a Japanese word from the others;
/// the game tells the language of a word in Latin letters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Word {
    /// A word of a Japanese game.
    Japanese(Hiragana),
    /// A word of a game in any other language.
    Latin(Latin),
}

impl Word {
    /// A word of this language.
    pub fn new(language: Language, text: &str) -> Result<Self, TextError> {
        match language {
            Language::Japanese => Hiragana::new(text).map(Self::Japanese),
            _ => Latin::new(text).map(Self::Latin),
        }
    }

    /// A word in the letters that the text has: no letter is both hiragana and Latin.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let is_latin = text.chars().any(is_letter_or_digit);
        if is_latin { Latin::new(text).map(Self::Latin) } else { Hiragana::new(text).map(Self::Japanese) }
    }

    /// Whether the word is written in the letters of this language.
    pub fn suits(&self, language: Language) -> bool {
        matches!(self, Self::Japanese(_)) == (language == Language::Japanese)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Japanese(word) => word.as_str(),
            Self::Latin(word) => word.as_str(),
        }
    }

    /// The characters, one for each position of a mask.
    pub fn chars(&self) -> impl Iterator<Item = char> + '_ {
        self.as_str().chars()
    }

    /// The normalised spelling in a game of this language. Two words with the same spelling are
    /// equal for guesses.
    pub fn spelling(&self, language: Language) -> String {
        match self {
            Self::Japanese(word) => spelling::kana(word.as_str(), Dash::IsLongVowel),
            Self::Latin(word) => spelling::latin(language, word.as_str()),
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
    fn a_latin_word_has_letters_with_single_separators_between_them() {
        for word in ["dog", "ice cream", "jack-o'-lantern", "Eiffel Tower", "piñata", "crème brûlée", "3D glasses", "x"]
        {
            assert_eq!(Latin::new(word).as_ref().map(Latin::as_str), Ok(word));
        }
        assert_eq!(Latin::new("cat’s eye").as_ref().map(Latin::as_str), Ok("cat's eye"));
        assert_eq!(Latin::new("pin\u{303}ata").as_ref().map(Latin::as_str), Ok("piñata"));
        assert!(Latin::new(&"a".repeat(50)).is_ok());
        assert_eq!(Latin::new(&"a".repeat(51)), Err(TextError::TooLong { max: 50 }));
        assert_eq!(Latin::new(""), Err(TextError::Empty));
        for word in [" dog", "dog ", "ice  cream", "-", "a--b", "a - b", "'"] {
            assert_eq!(Latin::new(word), Err(TextError::Shape), "{word:?}");
        }
        for word in ["いぬ", "dog!", "собака", "dog\t", "a_b", "a\u{200b}b", "½", "×", "ｄｏｇ"] {
            assert!(matches!(Latin::new(word), Err(TextError::Character { .. })), "{word:?}");
        }
    }

    #[test]
    fn a_word_suits_the_languages_with_its_letters() {
        for (text, is_japanese) in [("いぬ", true), ("けーき", true), ("dog", false), ("Bär", false), ("œuf", false)]
        {
            let word = Word::read(text).expect("a word");
            for language in Language::ALL {
                assert_eq!(word.suits(language), is_japanese == (language == Language::Japanese), "{text} {language}");
                assert_eq!(Word::new(language, text).is_ok(), word.suits(language), "{text} {language}");
            }
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
