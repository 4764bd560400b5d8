//! The HTTP response of a function that streams its result: a prelude with status and headers, eight
//! zero bytes, and the body.

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream;

use super::errors::GatewayError;
use super::integration_response;
use crate::functions::{PRELUDE_END_BYTES, ResultStream, WITH_PRELUDE};

/// What ends a prelude.
const SEPARATOR: [u8; PRELUDE_END_BYTES] = [0; PRELUDE_END_BYTES];

/// The most bytes of a prelude. Headers that are longer than that reach no client.
const PRELUDE_BYTES_MAX: usize = 128 * 1024;

/// The response for a streamed result. `is_streamed`: the client gets each part when the function
/// sends it, and an error ends the connection. Otherwise it gets the whole body, or a failure.
pub(super) async fn of(mut parts: ResultStream, is_streamed: bool) -> Result<Response<Body>, GatewayError> {
    let (mut response, begun) = if parts.content_type.as_ref().is_some_and(|value| value == WITH_PRELUDE) {
        match prelude(&mut parts).await {
            Ok(read) => read,
            Err(why) => {
                tracing::error!("the function's stream has no usable prelude: {why}");
                return Err(GatewayError::FunctionFailed);
            }
        }
    } else {
        let mut response = Response::new(Body::empty());
        if let Some(content_type) = parts.content_type.clone() {
            response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        }
        (response, Bytes::new())
    };
    let octets = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().entry(header::CONTENT_TYPE).or_insert(octets);
    if !is_streamed {
        return match parts.joined().await {
            Ok(rest) => Ok(response.map(|_| Body::from([begun, rest].concat()))),
            Err(_) => Err(GatewayError::FunctionFailed),
        };
    }
    let rest = parts.into_stream().map(|part| part.map_err(|error| error.message()));
    let first = stream::iter((!begun.is_empty()).then_some(Ok(begun)));
    Ok(response.map(|_| Body::from_stream(first.chain(rest))))
}

/// Reads a prelude: the response without its body, and the part of the body that came with it.
async fn prelude(parts: &mut ResultStream) -> Result<(Response<Body>, Bytes), String> {
    let mut read = BytesMut::new();
    let end = loop {
        let part = parts.next().await.ok_or("it ends before eight zero bytes")?;
        let searched = read.len().saturating_sub(SEPARATOR.len());
        read.extend_from_slice(&part.map_err(|error| error.message())?);
        let found = read[searched..].windows(SEPARATOR.len()).position(|bytes| bytes == SEPARATOR);
        match found {
            Some(found) => break searched + found,
            None if read.len() > PRELUDE_BYTES_MAX => return Err(format!("it has over {PRELUDE_BYTES_MAX} bytes")),
            None => {}
        }
    };
    let prelude = read.split_to(end);
    Ok((integration_response::of_prelude(&prelude)?, read.freeze().split_off(SEPARATOR.len())))
}
