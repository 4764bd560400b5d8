//! Parses the expressions and templates of a mapping.

// expression  = or
// or          = and { "or" and }
// and         = not { "and" not }
// not         = [ "not" ] comparison
// comparison  = fallback [ ("=" | "<>" | "<" | "<=" | ">" | ">=") fallback
//                        | "is" [ "not" ] "null"
//                        | [ "not" ] "in" "(" expression { "," expression } ")" ]
// fallback    = piped { "??" piped }
// piped       = primary { "|" conversion [ "(" expression { "," expression } ")" ] }
// primary     = column [ "." field ] | "$" name [ "." column ] | 'text' | number
//             | "true" | "false" | "null" | "(" expression ")"
// template    = text with placeholders: "ORDER#{id | pad(12)}"

use std::cmp::Ordering;
use std::fmt;

use super::code::{Code, Comparison, Piece, Template};
use super::names::Scope;
use super::value::Value;

/// Why a text is not an expression, and the offset in bytes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) why: String,
}

pub(super) fn error<T>(at: usize, why: impl Into<String>) -> Result<T, SyntaxError> {
    Err(SyntaxError { at, why: why.into() })
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Name(String),
    Text(String),
    Number(String),
    Sign(&'static str),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Number(text) => write!(f, "{text:?}"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Sign(sign) => write!(f, "{sign:?}"),
        }
    }
}

/// Longer signs come before their beginnings.
const SIGNS: [&str; 14] = ["??", "<>", "<=", ">=", "<", ">", "=", "|", "(", ")", ",", ".", "$", "-"];

/// The tokens of a text that begins at `base`.
fn tokens(text: &str, base: usize) -> Result<Vec<(Token, usize)>, SyntaxError> {
    let (mut tokens, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        let at = base + (text.len() - rest.len());
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let length = |ends: fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
        let (token, length) = match first {
            '\'' | '"' => {
                let (content, length) = quoted(rest, first, at)?;
                (if first == '\'' { Token::Text(content) } else { Token::Name(content) }, length)
            }
            _ if first.is_ascii_digit() => {
                let length = length(|c| !(c.is_ascii_digit() || c == '.'));
                (Token::Number(rest[..length].to_owned()), length)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let length = length(|c| !(c.is_alphanumeric() || c == '_'));
                (Token::Name(rest[..length].to_owned()), length)
            }
            _ => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => return error(at, format!("unexpected character {first:?}")),
            },
        };
        tokens.push((token, at));
        rest = &rest[length..];
    }
}

/// A text in quotes, in which the doubled quote stands for itself; and its length with the quotes.
fn quoted(text: &str, quote: char, at: usize) -> Result<(String, usize), SyntaxError> {
    let mut content = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((n, c)) = chars.next() {
        if c != quote {
            content.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            content.push(quote);
        } else {
            return Ok((content, n + 1));
        }
    }
    error(at, format!("{quote} is not closed"))
}

/// Where the placeholder ends; a brace in quotes does not end it.
fn placeholder_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (n, c) in text.char_indices() {
        match (quote, c) {
            (None, '}') => return Some(n),
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
    }
    None
}

impl Scope<'_> {
    pub(super) fn expression(&self, text: &str) -> Result<Code, SyntaxError> {
        self.parsed(text, 0)
    }

    /// `{{` and `}}` stand for braces.
    pub(super) fn template(&self, text: &str) -> Result<Template, SyntaxError> {
        let (mut pieces, mut literal, mut at) = (Vec::new(), String::new(), 0);
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            match c {
                _ if rest.starts_with("{{") || rest.starts_with("}}") => {
                    literal.push(c);
                    at += 2;
                }
                '{' => {
                    let Some(end) = placeholder_end(&rest[1..]) else { return error(at, "{ is not closed") };
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    }
                    pieces.push(Piece::Code(self.parsed(&rest[1..=end], at + 1)?));
                    at += end + 2;
                }
                '}' => return error(at, "} closes nothing"),
                _ => {
                    literal.push(c);
                    at += c.len_utf8();
                }
            }
        }
        if !literal.is_empty() || pieces.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Ok(Template(pieces))
    }

    /// An expression that begins at offset `base`.
    fn parsed(&self, text: &str, base: usize) -> Result<Code, SyntaxError> {
        let tokens = tokens(text, base)?.into_iter().peekable();
        let mut parser = Parser { scope: self, text, base, tokens, depth: 0 };
        let (code, _) = parser.or()?;
        match parser.tokens.next() {
            None => Ok(code),
            Some((token, at)) => error(at, format!("unexpected {token}")),
        }
    }
}

/// Nested more deeply than any real expression.
const DEPTH_MAX: u8 = 32;

struct Parser<'p> {
    scope: &'p Scope<'p>,
    text: &'p str,
    base: usize,
    tokens: std::iter::Peekable<std::vec::IntoIter<(Token, usize)>>,
    depth: u8,
}

/// An expression, and the place that an error about its kind names.
type Placed = (Code, usize);

fn negated(is_negated: bool, code: Code) -> Code {
    if is_negated { Code::Not(code.into()) } else { code }
}

