//! Tests of patterns.

use serde_json::json;

use super::*;

fn passes(pattern: &Value, record: &Value) -> bool {
    Filters::compile(std::slice::from_ref(pattern)).expect("a valid pattern").pass(record)
}

#[test]
fn each_operator_matches_only_its_values() {
    let cases = [
        (json!(["a", "b"]), json!("b"), true),
        (json!(["a", "b"]), json!("c"), false),
        (json!([1]), json!(1.0), true),
        (json!([1]), json!("1"), false),
        (json!([true]), json!(true), true),
        (json!([null]), json!(null), true),
        (json!([null]), json!(""), false),
        (json!([""]), json!(""), true),
        (json!([""]), json!(null), false),
        (json!([{"prefix": "CLICK#"}]), json!("CLICK#2025"), true),
        (json!([{"prefix": "CLICK#"}]), json!("STAT#DAILY"), false),
        (json!([{"suffix": ".png"}]), json!("a.png"), true),
        (json!([{"suffix": ".png"}]), json!("a.jpg"), false),
        (json!([{"equals-ignore-case": "Alice"}]), json!("aLICE"), true),
        (json!([{"equals-ignore-case": "Alice"}]), json!("bob"), false),
        (json!([{"wildcard": "a*c*e"}]), json!("abcde"), true),
        (json!([{"wildcard": "a*c*e"}]), json!("abde"), false),
        (json!([{"wildcard": "abc"}]), json!("abcd"), false),
        (json!([{"anything-but": ["a", "b"]}]), json!("c"), true),
        (json!([{"anything-but": ["a", "b"]}]), json!("a"), false),
        (json!([{"anything-but": "a"}]), json!("a"), false),
        (json!([{"anything-but": {"prefix": "x"}}]), json!("abc"), true),
        (json!([{"anything-but": {"prefix": ["x", "a"]}}]), json!("abc"), false),
        (json!([{"numeric": ["=", 100]}]), json!(100), true),
        (json!([{"numeric": [">", 10, "<=", 20]}]), json!(20), true),
        (json!([{"numeric": [">", 10, "<=", 20]}]), json!(10), false),
        (json!([{"numeric": ["=", 100]}]), json!("100"), false),
        (json!([{"exists": true}]), json!("x"), true),
        (json!([{"exists": true}]), json!({"not": "a leaf"}), false),
        (json!([{"exists": false}]), json!("x"), false),
        (json!([{"prefix": "a"}, {"suffix": "z"}]), json!("xyz"), true),
        (json!(["a"]), json!(["b", "a"]), true),
        (json!([{"prefix": {"equals-ignore-case": "AB"}}]), json!("abc"), true),
        (json!([{"suffix": {"equals-ignore-case": ".PNG"}}]), json!("a.png"), true),
        (json!([{"cidr": "10.0.0.0/24"}]), json!("10.0.0.255"), true),
        (json!([{"cidr": "10.0.0.0/24"}]), json!("10.0.1.0"), false),
        (json!([{"cidr": "2001:db8::/32"}]), json!("2001:db8::1"), true),
        (json!([{"wildcard": "a\\*b*"}]), json!("a*bc"), true),
        (json!([{"wildcard": "a\\*b*"}]), json!("axbc"), false),
        (json!([{"wildcard": "a\\\\*"}]), json!("a\\b"), true),
        (json!([{"anything-but": {"wildcard": ["*/lib/*", "*/bin/*"]}}]), json!("a/lib/b"), false),
        (json!([{"anything-but": {"wildcard": "*/lib/*"}}]), json!("a/src/b"), true),
        (json!([{"anything-but": {"suffix": [".txt", ".rtf"]}}]), json!("a.rtf"), false),
        (json!([{"anything-but": {"equals-ignore-case": ["initialized", "testing"]}}]), json!("TESTING"), false),
        (json!([{"anything-but": [100, 200]}]), json!(200), false),
        (json!([{"anything-but": ["x"]}]), json!(["x", "y"]), true),
        (json!([{"exists": true}]), json!([{"only": "objects"}]), false),
        (json!([{"exists": true}]), json!([]), false),
        (json!([{"exists": true}]), json!(null), true),
        (json!(["a"]), json!([["b"], ["a"]]), true),
    ];
    for (leaf, value, expected) in cases {
        let (pattern, record) = (json!({ "field": leaf }), json!({ "field": value }));
        assert_eq!(passes(&pattern, &record), expected, "{pattern} on {record}");
    }
}

