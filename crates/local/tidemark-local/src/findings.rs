//! `--check --format json`: what an editor or a workflow shows beside the template.

use std::path::Path;

use serde::Serialize;

use crate::start_error::StartError;
use crate::template::{ProblemCode, Template, TemplateProblem};

/// One part of a template that is refused or has no effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// From 1; 1 if the problem has no place.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The kind.
    pub code: ProblemCode,
    /// The path of the value, and what to do.
    pub message: String,
}

/// The findings about the template at `path`.
pub fn of(path: &Path, read: &Result<Template, StartError>) -> Vec<Finding> {
    let all = |problems: &[TemplateProblem], severity| {
        problems.iter().map(|problem| finding(path, problem, severity)).collect::<Vec<_>>()
    };
    match read {
        Ok(template) => all(&template.ignored, "warning"),
        Err(StartError::InvalidTemplate { source, .. }) => all(&source.problems, "error"),
        Err(other) => {
            let message: Vec<String> = anyhow::Chain::new(other).map(ToString::to_string).collect();
            let (file, message) = (path.display().to_string(), message.join(": "));
            vec![Finding { file, line: 1, column: 1, severity: "error", code: ProblemCode::Unreadable, message }]
        }
    }
}

fn finding(template: &Path, problem: &TemplateProblem, severity: &'static str) -> Finding {
    let path = match &problem.file {
        Some(file) => template.with_file_name(&**file),
        None => template.to_owned(),
    };
    let TemplateProblem { line, column, path: place, code, message, .. } = problem;
    let message = if place.is_empty() { message.clone() } else { format!("{place}: {message}") };
    Finding { file: path.display().to_string(), line: (*line).max(1), column: *column, severity, code: *code, message }
}
