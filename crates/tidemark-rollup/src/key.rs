//! Templates of keys and attributes: `STAT#{product}#{day}`.

/// Characters that a template may use as separators, and the escape character itself. A value that
/// contains one gets it as `%` and two hexadecimal digits, so two groups never share a key.
const ESCAPED: [char; 2] = ['#', '%'];

/// A text with dimensions in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The index of a dimension of the group.
    Dimension(usize),
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace has no partner.
    #[error("a brace at character {0} has no partner")]
    Brace(usize),
    /// The text names something that the group is not grouped by.
    #[error("`{{{0}}}` is not a dimension of the group; it has {1}")]
    UnknownDimension(String, String),
    /// DynamoDB does not accept an empty key.
    #[error("the template is empty")]
    Empty,
}

impl Template {
    /// Parses a template for a group with these dimensions.
    pub(crate) fn parse(text: &str, dimensions: &[&str]) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let column = text[..text.len() - rest.len()].chars().count() + 1;
            let Some((before, after)) = rest.split_once('{') else {
                if let Some(at) = rest.find('}') {
                    return Err(TemplateError::Brace(column + rest[..at].chars().count()));
                }
                parts.push(Part::Text(rest.to_owned()));
                break;
            };
            if let Some(at) = before.find('}') {
                return Err(TemplateError::Brace(column + before[..at].chars().count()));
            }
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let brace = column + before.chars().count();
            let (name, after) = after.split_once('}').ok_or(TemplateError::Brace(brace))?;
            let known = dimensions.iter().position(|dimension| *dimension == name);
            let index = known.ok_or_else(|| TemplateError::UnknownDimension(name.to_owned(), list(dimensions)))?;
            parts.push(Part::Dimension(index));
            rest = after;
        }
        if parts.is_empty() { Err(TemplateError::Empty) } else { Ok(Self(parts)) }
    }

    /// The text for the values of the group's dimensions, in their order.
    pub(crate) fn render(&self, values: &[String]) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Dimension(index) => push_escaped(&mut text, values.get(*index).map_or("", String::as_str)),
            }
        }
        text
    }

    /// The text up to the first dimension without a value, and that dimension.
    pub(crate) fn render_until(&self, values: &[Option<String>]) -> (String, Option<usize>) {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Dimension(index) => match values.get(*index) {
                    Some(Some(value)) => push_escaped(&mut text, value),
                    _ => return (text, Some(*index)),
                },
            }
        }
        (text, None)
    }

    /// The whole text, or the first dimension without a value.
    pub(crate) fn render_known(&self, values: &[Option<String>]) -> Result<String, usize> {
        match self.render_until(values) {
            (text, None) => Ok(text),
            (_, Some(dimension)) => Err(dimension),
        }
    }

    /// Finds values that give this text, and puts them into `values` by dimension. `is_value` tells
    /// whether a dimension can have a value. Returns whether there are such values.
    pub(crate) fn capture(&self, text: &str, is_value: &dyn Fn(usize, &str) -> bool, values: &mut [String]) -> bool {
        let mut found = Vec::new();
        if !capture(&self.0, text, is_value, &mut found) {
            return false;
        }
        for (index, value) in found {
            if let Some(place) = values.get_mut(index) {
                *place = value;
            }
        }
        true
    }

    pub(crate) fn has(&self, dimension: usize) -> bool {
        self.0.contains(&Part::Dimension(dimension))
    }

    /// Whether a part of the text is the same for all values.
    pub(crate) fn has_text(&self) -> bool {
        self.0.iter().any(|part| matches!(part, Part::Text(_)))
    }

    /// Whether two dimensions stand side by side. Their values could then be split in two ways.
    pub(crate) fn has_neighbours(&self) -> bool {
        self.0.windows(2).any(|parts| matches!(parts, [Part::Dimension(_), Part::Dimension(_)]))
    }
}

