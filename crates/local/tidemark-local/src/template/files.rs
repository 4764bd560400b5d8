//! Files beside the template: OpenAPI documents, included parts and nested templates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::problems::Problems;
use super::yaml::{self, Node};

/// The most bytes of a file; CloudFormation's limit of a template is 1 MB.
const BYTES_MAX: u64 = 10 * 1024 * 1024;

/// Reads files relative to the folder of the template.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    /// `None`: the template is a text without a folder.
    pub(super) folder: Option<&'a Path>,
    /// The folder of the template that includes all others: problems name files relative to it.
    pub(super) root: Option<&'a Path>,
    pub(super) problems: &'a Problems,
}

impl Files<'_> {
    /// The content of the file that `place` names; records a problem at `place` if there is none.
    pub(super) fn read(&self, place: &Node) -> Option<Node> {
        let name = place.as_text().filter(|name| !name.contains("://"));
        let (Some(name), Some(folder)) = (name, self.folder) else {
            self.problems.unreadable(place, "only a file on this machine can be read: write its path");
            return None;
        };
        let path = folder.join(name);
        self.problems.reads(&path);
        let shown = self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(&path);
        match content(&path) {
            Ok(text) => match yaml::parse(&text, Some(Arc::from(&*shown.to_string_lossy()))) {
                Ok(node) => Some(node),
                Err(problem) => {
                    self.problems.add(problem);
                    None
                }
            },
            Err(reason) => {
                self.problems.unreadable(place, format!("{name} cannot be read: {reason}"));
                None
            }
        }
    }
}

fn content(path: &PathBuf) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}
