//! Reads and writes of objects.

use std::fs::File;
use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, Method};
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response};

use super::attributes::{Attributes, attributes_of, not_here};
use super::checksum::{Expected, hex, with_checksum};
use super::conditions::{ReadConditions, WriteConditions};
use super::files::{self, BODY_BYTES_MAX, Received};
use super::index::{BucketRow, Index, Version};
use super::{Attempt, Failure, Storage, answer, caller, refused, signed, timestamp};
use crate::buckets::access::Reader;

/// The refusal of a read of a missing key, to who may not list the bucket.
const HIDDEN_KEY: &str =
    "The key does not exist, and the caller may not list the bucket (s3:ListBucket), so that S3 forbids the read.";

/// An object that is open for reading.
pub(super) struct Opened {
    pub(super) version: Version,
    pub(super) file: File,
    pub(super) shown_id: Option<String>,
}

impl Index<'_> {
    /// The object under a key: the version with this id, or the newest one.
    pub(super) fn find(&self, bucket: &BucketRow, key: &str, id: Option<&str>) -> Attempt<Version> {
        let (found, code) = match id {
            Some(id) => (self.version(&bucket.name, key, id)?, S3ErrorCode::NoSuchVersion),
            None => (self.newest(&bucket.name, key)?, S3ErrorCode::NoSuchKey),
        };
        let missing = match code {
            S3ErrorCode::NoSuchKey => "The specified key does not exist.",
            _ => "The specified version does not exist.",
        };
        let version = found.ok_or_else(|| refused(code, missing))?;
        if version.file.is_some() { Ok(version) } else { Err(is_marker(&version, id.is_some())) }
    }
}

/// The error for a key whose newest version is a delete marker, and for the marker's own id.
fn is_marker(marker: &Version, by_id: bool) -> Failure {
    let mut error = match by_id {
        true => S3Error::with_message(
            S3ErrorCode::MethodNotAllowed,
            "The specified method is not allowed against this resource.",
        ),
        false => S3Error::with_message(S3ErrorCode::NoSuchKey, "The specified key does not exist."),
    };
    let headers =
        [("content-type", "application/xml"), ("x-amz-delete-marker", "true"), ("x-amz-version-id", &marker.id)];
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            map.insert(name, value);
        }
    }
    error.set_headers(map);
    error.into()
}

impl Storage {
    /// Opens an object that fulfils the conditions. Without a reader, everything may be listed.
    pub(super) async fn open_object(
        &self,
        reader: Option<Reader>,
        (bucket, key, id): (String, String, Option<String>),
        check: impl FnOnce(&Version) -> Attempt<()> + Send + 'static,
    ) -> Attempt<Opened> {
        let name = bucket.clone();
        let open = move |index: &mut Index<'_>| {
            let bucket = index.bucket(&bucket)?;
            let version = index.find(&bucket, &key, id.as_deref())?;
            check(&version)?;
            let file = index.open(version.file.as_deref().unwrap_or_default())?;
            Ok(Opened { file, shown_id: bucket.shown(&version.id), version })
        };
        self.index(open).await.map_err(|failure| {
            let is_missing = *failure.0.code() == S3ErrorCode::NoSuchKey;
            match reader {
                Some(reader) if is_missing && !reader.may_list(&name) => refused(S3ErrorCode::AccessDenied, HIDDEN_KEY),
                _ => failure,
            }
        })
    }

    /// Stores a received body as the newest version of a key, and tells of it.
    pub(super) async fn store(
        &self,
        received: Received,
        object: NewObject,
        also: impl FnOnce(&mut Index<'_>) -> Attempt<()> + Send + 'static,
    ) -> Attempt<(Version, Option<String>)> {
        let Received { file, size, .. } = received;
        let name = file.name.clone();
        let store = move |index: &mut Index<'_>| {
            let NewObject { bucket, key, etag, attributes, conditions, event, reason, caller } = object;
            let bucket = index.bucket(&bucket)?;
            conditions.check_write(index.current(&bucket.name, &key)?.as_ref())?;
            also(index)?;
            let version = index.put(&bucket, Version::new(key, Some(name), size, etag, attributes))?;
            index.notify(version.change(&bucket, event, reason, &caller));
            let shown = bucket.shown(&version.id);
            Ok((version, shown))
        };
        self.transaction(Some(file), store).await
    }
}

/// An object whose body is on the disk.
pub(super) struct NewObject {
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) etag: String,
    pub(super) attributes: Attributes,
    pub(super) conditions: WriteConditions,
    pub(super) event: &'static str,
    pub(super) reason: &'static str,
    pub(super) caller: String,
}

