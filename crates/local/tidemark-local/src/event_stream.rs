//! The framing of AWS's event streams.
//!
//! Source: <https://smithy.io/2.0/aws/amazon-eventstream.html>.

use bytes::{BufMut, Bytes, BytesMut};

/// The type of a header whose value is text.
const TEXT: u8 = 7;

/// The bytes of a message beside headers and payload: two lengths and two checksums.
const FRAME_BYTES: usize = 16;

/// A message with an event of this type. Names and values of headers are short here, and a payload is
/// at most that of an invocation, so each length fits.
pub(crate) fn message(event_type: &str, content_type: &str, payload: &[u8]) -> Bytes {
    let mut headers = BytesMut::new();
    for (name, value) in [(":message-type", "event"), (":event-type", event_type), (":content-type", content_type)] {
        headers.put_u8(u8::try_from(name.len()).unwrap_or(u8::MAX));
        headers.put_slice(name.as_bytes());
        headers.put_u8(TEXT);
        headers.put_u16(u16::try_from(value.len()).unwrap_or(u16::MAX));
        headers.put_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let mut message = BytesMut::new();
    message.put_u32(length(FRAME_BYTES + headers.len() + payload.len()));
    message.put_u32(length(headers.len()));
    message.put_u32(crc32fast::hash(&message));
    message.put_slice(&headers);
    message.put_slice(payload);
    message.put_u32(crc32fast::hash(&message));
    message.freeze()
}
