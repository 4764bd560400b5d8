//! The index: buckets, versions of objects, and parts of uploads.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use s3s::dto::Tag;
use s3s::{S3Error, S3ErrorCode};

use super::attributes::Attributes;
use super::{Attempt, signed};
use crate::buckets::notifications::Change;
use crate::random_id::random_id;
use crate::stack::{Bucket, CorsRule};

/// A key is a blob: S3 lists keys by their UTF-8 bytes. The newest version of a key has the lowest
/// rank.
pub(super) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS bucket (
  name TEXT PRIMARY KEY, created INTEGER NOT NULL, versioning TEXT, cors TEXT NOT NULL DEFAULT '[]',
  tags TEXT NOT NULL DEFAULT '[]');
CREATE TABLE IF NOT EXISTS version (
  rank INTEGER PRIMARY KEY, bucket TEXT NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL, file TEXT,
  size INTEGER NOT NULL, etag TEXT NOT NULL, modified INTEGER NOT NULL, attributes TEXT NOT NULL,
  UNIQUE (bucket, key, id));
CREATE INDEX IF NOT EXISTS newest_version ON version (bucket, key, rank);
CREATE TABLE IF NOT EXISTS upload (
  rank INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, bucket TEXT NOT NULL, key BLOB NOT NULL,
  started INTEGER NOT NULL, attributes TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS upload_of_key ON upload (bucket, key, rank);
CREATE TABLE IF NOT EXISTS part (
  upload TEXT NOT NULL, number INTEGER NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
  modified INTEGER NOT NULL, checksum TEXT NOT NULL, PRIMARY KEY (upload, number));
";

/// The id of a version in a bucket without versioning.
pub(super) const NULL_VERSION: &str = "null";

/// The columns of [`Version`].
const VERSION: &str = "rank, key, id, file, size, etag, modified, attributes";

/// A row of the table `bucket`.
pub(super) struct BucketRow {
    pub(super) name: String,
    pub(super) created: i64,
    /// `Enabled` or `Suspended`; `None` if it never was enabled.
    pub(super) versioning: Option<String>,
    pub(super) cors: Vec<CorsRule>,
    pub(super) tags: Vec<Tag>,
}

/// An object, or a delete marker.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) rank: i64,
    pub(super) key: String,
    pub(super) id: String,
    /// `None` for a delete marker.
    pub(super) file: Option<String>,
    pub(super) size: u64,
    pub(super) etag: String,
    /// In seconds.
    pub(super) modified: i64,
    pub(super) attributes: Attributes,
}

/// The index in a transaction.
pub(super) struct Index<'a> {
    pub(super) rows: Transaction<'a>,
    files: &'a Path,
    changes: Vec<Change>,
    unused: Vec<String>,
}

impl BucketRow {
    /// The version's id as answers have it: none if the bucket never had versions.
    pub(super) fn shown(&self, id: &str) -> Option<String> {
        self.versioning.as_ref().map(|_| id.to_owned())
    }
}

impl<'a> Index<'a> {
    pub(super) fn new(rows: Transaction<'a>, files: &'a Path) -> Self {
        Self { rows, files, changes: Vec::new(), unused: Vec::new() }
    }

    /// The changes to tell, and the names of the files that no row has any more.
    pub(super) fn commit(self) -> Attempt<(Vec<Change>, Vec<String>)> {
        self.rows.commit()?;
        Ok((self.changes, self.unused))
    }

