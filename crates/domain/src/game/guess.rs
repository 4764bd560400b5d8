//! Judges whether a guess is correct, near or wrong.
//!
//! The answer and the guess are normalised first ([`spelling`]), so different ways of typing a
//! word are equal. A small difference after that makes a near guess; only the guesser is told.

use super::guess_result::GuessResult;
use super::spelling::{self, Dash};
use super::{Hiragana, Language, Word, latin, words};

/// Shorter words have no near guesses by edit distance: too many words would be near.
const EDIT_LETTERS_MIN: usize = 3;

/// Compares a guess with the answer of a game in this language, and with the other names of it in
/// the built-in list. The drawer of a Japanese word also sees its English name. A guess of that name
/// is correct; as a wrong guess it would reveal the answer to everybody.
pub fn judge(language: Language, answer: &Word, guess: &str) -> GuessResult {
    let written = match answer {
        Word::Japanese(word) => judge_kana(word, guess),
        Word::Latin(word) => latin::judge(language, word.as_str(), guess),
    };
    let other_names = words::other_names(language, answer).iter().map(|name| latin::judge(language, name, guess));
    other_names.fold(written, GuessResult::min)
}

fn judge_kana(answer: &Hiragana, guess: &str) -> GuessResult {
    let wanted = spelling::kana(answer.as_str(), Dash::IsLongVowel);
    let given = spelling::kana(guess, Dash::IsLongVowel);
    // A dash may also separate the letters: か-ー-て-ん.
    let unparted = spelling::kana(guess, Dash::Parts);
    if [&given, &unparted].contains(&&wanted) {
        return GuessResult::Correct;
    }
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    let (wanted_letters, given_letters) = (letters(&wanted), letters(&given));
    let one_edit = wanted_letters.len() >= EDIT_LETTERS_MIN && is_one_edit(&wanted_letters, &given_letters);
    let is_mixed_up = folded(&wanted) == folded(&given) || folded(&wanted) == folded(&unparted);
    if one_edit || is_mixed_up || gives_it_away(&wanted, &[&given, &unparted]) {
        return GuessResult::Near;
    }
    GuessResult::Wrong
}

/// Whether the text contains the answer, also with other characters between its letters.
fn gives_it_away(wanted: &str, said: &[&str]) -> bool {
    // A single letter is in too many words to hide those lines from the chat.
    if wanted.chars().count() < 2 {
        return false;
    }
    let mixed_up_counts = wanted.chars().count() >= EDIT_LETTERS_MIN;
    said.iter().any(|said| {
        let kana: String = said.chars().filter(|c| matches!(c, 'ぁ'..='ゖ' | 'ー')).collect();
        [*said, &kana]
            .iter()
            .any(|text| text.contains(wanted) || mixed_up_counts && folded(text).contains(&folded(wanted)))
    })
}

/// Removes differences that people often mix up: small and large kana, ぢ and じ, づ and ず, a
/// long-vowel mark and its vowel.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let vowel = out.chars().next_back().and_then(vowel);
        out.push(match (c, vowel) {
            ('ー', Some(vowel)) => vowel,
            ('う', Some('お')) => 'お',
            ('い', Some('え')) => 'え',
            (c, _) => large(c),
        });
    }
    out
}

fn large(c: char) -> char {
    match c {
        'ぁ' => 'あ',
        'ぃ' => 'い',
        'ぅ' => 'う',
        'ぇ' => 'え',
        'ぉ' => 'お',
        'っ' => 'つ',
        'ゃ' => 'や',
        'ゅ' => 'ゆ',
        'ょ' => 'よ',
        'ゎ' => 'わ',
        'ゕ' => 'か',
        'ゖ' => 'け',
        'ぢ' => 'じ',
        'づ' => 'ず',
        c => c,
    }
}

