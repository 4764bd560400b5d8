//! Multipart uploads.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html>.

use std::path::PathBuf;
use std::pin::pin;

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use rusqlite::{OptionalExtension, Row, params};
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Request, S3Response};

use super::attributes::{Attributes, StoredPart, attributes_of, not_here};
use super::checksum::{self, DEFAULT_ALGORITHM, Expected, composite, hex, known, value, with_checksum};
use super::conditions::{ReadConditions, WriteConditions};
use super::copy::{source, source_conditions};
use super::files::{self, BODY_BYTES_MAX, Received};
use super::index::{Index, json_of, key_of, now};
use super::objects::NewObject;
use super::{Attempt, Storage, answer, caller, refused, signed, timestamp};
use crate::random_id::random_id;

/// Maximum size of an object.
const OBJECT_BYTES_MAX: u64 = 5 << 40;

/// Minimum size of each part but the last.
const PART_BYTES_MIN: u64 = 5 << 20;

/// Maximum number of parts.
const PARTS_MAX: i32 = 10_000;

/// A row of the table `upload`.
pub(super) struct Upload {
    pub(super) rank: i64,
    pub(super) id: String,
    pub(super) key: String,
    pub(super) started: i64,
    pub(super) attributes: Attributes,
}

/// A row of the table `part`.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) number: i32,
    file: String,
    pub(super) size: u64,
    pub(super) etag: String,
    pub(super) modified: i64,
    pub(super) checksum: checksum::Checksum,
}

pub(super) fn upload_of(row: &Row<'_>) -> rusqlite::Result<Upload> {
    let (rank, id, key) = (row.get(0)?, row.get(1)?, key_of(row, 2)?);
    Ok(Upload { rank, id, key, started: row.get(3)?, attributes: json_of(row, 4)? })
}

impl Upload {
    /// The algorithm of the object's checksum, and whether it is the checksum of the parts'
    /// checksums.
    pub(super) fn checksum(&self) -> (&'static str, bool) {
        let Attributes { checksum_algorithm, checksum_type, .. } = &self.attributes;
        let algorithm = checksum_algorithm.as_deref().and_then(|name| known(name).ok()).unwrap_or(DEFAULT_ALGORITHM);
        let default = if algorithm == DEFAULT_ALGORITHM { ChecksumType::FULL_OBJECT } else { ChecksumType::COMPOSITE };
        (algorithm, checksum_type.as_deref().unwrap_or(default) == ChecksumType::COMPOSITE)
    }
}

impl Index<'_> {
    pub(super) fn upload(&self, bucket: &str, key: &str, id: &str) -> Attempt<Upload> {
        self.bucket(bucket)?;
        let sql = "SELECT rank, id, key, started, attributes FROM upload WHERE id = ?1 AND bucket = ?2 AND key = ?3";
        let found = self.rows.query_row(sql, params![id, bucket, key.as_bytes()], upload_of).optional()?;
        found.ok_or_else(|| {
            let message = "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.";
            refused(S3ErrorCode::NoSuchUpload, message)
        })
    }

    pub(super) fn parts(&self, upload: &str) -> Attempt<Vec<Part>> {
        let sql = "SELECT number, file, size, etag, modified, checksum FROM part WHERE upload = ?1 ORDER BY number";
        let part = |row: &Row<'_>| {
            let size = row.get::<_, i64>(2)?.unsigned_abs();
            let (number, file, etag, modified) = (row.get(0)?, row.get(1)?, row.get(3)?, row.get(4)?);
            Ok(Part { number, file, size, etag, modified, checksum: json_of(row, 5)? })
        };
        Ok(self.rows.prepare_cached(sql)?.query_map([upload], part)?.collect::<Result<_, _>>()?)
    }

    /// Deletes an upload and its parts.
    pub(super) fn delete_upload(&mut self, id: &str) -> Attempt<()> {
        for part in self.parts(id)? {
            self.remove_file(Some(part.file));
        }
        self.rows.execute("DELETE FROM part WHERE upload = ?1", [id])?;
        self.rows.execute("DELETE FROM upload WHERE id = ?1", [id])?;
        Ok(())
    }

    fn put_part(&mut self, upload: &str, part: &Part) -> Attempt<()> {
        let replaced = "SELECT file FROM part WHERE upload = ?1 AND number = ?2";
        let replaced = self.rows.query_row(replaced, params![upload, part.number], |row| row.get(0)).optional()?;
        self.remove_file(replaced);
        let Part { number, file, size, etag, modified, checksum } = part;
        let checksum = serde_json::to_string(checksum)?;
        self.rows.execute(
            "INSERT OR REPLACE INTO part (upload, number, file, size, etag, modified, checksum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![upload, number, file, signed(*size), etag, modified, checksum],
        )?;
        Ok(())
    }
}

