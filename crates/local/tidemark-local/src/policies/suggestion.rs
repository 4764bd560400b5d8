//! The least policy that a run needed: each function's calls, as a policy of IAM and as `Policies`
//! of a template.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use crate::stack::Stack;

/// Maximum number of different calls of a function that are kept.
const CALLS_MAX: usize = 1_000;

/// The different calls of a function: the resources of each action.
#[derive(Debug, Default)]
pub(super) struct Calls {
    resources: BTreeMap<String, BTreeSet<String>>,
    count: usize,
}

/// The least policy for a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Suggestion {
    /// The function's name for people.
    pub function: String,
    /// A policy document's statements.
    pub statements: Vec<SuggestedStatement>,
}

/// A statement that allows actions on resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct SuggestedStatement {
    /// `Allow`.
    pub effect: &'static str,
    /// Sorted.
    pub action: Vec<String>,
    /// ARNs, sorted.
    pub resource: Vec<String>,
}

impl Calls {
    /// Records a call, allowed or not.
    pub(super) fn record(&mut self, action: &str, resource: &str) {
        let resource = without_stream_label(resource);
        if self.resources.get(action).is_some_and(|known| known.contains(&resource)) || self.count >= CALLS_MAX {
            return;
        }
        self.resources.entry(action.to_owned()).or_default().insert(resource);
        self.count += 1;
    }

    /// The fewest statements: actions on the same resources share one.
    pub(super) fn suggestion(&self, function: &str) -> Suggestion {
        let mut by_resources: BTreeMap<&BTreeSet<String>, Vec<String>> = BTreeMap::new();
        for (action, resources) in &self.resources {
            by_resources.entry(resources).or_default().push(action.clone());
        }
        let statement = |(resources, action): (&BTreeSet<String>, Vec<String>)| SuggestedStatement {
            effect: "Allow",
            action,
            resource: resources.iter().cloned().collect(),
        };
        Suggestion { function: function.to_owned(), statements: by_resources.into_iter().map(statement).collect() }
    }
}

/// A stream's ARN contains the time of its creation, which a policy cannot know.
fn without_stream_label(resource: &str) -> String {
    match resource.split_once("/stream/") {
        Some((table, _)) if table.contains(":table/") => format!("{table}/stream/*"),
        _ => resource.to_owned(),
    }
}

/// The ARNs of a template's resources, with the expression that stands for each.
#[derive(Debug, Default)]
pub(super) struct References(Vec<(String, String)>);

impl References {
    /// The tables, queues, streams and functions of a stack.
    pub(super) fn of(stack: &Stack) -> Self {
        let tables = stack.tables.iter().map(|table| {
            let arn = format!("{}:table/{}", crate::arn::of_region("dynamodb"), table.name);
            (arn, table.logical_id.clone())
        });
        let queues = stack.queues.iter().map(|queue| (queue.arn.clone(), queue.logical_id.clone()));
        let functions = stack.functions.iter().map(|own| (crate::arn::function(&own.name), own.logical_id.clone()));
        let streams = stack.kinesis_streams.iter().map(|stream| (stream.arn.clone(), stream.logical_id.clone()));
        Self(tables.chain(queues).chain(streams).chain(functions).collect())
    }

    /// The ARN as a template writes it.
    fn expression(&self, arn: &str) -> String {
        let known = self.0.iter().find_map(|(own, id)| Some((id, arn.strip_prefix(own)?)));
        match known {
            Some((id, "")) => format!("!GetAtt {id}.Arn"),
            Some((id, rest)) if rest.starts_with('/') => format!("!Sub '${{{id}.Arn}}{rest}'"),
            _ => format!("'{arn}'"),
        }
    }

    /// The policies as properties of functions in YAML.
    pub(super) fn yaml(&self, suggestions: &[Suggestion]) -> String {
        let mut text = String::new();
        for Suggestion { function, statements } in suggestions {
            let title = if statements.is_empty() { "called no service" } else { "needed" };
            // Writing to a string does not fail.
            let _ = writeln!(text, "# {function} {title}");
            if statements.is_empty() {
                continue;
            }
            text.push_str("Policies:\n  - Version: '2012-10-17'\n    Statement:\n");
            for statement in statements {
                text.push_str("      - Effect: Allow\n        Action:\n");
                text.extend(statement.action.iter().map(|action| format!("          - {action}\n")));
                text.push_str("        Resource:\n");
                text.extend(statement.resource.iter().map(|arn| format!("          - {}\n", self.expression(arn))));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_statement_groups_actions_on_the_same_resources() {
        let mut calls = Calls::default();
        let table = "arn:aws:dynamodb:us-east-1:000000000000:table/things";
        for (action, resource) in [
            ("dynamodb:GetItem", table.to_owned()),
            ("dynamodb:PutItem", table.to_owned()),
            ("dynamodb:PutItem", table.to_owned()),
            ("dynamodb:Query", format!("{table}/index/byDay")),
            ("dynamodb:GetRecords", format!("{table}/stream/2026-01-01T00:00:00.000")),
            ("s3:GetObject", "arn:aws:s3:::else/where".to_owned()),
        ] {
            calls.record(action, &resource);
        }
        let suggestion = calls.suggestion("worker");
        assert_eq!(suggestion.statements.len(), 4);
        let references = References(vec![(table.to_owned(), "Things".to_owned())]);
        let yaml = references.yaml(&[suggestion, Calls::default().suggestion("idle")]);
        let expected = "# worker needed
Policies:
  - Version: '2012-10-17'
    Statement:
      - Effect: Allow
        Action:
          - dynamodb:GetItem
          - dynamodb:PutItem
        Resource:
          - !GetAtt Things.Arn
      - Effect: Allow
        Action:
          - dynamodb:Query
        Resource:
          - !Sub '${Things.Arn}/index/byDay'
      - Effect: Allow
        Action:
          - dynamodb:GetRecords
        Resource:
          - !Sub '${Things.Arn}/stream/*'
      - Effect: Allow
        Action:
          - s3:GetObject
        Resource:
          - 'arn:aws:s3:::else/where'
# idle called no service
";
        assert_eq!(yaml, expected);
    }
}
