//! Decides whether one statement allows one call.

use std::fmt;

use super::Request;
use crate::stack::{Condition, Quantifier, Statement, Test};

/// The entries of a statement that match a call: positions in each of its lists. If a list has only
/// one position, the call needs that entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) actions: Vec<usize>,
    pub(super) resources: Vec<usize>,
    /// The condition's index, and the indexes of its patterns that match one of the call's values.
    pub(super) patterns: Vec<(usize, Vec<usize>)>,
}

/// Why a statement does not allow a call. The order is from farthest to nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mismatch {
    /// It has other actions.
    Action,
    /// It has other resources.
    Resource,
    /// Its condition does not hold.
    Condition,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Action => "has other actions",
            Self::Resource => "has the action for other resources",
            Self::Condition => "has the action and the resource, but its condition does not hold",
        })
    }
}

/// The entries of the statement that allow the call.
pub(super) fn matches(statement: &Statement, request: &Request) -> Result<Matched, Mismatch> {
    let actions = which(&statement.actions, |pattern| {
        is_like(&pattern.to_ascii_lowercase(), &request.action.to_ascii_lowercase())
    });
    if actions.is_empty() {
        return Err(Mismatch::Action);
    }
    let resources = which(&statement.resources, |pattern| is_like(pattern, &request.resource));
    if resources.is_empty() {
        return Err(Mismatch::Resource);
    }
    let mut patterns = Vec::new();
    for (index, condition) in statement.conditions.iter().enumerate() {
        let values = request.context.get(condition.key.as_str()).map(Vec::as_slice).unwrap_or_default();
        if !holds(condition, values) {
            return Err(Mismatch::Condition);
        }
        if matches!(condition.test, Test::Equals | Test::Like) {
            let of = |value: &String| (index, which(&condition.values, |pattern| is(condition.test, pattern, value)));
            patterns.extend(values.iter().map(of));
        }
    }
    Ok(Matched { actions, resources, patterns })
}

fn which(patterns: &[String], matches: impl Fn(&str) -> bool) -> Vec<usize> {
    let matching = patterns.iter().enumerate().filter(|(_, pattern)| matches(pattern));
    matching.map(|(index, _)| index).collect()
}

/// Whether a condition holds for the call's values of its key.
fn holds(condition: &Condition, values: &[String]) -> bool {
    let any = |value: &String| condition.values.iter().any(|pattern| is(condition.test, pattern, value));
    let passes = |value: &String| match condition.test {
        Test::NotEquals | Test::NotLike => !any(value),
        _ => any(value),
    };
    match (condition.test, condition.quantifier) {
        (Test::Null, _) => condition.values.iter().any(|absent| (absent == "true") == values.is_empty()),
        (_, Some(Quantifier::All)) => values.iter().all(passes),
        (_, Some(Quantifier::Any)) => values.iter().any(passes),
        // Without a value, only the negated tests hold.
        (test, None) if values.is_empty() => matches!(test, Test::NotEquals | Test::NotLike),
        (_, None) => values.iter().all(passes),
    }
}

fn is(test: Test, pattern: &str, value: &str) -> bool {
    match test {
        Test::Like | Test::NotLike => is_like(pattern, value),
        _ => pattern == value,
    }
}

