//! Compresses large replies for clients that accept it.

use std::io::Write;

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderValue, header};
use http_body_util::BodyExt;

use crate::{api, proxy};

/// DynamoDB compresses replies from this size on.
const SIZE_BYTES_MIN: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Gzip,
    Deflate,
}

impl Encoding {
    /// The encoding with the highest weight in `Accept-Encoding`. Of equal ones, the first wins; a
    /// named one wins over `*`.
    pub(crate) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let offers: Vec<(String, f32)> = values.flat_map(|value| value.split(',')).map(offer).collect();
        let weight = |name: &str| offers.iter().position(|(offered, _)| offered == name).map(|at| (at, offers[at].1));
        let candidates = [(Self::Gzip, "gzip"), (Self::Deflate, "deflate")];
        let candidates = candidates.into_iter().filter_map(|(encoding, name)| {
            let (place, weight) = weight(name).or_else(|| weight("*").map(|(_, weight)| (offers.len(), weight)))?;
            (weight > 0.0).then_some((encoding, place, weight))
        });
        let best = candidates.reduce(|best, next| {
            let is_better = next.2 > best.2 || next.2 >= best.2 && next.1 < best.1;
            if is_better { next } else { best }
        });
        best.map(|(encoding, ..)| encoding)
    }

    fn compress(self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        match self {
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Self::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// A name and its weight, such as `gzip;q=0.5`.
fn offer(text: &str) -> (String, f32) {
    let (name, parameter) = text.split_once(';').unwrap_or((text, ""));
    let weight = parameter.split_once('=').filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let weight = weight.map_or(Ok(1.0), |(_, weight)| weight.trim().parse()).unwrap_or_default();
    (name.trim().to_ascii_lowercase(), weight)
}

/// The response, compressed if it is large.
pub(crate) async fn encoded(response: Response, encoding: Encoding) -> Response {
    let length = response.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let length = length.or_else(|| HttpBody::size_hint(response.body()).exact());
    if length.is_none_or(|length: u64| length < SIZE_BYTES_MIN) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return api::ApiError::internal(error).into_response(),
    };
    let compress = move || encoding.compress(&body).map(Bytes::from).map_err(|error| error.to_string());
    match tokio::task::spawn_blocking(compress).await.map_err(|error| error.to_string()).flatten() {
        Ok(body) => {
            let name = if encoding == Encoding::Gzip { "gzip" } else { "deflate" };
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
            proxy::replaced(&mut parts.headers, &body);
            Response::from_parts(parts, Body::from(body))
        }
        Err(error) => api::ApiError::internal(error).into_response(),
    }
}
