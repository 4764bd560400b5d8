//! Finds and builds the functions' binaries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::archives;
use crate::build::{self, Binaries};
use crate::cli::Options;
use crate::functions::binary_in;
use crate::private_files;
use crate::stack::{Function, Stack};
use crate::start_error::StartError;
use crate::template::Template;

/// Finds and builds the functions of a template that does not run yet.
pub(crate) async fn prepare(options: &Options, template: &Template) -> Result<(), StartError> {
    build(options, folder_of(options), &template.stack).await.map(drop)
}

/// The files that a template is read from, with those that are missing for its build, and the folders
/// of its functions' packages.
pub(crate) fn inputs(options: &Options, template: &Template) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut packages) = (template.files.clone(), Vec::new());
    for function in template.stack.functions.iter().filter(|function| !function.is_built) {
        match build::source_folder(folder_of(options), function) {
            Some(package) => packages.push(package),
            None => files.push(folder_of(options).join(&function.code_uri).join("Cargo.toml")),
        }
    }
    (files, packages)
}

/// The folder of the template.
pub(super) fn folder_of(options: &Options) -> &Path {
    options.template.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Finds and builds the functions' binaries, unless the stack uses existing ones.
pub(super) async fn build(options: &Options, folder: &Path, stack: &Stack) -> Result<Option<Binaries>, StartError> {
    if options.no_build {
        return Ok(None);
    }
    let sources: Vec<Function> = stack.functions.iter().filter(|function| !function.is_built).cloned().collect();
    let found = build::find(folder, &sources).await?;
    let binaries = found.values().cloned().collect();
    let built = match options.build_once {
        true => build::build_once(&options.profile, binaries).await?,
        false => build::build(&options.profile, &binaries).await?,
    };
    Ok(Some(Binaries { found, built }))
}

/// Unpacks the code that is in archives: into the data folder, else into a folder that is removed with
/// the returned value. The functions then name the unpacked folders.
pub(super) fn unpack(folder: &Path, data: Option<&Path>, stack: &mut Stack) -> Result<Option<TempDir>, StartError> {
    let mut functions: Vec<&mut Function> =
        stack.functions.iter_mut().filter(|function| function.is_archive()).collect();
    if functions.is_empty() {
        return Ok(None);
    }
    let failed = |path: &Path, source| StartError::Data { path: path.to_owned(), source };
    let (parent, temporary) = match data {
        Some(data) => (data.join("code"), None),
        None => {
            let folder = TempDir::with_prefix("tidemark-").map_err(|error| failed(&std::env::temp_dir(), error))?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    let failed = |source| failed(&parent, source);
    private_files::folder(&parent).map_err(failed)?;
    let mut used = BTreeSet::new();
    for function in &mut functions {
        let path = folder.join(&function.code_uri);
        let unpacked = archives::unpack(&path, &parent);
        let id = function.logical_id.clone();
        function.code_uri = unpacked.map_err(|source| StartError::Archive { function: id, path, source })?;
        used.insert(function.code_uri.clone());
    }
    // The code of earlier versions would fill the disk.
    for entry in std::fs::read_dir(&parent).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !used.contains(&path) {
            std::fs::remove_dir_all(path).map_err(failed)?;
        }
    }
    Ok(temporary)
}

/// The path of each function's binary, by logical id.
pub(super) fn paths(
    options: &Options,
    template: &Path,
    stack: &Stack,
    binaries: Option<&Binaries>,
) -> BTreeMap<String, PathBuf> {
    let (is_built, others): (Vec<_>, Vec<_>) = stack.functions.iter().partition(|function| function.is_built);
    let template = template.canonicalize().unwrap_or_else(|_| template.to_owned());
    let assets = is_built
        .into_iter()
        .map(|function| (function.logical_id.clone(), template.join(&function.code_uri).join("bootstrap")));
    if let Some(Binaries { found, built }) = binaries {
        let own = found.iter().filter_map(|(id, binary)| Some((id.clone(), built.get(binary)?.clone())));
        return own.chain(assets).collect();
    }
    let own = || std::env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let folder = options.bin_dir.clone().or_else(own).unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or(folder);
    let others = others.into_iter().map(|function| (function.logical_id.clone(), binary_in(&folder, function)));
    others.chain(assets).collect()
}
