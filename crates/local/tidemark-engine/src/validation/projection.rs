//! Checks and reads projections.

use super::lexer::Kind;
use super::parser::{Parser, References};
use super::path::{Path, clash};

/// The paths of a projection, or its fault; `None` if the emulator has to judge it.
pub(super) fn parse(text: &str, references: References<'_>) -> Option<Result<Vec<Path>, String>> {
    let mut parser = Parser::new(text, references)?;
    // The emulator has words for an empty projection.
    parser.peek()?;
    let mut paths = Vec::new();
    loop {
        let Some(path) = parser.path() else {
            // The emulator has words for an undefined name.
            let is_undefined = parser.last().is_some_and(|token| token.kind == Kind::Name);
            return (!is_undefined).then(|| Err(syntax_error(&parser)));
        };
        paths.push(path);
        if !parser.symbol(",") {
            break;
        }
    }
    if !parser.is_at_end() {
        return Some(Err(syntax_error(&parser)));
    }
    if let Some(clash) = clash(&paths) {
        parser.fault(clash);
    }
    Some(parser.into_fault().map_or(Ok(paths), Err))
}

fn syntax_error(parser: &Parser<'_>) -> String {
    let before = parser.last().map_or("", |token| token.text);
    let next = parser.peek().map_or("<EOF>", |token| token.text);
    let near = if parser.is_at_end() { before.to_owned() } else { format!("{before} {next}") };
    format!(r#"Syntax error; token: "{next}", near: "{near}""#)
}
