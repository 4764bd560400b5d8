//! `wildcard`: `*` matches any run of characters, including none.

/// A pattern with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wildcard {
    first: String,
    /// The texts after each `*`.
    others: Vec<String>,
}

impl Wildcard {
    /// Parses a pattern. A backslash before `*` or a backslash makes it an ordinary character.
    pub(super) fn parse(pattern: &str) -> Result<Self, &'static str> {
        let (mut first, mut others) = (String::new(), Vec::<String>::new());
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            let literal = match character {
                '*' if characters.peek() == Some(&'*') => return Err("consecutive wildcard characters"),
                '*' => {
                    others.push(String::new());
                    continue;
                }
                '\\' => characters
                    .next()
                    .filter(|next| matches!(next, '*' | '\\'))
                    .ok_or("a backslash escapes only `*` and a backslash")?,
                other => other,
            };
            others.last_mut().unwrap_or(&mut first).push(literal);
        }
        Ok(Self { first, others })
    }

    /// Whether a text matches.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Some(mut rest) = text.strip_prefix(self.first.as_str()) else { return false };
        let Some((last, middle)) = self.others.split_last() else { return rest.is_empty() };
        for part in middle {
            match rest.find(part.as_str()) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }
}
