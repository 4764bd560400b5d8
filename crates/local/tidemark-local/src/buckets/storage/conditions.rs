//! Conditional requests.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html>.

use axum::http::{HeaderMap, HeaderValue, header};
use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode};

use super::attributes::not_here;
use super::index::Version;
use super::{Attempt, Failure, refused, timestamp};

/// The conditions of a read.
#[derive(Debug, Default)]
pub(super) struct ReadConditions {
    pub(super) if_match: Option<ETagCondition>,
    pub(super) if_none_match: Option<ETagCondition>,
    pub(super) if_modified_since: Option<Timestamp>,
    pub(super) if_unmodified_since: Option<Timestamp>,
}

/// The conditions of a write or a deletion.
#[derive(Debug, Default)]
pub(super) struct WriteConditions {
    if_match: Option<ETagCondition>,
    if_none: bool,
}

impl ReadConditions {
    /// Fails with 412 or 304 if a condition is not met.
    pub(super) fn check(&self, version: &Version) -> Attempt<()> {
        let modified = timestamp(version.modified);
        let met = match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) => is(condition, version),
            (None, Some(since)) => modified <= *since,
            (None, None) => true,
        };
        if !met {
            return Err(unmet());
        }
        let changed = match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) => !is(condition, version),
            (None, Some(since)) => modified > *since,
            (None, None) => true,
        };
        if changed { Ok(()) } else { Err(not_modified(version)) }
    }

    /// The same for the source of a copy, which always fails with 412.
    pub(super) fn check_source(&self, version: &Version) -> Attempt<()> {
        self.check(version).map_err(|_| unmet())
    }
}

impl WriteConditions {
    /// The conditions of these headers. S3 knows only `*` for `If-None-Match`.
    pub(super) fn new(if_match: Option<ETagCondition>, if_none_match: Option<ETagCondition>) -> Attempt<Self> {
        match if_none_match {
            Some(ETagCondition::ETag(_)) => Err(not_here("If-None-Match with an entity tag for a write, as S3 itself")),
            condition => Ok(Self { if_match, if_none: condition.is_some() }),
        }
    }

    pub(super) fn check_write(&self, current: Option<&Version>) -> Attempt<()> {
        match (&self.if_match, current) {
            (Some(_), None) => Err(S3ErrorCode::NoSuchKey.into()),
            (Some(condition), Some(current)) if !is(condition, current) => Err(unmet()),
            _ if self.if_none && current.is_some() => Err(unmet()),
            _ => Ok(()),
        }
    }

    pub(super) fn check_delete(&self, current: Option<&Version>) -> Attempt<()> {
        match (&self.if_match, current) {
            (Some(condition), current) if !current.is_some_and(|current| is(condition, current)) => Err(unmet()),
            _ => Ok(()),
        }
    }
}

fn is(condition: &ETagCondition, version: &Version) -> bool {
    condition.as_etag().is_none_or(|tag| tag.value() == version.etag)
}

fn unmet() -> Failure {
    refused(S3ErrorCode::PreconditionFailed, "At least one of the pre-conditions you specified did not hold")
}

fn not_modified(version: &Version) -> Failure {
    let mut error = S3Error::new(S3ErrorCode::NotModified);
    let tag = ETag::Strong(version.etag.clone()).to_http_header();
    error.set_headers(HeaderMap::from_iter(tag.ok().map(|tag: HeaderValue| (header::ETAG, tag))));
    error.into()
}
