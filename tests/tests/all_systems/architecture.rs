//! The layout: the table of crates in docs/ARCHITECTURE.md, and the parts of a function.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::cases::cases;
use tests::repository;

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each function with its system: the folders of `crates/functions/<system>/`.
fn functions_by_system() -> BTreeMap<String, String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let root = repository().join("crates/functions");
    let of_system =
        |system: &String| names(&root.join(system)).into_iter().map(|name| (name, system.clone())).collect();
    names(&root).iter().flat_map(|system| -> Vec<_> { of_system(system) }).collect()
}

fn functions() -> BTreeSet<String> {
    functions_by_system().into_keys().collect()
}

/// The names in backquotes.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// What each row of the table of crates allows: `None` is any crate. `a function of X` is one kind.
fn arrows() -> BTreeMap<String, Option<BTreeSet<String>>> {
    let page = std::fs::read_to_string(repository().join("docs/ARCHITECTURE.md")).unwrap();
    let (_, table) = page.split_once("\n| crate | contains | may use, of the suite |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut arrows = BTreeMap::new();
    for row in rows {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let allowed = if cells[2] == "any crate" { None } else { Some(quoted(cells[2])) };
        assert!(cells[2] == "nothing" || allowed.as_ref().is_none_or(|names| !names.is_empty()), "{row}");
        let named = if cells[0].starts_with('`') { quoted(cells[0]) } else { BTreeSet::from([cells[0].to_owned()]) };
        arrows.extend(named.into_iter().map(|name| (name, allowed.clone())));
    }
    arrows
}

#[test]
fn crates_use_only_what_their_row_allows() {
    let (metadata, functions, mut arrows) = (metadata(), functions_by_system(), arrows());
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<_> = packages.iter().map(|package| package["name"].as_str().unwrap()).collect();
    let mut seen = BTreeSet::new();
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        assert!(folder.ends_with(name), "{name} lies in {}", folder.display());
        let row = functions.get(name).map_or_else(|| name.to_owned(), |system| format!("a function of {system}"));
        let allowed = arrows.get(&row).unwrap_or_else(|| panic!("docs/ARCHITECTURE.md has no row for {row}"));
        seen.insert(row);
        let Some(allowed) = allowed else { continue };
        for dependency in package["dependencies"].as_array().unwrap() {
            assert!(dependency["rename"].is_null(), "{name} gives {dependency} another name");
            let dependency = dependency["name"].as_str().unwrap();
            let inside = names.contains(dependency);
            assert!(!inside || allowed.contains(dependency), "{name} must not use {dependency}");
        }
    }
    arrows.retain(|row, _| !seen.contains(row));
    assert!(arrows.is_empty(), "rows of docs/ARCHITECTURE.md without a crate: {arrows:?}");
}

#[test]
fn each_crate_uses_each_of_its_dependencies() {
    let metadata = metadata();
    let ignored = metadata["metadata"]["cargo-shear"]["ignored"].as_array().unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let files = rust_files(folder).into_iter();
        let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            if ignored.contains(&dependency["name"]) {
                continue;
            }
            let library = match name {
                "dynoxide-rs" => "dynoxide".to_owned(),
                "md-5" => "md5".to_owned(),
                "tidemark-rollup" => "rollup".to_owned(),
                name => name.replace('-', "_"),
            };
            let is_used = [format!("{library}::"), format!("use {library};"), format!("#[{library}")];
            assert!(is_used.iter().any(|use_of| text.contains(use_of)), "{}: {name} is not used", package["name"]);
        }
    }
}

#[test]
fn the_domain_knows_no_async_no_aws_and_no_serde() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let domain = packages.iter().find(|package| package["name"] == "domain").unwrap();
    let dependencies = domain["dependencies"].as_array().unwrap().iter();
    let dependencies: BTreeSet<_> = dependencies
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        dependencies,
        BTreeSet::from(["email_address", "fastrand", "idna", "jiff", "thiserror", "unicode-normalization", "uuid"])
    );
}

#[test]
fn each_function_has_events_and_is_in_the_template() {
    let template = std::fs::read_to_string(repository().join("template.yaml")).unwrap();
    let stack = tidemark_local::template::read(&template, &BTreeMap::new()).unwrap().stack;
    let in_template: BTreeSet<_> = stack.functions.iter().map(|function| function.short_name().to_owned()).collect();
    let events = std::fs::read_dir(repository().join("events")).unwrap();
    let with_events: BTreeSet<_> = events.map(|folder| folder.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(functions(), in_template);
    assert_eq!(functions(), with_events);
}

#[test]
fn dashboard_shows_duration_and_errors_of_each_function() {
    let template = std::fs::read_to_string(repository().join("template.yaml")).unwrap();
    let (_, resources) = template.split_once("\nResources:\n").unwrap();
    let (resources, dashboard) = resources.split_once("AWS::CloudWatch::Dashboard").unwrap();
    let is_function = |line: &&str| line.starts_with("  ") && !line.starts_with("   ") && line.ends_with("Function:");
    let named: Vec<_> = resources.lines().filter(is_function).map(|line| line.trim().trim_end_matches(':')).collect();
    assert_eq!(named.len(), functions().len());
    for name in named {
        assert!(dashboard.matches(&format!("${{{name}}}")).count() >= 2, "{name}");
    }
}

#[test]
fn aggregator_may_write_each_reserved_partition_and_docs_name_it() {
    let template = std::fs::read_to_string(repository().join("template.yaml")).unwrap();
    let api = std::fs::read_to_string(repository().join("docs/api.md")).unwrap();
    for prefix in clicks_store::RESERVED_PREFIXES {
        assert!(template.contains(&format!("\"{prefix}*\"")), "template.yaml lets nobody write {prefix}");
        assert!(api.contains(&format!("`{prefix}`")), "docs/api.md does not say that {prefix} is reserved");
    }
}

#[test]
fn each_function_has_answered_cases_and_some_as_events() {
    for function in functions() {
        let cases = cases(&function);
        let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len(), "{function} has two cases of one name");
        for case in &cases {
            assert!(case.answer.is_some(), "{function}, {}: no answer is recorded", case.name);
        }
        let events = std::fs::read_dir(repository().join("events").join(&function)).unwrap().count();
        assert!((1..=6).contains(&events), "{function} has {events} events: a person looks through six at most");
    }
}