#[test]
fn a_missing_field_matches_only_its_absence() {
    assert!(passes(&json!({"a": {"b": [{"exists": false}]}}), &json!({})));
    assert!(!passes(&json!({"a": [{"anything-but": ["x"]}]}), &json!({})));
    assert!(!passes(&json!({"a": [null]}), &json!({})));
}

#[test]
fn record_must_match_all_fields_of_any_filter_pattern() {
    let insert = json!({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"k": {"S": [{"prefix": "A"}]}}}});
    let record = |name: &str, key: &str| json!({"eventName": name, "dynamodb": {"NewImage": {"k": {"S": key}}}});
    assert!(passes(&insert, &record("INSERT", "A1")));
    assert!(!passes(&insert, &record("INSERT", "B1")));
    assert!(!passes(&insert, &record("MODIFY", "A1")));
    let both = Filters::compile(&[insert, json!({"eventName": ["REMOVE"]})]).expect("valid");
    assert!(both.pass(&record("REMOVE", "B1")));
    assert!(!both.pass(&record("MODIFY", "A1")));
}

#[test]
fn or_over_fields_needs_one_of_them() {
    let pattern = json!({"x": [1], "$or": [{"a": ["1"]}, {"b": ["2"]}]});
    assert!(passes(&pattern, &json!({"x": 1, "a": "0", "b": "2"})));
    assert!(!passes(&pattern, &json!({"x": 1, "a": "0", "b": "0"})));
    assert!(!passes(&pattern, &json!({"x": 2, "a": "1"})));
}

#[test]
fn one_object_of_a_list_must_match_all_fields() {
    let pattern = json!({"a": {"x": [1], "y": [2]}});
    assert!(passes(&pattern, &json!({"a": [{"x": 0, "y": 2}, {"x": 1, "y": 2}]})));
    assert!(!passes(&pattern, &json!({"a": [{"x": 1, "y": 0}, {"x": 0, "y": 2}]})));
    assert!(passes(&json!({"a": {"x": [{"exists": false}]}}), &json!({"a": []})));
}

#[test]
fn no_filters_let_everything_pass() {
    assert!(Filters::compile(&[]).expect("valid").pass(&json!({"eventName": "REMOVE"})));
}

#[test]
fn an_unsupported_pattern_is_an_error_with_its_position() {
    let cases = [
        (json!({"a": {"b": [{"cidr": "10.0.0.0/80"}]}}), "a.b"),
        (json!({"a": "plain"}), "a"),
        (json!({"a": []}), "a"),
        (json!({"a": [{"numeric": ["~", 1]}]}), "a"),
        (json!({"a": [{"prefix": "x", "suffix": "y"}]}), "a"),
        (json!({"a": [{"prefix": 1}]}), "a"),
        (json!({"a": [{"exists": "true"}]}), "a"),
        (json!({"a": [{"wildcard": "x**y"}]}), "a"),
        (json!({"a": [{"wildcard": "x\\y"}]}), "a"),
        (json!({"a": [{"numeric": ["<", 5, ">", 1]}]}), "a"),
        (json!({"a": [{"numeric": [">", 5, "<", 5]}]}), "a"),
        (json!({"a": [{"numeric": ["=", 5, "<", 6]}]}), "a"),
        (json!({"a": [{"numeric": ["<", 5.1e9]}]}), "a"),
        (json!({"a": [{"anything-but": []}]}), "a"),
        (json!({"a": [{"anything-but": {"prefix": ""}}]}), "a"),
        (json!({"a": [{"anything-but": {"prefix": []}}]}), "a"),
        (json!({"a": [{"anything-but": {"numeric": ["=", 1]}}]}), "a"),
        (json!({"$or": [{"a": [1]}]}), "$or"),
        (json!([]), ""),
        (json!({}), ""),
    ];
    for (pattern, path) in cases {
        let error = Filters::compile(std::slice::from_ref(&pattern)).expect_err("refused");
        assert_eq!(error.path, path, "{pattern}: {error}");
    }
}

#[test]
fn key_with_dots_is_a_name_or_a_path() {
    let pattern = json!({"a.b": ["x"]});
    for (record, expected) in [
        (json!({"a.b": "x"}), true),
        (json!({"a": {"b": "x"}}), true),
        (json!({"a": [{"b": "y"}, {"b": "x"}]}), true),
        (json!({"a": {"b": "y"}}), false),
        (json!({"a": "x"}), false),
    ] {
        assert_eq!(passes(&pattern, &record), expected, "{record}");
    }
    assert!(passes(&json!({"a.b": [{"exists": false}]}), &json!({"a": {"c": 1}})));
}
