//! Judges whether a guess in Latin letters is correct, near or wrong.
//!
//! Case, accents, punctuation, spaces, hyphens, a leading article and a simple plural make no
//! difference. [`Grammar`] has the differences between the languages, and `docs/rules.md` the rules
//! for players.

use super::Language;
use super::grammar::Grammar;
use super::guess_result::GuessResult;
use super::spelling::{Accents, parts, without_article};

/// Shorter answers have no near guesses by edit distance: half of all short words would be near.
const EDIT_LETTERS_MIN: usize = 4;
/// Answers of at least this many letters have near guesses two edits away.
const TWO_EDITS_LETTERS_MIN: usize = 8;
/// A shorter answer is part of too many other words ("cat" in "location") to search inside words.
const WITHIN_LETTERS_MIN: usize = 4;

/// The maximum difference in length between a plural and its singular (children).
const PLURAL_BYTES_MAX: usize = 3;

/// Compares a guess with an answer of this language, or with an English name of a Japanese answer.
pub(super) fn judge(language: Language, answer: &str, guess: &str) -> GuessResult {
    let grammar = Grammar::of(language);
    let without_accents = judge_spelled(grammar, Accents::Removed, answer, guess);
    if grammar.digraphs.is_empty() {
        return without_accents;
    }
    without_accents.min(judge_spelled(grammar, Accents::WrittenOut, answer, guess))
}

fn judge_spelled(grammar: &Grammar, accents: Accents, answer: &str, guess: &str) -> GuessResult {
    let (answer, guess) = (parts(grammar, accents, answer), parts(grammar, accents, guess));
    let (wanted, given) = (without_article(grammar, &answer).concat(), without_article(grammar, &guess));
    let (answer, given_spelling) = (answer.concat(), given.concat());
    // An article may be part of the word ("a cappella") and be written without a space
    // ("acappella").
    let is_right = grammar.is_same(&answer, &guess.concat())
        || grammar.is_same(&answer, &given_spelling)
        || grammar.is_same(&wanted, &given_spelling);
    if is_right {
        return GuessResult::Correct;
    }
    let letters: Vec<char> = wanted.chars().collect();
    let edits_max = match letters.len() {
        ..EDIT_LETTERS_MIN => 0,
        EDIT_LETTERS_MIN..TWO_EDITS_LETTERS_MIN => 1,
        _ => 2,
    };
    let is_near = is_within_edits(&letters, &given_spelling.chars().collect::<Vec<_>>(), edits_max);
    if is_near || gives_away(grammar, &wanted, given) {
        return GuessResult::Near;
    }
    GuessResult::Wrong
}

/// Whether the guess contains the answer: as whole words, or anywhere for a longer answer.
fn gives_away(grammar: &Grammar, wanted: &str, given: &[String]) -> bool {
    let count = wanted.chars().count();
    // Removes digits and other scripts between the letters: "b1e1a1r".
    let whole = given.concat();
    let letters: String = whole.chars().filter(char::is_ascii_alphabetic).collect();
    if count >= WITHIN_LETTERS_MIN && [&whole, &letters].iter().any(|text| text.contains(wanted)) {
        return true;
    }
    // A single letter ("a") is in too many lines to hide them from the chat.
    count > 1 && (0..given.len()).any(|from| has_in_front(grammar, &given[from..], wanted))
}

/// Whether the text begins with the answer, with any separators: "ice cream", "icecream", "i c e c
/// r e a m".
fn has_in_front(grammar: &Grammar, given: &[String], wanted: &str) -> bool {
    let mut joined = String::new();
    for part in given {
        joined.push_str(part);
        if joined.len() > wanted.len() + PLURAL_BYTES_MAX {
            return false;
        }
        if grammar.is_same(&joined, wanted) {
            return true;
        }
    }
    false
}

