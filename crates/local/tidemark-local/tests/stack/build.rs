//! Cargo started by a program that cargo started.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use tidemark_local::{build, template};

/// A build script that depends on the package variables of cargo, as in some crates, and records
/// each run.
const BUILD_SCRIPT: &str = r#"
use std::io::Write;

fn main() {
    for name in ["MANIFEST_DIR", "MANIFEST_PATH", "PKG_NAME", "PKG_VERSION", "PKG_VERSION_MAJOR", "CRATE_NAME", "BIN_NAME", "PRIMARY_PACKAGE"] {
        println!("cargo::rerun-if-env-changed=CARGO_{name}");
    }
    let mut runs = std::fs::File::options().create(true).append(true).open("runs").unwrap();
    runs.write_all(b"run\n").unwrap();
}
"#;

fn runs(package: &Path) -> usize {
    std::fs::read_to_string(package.join("runs")).unwrap().lines().count()
}

#[tokio::test]
async fn a_build_from_a_shell_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path();
    std::fs::create_dir(package.join("src")).unwrap();
    std::fs::write(package.join("Cargo.toml"), "[package]\nname = \"f\"\nedition = \"2024\"\n[workspace]\n").unwrap();
    std::fs::write(package.join("src/main.rs"), "fn main() {}").unwrap();
    std::fs::write(package.join("build.rs"), BUILD_SCRIPT).unwrap();

    // A shell does not have the variables of the package under test, but this process does.
    let mut shell = Command::new(env!("CARGO"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| name.starts_with("CARGO_")))
    {
        let is_kept = ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_INCREMENTAL"].iter().any(|kept| name == *kept);
        if !is_kept && !name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            shell.env_remove(name);
        }
    }
    assert!(shell.args(["build", "--quiet", "--offline"]).current_dir(package).status().unwrap().success());
    assert_eq!(runs(package), 1);
    assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo runs this test");
    let template = "Resources: { F: { Type: AWS::Serverless::Function, Properties: { Runtime: provided.al2023 } } }";
    let stack = template::read(template, &BTreeMap::new()).unwrap().stack;
    let found = build::find(package, &stack.functions).await.unwrap();
    let built = build::build("dev", &found.values().cloned().collect()).await.unwrap();
    assert!(built[&found["F"]].is_file(), "{built:?}");
    assert_eq!(runs(package), 1, "nothing has changed");
}
