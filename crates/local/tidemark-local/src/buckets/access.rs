//! Who may call the buckets: functions by their roles, everybody else without limits. Nobody may
//! use a key that the storage takes for a path to another bucket.

use std::sync::Arc;

use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::{CopyObjectInput, CopySource, DeleteObjectsInput, PutObjectInput, UploadPartCopyInput};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use crate::policies::{Policies, Request};

/// Every access key has the local secret, which functions get in their environment.
pub(super) struct LocalKeys;

#[async_trait::async_trait]
impl S3Auth for LocalKeys {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Ok(SecretKey::from(crate::dynamodb::Identity::local().secret_access_key))
    }
}

/// The functions' roles.
pub(super) struct LocalAccess(pub(super) Arc<Policies>);

#[async_trait::async_trait]
impl S3Access for LocalAccess {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        check_key(context.s3_path().get_object_key().unwrap_or_default())?;
        let Some(credentials) = context.credentials() else { return Ok(()) };
        let resource = match context.s3_path() {
            S3Path::Root => "*".to_owned(),
            S3Path::Bucket { bucket } => format!("arn:aws:s3:::{bucket}"),
            S3Path::Object { bucket, key } => format!("arn:aws:s3:::{bucket}/{key}"),
        };
        let action = format!("s3:{}", action(context.s3_op().name()));
        let request = Request { action, resource, ..Request::default() };
        self.0
            .allow(&credentials.access_key, &request)
            .map_err(|sentence| S3Error::with_message(S3ErrorCode::AccessDenied, sentence))
    }

    async fn copy_object(&self, request: &mut S3Request<CopyObjectInput>) -> S3Result<()> {
        check_source(&request.input.copy_source)
    }

    async fn upload_part_copy(&self, request: &mut S3Request<UploadPartCopyInput>) -> S3Result<()> {
        check_source(&request.input.copy_source)
    }

    async fn delete_objects(&self, request: &mut S3Request<DeleteObjectsInput>) -> S3Result<()> {
        request.input.delete.objects.iter().try_for_each(|object| check_key(&object.key))
    }

    /// Also for the upload of a form, whose key is not in the path.
    async fn put_object(&self, request: &mut S3Request<PutObjectInput>) -> S3Result<()> {
        check_key(&request.input.key)
    }
}

/// Refuses a decoded key that would leave its bucket: the storage joins a key to the bucket's path.
/// S3 itself takes such keys literally.
fn check_key(key: &str) -> S3Result<()> {
    if !key.starts_with('/') && key.split('/').all(|segment| !matches!(segment, "." | "..")) {
        return Ok(());
    }
    let sentence = "The local stack accepts no object key that begins with `/` or has a segment `.` or `..`.";
    Err(S3Error::with_message(S3ErrorCode::InvalidArgument, sentence))
}

fn check_source(source: &CopySource) -> S3Result<()> {
    match source {
        CopySource::Bucket { key, .. } | CopySource::AccessPoint { key, .. } | CopySource::Outpost { key, .. } => {
            check_key(key)
        }
    }
}

/// The permission for an operation.
///
/// Source:
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html>.
fn action(operation: &str) -> &str {
    match operation {
        "HeadObject" => "GetObject",
        "CopyObject" | "CreateMultipartUpload" | "UploadPart" | "UploadPartCopy" | "CompleteMultipartUpload" => {
            "PutObject"
        }
        "DeleteObjects" => "DeleteObject",
        "ListObjects" | "ListObjectsV2" | "HeadBucket" => "ListBucket",
        "ListBuckets" => "ListAllMyBuckets",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_leaves_its_bucket_is_refused() {
        for key in [".", "..", "../b/c", "a/..", "a/../b", "a/./b", "./a", "/etc/passwd", "/"] {
            assert!(check_key(key).is_err(), "{key}");
        }
        for key in ["a", "a/b", "a//b", "folder/", "...", "a..b", "..a/b..", ".hidden", "%2e%2e/a", "..\\a", ""] {
            assert!(check_key(key).is_ok(), "{key}");
        }
    }

    #[test]
    fn s3_operation_maps_to_the_permission_it_needs() {
        let needed = ["HeadObject", "UploadPart", "DeleteObjects", "ListObjectsV2", "PutObject"].map(action);
        assert_eq!(needed, ["GetObject", "PutObject", "DeleteObject", "ListBucket", "PutObject"]);
    }
}
