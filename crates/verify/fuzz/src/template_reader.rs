//! The local stack's template reader: for any input it returns either a template, or problems with
//! their lines.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use tidemark_local::template::read;

fuzz_target!(|yaml: &str| {
    let parameters = BTreeMap::from([("Stage".to_owned(), "fuzz".to_owned())]);
    let template = read(yaml, &parameters);
    assert_eq!(template, read(yaml, &parameters), "parsing a template is deterministic");
    let Err(error) = template else { return };
    assert!(!error.problems.is_empty());
    assert!(error.problems.is_sorted());
    // The end of the file counts as a line.
    let lines = yaml.split(['\n', '\r']).count() + 1;
    for problem in error.problems {
        assert!(problem.line <= lines, "{problem}: the template has {lines} lines");
        assert!(!problem.message.is_empty());
    }
});
