//! The syntax of expressions and templates in a mapping.

// expression  = or
// or          = and { "or" and }
// and         = not { "and" not }
// not         = [ "not" ] comparison
// comparison  = fallback [ ("=" | "<>" | "<" | "<=" | ">" | ">=") fallback
//                        | "is" [ "not" ] "null"
//                        | [ "not" ] "in" "(" fallback { "," fallback } ")" ]
// fallback    = piped { "??" piped }
// piped       = primary { "|" conversion [ "(" expression { "," expression } ")" ] }
// primary     = column [ "." field ] | "$" name [ "." column ] | 'text' | number
//             | "true" | "false" | "null" | "(" expression ")"
// template    = text with placeholders: "ORDER#{id | pad(12)}"

use std::fmt;

/// A part of an expression, with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) node: Node,
    /// The offset in bytes from the beginning of the text.
    pub(crate) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A column or a named value of the table.
    Name(String),
    /// A field of rows that were joined: `profile.city`.
    Field(String, String),
    /// `$owner`, `$as_of`, `$type`, or a parameter.
    Variable(String),
    /// A column or a named value of the owner's own row: `$owner.zone`.
    OfOwner(String),
    Text(String),
    Number(String),
    Bool(bool),
    Null,
    /// The input, the name of the conversion, and its arguments.
    Convert(Box<Expression>, String, Vec<Expression>),
    /// The first value that is not null.
    Fallback(Box<Expression>, Box<Expression>),
    Compare(Box<Expression>, Comparison, Box<Expression>),
    IsNull(Box<Expression>),
    In(Box<Expression>, Vec<Expression>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template(pub(crate) Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Placeholder(Expression),
}

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

fn error<T>(at: usize, why: impl Into<String>) -> Result<T, SyntaxError> {
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
const SIGNS: [&str; 15] = ["??", "<>", "!=", "<=", ">=", "<", ">", "=", "|", "(", ")", ",", ".", "$", "-"];

/// The tokens of a text that begins at `base`.
fn tokens(text: &str, base: usize) -> Result<Vec<(Token, usize)>, SyntaxError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let at = base + (text.len() - rest.len());
        let Some(first) = rest.chars().next() else { return Ok(tokens) };
        let (token, length) = match first {
            '\'' | '"' => {
                let (content, length) = quoted(rest, first, at)?;
                (if first == '\'' { Token::Text(content) } else { Token::Name(content) }, length)
            }
            _ if first.is_ascii_digit() => {
                let length = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
                (Token::Number(rest[..length].to_owned()), length)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
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

/// Nested more deeply than any real expression.
const DEPTH_MAX: u8 = 32;

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<(Token, usize)>>,
    end: usize,
    depth: u8,
}

/// Parses an expression that begins at offset `base`.
pub(crate) fn expression(text: &str, base: usize) -> Result<Expression, SyntaxError> {
    let tokens = tokens(text, base)?;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), end: base + text.len(), depth: 0 };
    let parsed = parser.or()?;
    match parser.tokens.next() {
        None => Ok(parsed),
        Some((token, at)) => error(at, format!("unexpected {token}")),
    }
}

/// Parses a template. `{{` and `}}` stand for braces.
pub(crate) fn template(text: &str) -> Result<Template, SyntaxError> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
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
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                }
                parts.push(Part::Placeholder(expression(&rest[1..=end], at + 1)?));
                at += end + 2;
            }
            '}' => return error(at, "} closes nothing"),
            _ => {
                literal.push(c);
                at += c.len_utf8();
            }
        }
    }
    if !literal.is_empty() || parts.is_empty() {
        parts.push(Part::Text(literal));
    }
    Ok(Template(parts))
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

impl Parser {
    fn at(&mut self) -> usize {
        self.tokens.peek().map_or(self.end, |(_, at)| *at)
    }

    fn takes(&mut self, sign: &str) -> bool {
        self.tokens.next_if(|(token, _)| matches!(token, Token::Sign(found) if *found == sign)).is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.tokens.next_if(|(token, _)| matches!(token, Token::Name(found) if found == word)).is_some()
    }

    fn expect(&mut self, sign: &str) -> Result<(), SyntaxError> {
        let at = self.at();
        if self.takes(sign) { Ok(()) } else { error(at, format!("expected {sign:?} here")) }
    }

