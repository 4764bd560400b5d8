//! The guesses of a bot: any word of the built-in list of the game's language that fits the mask.
//! Guesses get better with each letter that is revealed.

use std::collections::HashSet;

use domain::game::words::built_in;
use domain::game::{CLOSED_LETTER, Language};
use fastrand::Rng;

/// A word that fits and was not guessed yet; `None` if there is none.
pub(crate) fn guess(language: Language, mask: &str, said: &HashSet<String>, rng: &mut Rng) -> Option<String> {
    let fitting = built_in(language)
        .iter()
        .map(|word| word.text.as_str())
        .filter(|word| fits(word, mask) && !said.contains(*word));
    rng.choice(fitting.collect::<Vec<_>>()).map(str::to_owned)
}

fn fits(word: &str, mask: &str) -> bool {
    word.chars().count() == mask.chars().count()
        && word.chars().zip(mask.chars()).all(|(letter, open)| open == CLOSED_LETTER || open == letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_fits_the_mask_and_is_not_repeated() {
        let mut rng = Rng::with_seed(1);
        let mut said = HashSet::new();
        while let Some(word) = guess(Language::Japanese, "＿ん＿", &said, &mut rng) {
            assert_eq!((word.chars().count(), word.chars().nth(1)), (3, Some('ん')));
            assert!(said.insert(word));
        }
        assert!(said.contains("りんご") && said.len() < 60, "{said:?}");
        said.clear();
        while let Some(word) = guess(Language::English, "＿＿＿ ＿r＿＿＿", &said, &mut rng) {
            assert!(said.insert(word));
        }
        assert!(said.contains("ice cream") && said.len() < 10, "{said:?}");
    }
}
