//! What the parsers of conditions, updates and projections share.
//!
//! They judge only expressions that they understand to the end. The emulator answers for the
//! others, such as one with a syntax error or an undefined `:value`.

use serde_json::{Map, Value, json};

use super::lexer::{Kind, Token, tokens};
use super::path::{Path, Step};

/// The most names and indexes of a path.
const PATH_STEPS_MAX: usize = 32;

/// The names and values that a request's expressions refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct References<'a> {
    pub(super) names: Option<&'a Map<String, Value>>,
    pub(super) values: Option<&'a Map<String, Value>>,
}

/// A value of `ExpressionAttributeValues`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constant<'a> {
    /// `S`, `N` and so on.
    pub(super) kind: &'a str,
    pub(super) value: &'a Value,
}

/// Reads the tokens of one expression.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    references: References<'a>,
    /// The first fault of an expression without a syntax error, in DynamoDB's words.
    fault: Option<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, references: References<'a>) -> Option<Self> {
        Some(Self { tokens: tokens(text)?, at: 0, references, fault: None })
    }

    /// Notes a fault; the first one is reported.
    pub(super) fn fault(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// The fault of the whole expression.
    pub(super) fn into_fault(self) -> Option<String> {
        self.fault
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).copied()
    }

    /// The last token that was taken.
    pub(super) fn last(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at += 1;
        Some(token)
    }

    /// Takes the symbol, if it is next.
    pub(super) fn symbol(&mut self, symbol: &str) -> bool {
        self.take(|token| token.kind == Kind::Symbol && token.text == symbol)
    }

    /// Takes the keyword, if it is next.
    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        self.take(|token| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(keyword))
    }

    fn take(&mut self, is_wanted: impl Fn(Token<'a>) -> bool) -> bool {
        let taken = self.peek().is_some_and(is_wanted);
        self.at += usize::from(taken);
        taken
    }

    /// Whether a function's name and its opening parenthesis are next.
    pub(super) fn is_at_function(&self) -> bool {
        let is =
            |offset: usize, is_wanted: fn(&Token<'a>) -> bool| self.tokens.get(self.at + offset).is_some_and(is_wanted);
        is(0, |token| token.kind == Kind::Word) && is(1, |token| token.text == "(")
    }

    /// The value that is next.
    pub(super) fn constant(&mut self) -> Option<Constant<'a>> {
        let reference = self.next().filter(|token| token.kind == Kind::Value)?.text;
        let (kind, value) = self.references.values?.get(reference)?.as_object()?.iter().next()?;
        Some(Constant { kind, value })
    }

    /// The path that is next.
    pub(super) fn path(&mut self) -> Option<Path> {
        let mut steps = vec![self.name()?];
        loop {
            if self.symbol(".") {
                steps.push(self.name()?);
            } else if self.symbol("[") {
                let index = self.next().filter(|token| token.kind == Kind::Number)?.text;
                match index.parse::<i32>().ok().and_then(|index| usize::try_from(index).ok()) {
                    Some(index) => steps.push(Step::Index(index)),
                    None => self.fault(format!("List index is not within the allowable range; index: [{index}]")),
                }
                self.symbol("]").then_some(())?;
            } else {
                break;
            }
        }
        if steps.len() > PATH_STEPS_MAX {
            self.fault(format!("The document path has too many nesting elements; nesting levels: {}", steps.len()));
        }
        Some(Path(steps))
    }

    fn name(&mut self) -> Option<Step> {
        let token = self.next()?;
        match token.kind {
            Kind::Word => Some(Step::Name(token.text.to_owned())),
            Kind::Name => Some(Step::Name(self.references.names?.get(token.text)?.as_str()?.to_owned())),
            _ => None,
        }
    }

    /// Notes that an operator or a function does not take this type.
    pub(super) fn wrong_type(&mut self, operator: &str, kind: &str) {
        self.fault(format!(
            "Incorrect operand type for operator or function; operator or function: {operator}, operand type: {kind}"
        ));
    }

    /// Notes a function with the wrong number of operands.
    pub(super) fn wrong_number(&mut self, function: &str, operands: usize) {
        self.fault(format!(
            "Incorrect number of operands for operator or function; operator or function: {function}, \
             number of operands: {operands}"
        ));
    }
}

/// DynamoDB's size of a value, for `size`; `None` for a type without one.
pub(super) fn size(constant: &Constant<'_>) -> Option<Value> {
    let size = match (constant.kind, constant.value) {
        ("S", Value::String(text)) => text.len(),
        ("B", Value::String(text)) => text.trim_end_matches('=').len() * 3 / 4,
        (_, Value::Array(members)) => members.len(),
        ("M", Value::Object(members)) => members.len(),
        _ => return None,
    };
    Some(json!({ "N": size.to_string() }))
}