    fn name(&mut self) -> Result<String, SyntaxError> {
        let at = self.at();
        match self.tokens.next() {
            Some((Token::Name(name), _)) => Ok(name),
            _ => error(at, "expected a name here"),
        }
    }

    fn or(&mut self) -> Result<Expression, SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return error(self.at(), "too many parentheses");
        }
        let mut left = self.and()?;
        while self.takes_word("or") {
            let (at, right) = (left.at, self.and()?);
            left = Expression { node: Node::Or(left.into(), right.into()), at };
        }
        self.depth -= 1;
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression, SyntaxError> {
        let mut left = self.not()?;
        while self.takes_word("and") {
            let (at, right) = (left.at, self.not()?);
            left = Expression { node: Node::And(left.into(), right.into()), at };
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, SyntaxError> {
        let at = self.at();
        if self.takes_word("not") {
            return Ok(Expression { node: Node::Not(self.comparison()?.into()), at });
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression, SyntaxError> {
        let left = self.fallback()?;
        let at = left.at;
        let is = |node| Ok(Expression { node, at });
        let not = |node: Node| Node::Not(Expression { node, at }.into());
        if self.takes_word("is") {
            let negated = self.takes_word("not");
            let here = self.at();
            if !self.takes_word("null") {
                return error(here, "expected \"null\" here");
            }
            let node = Node::IsNull(left.into());
            return is(if negated { not(node) } else { node });
        }
        if self.takes_word("in") {
            return is(Node::In(left.into(), self.list()?));
        }
        if self.takes_word("not") {
            let here = self.at();
            if !self.takes_word("in") {
                return error(here, "expected \"in\" here");
            }
            return is(not(Node::In(left.into(), self.list()?)));
        }
        let comparisons = [
            ("=", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::AtMost),
            ("<", Comparison::Less),
            (">=", Comparison::AtLeast),
            (">", Comparison::Greater),
        ];
        for (sign, comparison) in comparisons {
            if self.takes(sign) {
                return is(Node::Compare(left.into(), comparison, self.fallback()?.into()));
            }
        }
        Ok(left)
    }

    fn list(&mut self) -> Result<Vec<Expression>, SyntaxError> {
        self.expect("(")?;
        let mut all = vec![self.or()?];
        while self.takes(",") {
            all.push(self.or()?);
        }
        self.expect(")").map(|()| all)
    }

    fn fallback(&mut self) -> Result<Expression, SyntaxError> {
        let mut left = self.piped()?;
        while self.takes("??") {
            let (at, right) = (left.at, self.piped()?);
            left = Expression { node: Node::Fallback(left.into(), right.into()), at };
        }
        Ok(left)
    }

    fn piped(&mut self) -> Result<Expression, SyntaxError> {
        let mut input = self.primary()?;
        while self.takes("|") {
            let at = self.at();
            let name = self.name()?;
            let has_arguments = matches!(self.tokens.peek(), Some((Token::Sign("("), _)));
            let arguments = if has_arguments { self.list()? } else { Vec::new() };
            input = Expression { node: Node::Convert(input.into(), name, arguments), at };
        }
        Ok(input)
    }

    fn primary(&mut self) -> Result<Expression, SyntaxError> {
        let at = self.at();
        let node = match self.tokens.next() {
            Some((Token::Text(text), _)) => Node::Text(text),
            Some((Token::Number(number), _)) => Node::Number(number),
            Some((Token::Sign("-"), _)) => match self.tokens.next() {
                Some((Token::Number(number), _)) => Node::Number(format!("-{number}")),
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
                    "owner" if self.takes(".") => Node::OfOwner(self.name()?),
                    _ => Node::Variable(name),
                }
            }
            Some((Token::Name(name), _)) => match name.as_str() {
                "true" => Node::Bool(true),
                "false" => Node::Bool(false),
                "null" => Node::Null,
                _ if self.takes(".") => Node::Field(name, self.name()?),
                _ => Node::Name(name),
            },
            Some((token, at)) => return error(at, format!("unexpected {token}")),
            None => return error(at, "expected a column or a value here"),
        };
        Ok(Expression { node, at })
    }
}

#[cfg(test)]
mod tests;
