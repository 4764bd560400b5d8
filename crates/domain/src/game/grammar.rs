//! What makes no difference between two guesses, for each language in Latin letters: articles,
//! plurals, and letters with a second spelling. Case, accents, punctuation, spaces and hyphens make
//! no difference in any of them.
//!
//! All texts are folded: lower case, without accents.

use super::Language;

/// The rules of one language.
pub(super) struct Grammar {
    /// Letters that people also write in another way: "ä" is "a" or "ae".
    pub(super) digraphs: &'static [(char, &'static str)],
    /// The articles that may be in front of a guess. French "l'" is a part of its own.
    pub(super) articles: &'static [&'static str],
    plurals: &'static [Plural],
}

/// A way to make a plural.
enum Plural {
    /// After one of these letters, the plural adds an ending.
    After(&'static str, &'static str),
    /// After all letters except these, the plural adds an ending.
    NotAfter(&'static str, &'static str),
    /// The plural has another ending. An irregular word is an ending too, so "man" covers
    /// "snowman".
    Changes(&'static str, &'static str),
}

/// A shorter word has no plural by an added ending: otherwise "bus" would be the plural of "bu",
/// and "Eis" of "Ei".
const SINGULAR_LETTERS_MIN: usize = 3;

use Plural::{After, Changes, NotAfter};

const ENGLISH: Grammar = Grammar {
    digraphs: &[],
    articles: &["a", "an", "the"],
    plurals: &[
        NotAfter("s", "s"),
        After("sxzo", "es"),
        Changes("ch", "ches"),
        Changes("sh", "shes"),
        Changes("y", "ies"),
        Changes("f", "ves"),
        Changes("fe", "ves"),
        Changes("man", "men"),
        Changes("mouse", "mice"),
        Changes("tooth", "teeth"),
        Changes("foot", "feet"),
        Changes("goose", "geese"),
        Changes("child", "children"),
        Changes("person", "people"),
        Changes("cactus", "cacti"),
    ],
};

