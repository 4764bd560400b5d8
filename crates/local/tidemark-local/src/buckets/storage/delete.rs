//! Deletions of objects, and delete markers.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/DeletingObjectVersions.html>.

use std::collections::BTreeMap;

use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response};

use super::attributes::{Attributes, not_here};
use super::conditions::WriteConditions;
use super::index::{BucketRow, Index, NULL_VERSION, Version};
use super::{Attempt, Failure, Storage, answer, caller, refused};
use crate::buckets::notifications::Change;

/// Maximum number of objects in one `DeleteObjects`.
const OBJECTS_MAX: usize = 1000;

/// The objects of a `DeleteObjects` that the caller's role does not allow to delete, with reasons.
#[derive(Debug, Clone, Default)]
pub(in crate::buckets) struct RefusedKeys(pub(in crate::buckets) BTreeMap<(String, Option<String>), String>);

/// What a deletion did.
#[derive(Debug, Default)]
struct Deletion {
    /// A delete marker was added, or the deleted version was one.
    marker: bool,
    version: Option<String>,
}

/// Deletes a version for good, or adds a delete marker.
fn delete(
    index: &mut Index<'_>,
    bucket: &BucketRow,
    object: ObjectIdentifier,
    conditions: &WriteConditions,
    (reason, caller): (&'static str, &str),
) -> Attempt<Deletion> {
    let key = object.key;
    conditions.check_delete(index.current(&bucket.name, &key)?.as_ref())?;
    let removed = |version: &Version| Change {
        size: 0,
        etag: version.etag.clone(),
        ..version.change(bucket, "ObjectRemoved:Delete", reason, caller)
    };
    if object.version_id.is_some() || bucket.versioning.is_none() {
        let id = object.version_id.as_deref().unwrap_or(NULL_VERSION);
        let Some(version) = index.delete(&bucket.name, &key, id)? else {
            return Ok(Deletion { marker: false, version: object.version_id });
        };
        index.notify(removed(&version));
        return Ok(Deletion { marker: version.file.is_none(), version: bucket.shown(&version.id) });
    }
    let marker = index.put(bucket, Version::new(key, None, 0, String::new(), Attributes::default()))?;
    index.notify(marker.change(bucket, "ObjectRemoved:DeleteMarkerCreated", reason, caller));
    Ok(Deletion { marker: true, version: bucket.shown(&marker.id) })
}

pub(super) async fn one(
    storage: &Storage,
    request: S3Request<DeleteObjectInput>,
) -> Attempt<S3Response<DeleteObjectOutput>> {
    let caller = caller(&request);
    let input = request.input;
    if input.mfa.is_some() {
        return Err(not_here("MFA delete"));
    }
    let conditions = WriteConditions::new(input.if_match, None)?;
    let object = ObjectIdentifier { key: input.key, version_id: input.version_id, ..Default::default() };
    let work = move |index: &mut Index<'_>| {
        let bucket = index.bucket(&input.bucket)?;
        delete(index, &bucket, object, &conditions, ("DeleteObject", &caller))
    };
    let deletion = storage.index(work).await?;
    answer(DeleteObjectOutput {
        delete_marker: Some(true).filter(|_| deletion.marker),
        version_id: deletion.version,
        ..Default::default()
    })
}

pub(super) async fn many(
    storage: &Storage,
    mut request: S3Request<DeleteObjectsInput>,
) -> Attempt<S3Response<DeleteObjectsOutput>> {
    let caller = caller(&request);
    let RefusedKeys(refused_keys) = request.extensions.remove().unwrap_or_default();
    let input = request.input;
    if !(1..=OBJECTS_MAX).contains(&input.delete.objects.len()) {
        let message = "The XML you provided was not well-formed or did not validate against our published schema";
        return Err(refused(S3ErrorCode::MalformedXML, message));
    }
    let work = move |index: &mut Index<'_>| {
        let bucket = index.bucket(&input.bucket)?;
        let (mut deleted, mut errors) = (Vec::new(), Vec::new());
        for object in input.delete.objects {
            let (key, version_id) = (object.key.clone(), object.version_id.clone());
            let result = match refused_keys.get(&(key.clone(), version_id.clone())) {
                Some(sentence) => Err(S3Error::with_message(S3ErrorCode::AccessDenied, sentence.clone()).into()),
                None => try_delete(index, &bucket, object, &caller),
            };
            match result {
                Ok(Deletion { marker, version }) => deleted.push(DeletedObject {
                    delete_marker: Some(true).filter(|_| marker),
                    delete_marker_version_id: version.filter(|_| marker),
                    key: Some(key),
                    version_id,
                }),
                Err(Failure(error)) => errors.push(Error {
                    code: Some(error.code().as_str().to_owned()),
                    message: error.message().map(str::to_owned),
                    key: Some(key),
                    version_id,
                }),
            }
        }
        let quiet = input.delete.quiet == Some(true);
        Ok(DeleteObjectsOutput {
            deleted: Some(deleted).filter(|_| !quiet),
            errors: Some(errors).filter(|errors| !errors.is_empty()),
            ..Default::default()
        })
    };
    answer(storage.index(work).await?)
}

fn try_delete(index: &mut Index<'_>, bucket: &BucketRow, object: ObjectIdentifier, caller: &str) -> Attempt<Deletion> {
    if object.key.len() > 1024 {
        return Err(refused(S3ErrorCode::KeyTooLongError, "Your key is too long"));
    }
    let conditions = WriteConditions::new(object.e_tag.clone().map(ETagCondition::ETag), None)?;
    delete(index, bucket, object, &conditions, ("DeleteObjects", caller))
}
