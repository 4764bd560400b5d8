//! The normalised spellings of words and guesses: different ways of typing a word are equal.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::Language;
use super::grammar::Grammar;
use crate::short_text::is_invisible;

/// The reading of a dash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dash {
    /// As a long-vowel mark; some keyboards have no key for that mark.
    IsLongVowel,
    /// As a separator between letters.
    Parts,
}

/// The normalised spelling of a text in kana: composed voicing marks, one form of compatible
/// characters (half width, full width, circled), lower case, hiragana instead of katakana, one
/// long-vowel mark instead of several or of a dash, and repetition marks written out. Only letters,
/// marks and digits remain: no spaces, points or signs.
pub(super) fn kana(text: &str, dash: Dash) -> String {
    // NFKC turns a spacing voicing mark into a space and a mark, which would separate it from its
    // kana.
    let attached = text.chars().map(|c| match c {
        '\u{309b}' => '\u{3099}',
        '\u{309c}' => '\u{309a}',
        c => c,
    });
    let visible = attached.filter(|c| !c.is_whitespace() && !c.is_control() && !is_invisible(*c));
    let mut out = String::with_capacity(text.len());
    for c in visible.nfkc().flat_map(char::to_lowercase) {
        let before = out.chars().next_back();
        let c = match c {
            'ァ'..='ヶ' | 'ヽ' | 'ヾ' => char::from_u32(c as u32 - 0x60).unwrap_or(c),
            '-' | '‐'..='―' | '−' | '~' | '〜' | '─' | '━' if dash == Dash::IsLongVowel => 'ー',
            c => c,
        };
        match (c, before) {
            ('ー', Some('ー')) => {}
            ('ー', _) => out.push(c),
            ('ゝ', Some(before)) => out.push(before),
            ('ゞ', Some(before)) => out.extend([before, '\u{3099}'].into_iter().nfc()),
            (c, _) if c.is_alphanumeric() || is_combining_mark(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// The reading of letters that have a second spelling in a language (ä, ae).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Accents {
    /// Without the accent, as in all other letters: ä is a.
    Removed,
    /// By the second spelling: ä is ae.
    WrittenOut,
}

/// The normalised spelling of a word in Latin letters; it keeps the plural.
pub(super) fn latin(language: Language, text: &str) -> String {
    let grammar = Grammar::of(language);
    without_article(grammar, &parts(grammar, Accents::WrittenOut, text)).concat()
}

/// The parts without an article in front.
pub(super) fn without_article<'a>(grammar: &Grammar, parts: &'a [String]) -> &'a [String] {
    match parts {
        [article, rest @ ..] if !rest.is_empty() && grammar.articles.contains(&article.as_str()) => rest,
        _ => parts,
    }
}

/// The parts of a text in lower case without accents.
pub(super) fn parts(grammar: &Grammar, accents: Accents, text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in text.nfkc().flat_map(char::to_lowercase) {
        let digraph = grammar.digraphs.iter().find(|(letter, _)| *letter == c && accents == Accents::WrittenOut);
        match (digraph, parts.last_mut()) {
            (Some((_, written_out)), Some(part)) => part.push_str(written_out),
            _ => [c].into_iter().nfkd().filter(|c| !is_combining_mark(*c)).for_each(|c| push(&mut parts, c)),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Adds a character in lower case without accents to the last part, or begins another part.
fn push(parts: &mut Vec<String>, c: char) {
    let Some(part) = parts.last_mut() else { return };
    match c {
        'ß' => part.push_str("ss"),
        'æ' => part.push_str("ae"),
        'œ' => part.push_str("oe"),
        'ø' => part.push('o'),
        'ł' => part.push('l'),
        'đ' | 'ð' => part.push('d'),
        'ı' => part.push('i'),
        c if is_letter_or_digit(c) => part.push(c),
        // A letter of another script separates like a space, and still makes it a different guess.
        c if c.is_alphanumeric() => parts.extend([c.to_string(), String::new()]),
        _ => parts.push(String::new()),
    }
}

/// Whether a character is a letter or digit of a word in Latin letters.
pub(super) fn is_letter_or_digit(c: char) -> bool {
    let is_latin = matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}') && c.is_alphabetic();
    c.is_ascii_alphanumeric() || is_latin
}
