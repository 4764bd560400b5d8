//! Refuses expressions that nest too deep: the emulator's parsers recurse, and an expression of
//! 1,500 opening parentheses would end the whole process by a stack overflow.
//!
//! Values that nest too deep, in JSON and in PartiQL statements, the emulator refuses itself.

/// The most operators and functions of an expression
/// ([limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters)).
/// Each level of a valid expression needs one.
const OPERATORS_MAX: usize = 300;

/// The longest expression. The emulator refuses a longer one before it parses it.
const SIZE_BYTES_MAX: usize = 4096;

/// Why an expression nests too deep, in DynamoDB's words.
pub(super) fn refusal(text: &str) -> Option<String> {
    if text.len() > SIZE_BYTES_MAX {
        return None;
    }
    let (mut level, mut levels) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'(' => level += 1,
            b')' => level = level.saturating_sub(1),
            _ => {}
        }
        levels = levels.max(level);
    }
    // A name cannot be one of these words: they are reserved.
    let words = text.split(|of: char| !(of.is_ascii_alphanumeric() || "_.#:".contains(of)));
    let is_operator = |word: &&str| ["AND", "OR", "NOT"].iter().any(|operator| word.eq_ignore_ascii_case(operator));
    if words.filter(is_operator).count() > OPERATORS_MAX {
        let count = OPERATORS_MAX + 1;
        return Some(format!("The expression contains too many operators; operator count: {count}"));
    }
    match (levels > OPERATORS_MAX, level) {
        (false, _) => None,
        (true, 0) => Some("The expression has redundant parentheses;".to_owned()),
        (true, _) => {
            let last = text.trim_end().chars().next_back().unwrap_or('(');
            Some(format!(r#"Syntax error; token: "<EOF>", near: "{last}""#))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_within_the_limits_is_not_refused() {
        let negated = format!("{}a = :a{}", "NOT (".repeat(300), ")".repeat(300));
        let chained = format!("a BETWEEN :a AND :b{}", " OR a=:a".repeat(299));
        let names = "and.or.not #not :or ".repeat(100);
        let too_long = "(".repeat(SIZE_BYTES_MAX + 1);
        for text in ["", "a = :a", ")))", &negated, &chained, &names, &too_long] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }

    #[test]
    fn too_deeply_nested_expression_is_refused_with_its_reason() {
        let refused = |text: String| refusal(&text).unwrap_or_default();
        assert_eq!(refused("(".repeat(1_500)), r#"Syntax error; token: "<EOF>", near: "(""#);
        let doubled = format!("{}a = :a{}", "(".repeat(1_500), ")".repeat(1_500));
        assert_eq!(refused(doubled), "The expression has redundant parentheses;");
        let many = "The expression contains too many operators; operator count: 301";
        assert_eq!(refused(format!("{}a = :a", "not ".repeat(301))), many);
        assert_eq!(refused(format!("a=:a{}", " or a=:a".repeat(301))), many);
        assert_eq!(refused(format!("{}a = :a{}", "NOT(".repeat(301), ")".repeat(301))), many);
    }
}
