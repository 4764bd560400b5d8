//! Reads and decodes the body of a request.

use std::io::Read;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http::{HeaderMap, header};
use http_body_util::BodyExt;

use crate::api::ApiError;

/// DynamoDB's maximum size of a request.
const SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How much of a larger request is read and dropped. A client that is still sending could not read
/// the reply.
const DROPPED_BYTES_MAX: usize = 4 * SIZE_BYTES_MAX;

/// The body of a request, without its content encoding.
pub(crate) async fn read(headers: &mut HeaderMap, mut body: Body) -> Result<Bytes, ApiError> {
    let mut bytes = BytesMut::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ApiError::validation(format!("The request cannot be read: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        size += data.len();
        if size <= SIZE_BYTES_MAX {
            bytes.extend_from_slice(&data);
        } else if size > DROPPED_BYTES_MAX {
            break;
        }
    }
    if size > SIZE_BYTES_MAX {
        return Err(ApiError::too_large());
    }
    match headers.remove(header::CONTENT_ENCODING) {
        None => Ok(bytes.freeze()),
        Some(encoding) if encoding.as_bytes().eq_ignore_ascii_case(b"gzip") => decompressed(bytes.freeze()).await,
        // DynamoDB answers an unknown encoding and a broken one with a 500.
        Some(_) => Err(ApiError::internal_on_purpose()),
    }
}

async fn decompressed(compressed: Bytes) -> Result<Bytes, ApiError> {
    let read = move || {
        let mut bytes = Vec::new();
        let limit = u64::try_from(SIZE_BYTES_MAX + 1).unwrap_or(u64::MAX);
        MultiGzDecoder::new(compressed.as_ref()).take(limit).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = tokio::task::spawn_blocking(read).await.map_err(ApiError::internal)?;
    let bytes = bytes.map_err(|_| ApiError::internal_on_purpose())?;
    if bytes.len() > SIZE_BYTES_MAX { Err(ApiError::too_large()) } else { Ok(Bytes::from(bytes)) }
}
