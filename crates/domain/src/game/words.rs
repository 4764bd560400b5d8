//! The words that come with the game: things that one can draw, in hiragana, with their meaning in English.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Hiragana;

/// A word of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    /// What is drawn.
    pub text: Hiragana,
    /// What it is in English.
    pub gloss: &'static str,
}

/// The list. A line of the file is a word, a space and its gloss; empty lines and lines that begin with `#` part it for those who edit it.
pub static BUILT_IN: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| {
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(text, gloss)| Some(BuiltIn { text: Hiragana::new(text).ok()?, gloss })).collect()
});

static GLOSSES: LazyLock<HashMap<&'static str, &'static str>> =
    LazyLock::new(|| BUILT_IN.iter().map(|word| (word.text.as_str(), word.gloss)).collect());

/// What that word is in English, if it is in the list.
pub fn gloss(word: &Hiragana) -> Option<&'static str> {
    GLOSSES.get(word.as_str()).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_line_of_the_list_is_a_word_with_a_gloss() {
        let lines = include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (line, word) in lines.clone().zip(BUILT_IN.iter()) {
            assert_eq!(line, format!("{} {}", word.text, word.gloss));
            assert!(!word.gloss.trim().is_empty() && word.gloss.is_ascii(), "{line}");
        }
        assert_eq!(lines.count(), BUILT_IN.len());
        assert!(BUILT_IN.len() >= 300, "{}", BUILT_IN.len());
    }

    #[test]
    fn no_word_is_there_twice() {
        let texts: HashSet<_> = BUILT_IN.iter().map(|word| &word.text).collect();
        assert_eq!(texts.len(), BUILT_IN.len());
    }

    #[test]
    fn a_word_of_the_list_has_a_gloss_and_another_has_none() {
        assert_eq!(gloss(&Hiragana::new("りんご").expect("a word")), Some("apple"));
        assert_eq!(gloss(&Hiragana::new("んんん").expect("a word")), None);
    }
}