/// Whether 1 to `max` insertions, deletions, substitutions or swaps of neighbours turn one text
/// into the other.
fn is_within_edits(a: &[char], b: &[char], max: usize) -> bool {
    if max == 0 || a.len().abs_diff(b.len()) > max {
        return false;
    }
    let (mut before, mut last) = (vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>());
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let changed = last[j] + usize::from(x != y);
            row[j + 1] = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        (before, last) = (last, row);
    }
    (1..=max).contains(&last[b.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(answer: &str, guess: &str) -> GuessResult {
        super::judge(Language::English, answer, guess)
    }

    #[test]
    fn a_guess_may_be_written_in_any_way() {
        for (answer, guess) in [
            ("dog", "DOG"),
            ("dog", " dog! "),
            ("dog", "a dog"),
            ("dog", "The dog."),
            ("apple", "an apple"),
            ("ice cream", "ice-cream"),
            ("ice cream", "icecream"),
            ("ice cream", "the ice  cream"),
            ("yo-yo", "yoyo"),
            ("jack-o'-lantern", "Jack o’ lantern"),
            ("crème brûlée", "creme brulee"),
            ("pinata", "piñata"),
            ("Eiffel Tower", "eiffel tower"),
            ("TV", "t.v."),
            ("dog", "ｄｏｇ"),
            ("dog", "d o g"),
            ("A", "a"),
            ("the end", "end"),
            ("a cappella", "acappella"),
            ("a cappella", "an a-cappella"),
            ("añ A", "añA"),
        ] {
            assert_eq!(judge(answer, guess), GuessResult::Correct, "{answer} {guess}");
        }
    }

    #[test]
    fn a_simple_plural_is_the_same() {
        for (one, many) in [
            ("dog", "dogs"),
            ("ice cream", "ice creams"),
            ("fox", "foxes"),
            ("tomato", "tomatoes"),
            ("piano", "pianos"),
            ("shoe", "shoes"),
            ("witch", "witches"),
            ("fly", "flies"),
            ("key", "keys"),
            ("leaf", "leaves"),
            ("knife", "knives"),
            ("snowman", "snowmen"),
            ("mouse", "mice"),
            ("tooth", "teeth"),
            ("police officer", "police officers"),
        ] {
            assert_eq!(judge(one, many), GuessResult::Correct, "{one} {many}");
            assert_eq!(judge(many, one), GuessResult::Correct, "{many} {one}");
        }
        for (answer, guess) in [("glass", "glas"), ("bus", "bu"), ("gas", "ga")] {
            assert_ne!(judge(answer, guess), GuessResult::Correct, "{answer} {guess}");
        }
    }

    #[test]
    fn a_language_has_its_own_accents_and_articles() {
        for (language, answer, guesses) in [
            (Language::German, "Bär", "bär, bar, baer, BAER, der Bär, ein Baer, Bären"),
            (Language::German, "Strauß", "strauss, STRAUSS, STRAUẞ, der Strauß"),
            (Language::German, "U-Boot", "uboot, das U Boot, U-Boote"),
            (Language::French, "œuf", "oeuf, ŒUF, l'œuf, l’oeuf, un œuf, des oeufs"),
            (Language::French, "araignée", "l'araignee, une ARAIGNÉE, les araignées"),
            (Language::French, "chauve-souris", "chauve souris, la chauvesouris"),
            (Language::Spanish, "piña", "pina, PIÑA, la piña, unas piñas, pin\u{303}a"),
            (Language::Spanish, "lápiz", "lapiz, el lápiz, los lápices"),
            (Language::Portuguese, "avião", "aviao, um avião, os aviões"),
            (Language::Portuguese, "açúcar", "acucar, o AÇÚCAR"),
            (Language::Portuguese, "guarda-chuva", "guardachuva, o guarda chuva"),
        ] {
            for guess in guesses.split(", ") {
                assert_eq!(super::judge(language, answer, guess), GuessResult::Correct, "{answer} {guess}");
            }
        }
        for (language, answer, guess) in [
            (Language::English, "bear", "der bear"),
            (Language::German, "Feuer", "Feur"),
            (Language::French, "araignée", "arraignée"),
            (Language::Spanish, "murciélago", "murcielajo"),
            (Language::Portuguese, "coração", "corasao"),
        ] {
            assert_eq!(super::judge(language, answer, guess), GuessResult::Near, "{answer} {guess}");
        }
    }

    #[test]
    fn the_number_of_allowed_edits_depends_on_the_length() {
        for (answer, guess) in [
            ("bear", "pear"),
            ("whale", "whael"),
            ("rabbit", "rabit"),
            ("elephant", "elefant"),
            ("butterfly", "buterfli"),
        ] {
            assert_eq!(judge(answer, guess), GuessResult::Near, "{answer} {guess}");
        }
        for (answer, guess) in [
            ("cat", "bat"),
            ("bear", "deer"),
            ("rabbit", "habits"),
            ("elephant", "elegance"),
            ("dog", ""),
            ("dog", "!"),
        ] {
            assert_eq!(judge(answer, guess), GuessResult::Wrong, "{answer} {guess}");
        }
    }

    #[test]
    fn a_guess_that_contains_the_answer_is_not_wrong() {
        for (answer, guess) in [
            ("cat", "is it a cat?"),
            ("cat", "two cats"),
            ("ice cream", "the ice-cream van"),
            ("ice cream", "vanilla icecream"),
            ("bear", "isitabear"),
            ("bear", "b e a r ?!"),
            ("cat", "hmm c a t"),
            ("cat", "catだ"),
            ("bear", "b1e1a1r"),
            ("bear", "b熊e熊a熊r"),
        ] {
            assert_ne!(judge(answer, guess), GuessResult::Wrong, "{answer} {guess}");
        }
        assert_eq!(judge("cat", "catだ"), GuessResult::Near);
        for (answer, guess) in [("cat", "location"), ("ice cream", "ice"), ("a", "a lot")] {
            assert_eq!(judge(answer, guess), GuessResult::Wrong, "{answer} {guess}");
        }
    }

    #[test]
    fn the_edit_distance_is_symmetric() {
        let words = ["", "a", "ab", "ba", "abc", "acb", "abcd", "bacd", "badc", "xbcd", "abcdef"];
        for a in words {
            for b in words {
                let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
                assert_eq!(is_within_edits(&a, &b, 2), is_within_edits(&b, &a, 2), "{a:?} {b:?}");
                assert!(!is_within_edits(&a, &a, 2));
            }
        }
        let within = |a: &str, b: &str, max| {
            is_within_edits(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), max)
        };
        assert!(within("abcd", "bacd", 1) && within("abcd", "badc", 2) && !within("abcd", "badc", 1));
    }
}
