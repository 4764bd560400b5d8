//! The problems of a template, with their positions.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use super::yaml::Node;

/// All problems of a template. Reading continues after each, so that one run shows all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template cannot be run:\n{}", list(.problems))]
pub struct TemplateError {
    /// At least one, sorted by line.
    pub problems: Vec<TemplateProblem>,
}

/// One part of a template that is refused or ignored.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateProblem {
    /// The file, relative to the template, if it is another one.
    pub file: Option<Arc<str>>,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The path of the value: `Resources.ClicksTable.Properties.TableName`.
    pub path: String,
    /// The problem, and a correct value if that helps.
    pub message: String,
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(formatter, "{file}, ")?;
        }
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

/// Collects the parts that are refused, and those that are ignored, while a template is read.
#[derive(Debug, Default)]
pub(super) struct Problems {
    refused: RefCell<Vec<TemplateProblem>>,
    ignored: RefCell<Vec<TemplateProblem>>,
}

impl Problems {
    /// Records a problem at `node`: the template does not run.
    pub(super) fn at(&self, node: &Node, message: impl Into<String>) {
        self.refused.borrow_mut().push(problem(node, message));
    }

    /// Records a problem with a position of its own.
    pub(super) fn add(&self, problem: TemplateProblem) {
        self.refused.borrow_mut().push(problem);
    }

    /// Records a part at `node` that has no effect on this machine, and that functions do not
    /// notice.
    pub(super) fn ignored(&self, node: &Node, message: impl Into<String>) {
        self.ignored.borrow_mut().push(problem(node, message));
    }

    /// What is refused, and what is ignored.
    #[cfg(test)]
    pub(super) fn into_lists(self) -> (Vec<TemplateProblem>, Vec<TemplateProblem>) {
        (self.refused.into_inner(), self.ignored.into_inner())
    }

    /// Returns `read` and the ignored parts if there were no problems. A value from `Globals` is
    /// read once per function, so its problem is reported once.
    pub(super) fn finish<T>(self, read: T) -> Result<(T, Vec<TemplateProblem>), TemplateError> {
        let sorted = |problems: RefCell<Vec<TemplateProblem>>| {
            let mut problems = problems.into_inner();
            problems.sort();
            problems.dedup();
            problems
        };
        let problems = sorted(self.refused);
        if problems.is_empty() { Ok((read, sorted(self.ignored))) } else { Err(TemplateError { problems }) }
    }
}

pub(super) fn problem(node: &Node, message: impl Into<String>) -> TemplateProblem {
    let Node { file, line, column, path, .. } = node.clone();
    TemplateProblem { file, line, column, path, message: message.into() }
}
