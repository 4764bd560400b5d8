//! `--watch`: rebuilds the functions when their sources change, and replaces their instances; tells of
//! changes of the template.
//!
//! Each binary runs from a copy, because cargo removes its own file when it links again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use crate::build::{self, Binaries, Binary, BuildError};
use crate::functions::Functions;

/// A build starts when no source has changed for this time: editors write a file in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// Copies of a binary that are kept.
const COPIES_KEPT: usize = 2;

/// Folders without sources.
const IGNORED: [&str; 2] = ["target", "node_modules"];

/// Why the sources cannot be watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    /// Cargo does not list the packages.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The system does not report changes.
    #[error("cannot watch the sources")]
    Notify(#[from] notify::Error),
    /// A binary cannot be copied.
    #[error("cannot copy the functions' binaries")]
    Copy(#[from] std::io::Error),
}

/// Watches the sources until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    watcher: Mutex<RecommendedWatcher>,
    watched: Arc<Mutex<Watched>>,
    changes: Arc<Changes>,
    _task: AbortOnDropHandle<()>,
}

/// The changes since they were last looked at.
#[derive(Debug, Default)]
struct Changes {
    sources: Notify,
    template: Notify,
}

/// What the paths of changes mean.
#[derive(Debug)]
struct Watched {
    /// The template and the other files that it is read from.
    inputs: BTreeSet<PathBuf>,
    /// The folders of the functions' packages.
    packages: BTreeSet<PathBuf>,
    /// Both of a template that does not run; packages only if it does not build.
    refused: (BTreeSet<PathBuf>, BTreeSet<PathBuf>),
}

/// The functions with their binaries.
#[derive(Debug)]
struct Rebuild {
    profile: String,
    functions: Arc<Functions>,
    found: BTreeMap<String, Binary>,
    copies: TempDir,
    /// When cargo linked each running binary.
    linked: BTreeMap<Binary, SystemTime>,
    /// The folders of each binary's copies. The copy before the last one is kept, because an
    /// instance of it may be starting.
    folders: BTreeMap<Binary, VecDeque<PathBuf>>,
}

impl Watch {
    /// Starts to watch a template and the other files that it is read from, and the sources of its
    /// functions.
    pub(crate) async fn start(
        inputs: &[PathBuf],
        profile: &str,
        functions: &Arc<Functions>,
        Binaries { found, built }: Binaries,
    ) -> Result<Self, WatchError> {
        let changes = Arc::new(Changes::default());
        let inputs = reported(inputs);
        let packages = package_folders(&found).await?;
        let watched = Watched { inputs: inputs.clone(), packages: packages.clone(), refused: Default::default() };
        let watched = Arc::new(Mutex::new(watched));
        let mut watcher = watcher(Arc::clone(&watched), Arc::clone(&changes))?;
        watch_all(&mut watcher, &inputs, &packages)?;
        let mut rebuild = Rebuild {
            profile: profile.to_owned(),
            functions: Arc::clone(functions),
            found,
            copies: TempDir::with_prefix("tidemark-")?,
            linked: BTreeMap::new(),
            folders: BTreeMap::new(),
        };
        rebuild.replace(built).await?;
        let task = AbortOnDropHandle::new(tokio::spawn(follow(Arc::clone(&changes), rebuild)));
        Ok(Self { watcher: Mutex::new(watcher), watched, changes, _task: task })
    }

    /// Watches the files of a template that does not run, and the packages of its functions, in place of
    /// those of the last one. Returns whether a file is new: it may have changed before this call.
    pub(crate) fn watch_refused(&self, inputs: &[PathBuf], packages: &[PathBuf]) -> bool {
        let inputs = reported(inputs);
        let packages = packages.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !inputs.is_subset(&watched.refused.0);
        // All packages, because the folder of a file may be one of theirs.
        let all: BTreeSet<PathBuf> = watched.packages.union(&packages).cloned().collect();
        watched.refused = (inputs.clone(), packages);
        drop(watched);
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = watch_all(&mut watcher, &inputs, &all) {
            tracing::warn!("after a change of another file, save the template again: {error}");
        }
        is_new
    }

    /// Waits for the next change of the template, and for the end of the changes.
    pub(crate) async fn template_changed(&self) {
        settled(&self.changes.template).await;
    }
}

impl Rebuild {
    /// Builds the functions, and gives new instances to those whose binary changed. Returns their
    /// names.
    async fn run(&mut self) -> Result<Vec<String>, WatchError> {
        let built = build::build(&self.profile, &self.found.values().cloned().collect()).await?;
        Ok(self.replace(built).await?)
    }

    /// Gives new instances to the functions whose binary changed.
    async fn replace(&mut self, built: BTreeMap<Binary, PathBuf>) -> std::io::Result<Vec<String>> {
        let mut changed = BTreeMap::new();
        for (binary, path) in built {
            let linked = tokio::fs::metadata(&path).await?.modified()?;
            if self.linked.get(&binary) != Some(&linked) {
                changed.insert(binary.clone(), self.copy(&binary, &path).await?);
                self.linked.insert(binary, linked);
            }
        }
        let mut names = Vec::new();
        for pool in self.functions.all() {
            let binary = self.found.get(&pool.function().logical_id);
            if let Some(copy) = binary.and_then(|binary| changed.get(binary)) {
                pool.replace_binary(copy.clone());
                names.push(pool.function().logical_id.clone());
            }
        }
        Ok(names)
    }