pub(super) async fn create(
    storage: &Storage,
    request: S3Request<CreateMultipartUploadInput>,
) -> Attempt<S3Response<CreateMultipartUploadOutput>> {
    let mut input = request.input;
    let mut attributes = attributes_of!(input);
    let algorithm = input.checksum_algorithm.as_ref().map(|name| known(name.as_str())).transpose()?;
    attributes.checksum_algorithm = algorithm.map(str::to_owned);
    attributes.checksum_type = input.checksum_type.as_ref().map(|name| name.as_str().to_owned());
    let only = match algorithm.unwrap_or(DEFAULT_ALGORITHM) {
        "SHA1" | "SHA256" => Some(ChecksumType::COMPOSITE),
        DEFAULT_ALGORITHM => Some(ChecksumType::FULL_OBJECT),
        _ => None,
    };
    if let (Some(wanted), Some(only)) = (&attributes.checksum_type, only)
        && wanted != only
    {
        let message = "The checksum type cannot be used with the specified checksum algorithm.";
        return Err(refused(S3ErrorCode::InvalidRequest, message));
    }
    let upload = Upload { rank: 0, id: random_id(), key: input.key.clone(), started: now(), attributes };
    let (bucket, key, id) = (input.bucket.clone(), input.key.clone(), upload.id.clone());
    let (encryption, kms_key) = (upload.attributes.shown_encryption(), upload.attributes.kms_key.clone());
    let insert = move |index: &mut Index<'_>| {
        index.bucket(&bucket)?;
        let attributes = serde_json::to_string(&upload.attributes)?;
        index.rows.execute(
            "INSERT INTO upload (id, bucket, key, started, attributes) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![upload.id, bucket, key.as_bytes(), upload.started, attributes],
        )?;
        Ok(())
    };
    storage.index(insert).await?;
    answer(CreateMultipartUploadOutput {
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(id),
        checksum_algorithm: input.checksum_algorithm,
        checksum_type: input.checksum_type,
        server_side_encryption: encryption,
        ssekms_key_id: kms_key,
        ..Default::default()
    })
}

/// The upload of a part that is to come.
async fn find(storage: &Storage, place: (String, String, String), number: i32) -> Attempt<Upload> {
    if !(1..=PARTS_MAX).contains(&number) {
        let message = "Part number must be an integer between 1 and 10000, inclusive";
        return Err(refused(S3ErrorCode::InvalidArgument, message));
    }
    storage.index(move |index| index.upload(&place.0, &place.1, &place.2)).await
}

/// Stores a received part.
async fn store(
    storage: &Storage,
    (bucket, key, upload): (String, String, String),
    number: i32,
    received: Received,
) -> Attempt<Part> {
    let Received { file, size, md5, checksum } = received;
    let part = Part { number, file: file.name.clone(), size, etag: hex(&md5), modified: now(), checksum };
    let stored = part.clone();
    let put = move |index: &mut Index<'_>| {
        index.upload(&bucket, &key, &upload)?;
        index.put_part(&upload, &stored)
    };
    storage.transaction(Some(file), put).await?;
    Ok(part)
}

