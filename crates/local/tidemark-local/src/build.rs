//! Finds the functions' binaries, and builds them: one call of cargo for each workspace.
//!
//! A template names a binary in `Metadata.BuildProperties.Binary`, or leaves it to the builder.
//! Then the binary is inferred from the crate at `CodeUri`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::stack::Function;

/// Why the build gave no binaries.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Cargo cannot be run.
    #[error("cannot run cargo")]
    Cargo(#[source] std::io::Error),
    /// A function does not compile; cargo printed the reason to standard error.
    #[error("the functions do not build: see cargo's messages above")]
    Failed,
    /// There is no crate at a function's `CodeUri`, or its manifest is invalid.
    #[error("{function}: cargo finds no crate at {}: {message}", .path.display())]
    NoCrate {
        /// The function.
        function: String,
        /// The folder of `CodeUri`.
        path: PathBuf,
        /// Cargo's message.
        message: String,
    },
    /// The crate has no binary of the name in the template.
    #[error(
        "{function}: there is no binary `{binary}`, which Metadata.BuildProperties.Binary names; there are: {found}"
    )]
    Missing {
        /// The function.
        function: String,
        /// The name in the template.
        binary: String,
        /// The binaries of the workspace.
        found: String,
    },
    /// Several binaries may be the function's.
    #[error("{function}: name its binary in Metadata.BuildProperties.Binary, one of: {found}")]
    Ambiguous {
        /// The function.
        function: String,
        /// The binaries of the workspace.
        found: String,
    },
}

/// A binary of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binary {
    /// The root of its workspace.
    workspace: PathBuf,
    /// The folder of its package.
    package_folder: PathBuf,
    package: String,
    name: String,
}

impl Binary {
    /// The root of its workspace.
    #[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "only the feature `watch` uses it"))]
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// The binaries of the functions, as the start has found and built them.
#[derive(Debug)]
pub(crate) struct Binaries {
    /// By the functions' logical ids.
    pub(crate) found: BTreeMap<String, Binary>,
    /// Where cargo put each.
    pub(crate) built: BTreeMap<Binary, PathBuf>,
}

/// The output of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    /// The registry; `None` for a package on this machine.
    source: Option<String>,
    manifest_path: PathBuf,
    default_run: Option<String>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
}

/// The binary of each function, by logical id. `folder` is the template's.
///
/// # Errors
/// [`BuildError`].
pub async fn find(folder: &Path, functions: &[Function]) -> Result<BTreeMap<String, Binary>, BuildError> {
    let mut found = BTreeMap::new();
    let mut read: BTreeMap<PathBuf, Metadata> = BTreeMap::new();
    for function in functions {
        let path = folder.join(&function.code_uri);
        let source = source_folder(folder, function).unwrap_or_else(|| folder.to_owned());
        if !read.contains_key(&source) {
            read.insert(source.clone(), metadata(&source, &path, function).await?);
        }
        found.insert(function.logical_id.clone(), choose(function, &path, &source, &read[&source])?);
    }
    Ok(found)
}

/// The folder of a function's crate or workspace, if there is one. `CodeUri` may be the output folder of
/// an earlier build, such as `target/lambda/name`.
pub(crate) fn source_folder(folder: &Path, function: &Function) -> Option<PathBuf> {
    let path = folder.join(&function.code_uri);
    path.ancestors().find(|path| path.join("Cargo.toml").is_file()).map(Path::to_owned)
}

async fn metadata(folder: &Path, code: &Path, function: &Function) -> Result<Metadata, BuildError> {
    let output = cargo(folder).args(["metadata", "--no-deps", "--format-version=1"]).stderr(Stdio::piped()).output();
    let output = output.await.map_err(BuildError::Cargo)?;
    let failed = |message: String| BuildError::NoCrate {
        function: function.short_name().to_owned(),
        path: code.to_owned(),
        message,
    };
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

/// The folders of a workspace's packages, and of their dependencies on this machine.
#[cfg_attr(not(feature = "watch"), expect(dead_code, reason = "only the feature `watch` uses it"))]
pub(crate) async fn package_folders(workspace: &Path) -> Result<BTreeSet<PathBuf>, BuildError> {
    let output = cargo(workspace).args(["metadata", "--format-version=1"]).output().await.map_err(BuildError::Cargo)?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).map_err(|_| BuildError::Failed)?;
    let local = metadata.packages.into_iter().filter(|package| package.source.is_none());
    Ok(local.filter_map(|package| package.manifest_path.parent().map(Path::to_owned)).collect())
}

