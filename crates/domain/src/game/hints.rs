//! Hints: letters of the answer that open as time passes.

use fastrand::Rng;

use super::Hiragana;

/// What stands for a letter that is not opened.
pub const CLOSED_LETTER: char = '＿';

/// The most times that letters open in one turn. Each is a change of the room, so a long word opens several letters at a time.
const STEPS_MAX: usize = 4;

/// The places of the letters that will open, in their order: half of them at most, so that one stays closed always.
pub(super) fn order(word: &Hiragana, rng: &mut Rng) -> Vec<u8> {
    let mut places: Vec<u8> = (0u8..).zip(word.chars()).map(|(place, _)| place).collect();
    let open = places.len() / 2;
    rng.shuffle(&mut places);
    places.truncate(open);
    places
}

/// How long after the drawing's begin letters open for the next time, when they have opened `steps` times: the steps part the time limit evenly.
pub(super) fn next_ms(letters: usize, steps: u8, limit_ms: u64) -> Option<u64> {
    let all = letters.min(STEPS_MAX) as u64;
    (u64::from(steps) < all).then(|| limit_ms * (u64::from(steps) + 1) / (all + 1))
}

/// How many of those letters are open after so many steps.
pub(super) fn open_letters(letters: usize, steps: u8) -> usize {
    let all = letters.min(STEPS_MAX);
    (letters * usize::from(steps).min(all)).checked_div(all).unwrap_or(0)
}

/// The word with the first `open` places of the order opened.
pub(super) fn mask(word: &Hiragana, order: &[u8], open: usize) -> Vec<Option<char>> {
    let opened = &order[..open.min(order.len())];
    (0u8..).zip(word.chars()).map(|(place, letter)| opened.contains(&place).then_some(letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_half_of_a_word_opens() {
        for length in 1..=50 {
            let word = Hiragana::new(&"あ".repeat(length)).expect("a word");
            let order = order(&word, &mut Rng::with_seed(3));
            let end = mask(&word, &order, open_letters(order.len(), 9));
            assert_eq!(end.len(), length);
            assert_eq!(end.iter().flatten().count(), length / 2);
        }
    }

    #[test]
    fn the_steps_part_the_time_evenly() {
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
    fn a_mask_shows_what_is_open_and_nothing_else() {
        let word = Hiragana::new("りんご").expect("a word");
        assert_eq!(mask(&word, &[1], 0), [None, None, None]);
        assert_eq!(mask(&word, &[1], 1), [None, Some('ん'), None]);
    }
}