#[test]
fn each_file_of_this_suite_is_a_part_of_it() {
    for file in rust_files(&repository().join("tests/tests")).iter().filter(|file| !file.ends_with("main.rs")) {
        // `a/b.rs` and `a/b/mod.rs` are the module `b`, named by `a/mod.rs`, `a.rs` or main.rs.
        let module = if file.ends_with("mod.rs") { file.parent().unwrap().to_owned() } else { file.with_extension("") };
        let (name, folder) = (module.file_stem().unwrap().to_str().unwrap(), module.parent().unwrap());
        let parents = [folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
        let mut parents = parents.iter().filter_map(|parent| std::fs::read_to_string(parent).ok());
        let is_part = parents.any(|parent| parent.contains(&format!("\nmod {name};\n")));
        assert!(is_part, "nothing runs the tests of {}: no `mod {name};`", file.display());
    }
}

#[test]
fn a_main_wires_and_does_nothing_else() {
    for (function, system) in functions_by_system() {
        let main = repository().join(format!("crates/functions/{system}/{function}/src/main.rs"));
        let main = std::fs::read_to_string(main).unwrap();
        assert!(main.lines().count() < 30, "{function}: {} lines", main.lines().count());
    }
}

#[test]
fn each_test_is_in_a_target_that_runs() {
    let ours = metadata()["packages"].as_array().unwrap().clone();
    for target in ours.iter().flat_map(|package| package["targets"].as_array().unwrap()) {
        let source = PathBuf::from(target["src_path"].as_str().unwrap());
        let text = std::fs::read_to_string(&source).unwrap();
        if source.ends_with("main.rs") && source.with_file_name("lib.rs").exists() {
            assert!(
                !text.contains("#[test]") && !text.contains("#[tokio::test"),
                "{}: nothing runs it",
                source.display()
            );
        }
    }
    for package in &ours {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().join("src");
        let lib = package["targets"].as_array().unwrap().iter().find(|target| target["kind"][0] == "lib");
        if lib.is_some_and(|lib| lib["test"] == false) {
            let tested = rust_files(&folder).into_iter().find(|file| {
                let text = std::fs::read_to_string(file).unwrap();
                text.contains("#[test]") || text.contains("#[tokio::test") || text.contains("proptest!")
            });
            assert_eq!(tested, None, "{}: nothing runs it, for the manifest says `test = false`", package["name"]);
        }
    }
    // `make test` runs the examples of the crate for others, and no more.
    let own = rust_files(&repository().join("crates")).into_iter();
    for file in own.filter(|file| !file.starts_with(repository().join("crates/tidemark-rollup"))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let example = text.lines().find(|line| line.trim_start().starts_with("//") && line.contains("```"));
        assert_eq!(example, None, "{}: nothing runs the examples of documentation", file.display());
    }
}

#[test]
fn each_test_name_has_at_most_ten_words() {
    let mut names = Vec::new();
    for file in ["crates", "examples", "tests"].iter().flat_map(|root| rust_files(&repository().join(root))) {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines().map(str::trim_start);
        while lines.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test")) {
            let function = lines.find_map(|line| line.trim_start_matches("async ").strip_prefix("fn "));
            names.push(function.unwrap().split('(').next().unwrap().to_owned());
        }
    }
    assert!(names.len() > 1_000, "only {} tests are found", names.len());
    names.retain(|name| name.split('_').count() > 10);
    assert_eq!(names, [""; 0]);
}

#[test]
fn engine_script_names_each_test_of_the_embedded_engine() {
    let script = std::fs::read_to_string(repository().join("scripts/test-engine")).unwrap();
    let modules =
        script.lines().filter(|line| ["store=(", "suite=(", "journeys=("].iter().any(|list| line.starts_with(list)));
    let modules: Vec<_> =
        modules.flat_map(|line| line.split(['(', ')', ' ']).skip(1)).filter(|name| !name.is_empty()).collect();
    let (root, mut named) = (repository().join("tests/tests"), 0);
    for file in rust_files(&root) {
        let module = file.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().replace('/', "::");
        if !modules.iter().any(|name| module.starts_with(name)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for test in text.split("#[tokio::test").skip(1).filter_map(|test| test.split("\n}\n").next()) {
            let name = test.split("async fn ").nth(1).and_then(|rest| rest.split('(').next()).unwrap();
            if test.contains(".engine()") || test.contains(".lose_answers(") {
                assert!(script.contains(&format!("    {name}")), "{module}::{name} is not in scripts/test-engine");
                named += 1;
            }
        }
    }
    assert!(named > 10, "only {named} tests are found");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| !path.ends_with("node_modules"));
    files
        .flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}
