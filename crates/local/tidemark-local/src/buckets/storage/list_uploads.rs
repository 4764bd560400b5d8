//! Lists of multipart uploads and of their parts.

use rusqlite::{OptionalExtension, params};
use s3s::dto::*;
use s3s::{S3Request, S3Response};

use super::checksum::with_checksum;
use super::index::Index;
use super::list::{Position, Query, common_prefixes, encode, owner};
use super::uploads::{Upload, upload_of};
use super::{Attempt, Storage, answer, signed, timestamp};

pub(super) async fn uploads(
    storage: &Storage,
    request: S3Request<ListMultipartUploadsInput>,
) -> Attempt<S3Response<ListMultipartUploadsOutput>> {
    let input = request.input;
    let encoding = input.encoding_type.as_ref();
    let query = Query::new(input.prefix.clone(), input.delimiter.clone(), input.max_uploads)?;
    let query = query.after(input.key_marker.as_deref());
    let max_uploads = i32::try_from(query.max).ok();
    let (bucket, key, id) = (input.bucket.clone(), input.key_marker.clone(), input.upload_id_marker.clone());
    let read = move |index: &mut Index<'_>| {
        index.bucket(&bucket)?;
        let start = match (key, id.filter(|id| !id.is_empty())) {
            (Some(key), Some(id)) => {
                let rank = index.upload(&bucket, &key, &id)?.rank;
                Some(Position { key: key.into_bytes(), rank })
            }
            _ => None,
        };
        let sql = "SELECT rank, id, key, started, attributes FROM upload
                   WHERE bucket = ?1 AND (key, rank) > (?2, ?3) ORDER BY key, rank LIMIT 1";
        query.from(start).read(|position| {
            let mut statement = index.rows.prepare_cached(sql)?;
            let found = statement.query_row(params![bucket, position.key, position.rank], upload_of).optional()?;
            Ok(found.map(|upload| {
                let after = Position { key: upload.key.clone().into_bytes(), rank: upload.rank };
                (upload.key.clone(), after, Some(upload))
            }))
        })
    };
    let page = storage.index(read).await?;
    let more = page.next.is_some();
    let last = page.entries.last().filter(|_| page.last_is_entry);
    let next_key = last.map(|upload| upload.key.clone()).or(page.prefixes.last().cloned());
    let next_id = last.map(|upload| upload.id.clone());
    let shown = |upload: Upload| MultipartUpload {
        checksum_algorithm: upload.attributes.checksum_algorithm.clone().map(Into::into),
        checksum_type: upload.attributes.checksum_type.clone().map(Into::into),
        initiated: Some(timestamp(upload.started)),
        key: Some(encode(upload.key, encoding)),
        owner: Some(owner()),
        storage_class: Some(upload.attributes.class().into()),
        upload_id: Some(upload.id),
        ..Default::default()
    };
    answer(ListMultipartUploadsOutput {
        uploads: Some(page.entries.into_iter().map(shown).collect()),
        common_prefixes: common_prefixes(page.prefixes, encoding),
        is_truncated: Some(more),
        max_uploads,
        next_key_marker: next_key.filter(|_| more).map(|text| encode(text, encoding)),
        next_upload_id_marker: next_id.filter(|_| more),
        bucket: Some(input.bucket),
        delimiter: input.delimiter.map(|text| encode(text, encoding)),
        key_marker: Some(encode(input.key_marker.unwrap_or_default(), encoding)),
        upload_id_marker: input.upload_id_marker,
        prefix: Some(encode(input.prefix.unwrap_or_default(), encoding)),
        encoding_type: input.encoding_type,
        ..Default::default()
    })
}

pub(super) async fn parts(
    storage: &Storage,
    request: S3Request<ListPartsInput>,
) -> Attempt<S3Response<ListPartsOutput>> {
    let input = request.input;
    let (bucket, key, id) = (input.bucket.clone(), input.key.clone(), input.upload_id.clone());
    let read = move |index: &mut Index<'_>| Ok((index.upload(&bucket, &key, &id)?, index.parts(&id)?));
    let (upload, parts) = storage.index(read).await?;
    let max = input.max_parts.unwrap_or(1000).clamp(0, 1000);
    let after = input.part_number_marker.unwrap_or_default();
    let mut rest = parts.into_iter().filter(|part| part.number > after);
    let shown = |part: super::uploads::Part| {
        let shown = Part {
            e_tag: Some(ETag::Strong(part.etag)),
            last_modified: Some(timestamp(part.modified)),
            part_number: Some(part.number),
            size: Some(signed(part.size)),
            ..Default::default()
        };
        with_checksum!(shown, part.checksum)
    };
    let page: Vec<Part> = rest.by_ref().take(max.unsigned_abs() as usize).map(shown).collect();
    answer(ListPartsOutput {
        is_truncated: Some(rest.next().is_some()),
        next_part_number_marker: page.last().and_then(|part| part.part_number),
        parts: Some(page),
        max_parts: Some(max),
        part_number_marker: Some(after),
        bucket: Some(input.bucket),
        key: Some(input.key),
        upload_id: Some(input.upload_id),
        owner: Some(owner()),
        checksum_algorithm: upload.attributes.checksum_algorithm.clone().map(Into::into),
        checksum_type: upload.attributes.checksum_type.clone().map(Into::into),
        storage_class: Some(upload.attributes.class().into()),
        ..Default::default()
    })
}
