//! The table of promises in docs/verification.md names tests that exist.

use tests::repository;

/// The rows of the table with this head, each as its first cell and the rest.
fn rows<'page>(page: &'page str, head: &str) -> Vec<(&'page str, &'page str)> {
    let (_, table) = page.split_once(&format!("\n| {head} |")).unwrap_or_else(|| panic!("no table of {head}"));
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row.trim_matches('|').split_once(" | ").unwrap()).map(|(first, rest)| (first.trim(), rest)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn each_promise_names_tests_that_exist() {
    let page = read("docs/verification.md");
    let (promises, compared) = (rows(&page, "promise"), rows(&page, "row"));
    assert!(promises.len() > 20, "{} promises", promises.len());
    for (promise, held_by) in promises.into_iter().chain(compared) {
        let named: Vec<_> = held_by.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{promise}");
        for name in named {
            let (path, test) = name.split_once(": ").unwrap_or((name, ""));
            let is_whole = ["crates/", "scripts/", "web/"].iter().any(|root| path.starts_with(root));
            let text = read(&if is_whole { path.to_owned() } else { format!("tests/tests/{path}") });
            let has_test = text.contains(&format!("fn {test}(")) || text.contains(&format!("test('{test}',"));
            // A script is a test of its own.
            assert!(path.starts_with("scripts/") || has_test, "{path} has no test {test}");
        }
    }
}

#[test]
fn each_compared_row_names_its_test() {
    let verification = read("docs/verification.md");
    let held: Vec<_> = rows(&verification, "row").into_iter().map(|(row, _)| row.to_owned()).collect();
    let mut compared = Vec::new();
    for (system, us) in [("clicks", "Tidemark"), ("game", "Tidemark"), ("shop", "Tidemark"), ("okusuri", "Okusuri")] {
        let page = read(&format!("docs/systems/{system}.md"));
        let (_, table) = page.split_once("\n## Beside ").unwrap();
        compared.extend(rows(table, &format!("| {us}")).iter().map(|(row, _)| format!("{system}: {row}")));
    }
    assert!(compared.len() > 30, "{} rows", compared.len());
    assert_eq!(compared, held);
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
