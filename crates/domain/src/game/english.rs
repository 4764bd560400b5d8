//! Judges whether an English guess is correct, near or wrong.
//!
//! Case, accents, punctuation, spaces, hyphens, a leading article and a simple plural make no
//! difference. `docs/rules.md` has the rules for players.

use super::guess_result::GuessResult;
use super::spelling::{parts, without_article};

/// Shorter answers have no near guesses by edit distance: half of all short words would be near.
const EDIT_LETTERS_MIN: usize = 4;
/// Answers of at least this many letters have near guesses two edits away.
const TWO_EDITS_LETTERS_MIN: usize = 8;
/// A shorter answer is part of too many other words ("cat" in "location") to search inside words.
const WITHIN_LETTERS_MIN: usize = 4;
/// A shorter word has no plural by rule: otherwise "bus" would be the plural of "bu".
const SINGULAR_LETTERS_MIN: usize = 3;

/// The maximum difference in length between a plural and its singular (children).
const PLURAL_BYTES_MAX: usize = 3;

/// Irregular singulars and plurals, compared by the end of the word, so "man" covers "snowman".
const IRREGULAR: [(&str, &str); 8] = [
    ("man", "men"),
    ("mouse", "mice"),
    ("tooth", "teeth"),
    ("foot", "feet"),
    ("goose", "geese"),
    ("child", "children"),
    ("person", "people"),
    ("cactus", "cacti"),
];

/// Compares a guess with an English answer, or with an English name of a Japanese answer.
pub(super) fn judge(answer: &str, guess: &str) -> GuessResult {
    let (answer, guess) = (parts(answer), parts(guess));
    let (wanted, given) = (without_article(&answer).concat(), without_article(&guess));
    let (answer, given_spelling) = (answer.concat(), given.concat());
    // An article may be part of the word ("a cappella") and be written without a space
    // ("acappella").
    let is_right =
        is_same(&answer, &guess.concat()) || is_same(&answer, &given_spelling) || is_same(&wanted, &given_spelling);
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
    if is_near || gives_away(&wanted, given) {
        return GuessResult::Near;
    }
    GuessResult::Wrong
}

/// Whether the two are equal, or one is the plural of the other.
fn is_same(a: &str, b: &str) -> bool {
    a == b || is_plural(a, b) || is_plural(b, a)
}

fn is_plural(singular: &str, plural: &str) -> bool {
    let ends = |one: &str, many: &str| {
        singular.strip_suffix(one).is_some_and(|stem| plural.strip_suffix(many).is_some_and(|other| other == stem))
    };
    if IRREGULAR.iter().any(|(one, many)| ends(one, many)) {
        return true;
    }
    let is_hissed = ["s", "x", "z", "ch", "sh", "o"].iter().any(|end| singular.ends_with(end));
    let has_rule = singular.len() >= SINGULAR_LETTERS_MIN;
    has_rule
        && (!singular.ends_with('s') && ends("", "s")
            || is_hissed && ends("", "es")
            || ends("y", "ies")
            || ends("f", "ves")
            || ends("fe", "ves"))
}

/// Whether the guess contains the answer: as whole words, or anywhere for a longer answer.
fn gives_away(wanted: &str, given: &[String]) -> bool {
    let count = wanted.chars().count();
    // Removes digits and other scripts between the letters: "b1e1a1r".
    let whole = given.concat();
    let letters: String = whole.chars().filter(char::is_ascii_alphabetic).collect();
    if count >= WITHIN_LETTERS_MIN && [&whole, &letters].iter().any(|text| text.contains(wanted)) {
        return true;
    }
    // A single letter ("a") is in too many lines to hide them from the chat.
    count > 1 && (0..given.len()).any(|from| has_in_front(&given[from..], wanted))
}

/// Whether the text begins with the answer, with any separators: "ice cream", "icecream", "i c e c
/// r e a m".
fn has_in_front(given: &[String], wanted: &str) -> bool {
    let mut joined = String::new();
    for part in given {
        joined.push_str(part);
        if joined.len() > wanted.len() + PLURAL_BYTES_MAX {
            return false;
        }
        if is_same(&joined, wanted) {
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