impl Parser<'_> {
    fn at(&mut self) -> usize {
        self.tokens.peek().map_or(self.base + self.text.len(), |(_, at)| *at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.tokens.next_if(|(token, _)| matches!(token, Token::Sign(found) if *found == sign)).is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.tokens.next_if(|(token, _)| matches!(token, Token::Name(found) if found == word)).is_some()
    }

    fn expect(&mut self, what: &str) -> Result<(), SyntaxError> {
        let at = self.at();
        if self.takes(what) || self.takes_word(what) { Ok(()) } else { error(at, format!("expected {what:?} here")) }
    }

    fn name(&mut self) -> Result<String, SyntaxError> {
        let at = self.at();
        match self.tokens.next() {
            Some((Token::Name(name), _)) => Ok(name),
            _ => error(at, "expected a name here"),
        }
    }

    fn or(&mut self) -> Result<Placed, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return error(self.at(), "too many parentheses");
        }
        let (mut left, at) = self.and()?;
        while self.takes_word("or") {
            left = Code::Or(left.into(), self.and()?.0.into());
        }
        self.depth -= 1;
        Ok((left, at))
    }

    fn and(&mut self) -> Result<Placed, SyntaxError> {
        let (mut left, at) = self.not()?;
        while self.takes_word("and") {
            left = Code::And(left.into(), self.not()?.0.into());
        }
        Ok((left, at))
    }

    fn not(&mut self) -> Result<Placed, SyntaxError> {
        let is_negated = self.takes_word("not");
        let (code, at) = self.comparison()?;
        Ok((negated(is_negated, code), at))
    }

    fn comparison(&mut self) -> Result<Placed, SyntaxError> {
        let (left, at) = self.fallback()?;
        if self.takes_word("is") {
            let is_negated = self.takes_word("not");
            self.expect("null")?;
            return Ok((negated(is_negated, Code::IsNull(left.into())), at));
        }
        let is_negated = self.takes_word("not");
        if is_negated || matches!(self.tokens.peek(), Some((Token::Name(word), _)) if word == "in") {
            self.expect("in")?;
            let list = self.list()?;
            list.iter().try_for_each(|one| self.scope.check_kinds(&left, one, at))?;
            let equals = |one: Code| Code::Compare(left.clone().into(), Ordering::is_eq, one.into());
            let any = list.into_iter().map(equals).reduce(|one, other| Code::Or(one.into(), other.into()));
            return Ok((negated(is_negated, any.unwrap_or(Code::Constant(Value::Bool(false)))), at));
        }
        let comparisons: [(_, Comparison); 6] = [
            ("=", Ordering::is_eq),
            ("<>", Ordering::is_ne),
            ("<=", Ordering::is_le),
            ("<", Ordering::is_lt),
            (">=", Ordering::is_ge),
            (">", Ordering::is_gt),
        ];
        let Some((_, comparison)) = comparisons.into_iter().find(|(sign, _)| self.takes(sign)) else {
            return Ok((left, at));
        };
        let (right, _) = self.fallback()?;
        self.scope.check_kinds(&left, &right, at)?;
        Ok((Code::Compare(left.into(), comparison, right.into()), at))
    }

    fn list(&mut self) -> Result<Vec<Code>, SyntaxError> {
        self.expect("(")?;
        let mut all = vec![self.or()?.0];
        while self.takes(",") {
            all.push(self.or()?.0);
        }
        self.expect(")").map(|()| all)
    }

    fn fallback(&mut self) -> Result<Placed, SyntaxError> {
        let (mut left, at) = self.piped()?;
        while self.takes("??") {
            left = Code::Fallback(left.into(), self.piped()?.0.into());
        }
        Ok((left, at))
    }

    fn piped(&mut self) -> Result<Placed, SyntaxError> {
        let start = self.at();
        let (mut input, mut at) = self.primary()?;
        loop {
            let end = self.at();
            if !self.takes("|") {
                return Ok((input, at));
            }
            at = self.at();
            let name = self.name()?;
            Scope::refuse_gone(&name, at)?;
            let has_arguments = matches!(self.tokens.peek(), Some((Token::Sign("("), _)));
            let arguments = if has_arguments { self.list()? } else { Vec::new() };
            let described = self.text[start - self.base..end - self.base].trim();
            input = self.scope.conversion((input, described), &name, arguments, at)?;
        }
    }

    fn primary(&mut self) -> Result<Placed, SyntaxError> {
        let at = self.at();
        let code = match self.tokens.next() {
            Some((Token::Text(text), _)) => Code::Constant(Value::Text(text)),
            Some((Token::Number(number), _)) => constant(&number, at)?,
            Some((Token::Sign("-"), _)) => match self.tokens.next() {
                Some((Token::Number(number), _)) => constant(&format!("-{number}"), at)?,
                _ => return error(at, "expected a number after \"-\""),
            },
            Some((Token::Sign("("), _)) => {
                let inner = self.or()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Some((Token::Sign("$"), _)) => {
                let name = self.name()?;
                match name.as_str() {
                    "owner" if self.takes(".") => self.scope.of_owner(&self.name()?, at)?,
                    _ => self.scope.variable(&name, at)?,
                }
            }
            Some((Token::Name(name), _)) => match name.as_str() {
                "true" | "false" => Code::Constant(Value::Bool(name == "true")),
                "null" => Code::Constant(Value::Null),
                _ if self.takes(".") => self.scope.field(&name, &self.name()?, at)?,
                _ => self.scope.name(&name, at)?,
            },
            Some((token, at)) => return error(at, format!("unexpected {token}")),
            None => return error(at, "expected a column or a value here"),
        };
        Ok((code, at))
    }
}

fn constant(text: &str, at: usize) -> Result<Code, SyntaxError> {
    match super::value::number(text) {
        Some(number) => Ok(Code::Constant(Value::Number(number))),
        None => error(at, format!("{text} is not a number that DynamoDB stores")),
    }
}
