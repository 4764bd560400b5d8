//! Hints: letters of the answer that are revealed during the drawing.

use fastrand::Rng;

use super::Word;

/// The character shown for a letter that is not open.
pub const CLOSED_LETTER: char = '＿';

/// The maximum number of hints in a turn. Each hint is a write of the room, so a long word opens
/// several letters at a time.
const STEPS_MAX: usize = 4;

/// The positions of the letters that hints open, in order: at most half of the letters, so at least
/// one stays closed.
pub(super) fn order(word: &Word, rng: &mut Rng) -> Vec<u8> {
    let letters = (0u8..).zip(word.chars()).filter(|(_, c)| is_letter(*c));
    let mut places: Vec<u8> = letters.map(|(place, _)| place).collect();
    let open = places.len() / 2;
    rng.shuffle(&mut places);
    places.truncate(open);
    places
}

/// The time from the start of the drawing to the next hint, after `steps` hints; `None` after the
/// last. The hints divide the time limit into equal parts.
pub(super) fn next_ms(letters: usize, steps: u8, limit_ms: u64) -> Option<u64> {
    let all = letters.min(STEPS_MAX) as u64;
    (u64::from(steps) < all).then(|| limit_ms * (u64::from(steps) + 1) / (all + 1))
}

/// The number of open letters after `steps` hints.
pub(super) fn open_letters(letters: usize, steps: u8) -> usize {
    let all = letters.min(STEPS_MAX);
    (letters * usize::from(steps).min(all)).checked_div(all).unwrap_or(0)
}

/// The number of letters that hints open in the word with this mask.
pub(super) fn open_max(mask: &[Option<char>]) -> usize {
    mask.iter().filter(|place| place.is_none_or(is_letter)).count() / 2
}

/// Whether a character is hidden at first. Spaces, hyphens and apostrophes of a word are not.
fn is_letter(c: char) -> bool {
    c.is_alphanumeric()
}

/// The mask of the word with the first `open` positions of the order open.
pub(super) fn mask(word: &Word, order: &[u8], open: usize) -> Vec<Option<char>> {
    let opened = &order[..open.min(order.len())];
    let is_open = |place, c| opened.contains(&place) || !is_letter(c);
    (0u8..).zip(word.chars()).map(|(place, c)| is_open(place, c).then_some(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_reveal_at_most_half_of_a_word() {
        for length in 1..=50 {
            for letter in ["あ", "ー", "a", "é", "ñ", "ß", "œ", "ã"] {
                let Ok(word) = Word::read(&format!("{}{}", letter.repeat(length - 1), letter.replace('ー', "あ")))
                else {
                    panic!()
                };
                let order = order(&word, &mut Rng::with_seed(3));
                let end = mask(&word, &order, open_letters(order.len(), 9));
                assert_eq!((end.len(), open_max(&end)), (length, order.len()));
                assert_eq!(end.iter().flatten().count(), length / 2);
            }
        }
    }

    #[test]
    fn hints_are_spread_evenly_over_the_time_limit() {
        let times = |letters| (0..9).map_while(|step| next_ms(letters, step, 60_000)).collect::<Vec<_>>();
        assert_eq!(times(0), [0; 0]);
        assert_eq!(times(1), [30_000]);
        assert_eq!(times(2), [20_000, 40_000]);
        assert_eq!(times(25), [12_000, 24_000, 36_000, 48_000]);
        let opened = |letters| (0..=4).map(|steps| open_letters(letters, steps)).collect::<Vec<_>>();
        assert_eq!(opened(2), [0, 1, 2, 2, 2]);
        assert_eq!(opened(25), [0, 6, 12, 18, 25]);
    }

    #[test]
    fn a_mask_shows_only_the_revealed_letters() {
        let word = Word::read("りんご").expect("a word");
        assert_eq!(mask(&word, &[1], 0), [None, None, None]);
        assert_eq!(mask(&word, &[1], 1), [None, Some('ん'), None]);
    }

    #[test]
    fn hint_mask_shows_separators_and_never_counts_them() {
        let word = Word::read("yo-yo x'y").expect("a word");
        let shown = |open| mask(&word, &[1, 4, 8], open).iter().map(|c| c.unwrap_or('_')).collect::<String>();
        assert_eq!((shown(0).as_str(), shown(3).as_str()), ("__-__ _'_", "_o-_o _'y"));
        for seed in 0..20 {
            let order = order(&word, &mut Rng::with_seed(seed));
            assert_eq!((order.len(), open_max(&mask(&word, &order, 2))), (3, 3));
            assert!(order.iter().all(|place| ![2, 5, 7].contains(place)), "{order:?}");
        }
    }
}
