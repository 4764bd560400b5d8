//! Checksums of bodies: computed for each upload, and compared with those that the client sends.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html>.

use axum::http::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use s3s::checksum::ChecksumHasher;
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::ChecksumType;
use s3s::{S3Error, S3ErrorCode, TrailingHeaders};
use serde::{Deserialize, Serialize};

use super::{Attempt, refused};

/// The algorithms, and the headers with their values.
const ALGORITHMS: [(&str, &str); 5] = [
    ("CRC32", "x-amz-checksum-crc32"),
    ("CRC32C", "x-amz-checksum-crc32c"),
    ("CRC64NVME", "x-amz-checksum-crc64nvme"),
    ("SHA1", "x-amz-checksum-sha1"),
    ("SHA256", "x-amz-checksum-sha256"),
];

/// What S3 computes if the client names no algorithm.
pub(super) const DEFAULT_ALGORITHM: &str = "CRC64NVME";

/// Copies the five values into an output or an item of a list.
macro_rules! with_checksum {
    ($output:expr, $checksum:expr) => {{
        let (mut output, checksum) = ($output, $checksum);
        output.checksum_crc32 = checksum.checksum_crc32;
        output.checksum_crc32c = checksum.checksum_crc32c;
        output.checksum_crc64nvme = checksum.checksum_crc64nvme;
        output.checksum_sha1 = checksum.checksum_sha1;
        output.checksum_sha256 = checksum.checksum_sha256;
        output
    }};
}
pub(super) use with_checksum;

/// The checksum of an object or a part: at most one value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Checksum {
    pub(super) checksum_crc32: Option<String>,
    pub(super) checksum_crc32c: Option<String>,
    pub(super) checksum_crc64nvme: Option<String>,
    pub(super) checksum_sha1: Option<String>,
    pub(super) checksum_sha256: Option<String>,
    /// `FULL_OBJECT` or `COMPOSITE`.
    checksum_type: Option<String>,
}

/// What a body must be.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// Computed, whether the client sends a value or not.
    algorithm: Option<&'static str>,
    value: Option<String>,
    trailers: Option<TrailingHeaders>,
    md5: Option<String>,
    length: Option<u64>,
}

/// Computes the MD5 and the checksum of a body.
pub(super) struct Hasher {
    md5: Md5,
    checksum: ChecksumHasher,
    algorithm: &'static str,
}

impl Checksum {
    pub(super) fn shown_type(&self) -> Option<ChecksumType> {
        self.checksum_type.clone().map(Into::into)
    }
}

