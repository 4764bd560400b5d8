//! Unpacks the code of a function whose asset of the CDK is a zip archive.

use std::fs::{File, OpenOptions};
use std::io::{Cursor, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use zip::ZipArchive;

/// Lambda's limit of the unzipped code.
const BYTES_MAX: u64 = 250 * 1024 * 1024;

/// The most files and folders of an archive.
const ENTRIES_MAX: usize = 50_000;

/// The mode of a file that was packed on a system without modes.
const MODE_DEFAULT: u32 = 0o755;

/// Why an archive has no function.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read or written.
    #[error("it cannot be unpacked")]
    Io(#[from] std::io::Error),
    /// The file is no archive, or a damaged one.
    #[error("it is not a readable zip archive")]
    Zip(#[from] zip::result::ZipError),
    /// An entry would lie outside of the folder, or is a link.
    #[error("its entry {0:?} is neither a file nor a folder inside the archive")]
    Entry(String),
    /// It is over a limit.
    #[error("it has more than {ENTRIES_MAX} entries, or more than 250 MB of unzipped files, which is Lambda's limit")]
    TooLarge,
    /// The function's binary is missing.
    #[error("it has no file `bootstrap` at its top")]
    NoBootstrap,
}

/// Unpacks an archive into a folder inside `parent` that is named by the archive's hash. An archive
/// that was unpacked before is not unpacked again.
///
/// # Errors
/// [`ArchiveError`]; then there is no such folder.
pub(crate) fn unpack(archive: &Path, parent: &Path) -> Result<PathBuf, ArchiveError> {
    unpack_within(archive, parent, BYTES_MAX)
}

fn unpack_within(archive: &Path, parent: &Path, bytes_max: u64) -> Result<PathBuf, ArchiveError> {
    let mut bytes = Vec::new();
    File::open(archive)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    let mut left = bytes_max;
    left.checked_sub(bytes.len() as u64).ok_or(ArchiveError::TooLarge)?;
    let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = parent.join(hash);
    if folder.is_dir() {
        return Ok(folder);
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    if archive.len() > ENTRIES_MAX {
        return Err(ArchiveError::TooLarge);
    }
    // Renamed at the end: a start that is killed leaves no half of the code under the hash.
    let unpacked = tempfile::tempdir_in(parent)?;
    for index in 0..archive.len() {
        let entry = archive.by_index(index)?;
        // Without links, no entry can leave the folder through another one.
        let name = entry.enclosed_name().filter(|_| !entry.is_symlink());
        let name = name.ok_or_else(|| ArchiveError::Entry(String::from_utf8_lossy(entry.name_raw()).into_owned()))?;
        let path = unpacked.path().join(name);
        if entry.is_dir() {
            std::fs::create_dir_all(path)?;
            continue;
        }
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let mode = entry.unix_mode().map(|mode| mode & 0o777).filter(|mode| *mode != 0).unwrap_or(MODE_DEFAULT);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        // The size in the archive's directory may be wrong.
        let written = std::io::copy(&mut entry.take(left + 1), &mut file)?;
        left = left.checked_sub(written).ok_or(ArchiveError::TooLarge)?;
    }
    if !unpacked.path().join("bootstrap").is_file() {
        return Err(ArchiveError::NoBootstrap);
    }
    std::fs::rename(unpacked.keep(), &folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// A folder with an archive of these files, and what unpacking into the folder `code` gives.
    fn unpacked(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Result<PathBuf, ArchiveError>) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ZipWriter::new(File::create(folder.path().join("code.zip")).unwrap());
        for (name, content) in files {
            match name.strip_suffix('@') {
                Some(link) => writer.add_symlink(link, "/etc", SimpleFileOptions::default()).unwrap(),
                None => {
                    writer.start_file(*name, SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
                    writer.write_all(content).unwrap();
                }
            }
        }
        writer.finish().unwrap();
        std::fs::create_dir(folder.path().join("code")).unwrap();
        let outcome = unpack_within(&folder.path().join("code.zip"), &folder.path().join("code"), 100_000);
        (folder, outcome)
    }

    #[test]
    fn archive_is_unpacked_once_with_its_modes() {
        let (folder, outcome) = unpacked(&[("bootstrap", b"binary"), ("data/words.txt", b"a b")]);
        let code = outcome.unwrap();
        assert_eq!(std::fs::metadata(code.join("bootstrap")).unwrap().permissions().mode() & 0o700, 0o700);
        assert_eq!(std::fs::read(code.join("data/words.txt")).unwrap(), b"a b");
        std::fs::write(code.join("marker"), "").unwrap();
        assert_eq!(unpack(&folder.path().join("code.zip"), &folder.path().join("code")).unwrap(), code);
        assert!(code.join("marker").exists());
    }

    #[test]
    fn archive_that_leaves_its_folder_or_limits_leaves_nothing() {
        let refused = |files: &[(&str, &[u8])]| {
            let (folder, outcome) = unpacked(files);
            assert_eq!(std::fs::read_dir(folder.path().join("code")).unwrap().count(), 0);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "the archive and the folder");
            outcome.unwrap_err()
        };
        assert!(
            matches!(refused(&[("bootstrap", b""), ("../outside", b"")]), ArchiveError::Entry(name) if name == "../outside")
        );
        assert!(
            matches!(refused(&[("lib@", b""), ("lib/bootstrap", b"")]), ArchiveError::Entry(name) if name == "lib")
        );
        assert!(matches!(refused(&[("bootstrap", &[0; 60_000]), ("more", &[0; 60_000])]), ArchiveError::TooLarge));
        assert!(matches!(refused(&[("main", b"")]), ArchiveError::NoBootstrap));
    }

    #[test]
    fn file_that_is_no_archive_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("code.zip"), "PK no archive").unwrap();
        let error = unpack(&folder.path().join("code.zip"), folder.path()).unwrap_err();
        assert!(matches!(error, ArchiveError::Zip(_)), "{error}");
        let error = unpack(&folder.path().join("none.zip"), folder.path()).unwrap_err();
        assert!(matches!(error, ArchiveError::Io(_)), "{error}");
    }
}