pub(super) async fn part(
    storage: &Storage,
    request: S3Request<UploadPartInput>,
) -> Attempt<S3Response<UploadPartOutput>> {
    let input = request.input;
    if input.sse_customer_algorithm.is_some() {
        return Err(not_here("encryption with a customer's key (SSE-C)"));
    }
    let place = (input.bucket, input.key, input.upload_id);
    let upload = find(storage, place.clone(), input.part_number).await?;
    let expected = Expected::of(&request.headers, request.trailing_headers)?;
    if expected.length().is_none() {
        return Err(refused(S3ErrorCode::MissingContentLength, "You must provide the Content-Length HTTP header."));
    }
    let algorithm = upload.checksum().0;
    if upload.attributes.checksum_algorithm.is_some() && expected.algorithm().is_some_and(|own| own != algorithm) {
        let message = "The part's checksum algorithm is not the one of the upload.";
        return Err(refused(S3ErrorCode::InvalidRequest, message));
    }
    let body = input.body.unwrap_or_else(|| s3s::Body::empty().into());
    let received = storage.receive(body, expected.or(algorithm), BODY_BYTES_MAX).await?;
    let part = store(storage, place, input.part_number, received).await?;
    let output = UploadPartOutput {
        e_tag: Some(ETag::Strong(part.etag)),
        server_side_encryption: upload.attributes.shown_encryption(),
        ..Default::default()
    };
    answer(with_checksum!(output, part.checksum))
}

pub(super) async fn part_copy(
    storage: &Storage,
    request: S3Request<UploadPartCopyInput>,
) -> Attempt<S3Response<UploadPartCopyOutput>> {
    let reader = request.extensions.get().cloned();
    let mut input = request.input;
    let upload_place = (input.bucket, input.key, input.upload_id);
    let upload = find(storage, upload_place.clone(), input.part_number).await?;
    let conditions = source_conditions!(input);
    let opened = storage
        .open_object(reader, source(&input.copy_source)?, move |version| conditions.check_source(version))
        .await?;
    let size = opened.version.size;
    let bytes = match input.copy_source_range.as_deref() {
        None => 0..size,
        Some(text) => copied(text, size)?,
    };
    let body = files::read(opened.file, bytes.start, bytes.end - bytes.start).await?;
    let received = storage.receive(body, Expected::copy(upload.checksum().0), BODY_BYTES_MAX).await?;
    let part = store(storage, upload_place, input.part_number, received).await?;
    let result = CopyPartResult {
        e_tag: Some(ETag::Strong(part.etag)),
        last_modified: Some(timestamp(part.modified)),
        ..Default::default()
    };
    answer(UploadPartCopyOutput {
        copy_part_result: Some(with_checksum!(result, part.checksum)),
        copy_source_version_id: opened.shown_id,
        ..Default::default()
    })
}

/// The bytes of `x-amz-copy-source-range`, whose first and last byte must exist.
fn copied(text: &str, size: u64) -> Attempt<std::ops::Range<u64>> {
    let ends = text.strip_prefix("bytes=").and_then(|ends| ends.split_once('-'));
    match ends.and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))) {
        Some((first, last)) if first <= last && last < size => Ok(first..last + 1),
        Some(_) => Err(refused(S3ErrorCode::InvalidArgument, "Range specified is not valid for the source object")),
        None => {
            let message = "The x-amz-copy-source-range value must be of the form bytes=first-last";
            Err(refused(S3ErrorCode::InvalidArgument, message))
        }
    }
}

pub(super) async fn abort(
    storage: &Storage,
    request: S3Request<AbortMultipartUploadInput>,
) -> Attempt<S3Response<AbortMultipartUploadOutput>> {
    let AbortMultipartUploadInput { bucket, key, upload_id, .. } = request.input;
    let delete = move |index: &mut Index<'_>| {
        index.upload(&bucket, &key, &upload_id)?;
        index.delete_upload(&upload_id)
    };
    storage.index(delete).await?;
    answer(AbortMultipartUploadOutput::default())
}

/// The stored parts that the client lists.
fn listed(stored: &[Part], listed: &[CompletedPart]) -> Attempt<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::with_capacity(listed.len());
    for part in listed {
        let number = part.part_number.unwrap_or_default();
        if parts.last().is_some_and(|last| last.number >= number) {
            let message = "The list of parts was not in ascending order. The parts list must be specified in order by part number.";
            return Err(refused(S3ErrorCode::InvalidPartOrder, message));
        }
        let found = stored.iter().find(|stored| stored.number == number);
        let given = with_checksum!(checksum::Checksum::default(), part.clone());
        let same = |stored: &&Part| {
            part.e_tag.as_ref().is_some_and(|tag| tag.value() == stored.etag)
                && (value(&given).is_none() || value(&given) == value(&stored.checksum))
        };
        let Some(found) = found.filter(same) else {
            let message = "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.";
            return Err(refused(S3ErrorCode::InvalidPart, message));
        };
        parts.push(found.clone());
    }
    let others = parts.len().saturating_sub(1);
    if parts.iter().take(others).any(|part| part.size < PART_BYTES_MIN) {
        let message = "Your proposed upload is smaller than the minimum allowed size";
        return Err(refused(S3ErrorCode::EntityTooSmall, message));
    }
    Ok(parts)
}

