//! Who may call the buckets: functions by their roles, everybody else without limits.

use std::sync::Arc;

use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{Credentials, S3Auth, SecretKey};
use s3s::dto::{CopyObjectInput, CopySource, DeleteObjectsInput, UploadPartCopyInput};
use s3s::path::S3Path;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Result};

use super::storage::RefusedKeys;
use crate::policies::{Policies, Request};

/// Every access key has the local secret, which functions get in their environment.
pub(super) struct LocalKeys;

#[async_trait::async_trait]
impl S3Auth for LocalKeys {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Ok(SecretKey::from(crate::dynamodb::Identity::local().secret_access_key))
    }
}

/// Who reads an object. Only who may list the bucket is told that a key is missing; for others, the
/// read is forbidden.
#[derive(Clone)]
pub(super) struct Reader {
    policies: Arc<Policies>,
    access_key: String,
}

impl Reader {
    /// Whether the caller may list the objects of a bucket.
    pub(super) fn may_list(&self, bucket: &str) -> bool {
        let resource = format!("arn:aws:s3:::{bucket}");
        let request = Request { action: "s3:ListBucket".to_owned(), resource, ..Request::default() };
        self.policies.may(&self.access_key, &request)
    }
}

/// The functions' roles.
pub(super) struct LocalAccess(pub(super) Arc<Policies>);

impl LocalAccess {
    fn allow(&self, credentials: Option<&Credentials>, action: &str, resource: String) -> Result<(), String> {
        let Some(credentials) = credentials else { return Ok(()) };
        let request = Request { action: format!("s3:{action}"), resource, ..Request::default() };
        self.0.allow(&credentials.access_key, &request)
    }

    /// A copy reads its source.
    fn allow_source(&self, credentials: Option<&Credentials>, source: &CopySource) -> S3Result<()> {
        let CopySource::Bucket { bucket, key, version_id } = source else { return Ok(()) };
        let action = if version_id.is_some() { "GetObjectVersion" } else { "GetObject" };
        self.allow(credentials, action, format!("arn:aws:s3:::{bucket}/{key}")).map_err(denied)
    }
}

#[async_trait::async_trait]
impl S3Access for LocalAccess {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let resource = match context.s3_path() {
            S3Path::Root => "*".to_owned(),
            S3Path::Bucket { bucket } => format!("arn:aws:s3:::{bucket}"),
            S3Path::Object { bucket, key } => format!("arn:aws:s3:::{bucket}/{key}"),
        };
        if let Some(Credentials { access_key, .. }) = context.credentials() {
            let reader = Reader { policies: Arc::clone(&self.0), access_key: access_key.clone() };
            context.extensions_mut().insert(reader);
        }
        let operation = context.s3_op().name();
        // S3 asks for each object; see below.
        if operation == "DeleteObjects" {
            return Ok(());
        }
        let query = context.uri().query().unwrap_or_default();
        let of_version = query.split('&').any(|pair| pair.starts_with("versionId="));
        self.allow(context.credentials(), action(operation, of_version), resource.clone()).map_err(denied)?;
        match context.headers().contains_key("x-amz-tagging") {
            true => self.allow(context.credentials(), "PutObjectTagging", resource).map_err(denied),
            false => Ok(()),
        }
    }

    async fn copy_object(&self, request: &mut S3Request<CopyObjectInput>) -> S3Result<()> {
        self.allow_source(request.credentials.as_ref(), &request.input.copy_source)
    }

    async fn upload_part_copy(&self, request: &mut S3Request<UploadPartCopyInput>) -> S3Result<()> {
        self.allow_source(request.credentials.as_ref(), &request.input.copy_source)
    }

    async fn delete_objects(&self, request: &mut S3Request<DeleteObjectsInput>) -> S3Result<()> {
        let mut refused = RefusedKeys::default();
        for object in &request.input.delete.objects {
            let action = action("DeleteObject", object.version_id.is_some());
            let resource = format!("arn:aws:s3:::{}/{}", request.input.bucket, object.key);
            if let Err(sentence) = self.allow(request.credentials.as_ref(), action, resource) {
                refused.0.insert((object.key.clone(), object.version_id.clone()), sentence);
            }
        }
        request.extensions.insert(refused);
        Ok(())
    }
}

fn denied(sentence: String) -> S3Error {
    S3Error::with_message(S3ErrorCode::AccessDenied, sentence)
}

