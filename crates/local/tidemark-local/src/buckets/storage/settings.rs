//! Buckets and their settings, and tags of objects.

use rusqlite::params;
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Request, S3Response};

use super::attributes::{BUCKET_TAGS_MAX, OBJECT_TAGS_MAX, checked_tags, not_here};
use super::index::{Index, Version, bucket_of, now};
use super::{Attempt, Storage, answer, caller, refused, timestamp};
use crate::arn;
use crate::stack::CorsRule;

/// Maximum number of CORS rules of a bucket.
const CORS_RULES_MAX: usize = 100;

pub(super) async fn create_bucket(
    storage: &Storage,
    request: S3Request<CreateBucketInput>,
) -> Attempt<S3Response<CreateBucketOutput>> {
    let input = request.input;
    if input.object_lock_enabled_for_bucket == Some(true) {
        return Err(not_here("object lock"));
    }
    let location = format!("/{}", input.bucket);
    let create = move |index: &mut Index<'_>| {
        let sql = "INSERT INTO bucket (name, created) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        match index.rows.execute(sql, params![input.bucket, now()])? {
            0 => Err(refused(
                S3ErrorCode::BucketAlreadyOwnedByYou,
                "Your previous request to create the named bucket succeeded and you already own it.",
            )),
            _ => Ok(()),
        }
    };
    storage.index(create).await?;
    answer(CreateBucketOutput { location: Some(location) })
}

pub(super) async fn delete_bucket(
    storage: &Storage,
    request: S3Request<DeleteBucketInput>,
) -> Attempt<S3Response<DeleteBucketOutput>> {
    let delete = move |index: &mut Index<'_>| {
        let name = index.bucket(&request.input.bucket)?.name;
        if index.version_after(&name, b"", i64::MIN)?.is_some() {
            let message = "The bucket you tried to delete is not empty. You must delete all versions in the bucket.";
            return Err(refused(S3ErrorCode::BucketNotEmpty, message));
        }
        let uploads: Vec<String> = {
            let mut statement = index.rows.prepare("SELECT id FROM upload WHERE bucket = ?1")?;
            statement.query_map([&name], |row| row.get(0))?.collect::<Result<_, _>>()?
        };
        for upload in uploads {
            index.delete_upload(&upload)?;
        }
        index.rows.execute("DELETE FROM bucket WHERE name = ?1", [&name])?;
        Ok(())
    };
    storage.index(delete).await?;
    answer(DeleteBucketOutput {})
}

pub(super) async fn head_bucket(
    storage: &Storage,
    request: S3Request<HeadBucketInput>,
) -> Attempt<S3Response<HeadBucketOutput>> {
    storage.index(move |index| index.bucket(&request.input.bucket).map(drop)).await?;
    answer(HeadBucketOutput { bucket_region: Some(arn::region().to_owned()), ..Default::default() })
}

/// The region `us-east-1` has no name here.
pub(super) async fn location(
    storage: &Storage,
    request: S3Request<GetBucketLocationInput>,
) -> Attempt<S3Response<GetBucketLocationOutput>> {
    storage.index(move |index| index.bucket(&request.input.bucket).map(drop)).await?;
    let region = Some(arn::region()).filter(|region| *region != "us-east-1");
    answer(GetBucketLocationOutput { location_constraint: region.map(|region| region.to_owned().into()) })
}

pub(super) async fn list_buckets(
    storage: &Storage,
    request: S3Request<ListBucketsInput>,
) -> Attempt<S3Response<ListBucketsOutput>> {
    let input = request.input;
    let max = usize::try_from(input.max_buckets.unwrap_or(10_000)).unwrap_or_default().clamp(1, 10_000);
    let (prefix, after) = (input.prefix.clone().unwrap_or_default(), input.continuation_token.unwrap_or_default());
    let read = move |index: &mut Index<'_>| {
        let sql = "SELECT name, created, versioning, cors, tags FROM bucket WHERE name > ?1 ORDER BY name";
        let mut statement = index.rows.prepare(sql)?;
        let rows = statement.query_map([after], bucket_of)?.collect::<Result<Vec<_>, _>>()?;
        Ok(rows.into_iter().filter(|bucket| bucket.name.starts_with(&prefix)).collect::<Vec<_>>())
    };
    let rows = storage.index(read).await?;
    let more = rows.len() > max;
    let shown = |row: super::index::BucketRow| Bucket {
        bucket_region: None,
        creation_date: Some(timestamp(row.created)),
        name: Some(row.name),
    };
    let buckets: Vec<Bucket> = rows.into_iter().take(max).map(shown).collect();
    let last = buckets.last().and_then(|bucket| bucket.name.clone()).filter(|_| more);
    let owner = Owner { id: Some(arn::account().to_owned()), display_name: None };
    answer(ListBucketsOutput {
        buckets: Some(buckets),
        continuation_token: last,
        owner: Some(owner),
        prefix: input.prefix,
    })
}

