//! A template as a tree of nodes with their positions in the file.
//!
//! This module converts YAML's short forms (`!Ref X`) to the long ones (`{Ref: X}`), so that other
//! modules handle only the long forms.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use super::problems::{ProblemCode, TemplateProblem, problem};

/// Maximum nesting of a template; AWS's limit is far lower.
const DEPTH_MAX: usize = 64;

/// Maximum number of values that aliases add. Without a limit, a few lines of aliases of aliases
/// would fill the memory.
const COPIES_MAX: usize = 100_000;

/// How many lines of flow collections may be indented too little, and the spaces that they get.
const MOVED_MAX: usize = 200;
const MOVED_BY: usize = 2 * DEPTH_MAX;

/// The key whose maps are merged into its own map.
const MERGE_KEY: &str = "<<";

/// A value in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// The file, if it is not the template.
    pub(super) file: Option<Arc<str>>,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The path from the root: `Resources.ClicksTable.Properties.TableName`.
    pub(super) path: String,
    pub(super) kind: NodeKind,
}

/// The kind of a value, with its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NodeKind {
    /// Text as written, and its YAML value: a string, number, boolean or null.
    Scalar(String, Value),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    /// The stream of the table with this logical id; its ARN exists only after the table is
    /// created.
    StreamOf(String),
}

impl Node {
    /// A node at the same position with another value.
    pub(super) fn with(&self, kind: NodeKind) -> Self {
        Self { file: self.file.clone(), line: self.line, column: self.column, path: self.path.clone(), kind }
    }

    /// A node at the same position with a string.
    pub(super) fn text(&self, text: impl Into<String>) -> Self {
        let text = text.into();
        let value = Value::String(text.clone());
        self.with(NodeKind::Scalar(text, value))
    }

    /// The entries of a map; empty for other kinds.
    pub(super) fn entries(&self) -> &[(String, Node)] {
        if let NodeKind::Map(entries) = &self.kind { entries } else { &[] }
    }

    /// The named entry of a map.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        self.entries().iter().find(|(other, _)| other == name).map(|(_, node)| node)
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Option<&[Node]> {
        if let NodeKind::List(items) = &self.kind { Some(items) } else { None }
    }

    /// The text of a scalar other than null.
    pub(super) fn as_text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar(text, value) if !value.is_null() => Some(text),
            _ => None,
        }
    }

    /// The function and its argument, if this is an intrinsic function in its long form.
    pub(super) fn intrinsic(&self) -> Option<(&str, &Self)> {
        match self.entries() {
            [(name, argument)] if name == "Ref" || name.starts_with("Fn::") => Some((name, argument)),
            _ => None,
        }
    }

    /// The kind's name in a message.
    pub(super) fn describe(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(_, Value::Null) => "nothing",
            NodeKind::Scalar(_, Value::Bool(_)) => "a boolean",
            NodeKind::Scalar(_, Value::Number(_)) => "a number",
            NodeKind::Scalar(..) => "a string",
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a map",
            NodeKind::StreamOf(_) => "a stream's ARN",
        }
    }
}

/// Parses the only document of `yaml`, which is the template or the named file.
pub(super) fn parse(yaml: &str, file: Option<Arc<str>>) -> Result<Node, TemplateProblem> {
    let mut text = Cow::Borrowed(yaml);
    let mut moved = BTreeSet::new();
    loop {
        let events = Parser::new_from_str(&text);
        let (file, lines) = (file.clone(), moved.clone());
        let mut loader = Loader { events, file, moved: lines, path: Vec::new(), anchors: BTreeMap::new(), copies: 0 };
        match loader.document() {
            // AWS reads templates with PyYAML, in which a line of a flow collection may begin anywhere.
            Err(problem) if is_indentation(&problem) && moved.len() < MOVED_MAX && moved.insert(problem.line) => {
                text = Cow::Owned(with_indentation(&text, problem.line));
            }
            read => return read,
        }
    }
}

fn is_indentation(problem: &TemplateProblem) -> bool {
    problem.message.starts_with("not YAML: invalid indentation")
}

/// The text with spaces before a line.
fn with_indentation(yaml: &str, line: usize) -> String {
    let lines = yaml.split_inclusive('\n').enumerate();
    lines
        .map(|(at, text)| if at + 1 == line { format!("{}{text}", " ".repeat(MOVED_BY)) } else { text.to_owned() })
        .collect()
}

struct Loader<'a> {
    events: Parser<'a, StrInput<'a>>,
    file: Option<Arc<str>>,
    /// Lines that have spaces before them which are not in the file.
    moved: BTreeSet<usize>,
    path: Vec<String>,
    /// Values with an anchor, by the parser's number.
    anchors: BTreeMap<usize, Node>,
    copies: usize,
}

