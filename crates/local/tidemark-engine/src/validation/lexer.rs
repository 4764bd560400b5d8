//! Splits an expression into tokens.

/// A token and its place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The offset of its first byte.
    pub(super) start: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An attribute, a keyword or a function.
    Word,
    /// `#name`.
    Name,
    /// `:value`.
    Value,
    Number,
    Symbol,
}

impl Token<'_> {
    /// The offset behind its last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The tokens of `text`; `None` if it has a character that begins none.
pub(super) fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        if first.is_ascii_whitespace() {
            start += 1;
            continue;
        }
        let rest = &text[start..];
        let (kind, length) = match first {
            '#' | ':' => {
                let length = 1 + word_length(&rest[1..]);
                (if first == '#' { Kind::Name } else { Kind::Value }, if length > 1 { length } else { return None })
            }
            '0'..='9' => (Kind::Number, rest.bytes().take_while(u8::is_ascii_digit).count()),
            'a'..='z' | 'A'..='Z' => (Kind::Word, word_length(rest)),
            '<' if rest.starts_with("<>") => (Kind::Symbol, 2),
            '<' | '>' if rest[1..].starts_with('=') => (Kind::Symbol, 2),
            '=' | '<' | '>' | '(' | ')' | '[' | ']' | '.' | ',' | '+' | '-' => (Kind::Symbol, 1),
            _ => return None,
        };
        tokens.push(Token { kind, text: &rest[..length], start });
        start += length;
    }
    Some(tokens)
}

/// The first word that begins with an underscore. The emulator takes it for a name.
pub(super) fn misplaced_underscore(text: &str) -> Option<&str> {
    let is_in_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_#:".contains(&byte);
    let begins = |at: usize| text[..at].bytes().next_back().is_none_or(|before| !is_in_word(before));
    let start = text.match_indices('_').map(|(at, _)| at).find(|at| begins(*at))?;
    text.get(start..start + word_length(&text[start..]))
}

fn word_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count()
}