    /// Copies a binary to a folder of its own, and removes older copies; the name stays.
    async fn copy(&mut self, binary: &Binary, path: &Path) -> std::io::Result<PathBuf> {
        let folder = tempfile::tempdir_in(self.copies.path())?.keep();
        let copy = folder.join(path.file_name().unwrap_or_default());
        tokio::fs::copy(path, &copy).await?;
        let folders = self.folders.entry(binary.clone()).or_default();
        folders.push_back(folder);
        while folders.len() > COPIES_KEPT {
            if let Some(old) = folders.pop_front() {
                tokio::fs::remove_dir_all(old).await?;
            }
        }
        Ok(copy)
    }
}

async fn follow(changes: Arc<Changes>, mut rebuild: Rebuild) {
    loop {
        settled(&changes.sources).await;
        let started = Instant::now();
        match rebuild.run().await {
            Ok(names) if names.is_empty() => {}
            Ok(names) => tracing::info!("rebuilt in {:.1} s: {}", started.elapsed().as_secs_f64(), names.join(", ")),
            Err(error) => tracing::error!("{error}; the functions stay as they were"),
        }
    }
}

/// Waits for a change, and then until there is none for some time.
async fn settled(changes: &Notify) {
    changes.notified().await;
    while tokio::time::timeout(QUIET, changes.notified()).await.is_ok() {}
}

/// The paths of files as the system reports them. Of a file whose folder does not exist yet, this is
/// the first missing folder.
fn reported(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let one = |path: &PathBuf| {
        let path = std::path::absolute(path).ok()?;
        let there = |path: &Path| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        path.canonicalize().ok().or_else(|| path.ancestors().find_map(there))
    };
    paths.iter().filter_map(one).collect()
}

/// A watcher that tells changes of the template from those of sources.
fn watcher(watched: Arc<Mutex<Watched>>, changes: Arc<Changes>) -> notify::Result<RecommendedWatcher> {
    notify::recommended_watcher(move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if !matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_)) {
            return;
        }
        let watched = watched.lock().unwrap_or_else(PoisonError::into_inner);
        let (inputs, packages) = &watched.refused;
        for path in &event.paths {
            let is_of = |packages: &BTreeSet<PathBuf>| packages.iter().any(|folder| is_source(folder, path));
            let is_of_running = is_of(&watched.packages);
            let is_input = watched.inputs.contains(path);
            if is_input || inputs.contains(path) || is_of(packages) || is_of_running && !packages.is_empty() {
                changes.template.notify_one();
            }
            if is_of_running && !is_input {
                changes.sources.notify_one();
            }
        }
    })
}

fn watch_all(
    watcher: &mut RecommendedWatcher,
    inputs: &BTreeSet<PathBuf>,
    packages: &BTreeSet<PathBuf>,
) -> Result<(), WatchError> {
    for folder in inputs.iter().filter_map(|path| path.parent()).collect::<BTreeSet<_>>() {
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
    }
    for folder in packages {
        watch_package(watcher, folder)?;
    }
    Ok(())
}

/// Whether a path in a package's folder is a source or another input of its build.
fn is_source(folder: &Path, path: &Path) -> bool {
    let Ok(inner) = path.strip_prefix(folder) else { return false };
    let is_ignored = |part: Component<'_>| is_ignored(&part.as_os_str().to_string_lossy());
    // Cargo itself writes the lock file.
    inner != Path::new("Cargo.lock") && !inner.components().any(is_ignored)
}

fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || IGNORED.contains(&name)
}

/// Watches a package's folder, without the folders that have no sources: `target` alone would use
/// up the system's watches.
fn watch_package(watcher: &mut RecommendedWatcher, folder: &Path) -> Result<(), WatchError> {
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !is_ignored(&entry.file_name().to_string_lossy()) {
            watcher.watch(&entry.path(), RecursiveMode::Recursive)?;
        }
    }
    Ok(())
}

/// The folders of the functions' packages, and of their dependencies on this machine.
async fn package_folders(found: &BTreeMap<String, Binary>) -> Result<BTreeSet<PathBuf>, BuildError> {
    let workspaces: BTreeSet<&Path> = found.values().map(Binary::workspace).collect();
    let mut folders = BTreeSet::new();
    for workspace in workspaces {
        folders.extend(build::package_folders(workspace).await?);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_and_hidden_files_are_no_sources() {
        let is = |path: &str| is_source(Path::new("/w"), Path::new(path));
        assert!(is("/w/src/main.rs") && is("/w/Cargo.toml") && is("/w/templates/page.html"));
        assert!(!is("/w/target/debug/f") && !is("/w/Cargo.lock") && !is("/w/src/.main.rs.swp") && !is("/x/main.rs"));
    }
}