/// The permission for an operation, on a version or on the newest object.
///
/// Source:
/// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html>.
fn action(operation: &str, of_version: bool) -> &str {
    match (operation, of_version) {
        ("GetObject" | "HeadObject" | "GetObjectAttributes", true) => "GetObjectVersion",
        ("DeleteObject", true) => "DeleteObjectVersion",
        ("GetObjectTagging", true) => "GetObjectVersionTagging",
        ("PutObjectTagging", true) => "PutObjectVersionTagging",
        ("DeleteObjectTagging", true) => "DeleteObjectVersionTagging",
        ("HeadObject" | "GetObjectAttributes", false) => "GetObject",
        (
            "CopyObject"
            | "PostObject"
            | "CreateMultipartUpload"
            | "UploadPart"
            | "UploadPartCopy"
            | "CompleteMultipartUpload",
            _,
        ) => "PutObject",
        ("ListObjects" | "ListObjectsV2" | "HeadBucket", _) => "ListBucket",
        ("ListObjectVersions", _) => "ListBucketVersions",
        ("ListMultipartUploads", _) => "ListBucketMultipartUploads",
        ("ListParts", _) => "ListMultipartUploadParts",
        ("ListBuckets", _) => "ListAllMyBuckets",
        ("GetBucketCors", _) => "GetBucketCORS",
        ("PutBucketCors" | "DeleteBucketCors", _) => "PutBucketCORS",
        ("DeleteBucketTagging", _) => "PutBucketTagging",
        (other, _) => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use axum::http::{Extensions, HeaderMap, Method, Uri};

    use super::*;

    const TEMPLATE: &str = "
Resources:
  Function:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: worker } }
    Properties:
      FunctionName: worker
      Runtime: provided.al2023
      Policies:
        - Statement:
            - { Effect: Allow, Action: ['s3:PutObject', 's3:DeleteObject'], Resource: 'arn:aws:s3:::open/*' }
            - { Effect: Allow, Action: 's3:GetObject', Resource: 'arn:aws:s3:::open/readable' }
";

    fn access() -> LocalAccess {
        let stack = crate::template::read(TEMPLATE, &BTreeMap::new()).unwrap().stack;
        LocalAccess(Arc::new(Policies::new(&stack)))
    }

    fn request<T>(input: T) -> S3Request<T> {
        S3Request {
            input,
            method: Method::PUT,
            uri: Uri::from_static("/"),
            headers: HeaderMap::new(),
            extensions: Extensions::new(),
            credentials: Some(Credentials { access_key: "worker".to_owned(), secret_key: SecretKey::from("local") }),
            region: None,
            service: None,
            trailing_headers: None,
        }
    }

    #[test]
    fn s3_operation_maps_to_the_permission_it_needs() {
        let needed = |version| {
            ["HeadObject", "UploadPart", "DeleteObject", "ListObjectsV2", "PutObject"].map(|name| action(name, version))
        };
        assert_eq!(needed(false), ["GetObject", "PutObject", "DeleteObject", "ListBucket", "PutObject"]);
        assert_eq!(needed(true), ["GetObjectVersion", "PutObject", "DeleteObjectVersion", "ListBucket", "PutObject"]);
    }

    #[tokio::test]
    async fn a_copy_needs_the_permission_to_read_its_source() {
        let copies = async |source: &str| {
            let copy_source = CopySource::parse(source).unwrap();
            let input =
                CopyObjectInput::builder().bucket("open".into()).key("b".into()).copy_source(copy_source.clone());
            let copied = access().copy_object(&mut request(input.build().unwrap())).await;
            let input = UploadPartCopyInput::builder().bucket("open".into()).key("b".into()).copy_source(copy_source);
            let input = input.part_number(1).upload_id("u".into()).build().unwrap();
            assert_eq!(access().upload_part_copy(&mut request(input)).await.is_ok(), copied.is_ok(), "{source}");
            copied.map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(copies("open/readable").await, Ok(()));
        assert_eq!(copies("open/other").await, Err("AccessDenied".to_owned()));
        assert_eq!(copies("open/readable?versionId=1").await, Err("AccessDenied".to_owned()));
    }

    #[test]
    fn question_about_a_missing_key_suggests_no_permission() {
        let LocalAccess(policies) = access();
        let reader = |access_key: &str| Reader { policies: Arc::clone(&policies), access_key: access_key.to_owned() };
        assert_eq!((reader("worker").may_list("open"), reader("a person").may_list("open")), (false, true));
        assert!(!policies.suggested_yaml().contains("ListBucket"));
    }

    #[tokio::test]
    async fn delete_objects_asks_for_each_object() {
        use s3s::dto::{Delete, ObjectIdentifier};
        let object = |key: &str| ObjectIdentifier { key: key.to_owned(), ..Default::default() };
        let delete = Delete { objects: vec![object("a")], quiet: None };
        let refused = async |bucket: &str| {
            let input = DeleteObjectsInput::builder().bucket(bucket.into()).delete(delete.clone()).build().unwrap();
            let mut request = request(input);
            access().delete_objects(&mut request).await.unwrap();
            request.extensions.remove::<RefusedKeys>().unwrap().0.len()
        };
        assert_eq!((refused("open").await, refused("closed").await), (0, 1));
    }
}
