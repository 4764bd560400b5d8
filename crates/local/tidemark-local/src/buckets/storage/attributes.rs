//! What an object keeps beside its bytes.

use std::collections::HashMap;

use s3s::dto::{ServerSideEncryption, StorageClass, Tag, Timestamp};
use s3s::{S3Error, S3ErrorCode};
use serde::{Deserialize, Serialize};

use super::checksum::Checksum;
use super::{Attempt, refused};

/// Maximum size of the user's metadata.
const METADATA_BYTES_MAX: usize = 2048;

/// Maximum number of tags of an object, and of a bucket.
pub(super) const OBJECT_TAGS_MAX: usize = 10;
pub(super) const BUCKET_TAGS_MAX: usize = 50;

/// The attributes of an object, and of an upload that becomes one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Attributes {
    pub(super) cache_control: Option<String>,
    pub(super) content_disposition: Option<String>,
    pub(super) content_encoding: Option<String>,
    pub(super) content_language: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) expires: Option<Timestamp>,
    pub(super) website_redirect_location: Option<String>,
    pub(super) metadata: Option<HashMap<String, String>>,
    pub(super) storage_class: Option<StorageClass>,
    pub(super) encryption: Option<ServerSideEncryption>,
    pub(super) kms_key: Option<String>,
    pub(super) bucket_key: Option<bool>,
    pub(super) tags: Vec<Tag>,
    /// Of an upload: algorithm and type that its creation names.
    pub(super) checksum_algorithm: Option<String>,
    pub(super) checksum_type: Option<String>,
    pub(super) checksum: Option<Checksum>,
    /// Of a multipart object.
    pub(super) parts: Vec<StoredPart>,
}

/// A part of a multipart object.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredPart {
    pub(super) number: i32,
    pub(super) size: u64,
    pub(super) checksum: Checksum,
}

/// Reads the attributes from the input of an operation.
macro_rules! attributes_of {
    ($input:expr) => {{
        let input = &mut $input;
        if input.sse_customer_algorithm.is_some() || input.sse_customer_key.is_some() {
            return Err($crate::buckets::storage::attributes::not_here("encryption with a customer's key (SSE-C)"));
        }
        if input.object_lock_mode.is_some() || input.object_lock_legal_hold_status.is_some() {
            return Err($crate::buckets::storage::attributes::not_here("object lock"));
        }
        $crate::buckets::storage::attributes::Attributes {
            cache_control: input.cache_control.take(),
            content_disposition: input.content_disposition.take(),
            content_encoding: input.content_encoding.take(),
            content_language: input.content_language.take(),
            content_type: input.content_type.take(),
            expires: input.expires.take(),
            website_redirect_location: input.website_redirect_location.take(),
            metadata: input.metadata.take(),
            storage_class: input.storage_class.take(),
            encryption: input.server_side_encryption.take(),
            kms_key: input.ssekms_key_id.take(),
            bucket_key: input.bucket_key_enabled.take(),
            tags: $crate::buckets::storage::attributes::tags_of_header(input.tagging.as_deref())?,
            ..Default::default()
        }
        .checked()?
    }};
}
pub(super) use attributes_of;

impl Attributes {
    /// Refuses what S3 refuses.
    pub(super) fn checked(mut self) -> Attempt<Self> {
        let bytes = self.metadata.iter().flatten().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        if bytes > METADATA_BYTES_MAX {
            return Err(refused(
                S3ErrorCode::MetadataTooLarge,
                "Your metadata headers exceed the maximum allowed metadata size",
            ));
        }
        let classes = [
            StorageClass::STANDARD,
            StorageClass::REDUCED_REDUNDANCY,
            StorageClass::STANDARD_IA,
            StorageClass::ONEZONE_IA,
            StorageClass::INTELLIGENT_TIERING,
            StorageClass::GLACIER_IR,
        ];
        match &self.storage_class {
            Some(class) if [StorageClass::GLACIER, StorageClass::DEEP_ARCHIVE].contains(&class.as_str()) => {
                return Err(not_here("a storage class that needs a restore"));
            }
            Some(class) if !classes.contains(&class.as_str()) => {
                return Err(refused(S3ErrorCode::InvalidStorageClass, "The storage class you specified is not valid"));
            }
            _ => {}
        }
        // Tells of the form of the request's body, and is not the object's.
        self.content_encoding = self.content_encoding.take().and_then(|encoding| {
            let kept: Vec<_> = encoding.split(',').map(str::trim).filter(|coding| *coding != "aws-chunked").collect();
            Some(kept.join(",")).filter(|kept| !kept.is_empty())
        });
        Ok(self)
    }

    /// The encryption that answers name; S3 encrypts each object.
    pub(super) fn shown_encryption(&self) -> Option<ServerSideEncryption> {
        let default = || ServerSideEncryption::from_static(ServerSideEncryption::AES256);
        Some(self.encryption.clone().unwrap_or_else(default))
    }

    /// The storage class in a header, which S3 omits for the standard one.
    pub(super) fn shown_class(&self) -> Option<StorageClass> {
        self.storage_class.clone().filter(|class| class.as_str() != StorageClass::STANDARD)
    }

    /// The storage class in a list.
    pub(super) fn class(&self) -> String {
        self.storage_class.as_ref().map_or(StorageClass::STANDARD, StorageClass::as_str).to_owned()
    }
}

/// The error for a part of S3 that the local stack does not have.
pub(super) fn not_here(part: &str) -> super::Failure {
    S3Error::with_message(S3ErrorCode::NotImplemented, format!("The local stack does not have {part}.")).into()
}

/// The tags of `x-amz-tagging`, in the form of a query.
pub(super) fn tags_of_header(header: Option<&str>) -> Attempt<Vec<Tag>> {
    let pairs = form_urlencoded::parse(header.unwrap_or_default().as_bytes());
    let tag = |(key, value): (_, _)| Tag { key: Some(String::from(key)), value: Some(String::from(value)) };
    checked_tags(pairs.map(tag).collect(), OBJECT_TAGS_MAX)
}

/// Refuses the tags that S3 refuses.
pub(super) fn checked_tags(tags: Vec<Tag>, max: usize) -> Attempt<Vec<Tag>> {
    if tags.len() > max {
        return Err(refused(S3ErrorCode::InvalidTag, "There are more tags than S3 allows"));
    }
    for (index, tag) in tags.iter().enumerate() {
        let chars = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
        if !(1..=128).contains(&chars(&tag.key)) || chars(&tag.value) > 256 {
            return Err(refused(S3ErrorCode::InvalidTag, "The tag's key or value has a length that S3 does not allow"));
        }
        if tags[..index].iter().any(|other| other.key == tag.key) {
            return Err(refused(S3ErrorCode::InvalidTag, "Cannot provide multiple Tags with the same key"));
        }
    }
    Ok(tags)
}
