//! The built-in words: things that people can draw, with their other names.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{Language, Word};

/// A word of a built-in list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltInWord {
    /// The word to draw.
    pub text: Word,
    /// The English meaning of a Japanese word.
    pub gloss: Option<&'static str>,
    /// Names that are correct guesses as well: the parts of the gloss, or synonyms in the word's
    /// language.
    other_names: Vec<&'static str>,
}

/// The file of a language's words. A line is a word and its gloss after a space, in the Japanese
/// list; in the others it is a word and its other names, separated by ` = `.
fn file(language: Language) -> &'static str {
    match language {
        Language::Japanese => include_str!("words_ja.txt"),
        Language::English => include_str!("words_en.txt"),
        Language::German => include_str!("words_de.txt"),
        Language::French => include_str!("words_fr.txt"),
        Language::Spanish => include_str!("words_es.txt"),
        Language::Portuguese => include_str!("words_pt.txt"),
    }
}

/// The lines with a word. Empty lines and lines that begin with `#` only structure the list.
fn lines(language: Language) -> impl Iterator<Item = &'static str> {
    file(language).lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn read(language: Language, line: &'static str) -> Option<BuiltInWord> {
    let (text, gloss, other_names) = match language {
        Language::Japanese => {
            let (text, gloss) = line.split_once(' ')?;
            (text, Some(gloss), gloss.split(" or ").collect())
        }
        _ => {
            let mut names = line.split(" = ");
            (names.next()?, None, names.collect())
        }
    };
    Some(BuiltInWord { text: Word::new(language, text).ok()?, gloss, other_names })
}

/// The words of a language, in the order of the list and by spelling.
struct Words {
    list: Vec<BuiltInWord>,
    places: HashMap<String, usize>,
}

impl Words {
    fn load(language: Language) -> Self {
        let list: Vec<_> = lines(language).filter_map(|line| read(language, line)).collect();
        let places = list.iter().enumerate().map(|(place, word)| (word.text.spelling(language), place)).collect();
        Self { list, places }
    }

    /// The words of a language. Each list is read when its first word is needed: an instance of a
    /// function seldom plays in all languages.
    fn of(language: Language) -> &'static Self {
        static LISTS: [OnceLock<Words>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
        LISTS[language as usize].get_or_init(|| Self::load(language))
    }
}

/// The list of this language.
pub fn built_in(language: Language) -> &'static [BuiltInWord] {
    &Words::of(language).list
}

fn find(language: Language, word: &Word) -> Option<&'static BuiltInWord> {
    let words = Words::of(language);
    words.places.get(&word.spelling(language)).map(|place| &words.list[*place])
}

/// The English meaning of a Japanese word of the list.
pub fn gloss(word: &Word) -> Option<&'static str> {
    find(Language::Japanese, word)?.gloss
}

/// Other names that are correct guesses for this word as well.
pub(super) fn other_names(language: Language, word: &Word) -> &'static [&'static str] {
    find(language, word).map_or(&[], |word| &word.other_names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{GuessResult, judge};
    use super::*;

    /// The languages with a list of Latin letters.
    fn latin_languages() -> impl Iterator<Item = Language> {
        Language::ALL.into_iter().filter(|language| *language != Language::Japanese)
    }

    #[test]
    fn each_line_of_a_list_is_a_word() {
        for (line, word) in lines(Language::Japanese).zip(built_in(Language::Japanese)) {
            let gloss = word.gloss.expect("a gloss");
            assert_eq!(line, format!("{} {gloss}", word.text));
            assert!(!gloss.trim().is_empty() && gloss.is_ascii(), "{line}");
        }
        for language in latin_languages() {
            for (line, word) in lines(language).zip(built_in(language)) {
                let names = [&[word.text.as_str()], &word.other_names[..]].concat();
                assert_eq!(line, names.join(" = "));
                assert!(names.iter().all(|name| Word::new(language, name).is_ok()), "{line}");
            }
        }
        for language in Language::ALL {
            assert_eq!(lines(language).count(), built_in(language).len());
            assert!(built_in(language).len() >= 400, "{language}: {}", built_in(language).len());
        }
    }

    #[test]
    fn no_built_in_word_is_listed_twice() {
        for language in Language::ALL {
            let spellings: HashSet<_> = built_in(language).iter().map(|word| word.text.spelling(language)).collect();
            assert_eq!(spellings.len(), built_in(language).len(), "{language}");
        }
    }

    /// The page shows a word as one row of tiles: it has room for 20.
    #[test]
    fn a_word_is_short_enough_for_the_page() {
        for language in Language::ALL {
            let least = if language == Language::Japanese { 1 } else { 2 };
            for word in built_in(language) {
                assert!((least..=20).contains(&word.text.chars().count()), "{}", word.text);
            }
        }
    }

    #[test]
    fn a_german_noun_begins_with_a_capital_letter() {
        for word in built_in(Language::German) {
            let names = word.other_names.iter().copied().chain([word.text.as_str()]);
            names.for_each(|name| assert!(name.starts_with(char::is_uppercase), "{name}"));
        }
    }

    /// A guess is correct for one word only: no word or other name is the plural, spelling or
    /// activity of another.
    #[test]
    fn no_two_words_are_nearly_the_same() {
        // Skips words with another beginning: comparing all pairs takes too long.
        let beginning = |name: &str| {
            let folded = Word::read(name).expect("a word").spelling(Language::English);
            folded.chars().take(2).collect::<String>()
        };
        for language in latin_languages() {
            let mut names: HashMap<String, Vec<(&str, &Word)>> = HashMap::new();
            for word in built_in(language) {
                for name in word.other_names.iter().copied().chain([word.text.as_str()]) {
                    names.entry(beginning(name)).or_default().push((name, &word.text));
                }
            }
            for word in built_in(language) {
                let similar = names.get(&beginning(word.text.as_str())).into_iter().flatten();
                for (name, _) in similar.filter(|(_, of)| **of != word.text) {
                    assert_ne!(judge(language, &word.text, name), GuessResult::Correct, "{} {name}", word.text);
                    assert_ne!(word.text.as_str().strip_suffix("ing"), Some(*name));
                }
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
