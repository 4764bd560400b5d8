//! Texts that people type: names, chat lines, words. Each is checked once, when it arrives.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::short_text::is_invisible;

/// Why a text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// No visible character.
    #[error("must not be empty")]
    Empty,
    /// Too many characters.
    #[error("must have at most {max} characters")]
    TooLong {
        /// The maximum number.
        max: usize,
    },
    /// A character that is not allowed in this kind of text.
    #[error("must not contain {character:?}: {allowed}")]
    Character {
        /// The first such character.
        character: char,
        /// A description of the allowed characters.
        allowed: &'static str,
    },
    /// A name that begins with a mark, or has a space at an end or two spaces in a row.
    #[error("must begin with a letter or a digit, and have single spaces inside only")]
    Shape,
}

/// The name of a player: 1 to 10 characters as people see them: letters with their marks, digits,
/// and single spaces inside. Source: the original design. The wide space of Japanese keyboards
/// becomes a plain space. Invisible characters are refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlayerName(String);

impl PlayerName {
    /// The maximum number of characters of a name.
    pub const CHARS_MAX: usize = 10;
    /// The maximum number of code points of a name.
    pub const CODE_POINTS_MAX: usize = Self::CHARS_MAX * PARTS_PER_CHARACTER;

    /// Composes and checks a name.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let name = compose(text, Self::CODE_POINTS_MAX)?.replace('\u{3000}', " ");
        if seen_characters(&name) > Self::CHARS_MAX {
            return Err(TextError::TooLong { max: Self::CHARS_MAX });
        }
        let is_allowed = |c: char| (c == ' ' || c.is_alphanumeric() || is_combining_mark(c)) && !is_invisible(c);
        if let Some(character) = name.chars().find(|c| !is_allowed(*c)) {
            return Err(TextError::Character { character, allowed: "a name has letters, marks, digits and spaces" });
        }
        let begins_well = name.starts_with(|c: char| c.is_alphanumeric() && !is_combining_mark(c));
        if !begins_well || name.ends_with(' ') || name.contains("  ") {
            return Err(TextError::Shape);
        }
        Ok(Self(name))
    }

    /// Whether people would take one name for the other: case and width of the letters differ only.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        let folded = |name: &Self| name.0.nfkc().collect::<String>().to_lowercase();
        folded(self) == folded(other)
    }

    /// The name with a number behind it, shortened if that would be too long.
    pub(super) fn numbered(&self, number: usize) -> Self {
        let number = format!(" {number}");
        let mut name = self.0.clone();
        while seen_characters(&name) + number.len() > Self::CHARS_MAX {
            name.pop();
        }
        Self(name.trim_end().to_owned() + &number)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A chat line: 1 to 100 visible characters, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talk(String);

/// The average number of code points per visible character. Stops stacked marks that would cover
/// other lines.
const PARTS_PER_CHARACTER: usize = 4;

impl Talk {
    /// The maximum number of characters of a line. A longer line would fill the screen of a phone.
    pub const CHARS_MAX: usize = 100;

    /// Trims and checks a line.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let text = text.trim();
        if text.chars().all(|c| c.is_whitespace() || is_invisible(c)) {
            return Err(TextError::Empty);
        }
        let is_tower = text.chars().nth(Self::CHARS_MAX * PARTS_PER_CHARACTER).is_some();
        if is_tower || seen_characters(text) > Self::CHARS_MAX {
            return Err(TextError::TooLong { max: Self::CHARS_MAX });
        }
        if let Some(character) = text.chars().find(|c| c.is_control() || is_bidi_control(*c)) {
            return Err(TextError::Character { character, allowed: "a line has no control characters" });
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A Japanese word: 1 to 50 hiragana or long-vowel marks, composed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hiragana(String);

impl Hiragana {
    /// The maximum number of characters of a word.
    pub const CHARS_MAX: usize = 50;

    /// Composes and checks a word.
    pub fn new(text: &str) -> Result<Self, TextError> {
        let word = compose(text, Self::CHARS_MAX)?;
        if let Some(character) = word.chars().find(|c| !matches!(c, 'ぁ'..='ゖ' | 'ー')) {
            return Err(TextError::Character { character, allowed: "a word has hiragana and ー" });
        }
        if word.chars().all(|c| c == 'ー') {
            return Err(TextError::Character { character: 'ー', allowed: "a word has a letter that it makes long" });
        }
        Ok(Self(word))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The characters, one for each position of a mask.
    pub fn chars(&self) -> impl Iterator<Item = char> + '_ {
        self.0.chars()
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Hiragana {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Composes a text (NFC) and checks that it has 1 to `max` characters.
pub(super) fn compose(text: &str, max: usize) -> Result<String, TextError> {
    // Stops after one character more than allowed, so a huge text costs little.
    let composed: String = text.nfc().take(max + 1).collect();
    match composed.chars().count() {
        0 => Err(TextError::Empty),
        count if count > max => Err(TextError::TooLong { max }),
        _ => Ok(composed),
    }
}

/// The number of characters that people see: a letter with its marks, a joined or coloured emoji,
/// and a flag count as one each.
fn seen_characters(text: &str) -> usize {
    let (mut count, mut is_joined, mut is_half_flag) = (0, false, false);
    for c in text.nfc() {
        let is_regional = matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
        let is_part = is_combining_mark(c) || is_invisible(c) || matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
        if !(is_part || is_joined || is_regional && is_half_flag) {
            count += 1;
        }
        is_half_flag = is_regional && !is_half_flag;
        is_joined = c == '\u{200d}';
    }
    count
}

/// Control characters that change the text direction beyond the line itself.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn player_name_limit_is_ten_characters_not_bytes() {
        assert!(PlayerName::new("あんずのきのしたのこ").is_ok());
        assert_eq!(PlayerName::new("あんずのきのしたのこだ"), Err(TextError::TooLong { max: 10 }));
        assert_eq!(PlayerName::new(""), Err(TextError::Empty));
        assert!(PlayerName::new(&"ता".repeat(10)).is_ok(), "a letter with its vowel sign is one");
        assert_eq!(PlayerName::new(&"ता".repeat(11)), Err(TextError::TooLong { max: 10 }));
        // か and a separate voicing mark are one character.
        assert_eq!(
            PlayerName::new(&"か\u{3099}".repeat(10)).map(|name| name.to_string()).as_deref(),
            Ok("がががががががががが")
        );
    }

    #[test]
    fn a_name_has_letters_marks_digits_and_single_spaces() {
        for name in ["Ann", "山田 太郎", "ミー子2", "सीता", "Zoë", "7", "らーめん"] {
            assert_eq!(PlayerName::new(name).as_ref().map(PlayerName::as_str), Ok(name));
        }
        assert_eq!(PlayerName::new("山田\u{3000}太郎").as_ref().map(PlayerName::as_str), Ok("山田 太郎"));
        for name in [" Ann", "Ann ", "A  b", " ", "\u{3000}", "\u{301}a"] {
            assert_eq!(PlayerName::new(name), Err(TextError::Shape), "{name:?}");
        }
        for name in [
            "a\u{a0}b",
            "a\tb",
            "a\u{200b}b",
            "<b>",
            "a\u{3164}",
            "😀",
            "a\u{fe0f}",
            "a\u{202e}b",
            "#1",
            "\0",
            "a\u{2003}b",
        ] {
            assert!(matches!(PlayerName::new(name), Err(TextError::Character { .. })), "{name:?}");
        }
    }

    #[test]
    fn talk_has_a_visible_character_and_no_control_characters() {
        assert_eq!(Talk::new("  やあ  ").map(|talk| talk.to_string()).as_deref(), Ok("やあ"));
        for text in ["", "  \u{3000}", "\u{200b}\u{feff}", "\u{2800}"] {
            assert_eq!(Talk::new(text), Err(TextError::Empty), "{text:?}");
        }
        for text in ["a\0b", "a\nb", "a\u{202e}b", "a\u{2028}b"] {
            assert!(matches!(Talk::new(text), Err(TextError::Character { .. })), "{text:?}");
        }
    }

    #[test]
    fn a_line_has_a_hundred_characters_as_people_see_them() {
        for character in
            ["あ", "が", "か\u{3099}", "e\u{301}", "👨\u{200d}👩\u{200d}👧", "👍\u{1f3fd}", "🇯🇵", "❤\u{fe0f}"]
        {
            let line = |count| character.repeat(count);
            let fits = line(100).chars().count() <= 400;
            assert_eq!(Talk::new(&line(100)).is_ok(), fits, "{character}");
            assert!(Talk::new(&line(80)).is_ok(), "{character}");
            assert_eq!(Talk::new(&line(101)), Err(TextError::TooLong { max: 100 }), "{character}");
        }
        let tower = format!("a{}", "\u{301}".repeat(400));
        assert_eq!(Talk::new(&tower), Err(TextError::TooLong { max: 100 }));
    }

    #[test]
    fn a_word_is_hiragana() {
        for word in ["りんご", "けーき", "ちゅーりっぷ", "ゔぁいおりん", "き"] {
            assert_eq!(Hiragana::new(word).as_ref().map(Hiragana::as_str), Ok(word));
        }
        assert_eq!(Hiragana::new("か\u{3099}く").as_ref().map(Hiragana::as_str), Ok("がく"));
        assert_eq!(Hiragana::new(&"あ".repeat(51)), Err(TextError::TooLong { max: 50 }));
        for word in ["リンゴ", "林檎", "り んご", "ringo", "りんご!", "\u{3099}"] {
            assert!(matches!(Hiragana::new(word), Err(TextError::Character { .. })), "{word:?}");
        }
    }
}
