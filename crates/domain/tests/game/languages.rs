//! Tests of the guesses for every built-in word of every language.

use domain::game::words::built_in;
use domain::game::*;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

fn latin_languages() -> impl Iterator<Item = Language> {
    Language::ALL.into_iter().filter(|language| *language != Language::Japanese)
}

/// Articles with the separator behind them, and none.
pub(crate) fn articles(language: Language) -> &'static [&'static str] {
    match language {
        Language::Japanese => &[""],
        Language::English => &["", "a ", "an ", "the ", "The "],
        Language::German => &["", "der ", "die ", "das ", "ein ", "eine ", "Der "],
        Language::French => &["", "le ", "la ", "les ", "l'", "l’", "un ", "une ", "L'"],
        Language::Spanish => &["", "el ", "la ", "los ", "las ", "un ", "una ", "El "],
        Language::Portuguese => &["", "o ", "a ", "os ", "as ", "um ", "uma ", "O "],
    }
}

fn without_accents(text: &str) -> String {
    text.nfd().filter(|c| !is_combining_mark(*c)).nfc().collect()
}

/// As people write on a keyboard without the letters.
fn in_ascii(text: &str) -> String {
    without_accents(text).replace('ß', "ss").replace('œ', "oe").replace('Œ', "Oe")
}

#[test]
fn each_word_guesses_itself_in_any_spelling() {
    for language in latin_languages() {
        for word in built_in(language) {
            let text = word.text.as_str();
            let spellings = [
                text.to_owned(),
                text.to_uppercase(),
                text.to_lowercase(),
                text.nfd().collect(),
                without_accents(text),
                in_ascii(text),
                in_ascii(text).to_uppercase(),
                text.replace('-', " "),
                text.replace([' ', '-', '\''], ""),
                text.replace(' ', "-"),
                format!(" {text}! "),
            ];
            let with_articles = articles(language).iter().map(|article| format!("{article}{text}"));
            for guess in spellings.into_iter().chain(with_articles) {
                assert_eq!(judge(language, &word.text, &guess), GuessResult::Correct, "{language} {text} {guess}");
            }
        }
    }
    for word in built_in(Language::Japanese) {
        assert_eq!(judge(Language::Japanese, &word.text, word.text.as_str()), GuessResult::Correct, "{}", word.text);
    }
}

#[test]
fn a_german_word_is_right_with_its_umlauts_written_out() {
    let written_out = |text: &str| {
        let text = text.replace('ä', "ae").replace('ö', "oe").replace('ü', "ue").replace('ß', "ss");
        text.replace('Ä', "Ae").replace('Ö', "Oe").replace('Ü', "Ue")
    };
    for word in built_in(Language::German) {
        for guess in [written_out(word.text.as_str()), written_out(word.text.as_str()).to_uppercase()] {
            assert_eq!(judge(Language::German, &word.text, &guess), GuessResult::Correct, "{} {guess}", word.text);
        }
    }
}

#[test]
fn a_long_word_with_one_wrong_letter_is_near() {
    for language in latin_languages() {
        for word in built_in(language).iter().filter(|word| word.text.chars().count() >= 8) {
            let last = word.text.chars().last().expect("a letter");
            let guess = format!("{}q", word.text.as_str().trim_end_matches(last));
            assert_eq!(judge(language, &word.text, &guess), GuessResult::Near, "{} {guess}", word.text);
        }
    }
}

#[test]
fn hints_of_each_word_open_letters_of_the_word() {
    for language in Language::ALL {
        for word in built_in(language) {
            let text = word.text.as_str();
            assert_eq!(text.nfc().collect::<String>(), text, "a letter with its accent is one place of the mask");
            assert!(word.text.chars().filter(|c| !c.is_alphanumeric()).all(|c| " -'".contains(c)), "{text}");
        }
    }
}
