//! What is wrong with a template, and where.

use std::cell::RefCell;
use std::fmt;

use super::yaml::Node;

/// Everything that is wrong with a template; reading goes on after each, so that one run shows all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template cannot be run:\n{}", list(.problems))]
pub struct TemplateError {
    /// At least one, in the order of their lines.
    pub problems: Vec<TemplateProblem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateProblem {
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The way to it: `Resources.ClicksTable.Properties.TableName`.
    pub path: String,
    /// What is wrong, and where it helps, what would be right.
    pub message: String,
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}: ", self.line, self.column)?;
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

fn list(problems: &[TemplateProblem]) -> String {
    problems.iter().map(|problem| format!("  {problem}")).collect::<Vec<_>>().join("\n")
}

/// Collects problems while a template is read.
#[derive(Debug, Default)]
pub(super) struct Problems(RefCell<Vec<TemplateProblem>>);

impl Problems {
    /// Notes what is wrong at `node`.
    pub(super) fn at(&self, node: &Node, message: impl Into<String>) {
        let problem =
            TemplateProblem { line: node.line, column: node.column, path: node.path.clone(), message: message.into() };
        self.0.borrow_mut().push(problem);
    }

    /// The end: what was read, if nothing was wrong. A value from `Globals` is read once a function; its problem counts once.
    pub(super) fn finish<T>(self, read: T) -> Result<T, TemplateError> {
        let mut problems = self.0.into_inner();
        problems.sort();
        problems.dedup();
        if problems.is_empty() { Ok(read) } else { Err(TemplateError { problems }) }
    }
}
