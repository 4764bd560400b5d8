//! The table of promises in docs/verification.md names tests that exist.

use tests::repository;

#[test]
fn each_promise_names_tests_that_exist() {
    let page = std::fs::read_to_string(repository().join("docs/verification.md")).unwrap();
    let (_, table) = page.split_once("\n| promise | held by |\n").unwrap();
    let rows: Vec<_> = table.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 20, "{} promises", rows.len());
    for row in rows {
        let held_by = row.trim_matches('|').split_once(" | ").unwrap().1;
        let named: Vec<_> = held_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{row}");
        for name in named {
            let (path, test) = name.split_once(": ").unwrap_or((name, ""));
            let is_whole = ["crates/", "scripts/", "web/"].iter().any(|root| path.starts_with(root));
            let path = if is_whole { path.to_owned() } else { format!("tests/tests/{path}") };
            let text = std::fs::read_to_string(repository().join(&path));
            let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
            // A script is a test of its own.
            assert!(path.starts_with("scripts/") || text.contains(&format!("fn {test}(")), "{path} has no test {test}");
        }
    }
}

#[test]
fn each_recount_on_a_page_or_alarm_names_its_scope() {
    let pages = ["docs/exactness.md", "docs/local-stack.md", "docs/systems/shop.md", "template.yaml"];
    let mut seen = 0;
    for page in pages {
        let text = std::fs::read_to_string(repository().join(page)).unwrap();
        for command in text.split("tidemark recount --").skip(1) {
            let scope = command.split([' ', '`', '.']).next().unwrap();
            assert!(["day", "month", "all", "details", "visitors", "products"].contains(&scope), "{page}: {scope}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen} commands");
}