/// The vowel that a large kana ends with.
fn vowel(c: char) -> Option<char> {
    const ROWS: [(char, &str); 5] = [
        ('あ', "あかがさざただなはばぱまやらわ"),
        ('い', "いきぎしじちにひびぴみりゐ"),
        ('う', "うくぐすずつぬふぶぷむゆるゔ"),
        ('え', "えけげせぜてでねへべぺめれゑ"),
        ('お', "おこごそぞとどのほぼぽもよろを"),
    ];
    ROWS.iter().find(|(_, row)| row.contains(c)).map(|(vowel, _)| *vowel)
}

/// Whether exactly one insertion, deletion or substitution turns one text into the other.
fn is_one_edit(a: &[char], b: &[char]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (rest_of_short, rest_of_long) = (&short[same..], &long[same..]);
    match (rest_of_short, rest_of_long) {
        (_, []) => false,
        (short, [_, long @ ..]) if short == long => true,
        ([_, short @ ..], [_, long @ ..]) => short == long,
        ([], _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(answer: &str, guess: &str) -> GuessResult {
        let word = Word::read(answer).expect("a word");
        let language = if word.suits(Language::Japanese) { Language::Japanese } else { Language::English };
        judge(language, &word, guess)
    }

    #[test]
    fn a_guess_may_be_written_in_any_kana() {
        for guess in [
            "がっこう",
            "ガッコウ",
            "ｶﾞｯｺｳ",
            "か\u{3099}っこう",
            "か゛っこう",
            "ｶ\u{3099}ッコウ",
            " が っ こ う ",
            "が\u{3000}っこう",
            "がっ\u{200b}こう",
        ] {
            assert_eq!(judged("がっこう", guess), GuessResult::Correct, "{guess:?}");
        }
        for guess in ["ケーキ", "ｹｰｷ", "けーき", "けーーき", "け−き", "ケ〜キ", "ケ-キ", "け―き", "ケ～キ", "ケ－キ"]
        {
            assert_eq!(judged("けーき", guess), GuessResult::Correct, "{guess:?}");
        }
        assert_eq!(judged("ぴあの", "ﾋﾟｱﾉ"), GuessResult::Correct);
        assert_eq!(judged("ゔぁいおりん", "ヴァイオリン"), GuessResult::Correct);
    }

    #[test]
    fn letters_that_people_confuse_are_near() {
        for (answer, guess) in [
            ("けーき", "けえき"),
            ("おかあさん", "おかーさん"),
            ("ひこうき", "ひこーき"),
            ("とけい", "とけー"),
            ("きっぷ", "きつぷ"),
            ("じしゃく", "じしやく"),
            ("はなじ", "はなぢ"),
            ("かなづち", "かなずち"),
            ("ぢ", "じ"),
            ("ちず", "ちづ"),
        ] {
            assert_eq!(judged(answer, guess), GuessResult::Near, "{answer} {guess}");
            assert_eq!(judged(guess, answer), GuessResult::Near, "{guess} {answer}");
        }
    }

    #[test]
    fn guess_one_edit_away_is_near_from_three_letters_on() {
        for guess in ["りんが", "りん", "んご", "りご", "りんごご", "りいんご", "みんご"] {
            assert_eq!(judged("りんご", guess), GuessResult::Near, "{guess}");
        }
        for guess in ["りんかい", "りょうご", "ごりん", "", "みかん", "りごん"] {
            assert_eq!(judged("りんご", guess), GuessResult::Wrong, "{guess}");
        }
        assert_eq!(judged("いぬ", "いね"), GuessResult::Wrong);
        assert_eq!(judged("き", "け"), GuessResult::Wrong);
    }

    #[test]
    fn a_guess_that_contains_the_answer_is_near() {
        for guess in ["りんごかな？", "これはリンゴだ", "あかい り ん ご", "林檎(りんご)"] {
            assert_eq!(judged("りんご", guess), GuessResult::Near, "{guess}");
        }
        for guess in ["かあてんかな", "まどのかぁてん", "それはか-ー-て-んだ", "kaかーてんten"]
        {
            assert_eq!(judged("かーてん", guess), GuessResult::Near, "{guess}");
        }
        assert_eq!(judged("き", "きれい"), GuessResult::Wrong);
    }

    #[test]
    fn separators_between_letters_do_not_hide_the_answer() {
        for guess in [
            "か・ー・て・ん",
            "カ･ｰ･ﾃ･ﾝ",
            "か.ー.て.ん",
            "か、ー、て、ん！",
            "か ー\u{200b}て\u{ad}ん",
            "か-ー-て-ん",
            "か/ー/て/ん",
            "か🎨ー🎨て🎨ん",
            "「カーテン」",
            "㋕ー㋢ん",
            "か＿ー＿て＿ん",
            "か\u{fe0f}ーて\u{2060}ん",
        ] {
            assert_eq!(judged("かーてん", guess), GuessResult::Correct, "{guess:?}");
        }
        for guess in ["か1ー1て1ん", "xかxーxてxんx", "か檎ーてん", "か👍あ👍て👍ん"] {
            assert_eq!(judged("かーてん", guess), GuessResult::Near, "{guess:?}");
        }
        assert_eq!(judged("すずめ", "すゞめ"), GuessResult::Correct);
        assert_eq!(judged("ここ", "こゝ"), GuessResult::Correct);
        for guess in ["・", "ー", "!?", "👍", "ゝ", "か・て", "かき"] {
            assert_eq!(judged("かーてん", guess), GuessResult::Wrong, "{guess:?}");
        }
    }

    #[test]
    fn english_gloss_counts_as_correct_or_near_guess() {
        for guess in ["apple", "Apple", "an apple", "apples", "APPLE!"] {
            assert_eq!(judged("りんご", guess), GuessResult::Correct, "{guess}");
        }
        for guess in ["aple", "is it an apple?", "applepie"] {
            assert_eq!(judged("りんご", guess), GuessResult::Near, "{guess}");
        }
        // A word with two meanings has the other names of both.
        for guess in ["spider", "cloud"] {
            assert_eq!(judged("くも", guess), GuessResult::Correct, "{guess}");
        }
        assert_eq!(judged("くも", "or"), GuessResult::Wrong);
        assert_eq!(judged("りんご", "orange"), GuessResult::Wrong);
        assert_eq!(judged("んんん", "apple"), GuessResult::Wrong);
    }

    #[test]
    fn another_name_of_an_english_word_is_correct() {
        for (answer, guess) in
            [("truck", "lorry"), ("Truck", "a lorry"), ("airplane", "aeroplane"), ("television", "TV")]
        {
            assert_eq!(judged(answer, guess), GuessResult::Correct, "{answer} {guess}");
        }
        assert_eq!(judged("truck", "lory"), GuessResult::Near);
        assert_eq!(judged("dog", "いぬ"), GuessResult::Wrong);
    }

    #[test]
    fn one_edit_is_symmetric_and_not_zero() {
        let words = ["", "あ", "あい", "あいう", "いう", "あう", "あえう", "えいう", "あいうえ", "ういあ"];
        for a in words {
            for b in words {
                let (a, b): (Vec<_>, Vec<_>) = (a.chars().collect(), b.chars().collect());
                assert_eq!(is_one_edit(&a, &b), is_one_edit(&b, &a), "{a:?} {b:?}");
                assert_eq!(is_one_edit(&a, &b), distance(&a, &b) == 1, "{a:?} {b:?}");
            }
        }
    }

    /// The Levenshtein distance by its definition.
    fn distance(a: &[char], b: &[char]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([x, a @ ..], [y, b @ ..]) if x == y => distance(a, b),
            ([_, a_rest @ ..], [_, b_rest @ ..]) => {
                1 + distance(a_rest, b).min(distance(a, b_rest)).min(distance(a_rest, b_rest))
            }
        }
    }
}
