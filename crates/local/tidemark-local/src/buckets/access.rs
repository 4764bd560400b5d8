//! Who may call the buckets: functions by their roles, everybody else without limits.

use std::sync::Arc;

use s3s::S3Result;
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::path::S3Path;

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
            .map_err(|sentence| s3s::S3Error::with_message(s3s::S3ErrorCode::AccessDenied, sentence))
    }
}

/// The permission for an operation.
///
/// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html>.
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
    fn an_operation_without_a_permission_of_its_name_needs_another_one() {
        let needed = ["HeadObject", "UploadPart", "DeleteObjects", "ListObjectsV2", "PutObject"].map(action);
        assert_eq!(needed, ["GetObject", "PutObject", "DeleteObject", "ListBucket", "PutObject"]);
    }
}
