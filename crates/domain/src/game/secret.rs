//! The part of a game that nobody may see whole: the word options, the answer, and the seed of all
//! random choices.

use std::collections::HashSet;

use fastrand::Rng;

use super::settings::{OPTIONS, Settings, WordSource};
use super::{TurnId, Word, words};

/// The hidden part of a game, one item of the table. It changes when a turn begins and when its
/// word is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The seed of all random choices. It makes them repeatable: each function that advances the
    /// game gets the same result.
    pub seed: u64,
    /// The number of turns that got options. It is the position in the shuffled list, so no word
    /// repeats before all were used.
    pub dealt: u16,
    /// The last turn; `None` before the first.
    pub turn: Option<TurnSecret>,
}

/// The hidden part of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnSecret {
    /// The turn's id.
    pub id: TurnId,
    /// The words to choose from. They are stored because a new release may change the built-in
    /// list.
    pub options: Vec<Word>,
    /// The chosen word, after the drawer chose one.
    pub answer: Option<Answer>,
}

/// The chosen word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The word.
    pub word: Word,
    /// The positions of the letters that hints open, in order; at most half of the letters.
    pub hint_order: Vec<u8>,
}

impl Secret {
    /// The secret of a new game.
    pub fn new(seed: u64) -> Self {
        Self { seed, dealt: 0, turn: None }
    }

    /// Chooses the word options of the next turn.
    pub(super) fn deal(&mut self, id: TurnId, settings: &Settings, custom: &[Word]) {
        let share = match settings.words {
            WordSource::BuiltIn => 0,
            WordSource::Both => 1,
            WordSource::Custom => OPTIONS,
        };
        let share = share.min(custom.len());
        let mut deck: Vec<&Word> = custom.iter().collect();
        let mut options = self.take(&mut deck, share);
        if share < OPTIONS {
            let language = settings.language;
            let own: HashSet<String> = custom.iter().map(|word| word.spelling(language)).collect();
            let mut deck: Vec<&Word> = words::built_in(language).iter().map(|word| &word.text).collect();
            deck.retain(|word| !own.contains(&word.spelling(language)));
            options.extend(self.take(&mut deck, OPTIONS - share));
        }
        self.dealt = self.dealt.wrapping_add(1);
        self.turn = Some(TurnSecret { id, options, answer: None });
    }

    /// The next `count` words of a list that is always shuffled in the same order; after its end it
    /// starts again.
    fn take(&self, deck: &mut [&Word], count: usize) -> Vec<Word> {
        Rng::with_seed(self.seed).shuffle(deck);
        let from = usize::from(self.dealt) * count;
        deck.iter().cycle().skip(from % deck.len().max(1)).take(count).map(|word| (*word).clone()).collect()
    }

    /// The random generator of a turn; each call returns it in the same state.
    pub(super) fn chance(&self, turn: TurnId) -> Rng {
        let turn = u64::from(turn.round()) << 8 | u64::from(turn.number());
        Rng::with_seed(self.seed ^ turn.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The answer of a turn, if its word is chosen.
    pub(super) fn answer(&self, turn: TurnId) -> Option<&Answer> {
        self.turn.as_ref().filter(|secret| secret.id == turn).and_then(|secret| secret.answer.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Language;
    use super::*;

    fn deals(words: WordSource, custom: &[Word], turns: usize) -> Vec<Vec<Word>> {
        deals_in(Language::Japanese, words, custom, turns)
    }

    fn deals_in(language: Language, words: WordSource, custom: &[Word], turns: usize) -> Vec<Vec<Word>> {
        let settings = Settings { words, language, ..Settings::default() };
        let mut secret = Secret::new(7);
        let deal = |_| {
            secret.deal(TurnId::FIRST, &settings, custom);
            secret.turn.as_ref().expect("dealt").options.clone()
        };
        (0..turns).map(deal).collect()
    }

    fn own(words: &[&str]) -> Vec<Word> {
        words.iter().map(|word| Word::read(word).expect("a word")).collect()
    }

    #[test]
    fn each_word_is_dealt_once_before_the_list_repeats() {
        let deals = deals(WordSource::BuiltIn, &[], 100);
        let all: HashSet<_> = deals.iter().flatten().collect();
        assert_eq!(all.len(), 300);
    }

    #[test]
    fn turn_options_differ_even_after_the_list_repeats() {
        for custom in
            [own(&["あ", "い", "う"]), own(&["あ", "い", "う", "え"]), own(&["りんご", "いぬ", "ねこ", "ほん", "いえ"])]
        {
            for source in [WordSource::Custom, WordSource::Both] {
                for options in deals(source, &custom, 300) {
                    assert_eq!(options.iter().collect::<HashSet<_>>().len(), OPTIONS, "{options:?}");
                }
            }
        }
    }

    #[test]
    fn a_game_is_dealt_words_of_its_language() {
        for language in Language::ALL {
            let deals = deals_in(language, WordSource::BuiltIn, &[], 20);
            let is_listed = |word: &Word| words::built_in(language).iter().any(|listed| listed.text == *word);
            assert!(deals.iter().flatten().all(is_listed), "{deals:?}");
        }
    }

    #[test]
    fn turn_options_hold_a_custom_and_built_in_word_once() {
        let words = words::built_in(Language::English).iter().map(|word| word.text.to_string().to_uppercase());
        let custom: Vec<_> = words.skip(3).map(|word| Word::read(&word).expect("a word")).collect();
        for options in deals_in(Language::English, WordSource::Both, &custom, 9) {
            let spellings: HashSet<_> = options.iter().map(|word| word.spelling(Language::English)).collect();
            assert_eq!(spellings.len(), OPTIONS, "{options:?}");
        }
    }

    #[test]
    fn both_sources_deal_one_custom_and_two_built_in_options() {
        let custom = own(&["どらごん", "けんじゃ"]);
        for options in deals(WordSource::Both, &custom, 20) {
            assert_eq!(options.iter().filter(|word| custom.contains(word)).count(), 1);
        }
        for options in deals(WordSource::Custom, &own(&["あ", "い", "う", "え"]), 20) {
            assert!(options.iter().all(|word| word.chars().count() == 1));
        }
    }
}