    /// Sends a notification of this change after the transaction.
    pub(super) fn notify(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// Removes a file after the transaction.
    pub(super) fn remove_file(&mut self, name: Option<String>) {
        self.unused.extend(name);
    }

    /// Opens a file of an object. No other transaction removes it meanwhile.
    pub(super) fn open(&self, name: &str) -> Attempt<File> {
        Ok(File::open(self.files.join(name))?)
    }

    pub(super) fn bucket(&self, name: &str) -> Attempt<BucketRow> {
        let mut statement =
            self.rows.prepare_cached("SELECT name, created, versioning, cors, tags FROM bucket WHERE name = ?1")?;
        let found = statement.query_row([name], bucket_of).optional()?;
        found.ok_or_else(|| {
            S3Error::with_message(S3ErrorCode::NoSuchBucket, "The specified bucket does not exist").into()
        })
    }

    /// The newest version of a key, which may be a delete marker.
    pub(super) fn newest(&self, bucket: &str, key: &str) -> Attempt<Option<Version>> {
        let sql = format!("SELECT {VERSION} FROM version WHERE bucket = ?1 AND key = ?2 ORDER BY rank LIMIT 1");
        let mut statement = self.rows.prepare_cached(&sql)?;
        Ok(statement.query_row(params![bucket, key.as_bytes()], version_of).optional()?)
    }

    /// The object that a client sees under a key.
    pub(super) fn current(&self, bucket: &str, key: &str) -> Attempt<Option<Version>> {
        Ok(self.newest(bucket, key)?.filter(|version| version.file.is_some()))
    }

    pub(super) fn version(&self, bucket: &str, key: &str, id: &str) -> Attempt<Option<Version>> {
        let sql = format!("SELECT {VERSION} FROM version WHERE bucket = ?1 AND key = ?2 AND id = ?3");
        let mut statement = self.rows.prepare_cached(&sql)?;
        Ok(statement.query_row(params![bucket, key.as_bytes(), id], version_of).optional()?)
    }

    /// The first version after a position, in the order of keys and then from new to old.
    pub(super) fn version_after(&self, bucket: &str, key: &[u8], rank: i64) -> Attempt<Option<Version>> {
        let sql = format!(
            "SELECT {VERSION} FROM version WHERE bucket = ?1 AND (key, rank) > (?2, ?3) ORDER BY key, rank LIMIT 1"
        );
        let mut statement = self.rows.prepare_cached(&sql)?;
        Ok(statement.query_row(params![bucket, key, rank], version_of).optional()?)
    }

    /// Adds a version as the newest one. Without versioning it replaces the version `null`.
    pub(super) fn put(&mut self, bucket: &BucketRow, mut version: Version) -> Attempt<Version> {
        let enabled = bucket.versioning.as_deref() == Some("Enabled");
        version.id = if enabled { random_id().replace('-', "") } else { NULL_VERSION.to_owned() };
        version.modified = now();
        self.delete(&bucket.name, &version.key, &version.id)?;
        version.rank = self.rows.query_row("SELECT COALESCE(MIN(rank), 0) - 1 FROM version", [], |row| row.get(0))?;
        let Version { rank, key, id, file, size, etag, modified, attributes } = &version;
        let attributes = serde_json::to_string(attributes)?;
        self.rows
            .prepare_cached(
                "INSERT INTO version (rank, bucket, key, id, file, size, etag, modified, attributes)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![rank, bucket.name, key.as_bytes(), id, file, signed(*size), etag, modified, attributes])?;
        Ok(version)
    }

    /// Replaces the attributes of a version.
    pub(super) fn set_attributes(&self, version: &Version) -> Attempt<()> {
        let attributes = serde_json::to_string(&version.attributes)?;
        self.rows.execute("UPDATE version SET attributes = ?2 WHERE rank = ?1", params![version.rank, attributes])?;
        Ok(())
    }

    /// Deletes a version for good.
    pub(super) fn delete(&mut self, bucket: &str, key: &str, id: &str) -> Attempt<Option<Version>> {
        let deleted = self.version(bucket, key, id)?;
        if let Some(version) = &deleted {
            self.rows.execute("DELETE FROM version WHERE rank = ?1", [version.rank])?;
            self.remove_file(version.file.clone());
        }
        Ok(deleted)
    }
}

/// Creates a bucket of the template, or gives it the template's settings.
pub(super) fn ensure_bucket(connection: &Connection, bucket: &Bucket) -> Attempt<()> {
    connection.execute(
        "INSERT INTO bucket (name, created) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![bucket.name, now()],
    )?;
    connection.execute(
        "UPDATE bucket SET versioning = COALESCE(?2, versioning), cors = COALESCE(?3, cors) WHERE name = ?1",
        params![
            bucket.name,
            bucket.versioning,
            Some(&bucket.cors).filter(|rules| !rules.is_empty()).map(serde_json::to_string).transpose()?
        ],
    )?;
    Ok(())
}

/// The names of all files that the index needs.
pub(super) fn file_names(connection: &Connection) -> Attempt<HashSet<String>> {
    let sql = "SELECT file FROM version WHERE file IS NOT NULL UNION ALL SELECT file FROM part";
    let names = connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

pub(super) fn now() -> i64 {
    Timestamp::now().as_second()
}

pub(super) fn bucket_of(row: &Row<'_>) -> rusqlite::Result<BucketRow> {
    Ok(BucketRow {
        name: row.get(0)?,
        created: row.get(1)?,
        versioning: row.get(2)?,
        cors: json_of(row, 3)?,
        tags: json_of(row, 4)?,
    })
}

fn version_of(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        rank: row.get(0)?,
        key: key_of(row, 1)?,
        id: row.get(2)?,
        file: row.get(3)?,
        size: row.get::<_, i64>(4)?.unsigned_abs(),
        etag: row.get(5)?,
        modified: row.get(6)?,
        attributes: json_of(row, 7)?,
    })
}

pub(super) fn key_of(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    String::from_utf8(row.get(column)?).map_err(|error| invalid(column, error))
}

pub(super) fn json_of<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| invalid(column, error))
}

fn invalid(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

impl Version {
    /// A version that [`Index::put`] stores; without a file a delete marker.
    pub(super) fn new(key: String, file: Option<String>, size: u64, etag: String, attributes: Attributes) -> Self {
        Self { rank: 0, key, id: String::new(), file, size, etag, modified: 0, attributes }
    }

    /// A change of this version, its creation for instance.
    pub(super) fn change(&self, bucket: &BucketRow, event: &'static str, reason: &'static str, caller: &str) -> Change {
        Change {
            bucket: bucket.name.clone(),
            key: self.key.clone(),
            event,
            reason,
            size: self.size,
            etag: self.etag.clone(),
            version: bucket.shown(&self.id),
            caller: caller.to_owned(),
        }
    }
}