/// The binary that a function's template means: the one it names, else the only one of its crate,
/// else one with the name of the handler, the folder, the function or its logical id.
fn choose(function: &Function, path: &Path, source: &Path, metadata: &Metadata) -> Result<Binary, BuildError> {
    let is_there = |package: &&Package| package.manifest_path.parent() == Some(source);
    let own: Vec<&Package> = metadata.packages.iter().filter(is_there).collect();
    let packages = if own.is_empty() || function.binary.is_some() { metadata.packages.iter().collect() } else { own };
    let binaries: Vec<(&Package, &str)> = packages
        .iter()
        .flat_map(|package| {
            let binaries = package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "bin"));
            binaries.map(move |target| (*package, target.name.as_str()))
        })
        .collect();
    let names = || {
        let names: Vec<&str> = binaries.iter().map(|(_, name)| *name).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let named = |wanted: &str| binaries.iter().find(|(_, name)| squeezed(name) == squeezed(wanted)).copied();
    let short_name = function.short_name().to_owned();
    let chosen = match &function.binary {
        Some(wanted) => {
            let exact = binaries.iter().find(|(_, name)| name == wanted).copied();
            exact.ok_or_else(|| BuildError::Missing { function: short_name, binary: wanted.clone(), found: names() })?
        }
        None => {
            let folder = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            let id = function.logical_id.as_str();
            let stem = ["LambdaFunction", "Function", "Lambda"].iter().find_map(|suffix| id.strip_suffix(suffix));
            let only = || if let [only] = binaries[..] { Some(only) } else { None };
            let default_run = || {
                let names = packages.iter().filter_map(|package| package.default_run.as_deref());
                names.filter_map(named).next()
            };
            let by_name = || {
                [function.handler.as_str(), folder, &function.name, id, stem.unwrap_or(id)].into_iter().find_map(named)
            };
            let part =
                || binaries.iter().find(|(_, name)| squeezed(name).contains(&squeezed(stem.unwrap_or(id)))).copied();
            let chosen = only().or_else(by_name).or_else(part).or_else(default_run);
            chosen.ok_or_else(|| BuildError::Ambiguous { function: short_name, found: names() })?
        }
    };
    let (package, name) = chosen;
    Ok(Binary {
        workspace: metadata.workspace_root.clone(),
        package_folder: package.manifest_path.parent().unwrap_or(source).to_owned(),
        package: package.name.clone(),
        name: name.to_owned(),
    })
}

/// A name without case and separators: `PutProduct` and `put-product` are one.
fn squeezed(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|character| character.to_ascii_lowercase()).collect()
}

/// Where cargo put each binary.
type Paths = BTreeMap<Binary, PathBuf>;

/// What [`build_once`] has built, by profile and binaries.
static BUILT: Mutex<BTreeMap<(String, BTreeSet<Binary>), Paths>> = Mutex::const_new(BTreeMap::new());

/// As [`build()`], but only the first call of this process builds.
pub(crate) async fn build_once(profile: &str, binaries: BTreeSet<Binary>) -> Result<Paths, BuildError> {
    // Locked during the build: other tests of the process wait for it.
    let mut built = BUILT.lock().await;
    let key = (profile.to_owned(), binaries);
    if let Some(paths) = built.get(&key) {
        return Ok(paths.clone());
    }
    let paths = build(profile, &key.1).await?;
    built.insert(key, paths.clone());
    Ok(paths)
}

/// Builds the binaries, and returns the path of each.
///
/// # Errors
/// [`BuildError`].
pub async fn build(profile: &str, binaries: &BTreeSet<Binary>) -> Result<BTreeMap<Binary, PathBuf>, BuildError> {
    let mut built = BTreeMap::new();
    let workspaces: BTreeSet<&PathBuf> = binaries.iter().map(|binary| &binary.workspace).collect();
    for workspace in workspaces {
        let mut command = cargo(workspace);
        command.args(["build", "--message-format=json-render-diagnostics", "--profile", profile]);
        for binary in binaries.iter().filter(|binary| binary.workspace == *workspace) {
            command.args(["--package", &binary.package, "--bin", &binary.name]);
        }
        // Cargo's progress and compiler messages go to the terminal.
        let child = command.spawn().map_err(BuildError::Cargo)?;
        let output = child.wait_with_output().await.map_err(BuildError::Cargo)?;
        if !output.status.success() {
            return Err(BuildError::Failed);
        }
        let executables = executables(&output.stdout);
        for binary in binaries.iter().filter(|binary| binary.workspace == *workspace) {
            let path = executables.get(&(binary.package_folder.join("Cargo.toml"), binary.name.clone()));
            built.insert(binary.clone(), path.ok_or(BuildError::Failed)?.clone());
        }
    }
    Ok(built)
}

