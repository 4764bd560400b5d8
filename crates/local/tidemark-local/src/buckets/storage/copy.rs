//! Copies of objects.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html>.

use axum::http::HeaderMap;
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Request, S3Response};

use super::attributes::{Attributes, attributes_of, not_here};
use super::checksum::{DEFAULT_ALGORITHM, Expected, hex, known, value, with_checksum};
use super::conditions::{ReadConditions, WriteConditions};
use super::files::{self, BODY_BYTES_MAX};
use super::objects::NewObject;
use super::{Attempt, Storage, answer, caller, refused, timestamp};

/// The source of a copy.
pub(super) fn source(source: &CopySource) -> Attempt<(String, String, Option<String>)> {
    match source {
        CopySource::Bucket { bucket, key, version_id } => {
            Ok((bucket.to_string(), key.to_string(), version_id.as_deref().map(str::to_owned)))
        }
        _ => Err(not_here("access points")),
    }
}

/// Reads the conditions on the source of a copy.
macro_rules! source_conditions {
    ($input:expr) => {
        ReadConditions {
            if_match: $input.copy_source_if_match.take(),
            if_none_match: $input.copy_source_if_none_match.take(),
            if_modified_since: $input.copy_source_if_modified_since.take(),
            if_unmodified_since: $input.copy_source_if_unmodified_since.take(),
        }
    };
}
pub(super) use source_conditions;

pub(super) async fn object(
    storage: &Storage,
    request: S3Request<CopyObjectInput>,
) -> Attempt<S3Response<CopyObjectOutput>> {
    let caller = caller(&request);
    let reader = request.extensions.get().cloned();
    let (if_match, if_none_match) = write_conditions(&request.headers)?;
    let mut input = request.input;
    let place = source(&input.copy_source)?;
    let replaces = |directive: Option<&str>| directive == Some("REPLACE");
    let new_metadata = replaces(input.metadata_directive.as_ref().map(MetadataDirective::as_str));
    let new_tags = replaces(input.tagging_directive.as_ref().map(TaggingDirective::as_str));
    let algorithm = input.checksum_algorithm.as_ref().map(|name| known(name.as_str())).transpose()?;
    let given = attributes_of!(input);
    let changes_nothing = !new_metadata
        && given.storage_class.is_none()
        && given.encryption.is_none()
        && given.website_redirect_location.is_none();
    if changes_nothing && place == (input.bucket.clone(), input.key.clone(), None) {
        return Err(refused(
            S3ErrorCode::InvalidRequest,
            "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata, storage class, website redirect location or encryption attributes.",
        ));
    }
    let bucket = input.bucket.clone();
    storage.index(move |index| index.bucket(&bucket).map(drop)).await?;
    let conditions = source_conditions!(input);
    let opened = storage.open_object(reader, place, move |version| conditions.check_source(version)).await?;
    if opened.version.size > BODY_BYTES_MAX {
        return Err(refused(
            S3ErrorCode::InvalidRequest,
            "The specified copy source is larger than the maximum allowable size for a copy source: 5368709120",
        ));
    }
    let from = opened.version.attributes;
    let own = from.checksum.as_ref().and_then(value).map(|(algorithm, _)| algorithm);
    let body = files::read(opened.file, 0, opened.version.size).await?;
    let expected = Expected::copy(algorithm.or(own).unwrap_or(DEFAULT_ALGORITHM));
    let received = storage.receive(body, expected, BODY_BYTES_MAX).await?;
    let checksum = received.checksum.clone();
    let base = if new_metadata { given.clone() } else { from.clone() };
    let attributes = Attributes {
        storage_class: given.storage_class,
        encryption: given.encryption,
        kms_key: given.kms_key,
        bucket_key: given.bucket_key,
        website_redirect_location: given.website_redirect_location,
        tags: if new_tags { given.tags } else { from.tags },
        checksum: Some(checksum.clone()),
        parts: Vec::new(),
        ..base
    };
    let object = NewObject {
        bucket: input.bucket,
        key: input.key,
        etag: hex(&received.md5),
        attributes,
        conditions: WriteConditions::new(if_match, if_none_match)?,
        event: "ObjectCreated:Copy",
        reason: "CopyObject",
        caller,
    };
    let (version, version_id) = storage.store(received, object, |_| Ok(())).await?;
    let result = CopyObjectResult {
        checksum_type: checksum.shown_type(),
        last_modified: Some(timestamp(version.modified)),
        e_tag: Some(ETag::Strong(version.etag)),
        ..Default::default()
    };
    answer(CopyObjectOutput {
        copy_object_result: Some(with_checksum!(result, checksum)),
        copy_source_version_id: opened.shown_id,
        server_side_encryption: version.attributes.shown_encryption(),
        version_id,
        ..Default::default()
    })
}

/// The conditions on the target of a copy, which the server's crate does not read.
fn write_conditions(headers: &HeaderMap) -> Attempt<(Option<ETagCondition>, Option<ETagCondition>)> {
    let read = |name: &str| {
        let condition = headers.get(name).map(|value| ETagCondition::parse_http_header(value.as_bytes()));
        condition.transpose().map_err(|_| refused(S3ErrorCode::InvalidArgument, "The entity tag is not valid"))
    };
    Ok((read("if-match")?, read("if-none-match")?))
}
