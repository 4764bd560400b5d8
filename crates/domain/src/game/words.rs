//! The built-in words: things that people can draw, with their other names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Language, Word};

/// A word of a built-in list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInWord {
    /// The word to draw.
    pub text: Word,
    /// The English meaning of a Japanese word.
    pub gloss: Option<&'static str>,
    /// English names that are correct guesses as well: the parts of the gloss, or synonyms of an
    /// English word.
    other_names: Vec<&'static str>,
}

/// The lines with a word. Empty lines and lines that begin with `#` only structure the list.
fn lines(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Each line is a word, a space and its gloss.
static JAPANESE: LazyLock<Vec<BuiltInWord>> = LazyLock::new(|| {
    let words = lines(include_str!("words_ja.txt")).filter_map(|line| {
        let (text, gloss) = line.split_once(' ')?;
        let text = Word::new(Language::Japanese, text).ok()?;
        Some(BuiltInWord { text, gloss: Some(gloss), other_names: gloss.split(" or ").collect() })
    });
    words.collect()
});

/// Each line is a word and its other names, separated by ` = `.
static ENGLISH: LazyLock<Vec<BuiltInWord>> = LazyLock::new(|| {
    let words = lines(include_str!("words_en.txt")).filter_map(|line| {
        let mut names = line.split(" = ");
        let text = Word::new(Language::English, names.next()?).ok()?;
        Some(BuiltInWord { text, gloss: None, other_names: names.collect() })
    });
    words.collect()
});

/// All words by spelling. No English spelling equals a Japanese one.
static BY_SPELLING: LazyLock<HashMap<String, &'static BuiltInWord>> = LazyLock::new(|| {
    let words = Language::ALL.into_iter().flat_map(built_in);
    words.map(|word| (word.text.spelling(), word)).collect()
});

/// The list of this language.
pub fn built_in(language: Language) -> &'static [BuiltInWord] {
    match language {
        Language::Japanese => &JAPANESE,
        Language::English => &ENGLISH,
    }
}

/// The English meaning of a Japanese word of the list.
pub fn gloss(word: &Word) -> Option<&'static str> {
    BY_SPELLING.get(&word.spelling())?.gloss
}

/// English names that are correct guesses for this word as well.
pub(super) fn other_names(word: &Word) -> &'static [&'static str] {
    BY_SPELLING.get(&word.spelling()).map_or(&[], |word| &word.other_names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{GuessResult, judge};
    use super::*;

    #[test]
    fn each_line_of_a_list_is_a_word() {
        for (line, word) in lines(include_str!("words_ja.txt")).zip(built_in(Language::Japanese)) {
            let gloss = word.gloss.expect("a gloss");
            assert_eq!(line, format!("{} {gloss}", word.text));
            assert!(!gloss.trim().is_empty() && gloss.is_ascii(), "{line}");
        }
        for (line, word) in lines(include_str!("words_en.txt")).zip(built_in(Language::English)) {
            let names = [&[word.text.as_str()], &word.other_names[..]].concat();
            assert_eq!(line, names.join(" = "));
            assert!(names.iter().all(|name| Word::new(Language::English, name).is_ok()), "{line}");
        }
        for (language, file) in
            [(Language::Japanese, include_str!("words_ja.txt")), (Language::English, include_str!("words_en.txt"))]
        {
            assert_eq!(lines(file).count(), built_in(language).len());
            assert!(built_in(language).len() >= 400, "{language}: {}", built_in(language).len());
        }
    }

    #[test]
    fn no_built_in_word_is_listed_twice() {
        let words = || Language::ALL.into_iter().flat_map(built_in);
        let spellings: HashSet<_> = words().map(|word| word.text.spelling()).collect();
        assert_eq!(spellings.len(), words().count());
    }

    #[test]
    fn an_english_word_is_short_enough_to_be_guessed() {
        for word in built_in(Language::English) {
            assert!((2..=20).contains(&word.text.chars().count()), "{}", word.text);
        }
    }

    /// A guess is correct for one word only: no word or other name is the plural, spelling or
    /// activity of another.
    #[test]
    fn no_two_english_words_are_nearly_the_same() {
        let names: Vec<(&str, &Word)> = built_in(Language::English)
            .iter()
            .flat_map(|word| {
                word.other_names.iter().copied().chain([word.text.as_str()]).map(move |name| (name, &word.text))
            })
            .collect();
        for word in built_in(Language::English) {
            // Skips words with another first letter: comparing all pairs takes too long.
            let first = |text: &str| text.chars().take(2).collect::<String>().to_lowercase();
            let others =
                names.iter().filter(|(name, of)| **of != word.text && first(name) == first(word.text.as_str()));
            for (name, _) in others {
                assert_ne!(judge(&word.text, name), GuessResult::Correct, "{} {name}", word.text);
                assert_ne!(word.text.as_str().strip_suffix("ing"), Some(*name));
            }
        }
    }

    #[test]
    fn built_in_word_has_gloss_and_other_word_none() {
        let gloss_of = |text| gloss(&Word::read(text).expect("a word"));
        assert_eq!(gloss_of("りんご"), Some("apple"));
        assert_eq!(gloss_of("んんん"), None);
        assert_eq!(gloss_of("apple"), None);
    }
}