/// Whether the text matches the pattern, in which `*` stands for any text and `?` for one
/// character.
pub(crate) fn is_like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // The position of the last `*`, and the end of its match: if the rest does not match, the `*`
    // takes one more character.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((place, reach)) = star else { return false };
                star = Some((place, reach + 1));
                (at, read) = (place + 1, reach + 1);
            }
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::policies::LEADING_KEYS;
    use crate::stack::Effect;

    fn statement(quantifier: Option<Quantifier>, test: Test, values: &[&str]) -> Statement {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let condition = |quantifier, test, values| Condition { key: LEADING_KEYS.to_owned(), quantifier, test, values };
        Statement {
            policy: "a-role: a-policy".to_owned(),
            line: 1,
            effect: Effect::Allow,
            actions: texts(&["dynamodb:PutItem", "dynamodb:GetItem"]),
            resources: texts(&["arn:table/a", "arn:table/b/index/*"]),
            conditions: vec![
                condition(quantifier, test, texts(values)),
                condition(None, Test::Null, texts(&["false"])),
            ],
        }
    }

    fn request(action: &str, resource: &str, keys: &[&str]) -> Request {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        Request {
            action: action.to_owned(),
            resource: resource.to_owned(),
            context: BTreeMap::from([(LEADING_KEYS, keys)]),
        }
    }

    #[test]
    fn star_matches_any_text_and_question_mark_one_character() {
        for (pattern, text) in
            [("*", ""), ("a*c", "abbc"), ("a*b*c", "a-b-b-c"), ("a?c", "abc"), ("*#*", "x#y"), ("日*", "日本")]
        {
            assert!(is_like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("a", ""),
            ("a*c", "abcd"),
            ("a?c", "ac"),
            ("*#*", "ann"),
            ("A", "a"),
            ("STAT#*", "FIRSTSEEN#x"),
        ] {
            assert!(!is_like(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn action_resource_and_every_key_have_to_match() {
        let statement = statement(Some(Quantifier::All), Test::Like, &["USER#*", "DAY#*"]);
        let lacks = |action, resource, keys: &[&str]| matches(&statement, &request(action, resource, keys)).err();
        assert_eq!(lacks("dynamodb:PutItem", "arn:table/a", &["USER#ann", "DAY#1"]), None);
        assert_eq!(lacks("DynamoDB:putitem", "arn:table/b/index/I", &["USER#ann"]), None);
        assert_eq!(lacks("dynamodb:Scan", "arn:table/a", &["USER#ann"]), Some(Mismatch::Action));
        assert_eq!(lacks("dynamodb:PutItem", "arn:table/b", &["USER#ann"]), Some(Mismatch::Resource));
        assert_eq!(lacks("dynamodb:PutItem", "arn:table/a", &["USER#ann", "STAT#1"]), Some(Mismatch::Condition));
        // `ForAllValues` holds for no keys; only a `Null` condition rejects a request without any.
        assert_eq!(lacks("dynamodb:PutItem", "arn:table/a", &[]), Some(Mismatch::Condition));
    }

    #[test]
    fn a_negated_pattern_allows_values_that_do_not_match() {
        let statement = statement(Some(Quantifier::All), Test::NotLike, &["*#*"]);
        let allowed = |keys: &[&str]| matches(&statement, &request("dynamodb:PutItem", "arn:table/a", keys)).is_ok();
        assert!(allowed(&["ann"]) && !allowed(&["STAT#TOTAL"]) && !allowed(&["ann", "STAT#TOTAL"]));
    }

    #[test]
    fn without_a_quantifier_an_absent_value_passes_only_negated_tests() {
        let condition =
            |test| Condition { key: String::new(), quantifier: None, test, values: vec!["a@b.c".to_owned()] };
        assert!(!holds(&condition(Test::Equals), &[]) && holds(&condition(Test::NotEquals), &[]));
        assert!(holds(&condition(Test::Equals), &["a@b.c".to_owned()]));
        assert!(!holds(&Condition { quantifier: Some(Quantifier::Any), ..condition(Test::Equals) }, &[]));
    }

    #[test]
    fn each_key_reports_the_patterns_that_it_matched() {
        let statement = statement(Some(Quantifier::All), Test::Like, &["FEED#suite#*", "FEED#*", "DAY#*"]);
        let matched =
            matches(&statement, &request("dynamodb:GetItem", "arn:table/a", &["DAY#1", "FEED#suite#1"])).unwrap();
        let expected = Matched { actions: vec![1], resources: vec![0], patterns: vec![(0, vec![2]), (0, vec![0, 1])] };
        assert_eq!(matched, expected);
    }
}