impl Storage {
    /// Sets a column of a bucket.
    async fn set(&self, bucket: String, column: &'static str, value: String) -> Attempt<()> {
        let set = move |index: &mut Index<'_>| {
            index.bucket(&bucket)?;
            index.rows.execute(&format!("UPDATE bucket SET {column} = ?2 WHERE name = ?1"), params![bucket, value])?;
            Ok(())
        };
        self.index(set).await
    }

    /// Replaces the tags of an object, and tells so. Returns the version's id.
    async fn set_tags(
        &self,
        (bucket, key, id): (String, String, Option<String>),
        tags: Vec<Tag>,
        (event, reason, caller): (&'static str, &'static str, String),
    ) -> Attempt<Option<String>> {
        let set = move |index: &mut Index<'_>| {
            let bucket = index.bucket(&bucket)?;
            let mut version = index.find(&bucket, &key, id.as_deref())?;
            version.attributes.tags = tags;
            index.set_attributes(&version)?;
            index.notify(version.change(&bucket, event, reason, &caller));
            Ok(bucket.shown(&version.id))
        };
        self.index(set).await
    }
}

pub(super) async fn get_versioning(
    storage: &Storage,
    request: S3Request<GetBucketVersioningInput>,
) -> Attempt<S3Response<GetBucketVersioningOutput>> {
    let bucket = storage.index(move |index| index.bucket(&request.input.bucket)).await?;
    answer(GetBucketVersioningOutput { status: bucket.versioning.map(Into::into), ..Default::default() })
}

pub(super) async fn put_versioning(
    storage: &Storage,
    request: S3Request<PutBucketVersioningInput>,
) -> Attempt<S3Response<PutBucketVersioningOutput>> {
    let PutBucketVersioningInput { bucket, versioning_configuration, .. } = request.input;
    if versioning_configuration.mfa_delete.is_some_and(|status| status.as_str() == "Enabled") {
        return Err(not_here("MFA delete"));
    }
    match versioning_configuration.status.as_ref().map(BucketVersioningStatus::as_str) {
        Some(status @ ("Enabled" | "Suspended")) => storage.set(bucket, "versioning", status.to_owned()).await?,
        _ => {
            let message = "The Versioning element must be specified";
            return Err(refused(S3ErrorCode::IllegalVersioningConfigurationException, message));
        }
    }
    answer(PutBucketVersioningOutput {})
}

pub(super) async fn get_cors(
    storage: &Storage,
    request: S3Request<GetBucketCorsInput>,
) -> Attempt<S3Response<GetBucketCorsOutput>> {
    let bucket = storage.index(move |index| index.bucket(&request.input.bucket)).await?;
    if bucket.cors.is_empty() {
        let message = "The CORS configuration does not exist";
        return Err(refused(S3ErrorCode::NoSuchCORSConfiguration, message));
    }
    let shown = |rule: CorsRule| CORSRule {
        allowed_headers: Some(rule.headers),
        allowed_methods: rule.methods,
        allowed_origins: rule.origins,
        expose_headers: Some(rule.exposed),
        id: None,
        max_age_seconds: rule.max_age_s,
    };
    answer(GetBucketCorsOutput { cors_rules: Some(bucket.cors.into_iter().map(shown).collect()) })
}

