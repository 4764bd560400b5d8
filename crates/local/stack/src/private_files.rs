//! Files and folders that only their owner may read: the data folder holds people's data and the stack's secrets.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes the folder and those above it, as far as they are missing.
pub(crate) fn folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes everybody else's rights to the folder away.
pub(crate) fn close(path: &Path) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// An empty file, in place of one that is there.
pub(crate) fn empty_file(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// A file to add to.
pub(crate) fn append_file(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}