/// A plural in "-er" is listed by word: by rule, "Fischer" would be the plural of "Fisch".
const GERMAN: Grammar = Grammar {
    digraphs: &[('ä', "ae"), ('ö', "oe"), ('ü', "ue")],
    articles: &["der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "eines"],
    plurals: &[
        After("elr", "n"),
        NotAfter("e", "en"),
        NotAfter("e", "e"),
        After("aiouyln", "s"),
        Changes("in", "innen"),
        Changes("is", "isse"),
        Changes("us", "usse"),
        Changes("kaktus", "kakteen"),
        Changes("ei", "eier"),
        Changes("bad", "bader"),
        Changes("bild", "bilder"),
        Changes("blatt", "blatter"),
        Changes("buch", "bucher"),
        Changes("brett", "bretter"),
        Changes("fass", "fasser"),
        Changes("geist", "geister"),
        Changes("gespenst", "gespenster"),
        Changes("glas", "glaser"),
        Changes("haus", "hauser"),
        Changes("holz", "holzer"),
        Changes("horn", "horner"),
        Changes("huhn", "huhner"),
        Changes("kleid", "kleider"),
        Changes("loch", "locher"),
        Changes("mann", "manner"),
        Changes("nest", "nester"),
        Changes("rad", "rader"),
        Changes("schild", "schilder"),
        Changes("schloss", "schlosser"),
        Changes("schwert", "schwerter"),
        Changes("tuch", "tucher"),
        Changes("wald", "walder"),
        Changes("wurm", "wurmer"),
    ],
};

const FRENCH: Grammar = Grammar {
    digraphs: &[],
    articles: &["le", "la", "les", "l", "un", "une", "des", "du"],
    plurals: &[
        NotAfter("sxz", "s"),
        After("u", "x"),
        Changes("al", "aux"),
        Changes("ail", "aux"),
        Changes("oeil", "yeux"),
    ],
};

const SPANISH: Grammar = Grammar {
    digraphs: &[],
    articles: &["el", "la", "los", "las", "un", "una", "unos", "unas"],
    plurals: &[After("aeiou", "s"), NotAfter("aeouz", "es"), Changes("z", "ces")],
};

const PORTUGUESE: Grammar = Grammar {
    digraphs: &[],
    articles: &["o", "a", "os", "as", "um", "uma", "uns", "umas"],
    plurals: &[
        After("aeiou", "s"),
        NotAfter("aeioulm", "es"),
        Changes("m", "ns"),
        Changes("l", "is"),
        Changes("il", "is"),
        Changes("il", "eis"),
        Changes("ao", "oes"),
        Changes("ao", "aes"),
    ],
};

impl Grammar {
    /// The rules of a language. A Japanese word has English names, which follow the English rules.
    pub(super) fn of(language: Language) -> &'static Self {
        match language {
            Language::English | Language::Japanese => &ENGLISH,
            Language::German => &GERMAN,
            Language::French => &FRENCH,
            Language::Spanish => &SPANISH,
            Language::Portuguese => &PORTUGUESE,
        }
    }

    /// Whether the two are equal, or one is the plural of the other.
    pub(super) fn is_same(&self, a: &str, b: &str) -> bool {
        a == b || self.is_plural(a, b) || self.is_plural(b, a)
    }

    fn is_plural(&self, singular: &str, plural: &str) -> bool {
        let adds = |ending: &str| {
            singular.len() >= SINGULAR_LETTERS_MIN && plural.strip_suffix(ending).is_some_and(|stem| stem == singular)
        };
        let ends_with_any = |letters: &str| singular.ends_with(|last| letters.contains(last));
        self.plurals.iter().any(|plural_rule| match *plural_rule {
            After(letters, ending) => adds(ending) && ends_with_any(letters),
            NotAfter(letters, ending) => adds(ending) && !ends_with_any(letters),
            Changes(one, many) => singular
                .strip_suffix(one)
                .is_some_and(|stem| plural.strip_suffix(many).is_some_and(|other| other == stem)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simple_plural_is_the_same_word() {
        for (language, pairs) in [
            (Language::English, "dog dogs, fox foxes, witch witches, fly flies, knife knives, snowman snowmen"),
            (
                Language::German,
                "hase hasen, gabel gabeln, uhr uhren, hund hunde, apfel apfel, auto autos, konigin koniginnen, \
                 kurbis kurbisse, ei eier, krankenhaus krankenhauser, fahrrad fahrrader",
            ),
            (Language::French, "chat chats, oiseau oiseaux, cheval chevaux, oeil yeux, oeuf oeufs, chou choux"),
            (Language::Spanish, "gato gatos, flor flores, pez peces, autobus autobuses, rey reyes, sofa sofas"),
            (
                Language::Portuguese,
                "gato gatos, flor flores, aviao avioes, pao paes, mao maos, anel aneis, caracol caracois, \
                 nuvem nuvens, fossil fosseis, barril barris, luz luzes",
            ),
        ] {
            for pair in pairs.split(", ") {
                let (one, many) = pair.split_once(' ').expect("a pair");
                let grammar = Grammar::of(language);
                assert!(grammar.is_same(one, many) && grammar.is_same(many, one), "{pair}");
            }
        }
    }

    #[test]
    fn another_word_with_a_similar_ending_is_no_plural() {
        for (language, pairs) in [
            (Language::English, "glass glas, bus bu, gas ga"),
            (Language::German, "ei eis, fisch fischer, kamm kammer, post poster"),
            (Language::French, "ver verre, bal ballon, os oss"),
            (Language::Spanish, "pato pata, pie piel, boca bocado"),
            (Language::Portuguese, "pato pata, mao maca, sol sola"),
        ] {
            for pair in pairs.split(", ") {
                let (one, other) = pair.split_once(' ').expect("a pair");
                assert!(!Grammar::of(language).is_same(one, other), "{pair}");
            }
        }
    }
}