/// Fills the fields that the outputs of GET and HEAD share.
macro_rules! describe {
    ($output:ident, $opened:expr, $input:expr, $range:expr) => {{
        let (Opened { version, shown_id, .. }, range): (&Opened, &Option<Range<u64>>) = (&$opened, &$range);
        let attributes = version.attributes.clone();
        let shown = range.is_none() && $input.checksum_mode.is_some();
        let checksum = attributes.checksum.clone().filter(|_| shown).unwrap_or_default();
        let checksum_type = checksum.shown_type();
        let length = range.as_ref().map_or(version.size, |range| range.end - range.start);
        let multipart = $input.part_number.is_some() && !attributes.parts.is_empty();
        let output = $output {
            accept_ranges: Some("bytes".to_owned()),
            bucket_key_enabled: attributes.bucket_key,
            storage_class: attributes.shown_class(),
            server_side_encryption: attributes.shown_encryption(),
            cache_control: attributes.cache_control,
            content_disposition: attributes.content_disposition,
            content_encoding: attributes.content_encoding,
            content_language: attributes.content_language,
            content_length: Some(signed(length)),
            content_range: range
                .as_ref()
                .map(|range| format!("bytes {}-{}/{}", range.start, range.end.saturating_sub(1), version.size)),
            content_type: Some(attributes.content_type.unwrap_or_else(|| "binary/octet-stream".to_owned())),
            e_tag: Some(ETag::Strong(version.etag.clone())),
            expires: attributes.expires,
            last_modified: Some(timestamp(version.modified)),
            metadata: attributes.metadata,
            parts_count: multipart.then(|| i32::try_from(attributes.parts.len()).unwrap_or_default()),
            ssekms_key_id: attributes.kms_key,
            version_id: shown_id.clone(),
            website_redirect_location: attributes.website_redirect_location,
            checksum_type,
            ..Default::default()
        };
        with_checksum!(output, checksum)
    }};
}

/// The location and the conditions of a read.
macro_rules! read_of {
    ($input:expr) => {{
        let input = &mut $input;
        if input.sse_customer_algorithm.is_some() {
            return Err(not_here("encryption with a customer's key (SSE-C)"));
        }
        let conditions = ReadConditions {
            if_match: input.if_match.take(),
            if_none_match: input.if_none_match.take(),
            if_modified_since: input.if_modified_since.take(),
            if_unmodified_since: input.if_unmodified_since.take(),
        };
        let id = input.version_id.take();
        ((input.bucket.clone(), input.key.clone(), id), move |version: &Version| conditions.check(version))
    }};
}

pub(super) async fn get(storage: &Storage, request: S3Request<GetObjectInput>) -> Attempt<S3Response<GetObjectOutput>> {
    let reader = request.extensions.get().cloned();
    let mut input = request.input;
    let (place, check) = read_of!(input);
    let opened = storage.open_object(reader, place, check).await?;
    let range = range(&opened.version, input.range, input.part_number)?;
    let mut output = describe!(GetObjectOutput, opened, input, range);
    output.tag_count = i32::try_from(opened.version.attributes.tags.len()).ok().filter(|count| *count > 0);
    let range = range.unwrap_or(0..opened.version.size);
    output.body = Some(files::body(opened.file, range.start, range.end - range.start).await?);
    answer(output)
}

pub(super) async fn head(
    storage: &Storage,
    request: S3Request<HeadObjectInput>,
) -> Attempt<S3Response<HeadObjectOutput>> {
    let reader = request.extensions.get().cloned();
    let mut input = request.input;
    let (place, check) = read_of!(input);
    let opened = storage.open_object(reader, place, check).await?;
    let range = range(&opened.version, input.range, input.part_number)?;
    answer(describe!(HeadObjectOutput, opened, input, range))
}

/// The bytes that a range or a part number names; `None` for the whole object.
fn range(version: &Version, range: Option<s3s::dto::Range>, part: Option<i32>) -> Attempt<Option<Range<u64>>> {
    match (range, part) {
        (Some(_), Some(_)) => {
            Err(refused(S3ErrorCode::InvalidRequest, "Cannot specify both Range header and partNumber"))
        }
        (Some(range), None) => Ok(Some(range.check(version.size).map_err(S3Error::from)?)),
        (None, Some(1)) if version.attributes.parts.is_empty() => Ok(None),
        (None, Some(number)) => {
            let mut start = 0;
            for part in &version.attributes.parts {
                if part.number == number {
                    return Ok(Some(start..start + part.size));
                }
                start += part.size;
            }
            let mut error = S3Error::with_message(
                S3ErrorCode::Custom("InvalidPartNumber".into()),
                "The requested partnumber is not satisfiable",
            );
            error.set_status_code(axum::http::StatusCode::RANGE_NOT_SATISFIABLE);
            Err(error.into())
        }
        (None, None) => Ok(None),
    }
}