/// Matches parts with a text. `found` gets the dimensions and their values. A value contains no
/// `#`.
fn capture(
    parts: &[Part],
    text: &str,
    is_value: &dyn Fn(usize, &str) -> bool,
    found: &mut Vec<(usize, String)>,
) -> bool {
    match parts {
        [] => text.is_empty(),
        [Part::Text(part), rest @ ..] => {
            text.strip_prefix(part.as_str()).is_some_and(|text| capture(rest, text, is_value, found))
        }
        [Part::Dimension(index), rest @ ..] => {
            let end = text.find('#').unwrap_or(text.len());
            let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).take_while(|at| *at <= end);
            let before = found.len();
            ends.any(|at| {
                let Some(value) = unescaped(&text[..at]).filter(|value| is_value(*index, value)) else { return false };
                found.truncate(before);
                found.push((*index, value));
                capture(rest, &text[at..], is_value, found)
            })
        }
    }
}

/// `day, product`, or `none`.
pub(crate) fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Appends a value so that it contains no separator.
pub(crate) fn push_escaped(text: &mut String, value: &str) {
    for character in value.chars() {
        if ESCAPED.contains(&character) {
            text.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            text.push(character);
        }
    }
}

/// The reverse of [`push_escaped`]; `None` for a text that it never gives.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let character = ESCAPED.into_iter().find(|of| part.starts_with(&format!("{:02X}", u32::from(*of))))?;
        value.push(character);
        value.push_str(&part[2..]);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn render(template: &str, values: &[&str]) -> String {
        let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
        Template::parse(template, &["day", "product"]).expect("a template").render(&values)
    }

    #[test]
    fn key_template_renders_the_values_of_its_dimensions() {
        assert_eq!(render("STAT#{product}#{day}", &["2025-10-02", "lamp"]), "STAT#lamp#2025-10-02");
        assert_eq!(render("METADATA", &["2025-10-02", "lamp"]), "METADATA");
        assert_eq!(render("{day}", &["2025-10-02", "lamp"]), "2025-10-02");
    }

    #[test]
    fn a_mistake_in_a_template_is_named() {
        let error = |template| Template::parse(template, &["day", "product"]).expect_err(template).to_string();
        assert_eq!(error("STAT#{produkt}"), "`{produkt}` is not a dimension of the group; it has day, product");
        assert_eq!(error("日#{day"), "a brace at character 3 has no partner");
        assert_eq!(error("day}"), "a brace at character 4 has no partner");
        assert_eq!(error("{day}}{product}"), "a brace at character 6 has no partner");
        assert_eq!(error(""), "the template is empty");
    }

    #[test]
    fn a_text_matches_a_template_if_some_values_give_it() {
        let template = Template::parse("STAT#{product}#{day}", &["day", "product"]).expect("a template");
        for (text, expected) in
            [("STAT#lamp#2025", true), ("STAT##", true), ("STAT#lamp", false), ("STAT#a#b#c", false), ("X#a#b", false)]
        {
            assert_eq!(template.capture(text, &|_, _| true, &mut []), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_rendered_template_matches(a in "[a#%2 ]{0,6}", b in "[a#%2 ]{0,6}") {
            for template in ["{day}#{product}", "x{product}", "{day}", "#{product}#2#{day}a"] {
                let parsed = Template::parse(template, &["day", "product"]).expect("a template");
                let text = render(template, &[&a, &b]);
                let mut values = vec![String::new(); 2];
                prop_assert!(parsed.capture(&text, &|_, _| true, &mut values), "{} {}", template, text);
                if template == "{day}#{product}" {
                    prop_assert_eq!(&values, &[a.clone(), b.clone()]);
                }
            }
        }

        #[test]
        fn two_groups_never_share_a_key(a in "[a#%2 ]{0,6}", b in "[a#%2 ]{0,6}", c in "[a#%2 ]{0,6}", d in "[a#%2 ]{0,6}") {
            let (x, y) = (render("{day}#{product}", &[&a, &b]), render("{day}#{product}", &[&c, &d]));
            prop_assert_eq!(x == y, a == c && b == d);
        }
    }
}
