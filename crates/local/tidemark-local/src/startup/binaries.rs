//! Finds and builds the functions' binaries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::build::{self, Binaries};
use crate::cli::Options;
use crate::functions::binary_in;
use crate::stack::{Function, Stack};
use crate::start_error::StartError;
use crate::template::Template;

/// Finds and builds the functions of a template that does not run yet.
///
/// # Errors
/// [`StartError::Build`].
pub(crate) async fn prepare(options: &Options, template: &Template) -> Result<(), StartError> {
    build(options, folder_of(options), &template.stack).await.map(drop)
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