pub(super) async fn put(storage: &Storage, request: S3Request<PutObjectInput>) -> Attempt<S3Response<PutObjectOutput>> {
    let caller = caller(&request);
    let form = request.method == Method::POST;
    let mut input = request.input;
    let expected = match form {
        // The headers of a form are about the form.
        true => Expected::default(),
        false => Expected::of(&request.headers, request.trailing_headers)?,
    };
    if !form && expected.length().is_none() {
        return Err(refused(S3ErrorCode::MissingContentLength, "You must provide the Content-Length HTTP header."));
    }
    if input.write_offset_bytes.is_some() {
        return Err(not_here("appending to objects"));
    }
    if form && input.key.contains("${filename}") {
        return Err(not_here("`${filename}` in the key of a form"));
    }
    let mut attributes = attributes_of!(input);
    let conditions = WriteConditions::new(input.if_match.take(), input.if_none_match.take())?;
    let bucket = input.bucket.clone();
    storage.index(move |index| index.bucket(&bucket).map(drop)).await?;
    let body = input.body.take().unwrap_or_else(|| s3s::Body::empty().into());
    let received = storage.receive(body, expected, BODY_BYTES_MAX).await?;
    let checksum = received.checksum.clone();
    attributes.checksum = Some(checksum.clone());
    let object = NewObject {
        bucket: input.bucket,
        key: input.key,
        etag: hex(&received.md5),
        attributes,
        conditions,
        event: if form { "ObjectCreated:Post" } else { "ObjectCreated:Put" },
        reason: if form { "PostObject" } else { "PutObject" },
        caller,
    };
    let (version, version_id) = storage.store(received, object, |_| Ok(())).await?;
    let output = PutObjectOutput {
        bucket_key_enabled: version.attributes.bucket_key,
        checksum_type: checksum.shown_type(),
        server_side_encryption: version.attributes.shown_encryption(),
        ssekms_key_id: version.attributes.kms_key,
        e_tag: Some(ETag::Strong(version.etag)),
        version_id,
        ..Default::default()
    };
    answer(with_checksum!(output, checksum))
}

pub(super) async fn attributes(
    storage: &Storage,
    request: S3Request<GetObjectAttributesInput>,
) -> Attempt<S3Response<GetObjectAttributesOutput>> {
    let reader = request.extensions.get().cloned();
    let input = request.input;
    let Opened { version, shown_id, .. } =
        storage.open_object(reader, (input.bucket, input.key, input.version_id), |_| Ok(())).await?;
    // One header has them all, separated by commas.
    let wants = |name: &str| {
        input.object_attributes.iter().any(|wanted| wanted.as_str().split(',').any(|wanted| wanted.trim() == name))
    };
    let Attributes { parts, .. } = &version.attributes;
    let max = usize::try_from(input.max_parts.unwrap_or(1000)).unwrap_or_default().min(1000);
    let after = input.part_number_marker.unwrap_or_default();
    let mut rest = parts.iter().filter(|part| part.number > after);
    let page: Vec<_> = rest.by_ref().take(max).collect();
    let of_parts = GetObjectAttributesParts {
        is_truncated: Some(rest.next().is_some()),
        max_parts: i32::try_from(max).ok(),
        next_part_number_marker: page.last().map(|part| part.number),
        part_number_marker: Some(after),
        total_parts_count: i32::try_from(parts.len()).ok(),
        parts: Some(
            page.into_iter()
                .map(|part| {
                    let shown = ObjectPart {
                        part_number: Some(part.number),
                        size: Some(signed(part.size)),
                        ..Default::default()
                    };
                    with_checksum!(shown, part.checksum.clone())
                })
                .collect(),
        ),
    };
    let shown = |checksum: super::checksum::Checksum| {
        let checksum_type = checksum.shown_type();
        with_checksum!(Checksum { checksum_type, ..Default::default() }, checksum)
    };
    answer(GetObjectAttributesOutput {
        checksum: version.attributes.checksum.clone().filter(|_| wants("Checksum")).map(shown),
        e_tag: Some(ETag::Strong(version.etag.clone())).filter(|_| wants("ETag")),
        last_modified: Some(timestamp(version.modified)),
        object_parts: Some(of_parts).filter(|_| wants("ObjectParts") && !parts.is_empty()),
        object_size: Some(signed(version.size)).filter(|_| wants("ObjectSize")),
        storage_class: Some(version.attributes.class().into()).filter(|_| wants("StorageClass")),
        version_id: shown_id,
        ..Default::default()
    })
}
