//! The properties that AWS knows, and what each does on this machine.
//!
//! `scripts/properties` writes the table from the schemas of CloudFormation and SAM.

/// Lines with a key, a mark and names.
const TABLE: &str = include_str!("properties.txt");

/// What a property does on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// The reader reads it.
    Runs,
    /// It has an effect only on AWS, and functions do not notice.
    Aws,
    /// It has no effect here, and a warning says so.
    Warned,
    /// The template does not start.
    Refused,
}

/// Every key with its mark and the names that have it.
#[cfg(test)]
pub(super) fn lines() -> impl Iterator<Item = (&'static str, Mark, std::str::Split<'static, char>)> {
    TABLE.lines().filter_map(|line| {
        let (key, rest) = line.split_once(' ')?;
        let (mark, names) = marked(rest)?;
        Some((key, mark, names))
    })
}

/// The marks and names of a key.
fn lines_of(key: &str) -> impl Iterator<Item = (Mark, std::str::Split<'static, char>)> {
    TABLE.lines().filter_map(move |line| marked(line.strip_prefix(key)?.strip_prefix(' ')?))
}

fn marked(line: &'static str) -> Option<(Mark, std::str::Split<'static, char>)> {
    let (mark, names) = line.split_once(' ')?;
    let mark = match mark {
        "runs" => Mark::Runs,
        "aws" => Mark::Aws,
        "warned" => Mark::Warned,
        _ => Mark::Refused,
    };
    Some((mark, names.split(' ')))
}

/// The mark of a property; `None` if AWS does not know it.
pub(super) fn mark(key: &str, name: &str) -> Option<Mark> {
    lines_of(key).find_map(|(mark, mut names)| names.any(|known| known == name).then_some(mark))
}

/// What to say to a property that AWS does not know, with the most similar one.
pub(super) fn unknown(key: &str, name: &str) -> String {
    let names = lines_of(key).flat_map(|(_, names)| names);
    let distance = |known: &&str| strsim::damerau_levenshtein(&known.to_ascii_lowercase(), &name.to_ascii_lowercase());
    match names.min_by_key(distance) {
        Some(nearest) => format!("{key} has no property {name}: the most similar one is {nearest}"),
        None => format!("{key} has no property {name}"),
    }
}
