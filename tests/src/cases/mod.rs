//! Cases: events with the answers that they get, out of `tests/cases`. Its README has the format.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a table that cannot be read is a test that fails")]

mod answer;
mod event;

use std::path::PathBuf;

use serde_json::Value;

use crate::repository;

pub use answer::render;

/// A file of cases.
#[derive(Debug)]
pub struct CaseFile {
    /// Where it lies.
    pub path: PathBuf,
    /// In the order in which they are sent.
    pub cases: Vec<Case>,
    head: String,
}

/// A request or another event, and the answer to it.
#[derive(Debug)]
pub struct Case {
    /// Unlike that of every other case of the function.
    pub name: String,
    /// The whole event.
    pub event: Value,
    /// The whole answer; `None` until it is recorded.
    pub answer: Option<Value>,
    request: String,
}

/// A function's files, in the order of their names.
pub fn case_files(function: &str) -> Vec<CaseFile> {
    let systems = repository().join("tests/cases").read_dir().unwrap().map(|system| system.unwrap().path());
    let folder = systems.map(|system| system.join(function)).find(|folder| folder.is_dir());
    let files = folder.unwrap_or_else(|| panic!("{function} has no cases")).read_dir().unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(CaseFile::read).collect()
}

/// All cases of a function, in the order in which they are sent.
pub fn cases(function: &str) -> Vec<Case> {
    case_files(function).into_iter().flat_map(|file| file.cases).collect()
}

/// The event of a case.
pub fn sample_event(function: &str, name: &str) -> Value {
    let case = cases(function).into_iter().find(|case| case.name == name);
    case.unwrap_or_else(|| panic!("{function} has no case {name}")).event
}

impl CaseFile {
    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut parts = text.split("\n### ");
        let head = parts.next().unwrap().trim_end().to_owned();
        let common = fields(&head);
        let read = |part: &str| {
            let (name, rest) = part.split_once('\n').unwrap_or((part, ""));
            let (request, answer) = rest.split_once("\n=> ").map_or((rest, None), |(r, a)| (r, Some(a)));
            let request = request.trim_end().to_owned();
            let event = event::build(&common, &request);
            Case { name: name.to_owned(), event, answer: answer.map(answer::expand), request }
        };
        let cases = parts.map(read).collect();
        Self { path, cases, head }
    }

    /// Writes the file with the answers that its cases have now.
    pub fn write(&self) {
        let answered = |case: &Case| {
            let answer = case.answer.as_ref().map(|answer| format!("\n\n{}", render(answer))).unwrap_or_default();
            format!("\n\n### {}\n{}{answer}", case.name, case.request)
        };
        let cases: String = self.cases.iter().map(answered).collect();
        std::fs::write(&self.path, format!("{}{cases}\n", self.head)).unwrap();
    }
}

/// `name: value` lines without the comments between them.
fn fields(text: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match (line.strip_prefix(' '), fields.last_mut()) {
            (Some(more), Some((_, value))) => *value = format!("{value} {}", more.trim()),
            _ => {
                let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("expected `name: value`: {line}"));
                fields.push((name, value.trim().to_owned()));
            }
        }
    }
    fields
}
