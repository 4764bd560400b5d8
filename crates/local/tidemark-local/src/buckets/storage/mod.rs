//! The storage of the buckets: an index in SQLite, and a file for each object.
//!
//! No key chooses the name of a file, so each key is literal. A file is complete before a row of
//! the index names it, and one transaction changes the index. After a kill an object is the old or
//! the new one, and [`Storage::open`] removes the files without a row.

mod attributes;
mod checksum;
mod conditions;
mod copy;
mod delete;
mod files;
mod index;
mod list;
mod list_uploads;
mod objects;
mod settings;
mod uploads;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior};
use s3s::dto::*;
use s3s::{S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result};

pub(super) use self::delete::RefusedKeys;
use self::files::NewFile;
use self::index::Index;
use super::notifications::Notifier;
use crate::private_files;
use crate::stack::{Bucket, CorsRule};

/// The buckets and their objects.
#[derive(Clone)]
pub(super) struct Storage(Arc<Inner>);

struct Inner {
    index: Mutex<Connection>,
    files: PathBuf,
    notifier: Notifier,
}

/// Why an operation fails: S3's error, or [`S3ErrorCode::InternalError`] for another one.
#[derive(Debug)]
struct Failure(S3Error);

type Attempt<T> = Result<T, Failure>;

macro_rules! internal_errors {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(S3Error::internal_error(error))
            }
        })*
    };
}

internal_errors!(rusqlite::Error, std::io::Error, serde_json::Error, tokio::task::JoinError);

impl From<S3Error> for Failure {
    fn from(error: S3Error) -> Self {
        Self(error)
    }
}

impl From<S3ErrorCode> for Failure {
    fn from(code: S3ErrorCode) -> Self {
        Self(code.into())
    }
}

impl From<Failure> for S3Error {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

impl Storage {
    /// Opens the storage in `folder`, with at least the template's buckets.
    pub(super) fn open(folder: &Path, buckets: &[Bucket], notifier: Notifier) -> S3Result<Self> {
        Ok(Self::try_open(folder, buckets, notifier)?)
    }

