//! Commands and flags that earlier versions had: the error says what to use instead.

use crate::{Failure, FailureKind};

/// A command, a flag of it, or both; and what to do instead.
const GONE: [(&str, &str, &str); 19] = [
    ("adopt", "", "copy the files *.json of the run's folder after each step, and put them back into a new folder"),
    (
        "status",
        "",
        "the run's folder has report-<phase>.json of each finished phase, and `cutover` without --to counts the users",
    ),
    ("control", "", "stop the command with Ctrl-C, and run it again with another --rate"),
    ("", "--capture", "triggers are the only capture: leave the flag out"),
    ("", "--metrics-file", "the command writes its progress to standard error"),
    ("check", "--sample", "`check` always compares all items"),
    ("check", "--again", "`check` always reads the whole table"),
    ("load", "--differences", "`load --again` mends what `check` found missing or changed"),
    ("export", "--dry-run", "`preflight` checks the schema"),
    ("cutover", "--dry-run", "`cutover` without --to counts the users and the pending changes"),
    ("cutover", "--first", "the percentages move users by a hash of their ids, and the same users each time"),
    ("load", "--dry-run", "docs/migration.md says how many write units a load costs"),
    ("rollback", "--keep-items", "a rollback removes the items of its run"),
    ("rollback", "--segments", "leave the flag out"),
    ("", "--ignore-column", "list the column in `ignore` of its table in the mapping"),
    ("transform", "--dry-run", "`transform` writes only into the run's folder: use a folder of its own"),
    ("rehearse", "--dry-run", "docs/migration.md lists the steps"),
    ("cutover", "--rate", "--parallel limits how many users move at once"),
    ("cutover", "--max-standby-lag", "move in smaller steps, such as 1% and 10%, and watch the standby between them"),
];

/// Refuses a command line with a command or a flag that is gone.
///
/// # Errors
/// `option`
pub(crate) fn check(line: &[String]) -> Result<(), Failure> {
    let command = line.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let has = |flag: &str| line.iter().any(|word| word.split('=').next() == Some(flag));
    let is_used =
        |(of, flag, _): &&(&str, &str, &str)| (of.is_empty() || *of == command) && (flag.is_empty() || has(flag));
    match GONE.iter().find(is_used) {
        None => Ok(()),
        Some((of, flag, instead)) => {
            let what = if flag.is_empty() { of } else { flag };
            Err(FailureKind::Options.because(format!("{what} is gone: {instead}")))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_word_that_is_gone_is_refused_with_its_replacement() {
        let checked = |line: &str| check(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for (line, named) in [
            ("cutover --run r --to capture --capture logical", "triggers"),
            ("--json preflight --capture=triggers", "triggers"),
            ("adopt --run r", "*.json"),
            ("control --pause", "Ctrl-C"),
            ("cutover --rate 8", "--parallel"),
            ("load --differences", "--again"),
            ("cutover --to 0% --first=users", "percentages"),
            ("export --ignore-column user.name", "`ignore`"),
        ] {
            let failure = checked(line).unwrap_err();
            assert!(failure.kind == FailureKind::Options && failure.detail.contains(named), "{line}: {failure}");
        }
        for line in ["load --rate 8", "cutover --to 10%", "repair --differences", "export --again"] {
            assert_eq!(checked(line), Ok(()), "{line}");
        }
    }
}
