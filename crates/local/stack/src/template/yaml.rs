//! A template as a tree of nodes with their positions in the file.
//!
//! This module converts YAML's short forms (`!Ref X`) to the long ones (`{Ref: X}`), so that other
//! modules handle only the long forms.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use serde_json::Value;

use super::problems::{TemplateError, TemplateProblem};

/// Maximum nesting of a template; AWS's limit is far lower.
const DEPTH_MAX: usize = 64;

/// A value in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
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
        Self { line: self.line, column: self.column, path: self.path.clone(), kind }
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

/// Parses the only document of `yaml`.
pub(super) fn parse(yaml: &str) -> Result<Node, TemplateError> {
    let mut loader = Loader { events: Parser::new_from_str(yaml), path: Vec::new() };
    loader.document().map_err(|problem| TemplateError { problems: vec![problem] })
}

struct Loader<'a> {
    events: Parser<'a, StrInput<'a>>,
    path: Vec<String>,
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
        let unreadable = |error: ScanError| TemplateProblem {
            line: error.marker().line(),
            column: error.marker().col() + 1,
            path: String::new(),
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
            Event::Scalar(text, style, _, tag) => {
                let value = if style == ScalarStyle::Plain { plain(&text) } else { Value::String(text.to_string()) };
                self.tagged(span, tag.as_deref(), NodeKind::Scalar(text.into_owned(), value))
            }
            Event::SequenceStart(_, tag) => {
                let items = self.items()?;
                self.tagged(span, tag.as_deref(), NodeKind::List(items))
            }
            Event::MappingStart(_, tag) => {
                let entries = self.entries()?;
                self.tagged(span, tag.as_deref(), NodeKind::Map(entries))
            }
            Event::Alias(_) => {
                Err(self.problem(span, "CloudFormation does not support YAML aliases: write the value itself"))
            }
            other => Err(self.problem(span, format!("unexpected {other:?}"))),
        }
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
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(entries),
                Event::Scalar(name, ..) => name.into_owned(),
                _ => return Err(self.problem(&span, "a key must be a string")),
            };
            if entries.iter().any(|(other, _)| *other == name) {
                return Err(self.problem(&span, format!("the key {name} appears twice")));
            }
            let (event, span) = self.next()?;
            self.path.push(name.clone());
            entries.push((name, self.node(event, &span)?));
            self.path.pop();
        }
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
            Some(tag) => Err(self.problem(span, format!("the tag {}{} is not supported", tag.handle, tag.suffix))),
        }
    }

    fn at(&self, span: &Span, kind: NodeKind) -> Node {
        Node { line: span.start.line(), column: span.start.col() + 1, path: self.path.join("."), kind }
    }

    fn problem(&self, span: &Span, message: impl Into<String>) -> TemplateProblem {
        let node = self.at(span, NodeKind::List(Vec::new()));
        TemplateProblem { line: node.line, column: node.column, path: node.path, message: message.into() }
    }
}

/// The value of an unquoted scalar in YAML's core schema.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
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