impl Expected {
    /// What the headers of an upload say about its body.
    pub(super) fn of(headers: &HeaderMap, trailers: Option<TrailingHeaders>) -> Attempt<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let trailer = text("x-amz-trailer").unwrap_or_default();
        let mut named = ALGORITHMS.iter().filter(|(_, header)| {
            headers.contains_key(*header) || trailer.split(',').any(|name| name.trim().eq_ignore_ascii_case(header))
        });
        let first = named.next();
        if named.next().is_some() {
            return Err(refused(
                S3ErrorCode::InvalidRequest,
                "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
            ));
        }
        let algorithm = match (first, text("x-amz-sdk-checksum-algorithm")) {
            (Some((name, _)), _) => Some(*name),
            (None, Some(name)) => Some(known(name)?),
            (None, None) => None,
        };
        let length = ["x-amz-decoded-content-length", "content-length"].into_iter().find_map(text);
        Ok(Self {
            algorithm,
            value: first.and_then(|(_, header)| text(header)).map(str::to_owned),
            trailers,
            md5: text("content-md5").map(str::to_owned),
            length: length.and_then(|length| length.parse().ok()),
        })
    }

    /// A body that comes from this storage.
    pub(super) fn copy(algorithm: &'static str) -> Self {
        Self { algorithm: Some(algorithm), ..Self::default() }
    }

    /// Computes this algorithm if the client names none.
    pub(super) fn or(self, algorithm: &'static str) -> Self {
        Self { algorithm: self.algorithm.or(Some(algorithm)), ..self }
    }

    pub(super) fn algorithm(&self) -> Option<&'static str> {
        self.algorithm
    }

    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }

    pub(super) fn hasher(&self) -> Hasher {
        let algorithm = self.algorithm.unwrap_or(DEFAULT_ALGORITHM);
        let mut checksum = ChecksumHasher::default();
        match algorithm {
            "CRC32" => checksum.crc32 = Some(Default::default()),
            "CRC32C" => checksum.crc32c = Some(Default::default()),
            "SHA1" => checksum.sha1 = Some(Default::default()),
            "SHA256" => checksum.sha256 = Some(Default::default()),
            _ => checksum.crc64nvme = Some(Default::default()),
        }
        Hasher { md5: Md5::new(), checksum, algorithm }
    }

    /// Compares a body that was read to its end. Returns its MD5 and its checksum.
    pub(super) fn verify(self, hasher: Hasher, size: u64) -> Attempt<([u8; 16], Checksum)> {
        if self.length.is_some_and(|length| length != size) {
            return Err(refused(
                S3ErrorCode::IncompleteBody,
                "You did not provide the number of bytes specified by the Content-Length HTTP header",
            ));
        }
        let md5 = hasher.md5.finalize();
        if let Some(expected) = self.md5 {
            match BASE64_STANDARD.decode(expected) {
                Ok(expected) if expected == md5 => {}
                Ok(expected) if expected.len() == md5.len() => {
                    return Err(refused(
                        S3ErrorCode::BadDigest,
                        "The Content-MD5 you specified did not match what we received.",
                    ));
                }
                _ => {
                    return Err(refused(S3ErrorCode::InvalidDigest, "The Content-MD5 you specified was invalid."));
                }
            }
        }
        let full = Some(ChecksumType::FULL_OBJECT.to_owned());
        let checksum = Checksum { checksum_type: full, ..Checksum::default() };
        let checksum = with_checksum!(checksum, hasher.checksum.finalize());
        let header = ALGORITHMS.iter().find(|(name, _)| *name == hasher.algorithm).map_or("", |(_, header)| header);
        let trailing = self.trailers.and_then(|trailers| trailers.take());
        let trailing = trailing.as_ref().and_then(|trailers| trailers.get(header)?.to_str().ok());
        let expected = self.value.as_deref().or(trailing);
        expect(&checksum, expected)?;
        Ok((md5, checksum))
    }
}

impl Hasher {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.md5.update(bytes);
        self.checksum.update(bytes);
    }
}

/// Refuses a value that the client sent and that is not the computed one.
pub(super) fn expect(checksum: &Checksum, expected: Option<&str>) -> Attempt<()> {
    let Some((algorithm, value)) = value(checksum) else { return Ok(()) };
    if expected.is_none_or(|expected| expected == value) {
        return Ok(());
    }
    let message = format!("The {algorithm} you specified did not match the calculated checksum.");
    Err(S3Error::with_message(S3ErrorCode::BadDigest, message).into())
}

/// The algorithm of this name.
pub(super) fn known(name: &str) -> Attempt<&'static str> {
    let found = ALGORITHMS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(known, _)| *known).ok_or_else(|| {
        refused(S3ErrorCode::InvalidRequest, "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]")
    })
}

/// The algorithm and the value of a checksum.
pub(super) fn value(checksum: &Checksum) -> Option<(&'static str, &str)> {
    let values = [
        &checksum.checksum_crc32,
        &checksum.checksum_crc32c,
        &checksum.checksum_crc64nvme,
        &checksum.checksum_sha1,
        &checksum.checksum_sha256,
    ];
    ALGORITHMS.iter().zip(values).find_map(|((name, _), value)| Some((*name, value.as_deref()?)))
}

/// The checksum of a multipart object of type `COMPOSITE`: the checksum of its parts' checksums.
pub(super) fn composite(algorithm: &'static str, parts: &[Checksum]) -> Attempt<Checksum> {
    let mut hasher = Expected::copy(algorithm).hasher();
    for part in parts {
        let bytes = value(part).and_then(|(_, value)| BASE64_STANDARD.decode(value).ok());
        hasher.update(&bytes.unwrap_or_default());
    }
    let (_, mut checksum) = Expected::default().verify(hasher, 0)?;
    let fields = [
        &mut checksum.checksum_crc32,
        &mut checksum.checksum_crc32c,
        &mut checksum.checksum_crc64nvme,
        &mut checksum.checksum_sha1,
        &mut checksum.checksum_sha256,
    ];
    for field in fields.into_iter().flatten() {
        *field += &format!("-{}", parts.len());
    }
    checksum.checksum_type = Some(ChecksumType::COMPOSITE.to_owned());
    Ok(checksum)
}

/// The bytes as lower-case hexadecimal digits, as in an entity tag.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
