//! The problems of a template, with their positions.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use serde::Serialize;

use super::yaml::Node;
use super::{Template, known_properties};
use crate::stack::Stack;

/// All problems of a template. Reading continues after each, so that one run shows all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the template cannot be run:\n{}", list(.problems))]
pub struct TemplateError {
    /// At least one, sorted by line.
    pub problems: Vec<TemplateProblem>,
    /// The other files that the template names.
    pub files: Vec<PathBuf>,
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
    /// The kind of problem.
    pub code: ProblemCode,
    /// The problem, and a correct value if that helps.
    pub message: String,
}

/// The kind of a problem. `docs/any-template.md` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemCode {
    /// A file or a flag cannot be read, or a file is not YAML.
    Unreadable,
    /// A property that its resource does not have.
    UnknownProperty,
    /// A name that the template does not declare.
    UnknownName,
    /// A needed part is not there.
    Missing,
    /// A value that AWS refuses, or in a wrong form.
    Invalid,
    /// A part that does not run here.
    Unsupported,
    /// A part that works only on AWS.
    NoEffect,
    /// A check of calls or values that is not made here.
    NotChecked,
    /// A resource or a part of one that is left out here.
    LeftOut,
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
    files: RefCell<Vec<PathBuf>>,
}

impl Problems {
    /// Records a problem at `node`: the template does not run.
    pub(super) fn at(&self, node: &Node, message: impl Into<String>) {
        self.add(problem(node, ProblemCode::Invalid, message));
    }

    /// Records a part that does not run here.
    pub(super) fn unsupported(&self, node: &Node, message: impl Into<String>) {
        self.add(problem(node, ProblemCode::Unsupported, message));
    }

    /// Records a name that the template does not declare.
    pub(super) fn unknown(&self, node: &Node, message: impl Into<String>) {
        self.add(problem(node, ProblemCode::UnknownName, message));
    }

    /// Records a property that a resource of this type does not have.
    pub(super) fn unknown_property(&self, node: &Node, kind: &str, name: &str) {
        self.add(problem(node, ProblemCode::UnknownProperty, known_properties::unknown(kind, name)));
    }

    /// Records that a needed part is not there.
    pub(super) fn missing(&self, node: &Node, message: impl Into<String>) {
        self.add(problem(node, ProblemCode::Missing, message));
    }

    /// Records a file that cannot be read.
    pub(super) fn unreadable(&self, node: &Node, message: impl Into<String>) {
        self.add(problem(node, ProblemCode::Unreadable, message));
    }

    /// Records a problem with a position of its own.
    pub(super) fn add(&self, problem: TemplateProblem) {
        self.refused.borrow_mut().push(problem);
    }

    /// Records a part at `node` that has no effect on this machine, and that functions do not
    /// notice.
    pub(super) fn ignored(&self, node: &Node, message: impl Into<String>) {
        self.ignored.borrow_mut().push(problem(node, ProblemCode::NoEffect, message));
    }

    /// Records a check at `node` that is not made on this machine.
    pub(super) fn unchecked(&self, node: &Node, message: impl Into<String>) {
        self.ignored.borrow_mut().push(problem(node, ProblemCode::NotChecked, message));
    }

    /// Records a part that is left out on this machine.
    pub(super) fn left_out(&self, node: &Node, message: impl Into<String>) {
        self.ignored.borrow_mut().push(problem(node, ProblemCode::LeftOut, message));
    }

    /// Records a file that the template names.
    pub(super) fn reads(&self, file: &Path) {
        self.files.borrow_mut().push(file.to_owned());
    }

    /// What is refused, and what is ignored.
    #[cfg(test)]
    pub(super) fn into_lists(self) -> (Vec<TemplateProblem>, Vec<TemplateProblem>) {
        (self.refused.into_inner(), self.ignored.into_inner())
    }

    /// Returns `stack` with the ignored parts if there were no problems. A value from `Globals` is
    /// read once per function, so its problem is reported once.
    pub(super) fn finish(self, stack: Stack) -> Result<Template, TemplateError> {
        let sorted = |problems: RefCell<Vec<TemplateProblem>>| {
            let mut problems = problems.into_inner();
            problems.sort();
            problems.dedup();
            problems
        };
        let (problems, files) = (sorted(self.refused), self.files.into_inner());
        match problems.is_empty() {
            true => Ok(Template { stack, ignored: sorted(self.ignored), files }),
            false => Err(TemplateError { problems, files }),
        }
    }
}

pub(super) fn problem(node: &Node, code: ProblemCode, message: impl Into<String>) -> TemplateProblem {
    let Node { file, line, column, path, .. } = node.clone();
    TemplateProblem { file, line, column, path, code, message: message.into() }
}
