//! Tests of the syntax of expressions and templates.

#![allow(clippy::unwrap_used)]

use super::*;

/// The structure of an expression, with parentheses around each part.
fn shown(expression: &Expression) -> String {
    let all = |all: &[Expression]| all.iter().map(shown).collect::<Vec<_>>().join(" ");
    match &expression.node {
        Node::Name(name) => name.clone(),
        Node::Field(name, field) => format!("{name}.{field}"),
        Node::Variable(name) => format!("${name}"),
        Node::OfOwner(name) => format!("$owner.{name}"),
        Node::Text(text) => format!("'{text}'"),
        Node::Number(number) => number.clone(),
        Node::Bool(truth) => truth.to_string(),
        Node::Null => "null".to_owned(),
        Node::Convert(input, name, arguments) if arguments.is_empty() => format!("({name} {})", shown(input)),
        Node::Convert(input, name, arguments) => format!("({name} {} {})", shown(input), all(arguments)),
        Node::Fallback(left, right) => format!("({} ?? {})", shown(left), shown(right)),
        Node::Compare(left, comparison, right) => format!("({comparison:?} {} {})", shown(left), shown(right)),
        Node::IsNull(inner) => format!("(null? {})", shown(inner)),
        Node::In(inner, list) => format!("(in {} {})", shown(inner), all(list)),
        Node::Not(inner) => format!("(not {})", shown(inner)),
        Node::And(left, right) => format!("(and {} {})", shown(left), shown(right)),
        Node::Or(left, right) => format!("(or {} {})", shown(left), shown(right)),
    }
}

#[test]
fn operators_bind_as_in_sql() {
    for (text, expected) in [
        ("a | lower | pad(3)", "(pad (lower a) 3)"),
        ("updated ?? created | instant('UTC')", "(updated ?? (instant created 'UTC'))"),
        ("(updated ?? created) | instant", "(instant (updated ?? created))"),
        (
            "not a = 1 or b is not null and c in ('x', 'y''z')",
            "(or (not (Equal a 1)) (and (not (null? b)) (in c 'x' 'y'z')))",
        ),
        ("at <= $as_of", "(AtMost at $as_of)"),
        ("state not in ('a') and n >= -3", "(and (not (in state 'a')) (AtLeast n -3))"),
        ("\"odd name\" <> $owner.zone", "(NotEqual odd name $owner.zone)"),
        ("profile.city = null", "(Equal profile.city null)"),
    ] {
        assert_eq!(shown(&expression(text, 0).unwrap()), expected, "{text}");
    }
}

#[test]
fn an_error_has_its_place() {
    for (text, at, why) in [
        ("a = ", 4, "expected a column or a value here"),
        ("a b", 2, "unexpected \"b\""),
        ("a | 'x'", 4, "expected a name here"),
        ("a is 3", 5, "expected \"null\" here"),
        ("'x", 0, "' is not closed"),
        ("a ; b", 2, "unexpected character ';'"),
        ("f | g(1", 7, "expected \")\" here"),
    ] {
        assert_eq!(expression(text, 0), error(at, why), "{text}");
    }
    let deep = "(".repeat(100);
    assert_eq!(expression(&deep, 0).unwrap_err().why, "too many parentheses");
}

#[test]
fn a_template_is_text_with_placeholders() {
    let parts = |text: &str| {
        let Template(parts) = template(text).unwrap();
        let shown = |part: &Part| match part {
            Part::Text(text) => format!("{text:?}"),
            Part::Placeholder(expression) => shown(expression),
        };
        parts.iter().map(shown).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(parts("ORDER#{id | pad(12)}#{{x}}"), "\"ORDER#\" (pad id 12) \"#{x}\"");
    assert_eq!(parts("{a | default('}')}"), "(default a '}')");
    assert_eq!(parts(""), "\"\"");
    assert_eq!(template("A#{b").unwrap_err(), SyntaxError { at: 2, why: "{ is not closed".to_owned() });
    assert_eq!(template("é#{b c}").unwrap_err().at, 6);
}
