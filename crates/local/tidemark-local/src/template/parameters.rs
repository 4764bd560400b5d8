//! Parameters: the given value or the default, checked as CloudFormation checks it.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value;

use super::problems::Problems;
use super::yaml::{Node, NodeKind, number};

/// The values of a template's parameters, as nodes at the positions of their declarations.
pub(super) fn values(
    declared: Option<&Node>,
    given: &BTreeMap<String, String>,
    root: &Node,
    problems: &Problems,
) -> BTreeMap<String, Node> {
    let declared = declared.map(Node::entries).unwrap_or_default();
    for name in given.keys().filter(|name| !declared.iter().any(|(other, _)| other == *name)) {
        problems.unknown(root, format!("the parameter {name} is given, but the template does not declare it"));
    }
    declared
        .iter()
        .filter_map(|(name, declaration)| {
            let value = value(name, declaration, given.get(name), problems)?;
            Some((name.clone(), value))
        })
        .collect()
}

fn value(name: &str, declaration: &Node, given: Option<&String>, problems: &Problems) -> Option<Node> {
    let kind = declaration.get("Type").and_then(Node::as_text);
    let default = declaration.get("Default");
    let (place, text) = match (given, default) {
        (Some(text), _) => (declaration, text.clone()),
        (None, Some(default)) => (default, default.as_text().unwrap_or_default().to_owned()),
        (None, None) => {
            let text = placeholder(name, kind.unwrap_or_default(), declaration);
            problems.ignored(
                declaration,
                format!(
                    "the parameter {name} has no default, so it is {text:?} here; --parameter {name}=VALUE sets it"
                ),
            );
            return Some(typed(kind.unwrap_or_default(), declaration, text));
        }
    };
    check(declaration, place, &text, problems);
    // The CDK adds this one for its own tools.
    if given.is_none()
        && name != "BootstrapVersion"
        && kind.is_some_and(|kind| kind.starts_with("AWS::SSM::Parameter::Value"))
    {
        let message = format!(
            "on AWS, the parameter {name} has the value that Systems Manager has for {text}; here it is that name: \
             --parameter {name}=VALUE sets a value"
        );
        problems.ignored(place, message);
    }
    match kind {
        Some("Number") => match number(&text) {
            Some(value) => Some(place.with(NodeKind::Scalar(text, value))),
            None => {
                problems.at(place, format!("{text:?} is not a number"));
                None
            }
        },
        Some(kind) => Some(typed(kind, place, text)),
        None => {
            problems.missing(declaration, format!("the parameter {name} has no Type"));
            None
        }
    }
}

/// The value of a parameter that is not a number. Besides strings and lists of them, CloudFormation
/// has types for the ids of AWS resources, and for parameters in Systems Manager.
fn typed(kind: &str, place: &Node, text: String) -> Node {
    match kind {
        "CommaDelimitedList" => list(place, &text),
        kind if kind.contains("List<") => list(place, &text),
        _ => place.text(text),
    }
}

fn list(place: &Node, text: &str) -> Node {
    place.with(NodeKind::List(text.split(',').map(|item| place.text(item.trim())).collect()))
}

/// The value of a parameter that has neither a value nor a default.
fn placeholder(name: &str, kind: &str, declaration: &Node) -> String {
    let allowed = declaration.get("AllowedValues").and_then(|allowed| allowed.items()?.first()?.as_text());
    let least = declaration.get("MinValue").and_then(Node::as_text);
    match (allowed, kind) {
        (Some(first), _) => first.to_owned(),
        (None, "Number") => least.unwrap_or("1").to_owned(),
        _ => format!("local-{name}"),
    }
}

fn check(declaration: &Node, place: &Node, text: &str, problems: &Problems) {
    if let Some(allowed) = declaration.get("AllowedValues").and_then(Node::items)
        && !allowed.iter().any(|value| value.as_text().unwrap_or_default() == text)
    {
        let list: Vec<&str> = allowed.iter().filter_map(Node::as_text).collect();
        problems.at(place, format!("{text:?} is not one of {}", list.join(", ")));
    }
    if let Some(pattern) = declaration.get("AllowedPattern") {
        // The whole value must match, even if the pattern is not anchored.
        match Regex::new(&format!("^(?:{})$", pattern.as_text().unwrap_or_default())) {
            Ok(regex) if regex.is_match(text) => {}
            Ok(_) => problems.at(place, format!("{text:?} does not match {}", pattern.as_text().unwrap_or_default())),
            Err(error) => problems.at(pattern, format!("invalid or unsupported regular expression: {error}")),
        }
    }
    let bound =
        |member: &str| declaration.get(member).and_then(Node::as_text).and_then(|text| text.parse::<f64>().ok());
    let number = text.parse::<f64>().ok();
    let length = u32::try_from(text.chars().count()).ok().map(f64::from);
    for (member, value, breaks) in [
        ("MinValue", number, f64::lt as fn(&f64, &f64) -> bool),
        ("MaxValue", number, f64::gt),
        ("MinLength", length, f64::lt),
        ("MaxLength", length, f64::gt),
    ] {
        if let (Some(bound), Some(value)) = (bound(member), value)
            && breaks(&value, &bound)
        {
            problems.at(place, format!("{text:?} is outside {member} {bound}"));
        }
    }
}

/// The value of a pseudo parameter on this machine.
pub(super) fn pseudo(name: &str) -> Option<Value> {
    let value = match name {
        "AWS::Region" => crate::arn::region(),
        "AWS::AccountId" => crate::arn::account(),
        "AWS::Partition" => "aws",
        "AWS::URLSuffix" => "amazonaws.com",
        "AWS::StackName" => crate::arn::stack_name(),
        "AWS::StackId" => return Some(Value::String(crate::arn::stack_id())),
        _ => return None,
    };
    Some(Value::String(value.to_owned()))
}
