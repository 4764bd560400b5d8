//! The output folder of the CDK: `cdk.out`, which `cdk synth` writes.
//!
//! Source: <https://docs.aws.amazon.com/cdk/api/v2/docs/cloud-assembly-schema-readme.html>.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The list of what a folder contains.
const MANIFEST: &str = "manifest.json";

const STACK: &str = "aws:cloudformation:stack";

/// Why a folder has no template to run.
#[derive(Debug, thiserror::Error)]
pub enum CdkError {
    /// The manifest cannot be read.
    #[error("{} cannot be read: run `cdk synth` first", .0.display())]
    Manifest(PathBuf, #[source] std::io::Error),
    /// The manifest is not one.
    #[error("{} is no manifest of the CDK", .0.display())]
    Invalid(PathBuf, #[source] serde_json::Error),
    /// There is not exactly one stack.
    #[error("{} has not exactly one stack: name one with --template, of: {}", .0.display(), .1.join(", "))]
    Stacks(PathBuf, Vec<String>),
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    artifacts: BTreeMap<String, Artifact>,
}

#[derive(Deserialize)]
struct Artifact {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    properties: Properties,
}

#[derive(Deserialize, Default)]
struct Properties {
    #[serde(rename = "templateFile")]
    template_file: Option<String>,
}

/// The template of the only stack in a folder.
///
/// # Errors
/// [`CdkError`].
pub fn template_in(folder: &Path) -> Result<PathBuf, CdkError> {
    let path = folder.join(MANIFEST);
    let text = std::fs::read_to_string(&path).map_err(|error| CdkError::Manifest(path.clone(), error))?;
    let manifest: Manifest = serde_json::from_str(&text).map_err(|error| CdkError::Invalid(path.clone(), error))?;
    let stacks = manifest.artifacts.into_values().filter(|artifact| artifact.kind == STACK);
    let files: Vec<String> = stacks.filter_map(|stack| stack.properties.template_file).collect();
    match files.as_slice() {
        [file] => Ok(folder.join(file)),
        _ => {
            let paths = files.iter().map(|file| folder.join(file).display().to_string());
            Err(CdkError::Stacks(path, paths.collect()))
        }
    }
}
