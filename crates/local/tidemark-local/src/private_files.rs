//! Files and folders that only their owner can read: the data folder contains users' data and the
//! stack's secrets.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Creates the folder and its missing parents.
pub(crate) fn folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Removes all access for other users.
pub(crate) fn close(path: &Path) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
}

/// Creates an empty file, or empties an existing one.
pub(crate) fn empty_file(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Opens a file for appending.
pub(crate) fn append_file(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}
