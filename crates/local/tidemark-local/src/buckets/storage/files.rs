//! The files of the objects.

use std::path::PathBuf;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use s3s::dto::StreamingBlob;
use s3s::{S3Error, S3ErrorCode};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufWriter};
use tokio_util::io::ReaderStream;

use super::checksum::{Checksum, Expected};
use super::{Attempt, Failure, Storage, refused};
use crate::private_files;
use crate::random_id::random_id;

/// Maximum size of a body: of an object in one request, and of a part.
pub(super) const BODY_BYTES_MAX: u64 = 5 << 30;

/// Bytes per read and per write.
const BUFFER_BYTES: usize = 256 << 10;

/// A file that is removed again unless a row of the index names it.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    pub(super) name: String,
    kept: bool,
}

/// A body on the disk.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) file: NewFile,
    pub(super) size: u64,
    pub(super) md5: [u8; 16],
    pub(super) checksum: Checksum,
}

impl NewFile {
    pub(super) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = std::fs::remove_file(&self.path)
        {
            tracing::warn!("the file of a refused object cannot be removed: {error}");
        }
    }
}

impl Storage {
    /// Writes a body to a new file while it arrives, and verifies it.
    pub(super) async fn receive<E>(
        &self,
        mut body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        expected: Expected,
        size_max: u64,
    ) -> Attempt<Received>
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let too_large =
            || refused(S3ErrorCode::EntityTooLarge, "Your proposed upload exceeds the maximum allowed size");
        if expected.length().is_some_and(|length| length > size_max) {
            return Err(too_large());
        }
        let name = random_id();
        let path = self.0.files.join(&name);
        let file = private_files::empty_file(&path)?;
        let new_file = NewFile { path, name, kept: false };
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, tokio::fs::File::from_std(file));
        let (mut hasher, mut size) = (expected.hasher(), 0);
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|error| unreadable(error.into()))?;
            size += bytes.len() as u64;
            if size > size_max {
                return Err(too_large());
            }
            hasher.update(&bytes);
            writer.write_all(&bytes).await?;
        }
        writer.flush().await?;
        // Otherwise the index could name a file whose bytes a power failure lost.
        writer.get_ref().sync_data().await?;
        let (md5, checksum) = expected.verify(hasher, size)?;
        Ok(Received { file: new_file, size, md5, checksum })
    }
}

/// The error for a body that does not arrive as it was announced.
fn unreadable(error: Box<dyn std::error::Error + Send + Sync>) -> Failure {
    // The error's type is private to the server's crate.
    let text = error.to_string();
    let code = if text.contains("SignatureMismatch") {
        S3ErrorCode::SignatureDoesNotMatch
    } else if text.contains("Sha256Mismatch") {
        S3ErrorCode::Custom("XAmzContentSHA256Mismatch".into())
    } else {
        S3ErrorCode::IncompleteBody
    };
    let mut failure = S3Error::with_message(code, text);
    failure.set_status_code(axum::http::StatusCode::BAD_REQUEST);
    if *failure.code() == S3ErrorCode::SignatureDoesNotMatch {
        failure.set_status_code(axum::http::StatusCode::FORBIDDEN);
    }
    failure.into()
}

/// The bytes of an open file from `start`.
pub(super) async fn read(
    file: std::fs::File,
    start: u64,
    length: u64,
) -> Attempt<ReaderStream<tokio::io::Take<tokio::fs::File>>> {
    let mut file = tokio::fs::File::from_std(file);
    file.seek(std::io::SeekFrom::Start(start)).await?;
    Ok(ReaderStream::with_capacity(file.take(length), BUFFER_BYTES))
}

/// A body of an answer.
pub(super) async fn body(file: std::fs::File, start: u64, length: u64) -> Attempt<StreamingBlob> {
    Ok(StreamingBlob::wrap(read(file, start, length).await?))
}