pub(super) async fn complete(
    storage: &Storage,
    request: S3Request<CompleteMultipartUploadInput>,
) -> Attempt<S3Response<CompleteMultipartUploadOutput>> {
    let caller = caller(&request);
    let mut input = request.input;
    let list = input.multipart_upload.take().and_then(|upload| upload.parts).unwrap_or_default();
    if list.is_empty() || list.len() > PARTS_MAX.unsigned_abs() as usize {
        return Err(refused(S3ErrorCode::MalformedXML, "You must specify 1 to 10000 parts"));
    }
    let given = with_checksum!(checksum::Checksum::default(), input.clone());
    let conditions = WriteConditions::new(input.if_match.take(), input.if_none_match.take())?;
    let (bucket, key, id) = (input.bucket.clone(), input.key.clone(), input.upload_id.clone());
    let read = move |index: &mut Index<'_>| {
        let upload = index.upload(&bucket, &key, &id)?;
        let parts = listed(&index.parts(&id)?, &list)?;
        Ok((upload, parts))
    };
    let (upload, parts) = storage.index(read).await?;
    let size = parts.iter().map(|part| part.size).sum::<u64>();
    if input.mpu_object_size.is_some_and(|expected| expected != signed(size)) {
        let message = "The provided 'x-amz-mp-object-size' header does not match what was computed";
        return Err(refused(S3ErrorCode::InvalidRequest, message));
    }
    let (algorithm, is_composite) = upload.checksum();
    let files = storage.0.files.clone();
    let body = futures::stream::iter(parts.clone()).then(move |part| read_part(files.join(part.file), part.size));
    let body = pin!(body.try_flatten());
    let received = storage.receive(body, Expected::copy(algorithm), OBJECT_BYTES_MAX).await?;
    let of_parts: Vec<_> = parts.iter().map(|part| part.checksum.clone()).collect();
    let checksum = if is_composite { composite(algorithm, &of_parts)? } else { received.checksum.clone() };
    checksum::expect(&checksum, value(&given).map(|(_, value)| value))?;
    let mut tag = Md5::new();
    for part in &parts {
        tag.update(&unhex(&part.etag));
    }
    let etag = format!("{}-{}", hex(&tag.finalize()), parts.len());
    let stored = |part: Part| StoredPart { number: part.number, size: part.size, checksum: part.checksum };
    let attributes = Attributes {
        checksum: Some(checksum.clone()),
        parts: parts.into_iter().map(stored).collect(),
        ..upload.attributes
    };
    let (bucket, key) = (input.bucket.clone(), input.key.clone());
    let object = NewObject {
        bucket: input.bucket,
        key: input.key,
        etag,
        attributes,
        conditions,
        event: "ObjectCreated:CompleteMultipartUpload",
        reason: "CompleteMultipartUpload",
        caller,
    };
    let (again, id) = ((bucket.clone(), key.clone()), input.upload_id);
    let finish = move |index: &mut Index<'_>| {
        index.upload(&again.0, &again.1, &id)?;
        index.delete_upload(&id)
    };
    let (version, version_id) = storage.store(received, object, finish).await?;
    let output = CompleteMultipartUploadOutput {
        location: Some(format!("/{bucket}/{key}")),
        bucket: Some(bucket),
        key: Some(key),
        e_tag: Some(ETag::Strong(version.etag.clone())),
        checksum_type: checksum.shown_type(),
        server_side_encryption: version.attributes.shown_encryption(),
        version_id,
        ..Default::default()
    };
    answer(with_checksum!(output, checksum))
}

async fn read_part(path: PathBuf, size: u64) -> std::io::Result<impl Stream<Item = std::io::Result<Bytes>>> {
    let file = std::fs::File::open(path)?;
    files::read(file, 0, size).await.map_err(|failure| std::io::Error::other(failure.0))
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |index: usize| text.get(index..index + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    (0..text.len()).step_by(2).filter_map(digit).collect()
}
