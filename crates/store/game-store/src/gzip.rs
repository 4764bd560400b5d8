//! Batches of strokes, compressed: they are most of what a game stores, and DynamoDB bills a write
//! by the kilobyte.

use std::io::{Read, Write};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use store_base::StoreError;

/// Without a time in its header, so that the same text is the same bytes.
pub(super) fn pack(text: &str) -> Result<Vec<u8>, StoreError> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    let written = encoder.write_all(text.as_bytes());
    written.and_then(|()| encoder.finish()).map_err(StoreError::unreadable)
}

/// The text, if it has at most `bytes_max` bytes: few compressed bytes can hold very many.
pub(super) fn unpack(gzip: &[u8], bytes_max: usize) -> Result<String, StoreError> {
    let mut text = String::new();
    let mut decoder = GzDecoder::new(gzip).take(bytes_max as u64 + 1);
    decoder.read_to_string(&mut text).map_err(StoreError::unreadable)?;
    if text.len() > bytes_max {
        return Err(StoreError::unreadable(format!("more than {bytes_max} bytes come out of {}", gzip.len())));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again_up_to_a_limit() {
        let gzip = pack("0".repeat(100).as_str()).expect("bytes");
        assert_eq!(unpack(&gzip, 100).expect("text"), "0".repeat(100));
        assert!(matches!(unpack(&gzip, 99), Err(StoreError::Unreadable(_))));
        assert!(matches!(unpack(b"no gzip", 99), Err(StoreError::Unreadable(_))));
    }
}