/// Cargo in a folder, without the variables of an outer cargo.
pub(crate) fn cargo(folder: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_outer_cargo(name)) {
        command.env_remove(name);
    }
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
    command
}

/// Whether `cargo run` sets this variable for its program. Build scripts may depend on such a
/// variable, for example `ring`'s on `CARGO_PKG_NAME`. If it were passed on, cargo would run the
/// script again and recompile every crate that depends on it.
fn is_of_outer_cargo(name: &OsStr) -> bool {
    let prefixes =
        ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_RUSTC_CURRENT_"];
    let others = ["CARGO", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"];
    name.to_str().is_some_and(|name| others.contains(&name) || prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

/// The executables in cargo's messages, by manifest and name.
fn executables(messages: &[u8]) -> BTreeMap<(PathBuf, String), PathBuf> {
    let lines = messages.split(|byte| *byte == b'\n');
    let artifacts = lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok());
    artifacts
        .filter(|message| message.reason == "compiler-artifact")
        .filter_map(|message| Some(((message.manifest_path?, message.target?.name), message.executable?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_found_among_cargos_messages() {
        let messages = br#"{"reason":"compiler-artifact","manifest_path":"/s/Cargo.toml","target":{"name":"serde"},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/Cargo.toml","target":{"name":"click-writer"},"executable":"/t/debug/click-writer"}
{"reason":"build-finished","success":true}
not json"#;
        let key = (PathBuf::from("/w/Cargo.toml"), "click-writer".to_owned());
        assert_eq!(executables(messages), BTreeMap::from([(key, PathBuf::from("/t/debug/click-writer"))]));
    }

    fn workspace(packages: &[(&str, &[&str])]) -> Metadata {
        let target = |name: &&str| Target { name: (*name).to_owned(), kind: vec!["bin".to_owned()] };
        let package = |(folder, binaries): &(&str, &[&str])| Package {
            name: folder.trim_matches('/').to_owned(),
            source: None,
            manifest_path: Path::new("/w").join(folder).join("Cargo.toml"),
            default_run: None,
            targets: binaries.iter().map(target).collect(),
        };
        Metadata { packages: packages.iter().map(package).collect(), workspace_root: PathBuf::from("/w") }
    }

    fn chosen(metadata: &Metadata, id: &str, code_uri: &str, source: &str) -> Result<String, String> {
        let template = format!(
            "Resources: {{ {id}: {{ Type: AWS::Serverless::Function, Properties: {{ Runtime: provided.al2023, CodeUri: {code_uri} }} }} }}"
        );
        let stack = crate::template::read(&template, &BTreeMap::new()).expect("a template").stack;
        let path = Path::new("/w").join(code_uri);
        let binary = choose(&stack.functions[0], &path, Path::new(source), metadata);
        binary.map(|binary| binary.name).map_err(|error| error.to_string())
    }

    #[test]
    fn binary_is_inferred_from_crate_folder_or_function_name() {
        let one = workspace(&[("hello", &["hello"])]);
        assert_eq!(chosen(&one, "Any", "hello", "/w/hello"), Ok("hello".to_owned()));
        let several = workspace(&[("", &["put-product", "get-product", "get-products"])]);
        assert_eq!(chosen(&several, "GetProductFunction", ".", "/w"), Ok("get-product".to_owned()));
        assert_eq!(chosen(&several, "X", "target/lambda/put-product/", "/w"), Ok("put-product".to_owned()));
        let refused = chosen(&several, "Any", ".", "/w").expect_err("ambiguous");
        assert!(refused.contains("one of: put-product, get-product, get-products"), "{refused}");
        let members = workspace(&[("a", &["bootstrap"]), ("b", &["bootstrap"])]);
        assert_eq!(chosen(&members, "Any", "b", "/w/b"), Ok("bootstrap".to_owned()));
    }
}