    fn try_open(folder: &Path, buckets: &[Bucket], notifier: Notifier) -> Attempt<Self> {
        let files = folder.join("objects");
        private_files::folder(&files)?;
        let connection = Connection::open(folder.join("index.sqlite"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(index::SCHEMA)?;
        for bucket in buckets {
            index::ensure_bucket(&connection, bucket)?;
        }
        let known: HashSet<String> = index::file_names(&connection)?;
        for file in std::fs::read_dir(&files)? {
            let file = file?;
            if !file.file_name().to_str().is_some_and(|name| known.contains(name)) {
                std::fs::remove_file(file.path())?;
            }
        }
        Ok(Self(Arc::new(Inner { index: Mutex::new(connection), files, notifier })))
    }

    /// Runs `work` in one transaction. Then keeps the new file, removes the files that no row names
    /// any more, and sends the notifications, even if the client has gone.
    async fn transaction<T: Send + 'static>(
        &self,
        new_file: Option<NewFile>,
        work: impl FnOnce(&mut Index<'_>) -> Attempt<T> + Send + 'static,
    ) -> Attempt<T> {
        let inner = Arc::clone(&self.0);
        let run = move || {
            let mut connection = inner.index.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut index = Index::new(transaction, &inner.files);
            let result = work(&mut index)?;
            let (changes, unused) = index.commit()?;
            if let Some(file) = new_file {
                file.keep();
            }
            for name in unused {
                if let Err(error) = std::fs::remove_file(inner.files.join(name)) {
                    tracing::warn!("the file of a deleted object cannot be removed: {error}");
                }
            }
            drop(connection);
            for change in changes {
                inner.notifier.notify(&change);
            }
            Ok(result)
        };
        tokio::task::spawn_blocking(run).await?
    }

    /// [`Storage::transaction`] without a new file.
    async fn index<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Index<'_>) -> Attempt<T> + Send + 'static,
    ) -> Attempt<T> {
        self.transaction(None, work).await
    }

    /// The CORS rules of a bucket; none if there is no such bucket.
    pub(super) async fn cors_rules(&self, bucket: &str) -> Vec<CorsRule> {
        let bucket = bucket.to_owned();
        self.index(move |index| Ok(index.bucket(&bucket)?.cors)).await.unwrap_or_default()
    }
}

/// Implements the operations of S3 by functions of this module's parts. The others answer
/// `NotImplemented`.
macro_rules! operations {
    ($($name:ident: $input:ident => $output:ident = $function:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Storage {
            $(async fn $name(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                Ok($function(self, request).await?)
            })*
        }
    };
}

operations! {
    abort_multipart_upload: AbortMultipartUploadInput => AbortMultipartUploadOutput = uploads::abort;
    complete_multipart_upload: CompleteMultipartUploadInput => CompleteMultipartUploadOutput = uploads::complete;
    copy_object: CopyObjectInput => CopyObjectOutput = copy::object;
    create_bucket: CreateBucketInput => CreateBucketOutput = settings::create_bucket;
    create_multipart_upload: CreateMultipartUploadInput => CreateMultipartUploadOutput = uploads::create;
    delete_bucket: DeleteBucketInput => DeleteBucketOutput = settings::delete_bucket;
    delete_bucket_cors: DeleteBucketCorsInput => DeleteBucketCorsOutput = settings::delete_cors;
    delete_bucket_tagging: DeleteBucketTaggingInput => DeleteBucketTaggingOutput = settings::delete_bucket_tags;
    delete_object: DeleteObjectInput => DeleteObjectOutput = delete::one;
    delete_object_tagging: DeleteObjectTaggingInput => DeleteObjectTaggingOutput = settings::delete_tags;
    delete_objects: DeleteObjectsInput => DeleteObjectsOutput = delete::many;
    get_bucket_cors: GetBucketCorsInput => GetBucketCorsOutput = settings::get_cors;
    get_bucket_location: GetBucketLocationInput => GetBucketLocationOutput = settings::location;
    get_bucket_tagging: GetBucketTaggingInput => GetBucketTaggingOutput = settings::get_bucket_tags;
    get_bucket_versioning: GetBucketVersioningInput => GetBucketVersioningOutput = settings::get_versioning;
    get_object: GetObjectInput => GetObjectOutput = objects::get;
    get_object_attributes: GetObjectAttributesInput => GetObjectAttributesOutput = objects::attributes;
    get_object_tagging: GetObjectTaggingInput => GetObjectTaggingOutput = settings::get_tags;
    head_bucket: HeadBucketInput => HeadBucketOutput = settings::head_bucket;
    head_object: HeadObjectInput => HeadObjectOutput = objects::head;
    list_buckets: ListBucketsInput => ListBucketsOutput = settings::list_buckets;
    list_multipart_uploads: ListMultipartUploadsInput => ListMultipartUploadsOutput = list_uploads::uploads;
    list_object_versions: ListObjectVersionsInput => ListObjectVersionsOutput = list::versions;
    list_objects: ListObjectsInput => ListObjectsOutput = list::v1;
    list_objects_v2: ListObjectsV2Input => ListObjectsV2Output = list::v2;
    list_parts: ListPartsInput => ListPartsOutput = list_uploads::parts;
    put_bucket_cors: PutBucketCorsInput => PutBucketCorsOutput = settings::put_cors;
    put_bucket_tagging: PutBucketTaggingInput => PutBucketTaggingOutput = settings::put_bucket_tags;
    put_bucket_versioning: PutBucketVersioningInput => PutBucketVersioningOutput = settings::put_versioning;
    put_object: PutObjectInput => PutObjectOutput = objects::put;
    put_object_tagging: PutObjectTaggingInput => PutObjectTaggingOutput = settings::put_tags;
    upload_part: UploadPartInput => UploadPartOutput = uploads::part;
    upload_part_copy: UploadPartCopyInput => UploadPartCopyOutput = uploads::part_copy;
}

fn answer<T>(output: T) -> Attempt<S3Response<T>> {
    Ok(S3Response::new(output))
}

/// The access key that signed a request.
fn caller<T>(request: &S3Request<T>) -> String {
    request.credentials.as_ref().map_or("anonymous", |credentials| &credentials.access_key).to_owned()
}

fn refused(code: S3ErrorCode, message: &'static str) -> Failure {
    Failure(S3Error::with_message(code, message))
}

/// A moment in seconds, as S3 tells it.
fn timestamp(seconds: i64) -> Timestamp {
    let since = std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    (std::time::SystemTime::UNIX_EPOCH + since).into()
}

fn signed(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
