//! Tests of typed texts: guesses in every spelling, and names and chat lines of any characters.

use domain::game::*;
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::languages::articles;

/// A way to write a word.
#[derive(Debug, Clone, Copy)]
enum Spelling {
    Katakana,
    /// With separate voicing marks.
    Decomposed,
    Spaced,
    /// With other marks for a long vowel.
    Dashed,
}

fn words() -> impl Strategy<Value = Word> {
    let letter = prop_oneof![9 => proptest::char::range('ぁ', 'ゖ'), 1 => Just('ー')];
    let text = proptest::collection::vec(letter, 1..12).prop_map(String::from_iter);
    text.prop_filter_map("a letter", |text| Word::new(Language::Japanese, &text).ok())
}

/// A word in Latin letters, and the language of its game.
fn latin() -> impl Strategy<Value = (Language, Word)> {
    let text = "[a-zA-Zéñöçäüßœã0-9]{1,8}([ -][a-z'A-Zéñü]{1,8}){0,2}";
    let language = proptest::sample::select(&Language::ALL[1..]);
    (language, text).prop_filter_map("a word", |(language, text)| Some((language, Word::new(language, &text).ok()?)))
}

fn spellings() -> impl Strategy<Value = Vec<Spelling>> {
    let all = vec![Spelling::Katakana, Spelling::Decomposed, Spelling::Spaced, Spelling::Dashed];
    proptest::sample::subsequence(all, 0..=4)
}

fn spelled(text: &str, spelling: Spelling) -> String {
    let katakana = |c| if matches!(c, 'ぁ'..='ゖ') { char::from_u32(c as u32 + 0x60).expect("katakana") } else { c };
    match spelling {
        Spelling::Katakana => text.chars().map(katakana).collect(),
        Spelling::Decomposed => text.nfd().collect(),
        Spelling::Spaced => text.chars().flat_map(|c| [c, '\u{3000}']).collect(),
        Spelling::Dashed => text.replace('ー', "-−〜"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn a_word_is_the_same_however_it_is_written(word in words(), spellings in spellings()) {
        // Spaces are inserted last. A space between a letter and its voicing mark makes another
        // text, so such a guess is skipped.
        let guess = spellings.iter().fold(word.to_string(), |text, spelling| spelled(&text, *spelling));
        let is_torn = guess.contains("\u{3000}\u{3099}") || guess.contains("\u{3000}\u{309a}");
        prop_assume!(!is_torn);
        prop_assert_eq!(judge(Language::Japanese, &word, &guess), GuessResult::Correct, "{} {}", word, guess);
    }

    #[test]
    fn what_others_may_read_has_no_answer_inside(word in words(), before in any::<String>(), after in any::<String>()) {
        prop_assume!(word.chars().count() > 1);
        for guess in [format!("{before}{word}{after}"), before, after] {
            if judge(Language::Japanese, &word, &guess) == GuessResult::Wrong {
                prop_assert!(!guess.contains(word.as_str()), "{} {}", word, guess);
            }
        }
    }

    #[test]
    fn a_latin_word_is_the_same_however_it_is_written((language, word) in latin(), is_loud in any::<bool>(), article in any::<prop::sample::Index>(), end in "[.!? ]{0,2}") {
        let article = article.get(articles(language));
        let text = if is_loud { word.to_string().to_uppercase() } else { word.to_string() };
        for text in [text.nfd().collect(), text.replace(' ', "-"), text.replace('-', " "), text.replace([' ', '-', '\''], "")] {
            let guess = format!("{article}{text}{end}");
            prop_assert_eq!(judge(language, &word, &guess), GuessResult::Correct, "{} {}", word, guess);
        }
    }

    #[test]
    fn what_others_may_read_has_no_latin_answer_inside((language, word) in latin(), before in any::<String>(), after in any::<String>()) {
        prop_assume!(word.spelling(language).chars().count() > 1);
        for guess in [format!("{before} {word} {after}"), format!("{before}、{word}。{after}"), format!("です{word}です")] {
            prop_assert_ne!(judge(language, &word, &guess), GuessResult::Wrong, "{} {}", word, guess);
        }
        prop_assume!(word.spelling(language).chars().count() > 3);
        prop_assert_ne!(judge(language, &word, &format!("{before}{word}{after}")), GuessResult::Wrong);
    }

    #[test]
    fn what_was_taken_once_is_taken_as_it_is(text in any::<String>()) {
        if let Ok(name) = PlayerName::new(&text) {
            prop_assert!((1..=10).contains(&name.as_str().chars().count()));
            prop_assert_eq!(PlayerName::new(name.as_str()), Ok(name));
        }
        if let Ok(word) = Word::read(&text) {
            let language = Language::ALL.into_iter().find(|language| word.suits(*language)).expect("a language");
            prop_assert_eq!(Word::new(language, word.as_str()), Ok(word));
        }
        if let Ok(talk) = Talk::new(&text) {
            prop_assert!((1..=500).contains(&talk.as_str().chars().count()));
            prop_assert_eq!(Talk::new(talk.as_str()), Ok(talk));
        }
    }
}
