//! The data folder, which one stack at a time uses.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::Options;
use crate::private_files;
use crate::start_error::StartError;

/// How long to wait for a stack that is about to release the data folder. A process that this one
/// has just begun to start holds the lock for a moment too.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Interval for trying to lock the data folder.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The data folder, locked for as long as the returned file is open; none with `--in-memory`.
pub(super) async fn open(options: &Options) -> Result<(Option<PathBuf>, Option<File>), StartError> {
    if options.in_memory {
        return Ok((None, None));
    }
    let path = &options.data_dir;
    let failed = |source| StartError::Data { path: path.clone(), source };
    private_files::folder(path).map_err(failed)?;
    let path = path.canonicalize().map_err(failed)?;
    let lock = path.join("lock");
    // Leaves a folder such as /tmp unchanged, which others may read and which is not the stack's
    // own; the files in it are private.
    if lock.exists() {
        private_files::close(&path).map_err(failed)?;
    }
    let lock = private_files::empty_file(&lock).map_err(failed)?;
    let start = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok((Some(path), Some(lock))),
            Err(std::fs::TryLockError::WouldBlock) if start.elapsed() < LOCK_PATIENCE => {
                tokio::time::sleep(LOCK_INTERVAL).await;
            }
            Err(std::fs::TryLockError::WouldBlock) => return Err(StartError::DataInUse(path)),
            Err(std::fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
    }
}