impl<'a> Loader<'a> {
    fn document(&mut self) -> Result<Node, TemplateProblem> {
        let (event, span) = loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_), _) => {}
                found => break found,
            }
        };
        if event == Event::StreamEnd {
            return Err(self.problem(&span, "the template is empty"));
        }
        let root = self.node(event, &span)?;
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(root),
                (Event::DocumentStart(_), span) => {
                    return Err(self.problem(&span, "a template must be one YAML document"));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), TemplateProblem> {
        let file = self.file.clone();
        let unreadable = |error: ScanError| TemplateProblem {
            file,
            line: error.marker().line(),
            column: error.marker().col() + 1,
            path: String::new(),
            code: ProblemCode::Unreadable,
            message: format!("not YAML: {}", error.info()),
        };
        match self.events.next() {
            Some(event) => event.map_err(unreadable),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Node, TemplateProblem> {
        if self.path.len() > DEPTH_MAX {
            return Err(self.problem(span, format!("nested more than {DEPTH_MAX} levels deep")));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.as_deref().is_some_and(|tag| tag.suffix == "str");
                let value = if is_text { Value::String(text.to_string()) } else { plain(&text) };
                self.anchored(span, anchor, tag.as_deref(), NodeKind::Scalar(text.into_owned(), value))
            }
            Event::SequenceStart(anchor, tag) => {
                let items = self.items()?;
                self.anchored(span, anchor, tag.as_deref(), NodeKind::List(items))
            }
            Event::MappingStart(anchor, tag) => {
                let entries = self.entries()?;
                self.anchored(span, anchor, tag.as_deref(), NodeKind::Map(entries))
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return Err(self.problem(span, "this alias is inside the value that it names"));
                };
                self.copies += count(&node);
                if self.copies > COPIES_MAX {
                    return Err(self.problem(span, format!("the aliases add more than {COPIES_MAX} values")));
                }
                Ok(node)
            }
            other => Err(self.problem(span, format!("unexpected {other:?}"))),
        }
    }

    /// A node with its tag, kept for later aliases if it has an anchor.
    fn anchored(
        &mut self,
        span: &Span,
        anchor: usize,
        tag: Option<&Tag>,
        kind: NodeKind,
    ) -> Result<Node, TemplateProblem> {
        let node = self.tagged(span, tag, kind)?;
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn items(&mut self) -> Result<Vec<Node>, TemplateProblem> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(items);
            }
            self.path.push(items.len().to_string());
            items.push(self.node(event, &span)?);
            self.path.pop();
        }
    }

    fn entries(&mut self) -> Result<Vec<(String, Node)>, TemplateProblem> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut merged: Vec<Node> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => break,
                Event::Scalar(name, ..) => name.into_owned(),
                _ => return Err(self.problem(&span, "a key must be a string")),
            };
            let (event, span) = self.next()?;
            self.path.push(name.clone());
            let value = self.node(event, &span)?;
            self.path.pop();
            if name == MERGE_KEY {
                merged.extend(value.items().unwrap_or(std::slice::from_ref(&value)).iter().cloned());
                continue;
            }
            // As CloudFormation does, the last of two equal keys counts.
            match entries.iter_mut().find(|(other, _)| *other == name) {
                Some((_, earlier)) => *earlier = value,
                None => entries.push((name, value)),
            }
        }
        for (name, value) in merged.iter().flat_map(|map| map.entries().iter().cloned()) {
            if !entries.iter().any(|(other, _)| *other == name) {
                entries.push((name, value));
            }
        }
        Ok(entries)
    }

    /// A value with the tag `!Function` is the argument of that function.
    fn tagged(&self, span: &Span, tag: Option<&Tag>, kind: NodeKind) -> Result<Node, TemplateProblem> {
        let node = self.at(span, kind);
        match tag {
            None => Ok(node),
            Some(tag) if tag.handle == "!" && !tag.suffix.is_empty() => {
                let name = match tag.suffix.as_str() {
                    name @ ("Ref" | "Condition") => name.to_owned(),
                    name => format!("Fn::{name}"),
                };
                Ok(self.at(span, NodeKind::Map(vec![(name, node)])))
            }
            // A tag of YAML itself, such as `!!str`.
            Some(tag) if tag.handle.starts_with("tag:yaml.org") || tag.handle == "!!" => Ok(node),
            Some(tag) => Err(self.problem(span, format!("the tag {}{} is not supported", tag.handle, tag.suffix))),
        }
    }

    fn at(&self, span: &Span, kind: NodeKind) -> Node {
        let (line, column) = (span.start.line(), span.start.col() + 1);
        let column = if self.moved.contains(&line) { column.saturating_sub(MOVED_BY) } else { column };
        Node { file: self.file.clone(), line, column, path: self.path.join("."), kind }
    }

    fn problem(&self, span: &Span, message: impl Into<String>) -> TemplateProblem {
        problem(&self.at(span, NodeKind::List(Vec::new())), ProblemCode::Unreadable, message)
    }
}

/// The number of values in a node, itself included.
fn count(node: &Node) -> usize {
    let items = node.items().unwrap_or_default().iter().map(count).sum::<usize>();
    1 + items + node.entries().iter().map(|(_, value)| count(value)).sum::<usize>()
}

/// The value of an unquoted scalar in YAML's core schema, with the booleans of YAML 1.1, which AWS
/// reads.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Value::Bool(true),
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

/// The decimal number in a text.
pub(super) fn number(text: &str) -> Option<Value> {
    if let Ok(integer) = text.parse::<i64>() {
        return Some(integer.into());
    }
    // Rust also parses `inf`, `nan` and similar words, which are strings here.
    let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let float = numeric.then(|| text.parse::<f64>().ok()).flatten()?;
    serde_json::Number::from_f64(float).map(Value::Number)
}
