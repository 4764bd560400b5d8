//! Checks and reads update expressions.

use super::lexer::Kind;
use super::parser::{Parser, References};
use super::path::{Path, clash};

/// How deep operands may nest here; the emulator judges what is deeper.
const OPERAND_DEPTH_MAX: usize = 16;

/// The functions of conditions, which no update may have.
const CONDITION_FUNCTIONS: [&str; 6] =
    ["attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size"];

/// An understood update.
#[derive(Debug)]
pub(super) struct Update {
    /// The fault to report.
    pub(super) fault: Option<String>,
    /// The paths that it changes.
    pub(super) paths: Vec<Path>,
    /// Whether it only takes something away.
    pub(super) only_removes: bool,
}

/// Parses an update; `None` if the emulator has to judge it.
pub(super) fn parse(text: &str, references: References<'_>) -> Option<Update> {
    let mut parser = Parser::new(text, references)?;
    let (mut paths, mut only_removes) = (Vec::new(), true);
    while !parser.is_at_end() {
        let section = parser.next()?.text.to_ascii_uppercase();
        only_removes &= matches!(section.as_str(), "REMOVE" | "DELETE");
        loop {
            paths.push(parser.path()?);
            match section.as_str() {
                "SET" => assigned(&mut parser)?,
                "ADD" | "DELETE" => parser.constant().map(|_| ())?,
                "REMOVE" => {}
                _ => return None,
            }
            if !parser.symbol(",") {
                break;
            }
        }
    }
    if let Some(clash) = clash(&paths) {
        parser.fault(clash);
    }
    Some(Update { fault: parser.into_fault(), paths, only_removes })
}

fn assigned(parser: &mut Parser<'_>) -> Option<()> {
    parser.symbol("=").then_some(())?;
    operand(parser, 0, false)?;
    if parser.symbol("+") || parser.symbol("-") {
        operand(parser, 0, false)?;
    }
    Some(())
}

/// Reads an operand. Returns whether it is a path.
fn operand(parser: &mut Parser<'_>, depth: usize, in_function: bool) -> Option<bool> {
    if depth > OPERAND_DEPTH_MAX {
        return None;
    }
    if parser.symbol("(") {
        if parser.peek().is_some_and(|next| next.text == "(") {
            parser.fault("The expression has redundant parentheses;".to_owned());
        }
        operand(parser, depth + 1, in_function)?;
        return parser.symbol(")").then_some(false);
    }
    if !parser.is_at_function() {
        return match parser.peek()?.kind {
            Kind::Value => parser.constant().map(|_| false),
            _ => parser.path().map(|_| true),
        };
    }
    let name = parser.next()?.text;
    if CONDITION_FUNCTIONS.contains(&name) {
        parser.fault(format!("The function is not allowed in an update expression; function: {name}"));
    } else if !matches!(name, "if_not_exists" | "list_append") {
        parser.fault(format!("Invalid function name; function: {name}"));
    } else if name == "list_append" && in_function {
        parser.fault(format!("The function is not allowed to be used this way in an expression; function: {name}"));
    }
    parser.symbol("(").then_some(())?;
    let is_path = operand(parser, depth + 1, true)?;
    if name == "if_not_exists" && !is_path {
        parser.fault(format!("Operator or function requires a document path; operator or function: {name}"));
    }
    while parser.symbol(",") {
        operand(parser, depth + 1, true)?;
    }
    parser.symbol(")").then_some(false)
}