pub(super) async fn put_cors(
    storage: &Storage,
    request: S3Request<PutBucketCorsInput>,
) -> Attempt<S3Response<PutBucketCorsOutput>> {
    let PutBucketCorsInput { bucket, cors_configuration, .. } = request.input;
    let stored = |rule: CORSRule| CorsRule {
        origins: rule.allowed_origins,
        methods: rule.allowed_methods,
        headers: rule.allowed_headers.unwrap_or_default(),
        exposed: rule.expose_headers.unwrap_or_default(),
        max_age_s: rule.max_age_seconds,
    };
    let rules: Vec<CorsRule> = cors_configuration.cors_rules.into_iter().map(stored).collect();
    if rules.is_empty() || rules.len() > CORS_RULES_MAX {
        return Err(refused(S3ErrorCode::MalformedXML, "A CORS configuration has 1 to 100 rules"));
    }
    let is_method = |method: &String| ["GET", "PUT", "POST", "DELETE", "HEAD"].contains(&method.as_str());
    if !rules
        .iter()
        .all(|rule| !rule.origins.is_empty() && !rule.methods.is_empty() && rule.methods.iter().all(is_method))
    {
        let message = "A CORS rule needs origins, and methods among GET, PUT, POST, DELETE and HEAD";
        return Err(refused(S3ErrorCode::InvalidRequest, message));
    }
    storage.set(bucket, "cors", serde_json::to_string(&rules)?).await?;
    answer(PutBucketCorsOutput {})
}

pub(super) async fn delete_cors(
    storage: &Storage,
    request: S3Request<DeleteBucketCorsInput>,
) -> Attempt<S3Response<DeleteBucketCorsOutput>> {
    storage.set(request.input.bucket, "cors", "[]".to_owned()).await?;
    answer(DeleteBucketCorsOutput {})
}

pub(super) async fn get_bucket_tags(
    storage: &Storage,
    request: S3Request<GetBucketTaggingInput>,
) -> Attempt<S3Response<GetBucketTaggingOutput>> {
    let bucket = storage.index(move |index| index.bucket(&request.input.bucket)).await?;
    if bucket.tags.is_empty() {
        return Err(refused(S3ErrorCode::NoSuchTagSet, "The TagSet does not exist"));
    }
    answer(GetBucketTaggingOutput { tag_set: bucket.tags })
}

pub(super) async fn put_bucket_tags(
    storage: &Storage,
    request: S3Request<PutBucketTaggingInput>,
) -> Attempt<S3Response<PutBucketTaggingOutput>> {
    let tags = checked_tags(request.input.tagging.tag_set, BUCKET_TAGS_MAX)?;
    storage.set(request.input.bucket, "tags", serde_json::to_string(&tags)?).await?;
    answer(PutBucketTaggingOutput {})
}

pub(super) async fn delete_bucket_tags(
    storage: &Storage,
    request: S3Request<DeleteBucketTaggingInput>,
) -> Attempt<S3Response<DeleteBucketTaggingOutput>> {
    storage.set(request.input.bucket, "tags", "[]".to_owned()).await?;
    answer(DeleteBucketTaggingOutput {})
}

pub(super) async fn get_tags(
    storage: &Storage,
    request: S3Request<GetObjectTaggingInput>,
) -> Attempt<S3Response<GetObjectTaggingOutput>> {
    let GetObjectTaggingInput { bucket, key, version_id, .. } = request.input;
    let read = move |index: &mut Index<'_>| {
        let bucket = index.bucket(&bucket)?;
        let Version { id, attributes, .. } = index.find(&bucket, &key, version_id.as_deref())?;
        Ok(GetObjectTaggingOutput { tag_set: attributes.tags, version_id: bucket.shown(&id) })
    };
    answer(storage.index(read).await?)
}

pub(super) async fn put_tags(
    storage: &Storage,
    request: S3Request<PutObjectTaggingInput>,
) -> Attempt<S3Response<PutObjectTaggingOutput>> {
    let change = ("ObjectTagging:Put", "PutObjectTagging", caller(&request));
    let PutObjectTaggingInput { bucket, key, version_id, tagging, .. } = request.input;
    let tags = checked_tags(tagging.tag_set, OBJECT_TAGS_MAX)?;
    let version_id = storage.set_tags((bucket, key, version_id), tags, change).await?;
    answer(PutObjectTaggingOutput { version_id })
}

pub(super) async fn delete_tags(
    storage: &Storage,
    request: S3Request<DeleteObjectTaggingInput>,
) -> Attempt<S3Response<DeleteObjectTaggingOutput>> {
    let change = ("ObjectTagging:Delete", "DeleteObjectTagging", caller(&request));
    let DeleteObjectTaggingInput { bucket, key, version_id, .. } = request.input;
    let version_id = storage.set_tags((bucket, key, version_id), Vec::new(), change).await?;
    answer(DeleteObjectTaggingOutput { version_id })
}
