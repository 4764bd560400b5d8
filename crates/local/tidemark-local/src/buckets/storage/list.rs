//! Lists of objects and of their versions.
//!
//! Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/ListingKeysUsingAPIs.html>.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Request, S3Response};

use super::index::{Index, Version};
use super::{Attempt, Storage, answer, refused, signed, timestamp};
use crate::arn;
use crate::buckets::notifications::encoded;

/// Maximum number of entries in one answer.
const ENTRIES_MAX: i32 = 1000;

/// A place between two rows: after those with a lower key, or with this key and a rank of at most
/// this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) key: Vec<u8>,
    pub(super) rank: i64,
}

/// What a list is to contain.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) prefix: String,
    delimiter: Option<String>,
    pub(super) max: usize,
    start: Option<Position>,
}

/// An answer's entries.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) entries: Vec<T>,
    pub(super) prefixes: Vec<String>,
    /// Where the next answer begins; `None` at the end.
    pub(super) next: Option<Position>,
    /// The last entry, if it is not a common prefix.
    pub(super) last_is_entry: bool,
}

impl Position {
    fn before(key: Vec<u8>) -> Self {
        Self { key, rank: i64::MIN }
    }

    pub(super) fn after(key: &str) -> Self {
        Self { key: key.as_bytes().to_vec(), rank: i64::MAX }
    }

    /// After all keys with this prefix; `None` if no key can be there.
    fn after_prefix(prefix: &str) -> Option<Self> {
        let mut key = prefix.as_bytes().to_vec();
        // UTF-8 has no byte 255.
        *key.last_mut()? += 1;
        Some(Self::before(key))
    }

    fn token(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode([&self.rank.to_be_bytes(), &*self.key].concat())
    }

    fn of_token(token: &str) -> Attempt<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).unwrap_or_default();
        let (rank, key) = bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| refused(S3ErrorCode::InvalidArgument, "The continuation token provided is incorrect"))?;
        Ok(Self { key: key.to_vec(), rank: i64::from_be_bytes(*rank) })
    }
}

impl Query {
    pub(super) fn new(prefix: Option<String>, delimiter: Option<String>, max: Option<i32>) -> Attempt<Self> {
        let max = usize::try_from(max.unwrap_or(ENTRIES_MAX).min(ENTRIES_MAX)).map_err(|_| {
            refused(S3ErrorCode::InvalidArgument, "Argument max-keys must be an integer between 0 and 2147483647")
        })?;
        let delimiter = delimiter.filter(|delimiter| !delimiter.is_empty());
        Ok(Self { prefix: prefix.unwrap_or_default(), delimiter, max, start: None })
    }

    /// The common prefix into which a key falls.
    fn common_prefix<'k>(&self, key: &'k str) -> Option<&'k str> {
        let (delimiter, rest) = (self.delimiter.as_deref()?, key.strip_prefix(&*self.prefix)?);
        let end = self.prefix.len() + rest.find(delimiter)? + delimiter.len();
        key.get(..end)
    }

    /// Begins after this key, or after this common prefix.
    pub(super) fn after(mut self, marker: Option<&str>) -> Self {
        self.start = marker.filter(|marker| !marker.is_empty()).and_then(|marker| {
            match self.common_prefix(marker) == Some(marker) {
                true => Position::after_prefix(marker),
                false => Some(Position::after(marker)),
            }
        });
        self
    }

    pub(super) fn from(mut self, start: Option<Position>) -> Self {
        self.start = start.or(self.start);
        self
    }

    /// Reads a page. `next` reads the row after a position: its key, the position after it, and its
    /// entry, which is `None` for a row that the list omits.
    pub(super) fn read<T>(
        &self,
        mut next: impl FnMut(&Position) -> Attempt<Option<(String, Position, Option<T>)>>,
    ) -> Attempt<Page<T>> {
        let mut page = Page { entries: Vec::new(), prefixes: Vec::new(), next: None, last_is_entry: false };
        let mut position = self.start.clone().unwrap_or_else(|| Position::before(Vec::new()));
        if *position.key < *self.prefix.as_bytes() {
            position = Position::before(self.prefix.as_bytes().to_vec());
        }
        let mut after_page = position.clone();
        if self.max == 0 {
            return Ok(page);
        }
        while let Some((key, after, entry)) = next(&position)? {
            if !key.starts_with(&self.prefix) {
                break;
            }
            position = after;
            let Some(entry) = entry else { continue };
            if page.entries.len() + page.prefixes.len() == self.max {
                page.next = Some(after_page);
                break;
            }
            page.last_is_entry = true;
            match self.common_prefix(&key) {
                Some(prefix) => {
                    page.last_is_entry = false;
                    page.prefixes.push(prefix.to_owned());
                    let Some(after) = Position::after_prefix(prefix) else { break };
                    position = after;
                }
                None => page.entries.push(entry),
            }
            after_page = position.clone();
        }
        Ok(page)
    }
}

/// Encodes keys if the client asks for it.
pub(super) fn encode(text: String, encoding: Option<&EncodingType>) -> String {
    if encoding.is_some_and(|encoding| encoding.as_str() == EncodingType::URL) { encoded(&text) } else { text }
}

pub(super) fn common_prefixes(prefixes: Vec<String>, encoding: Option<&EncodingType>) -> Option<Vec<CommonPrefix>> {
    let shown = |prefix| CommonPrefix { prefix: Some(encode(prefix, encoding)) };
    Some(prefixes.into_iter().map(shown).collect::<Vec<_>>()).filter(|prefixes| !prefixes.is_empty())
}

pub(super) fn owner() -> Owner {
    Owner { id: Some(arn::account().to_owned()), display_name: None }
}

/// Reads the newest versions, without delete markers.
async fn objects(storage: &Storage, bucket: String, query: Query) -> Attempt<Page<Version>> {
    let read = move |index: &mut Index<'_>| {
        index.bucket(&bucket)?;
        query.read(|position| {
            let found = index.version_after(&bucket, &position.key, position.rank)?;
            Ok(found.map(|version| {
                let after = Position::after(&version.key);
                (version.key.clone(), after, Some(version).filter(|version| version.file.is_some()))
            }))
        })
    };
    storage.index(read).await
}

fn object(version: Version, encoding: Option<&EncodingType>, with_owner: bool) -> Object {
    let checksum = version.attributes.checksum.clone().unwrap_or_default();
    let algorithm = super::checksum::value(&checksum).map(|(name, _)| name.to_owned().into());
    Object {
        checksum_algorithm: algorithm.map(|algorithm| vec![algorithm]),
        checksum_type: checksum.shown_type(),
        storage_class: Some(version.attributes.class().into()),
        e_tag: Some(ETag::Strong(version.etag)),
        key: Some(encode(version.key, encoding)),
        last_modified: Some(timestamp(version.modified)),
        owner: with_owner.then(owner),
        size: Some(signed(version.size)),
        ..Default::default()
    }
}

pub(super) async fn v2(
    storage: &Storage,
    request: S3Request<ListObjectsV2Input>,
) -> Attempt<S3Response<ListObjectsV2Output>> {
    let input = request.input;
    let encoding = input.encoding_type.as_ref();
    let token = input.continuation_token.as_deref().map(Position::of_token).transpose()?;
    let query = Query::new(input.prefix.clone(), input.delimiter.clone(), input.max_keys)?;
    let query = query.after(input.start_after.as_deref()).from(token);
    let max_keys = i32::try_from(query.max).ok();
    let page = objects(storage, input.bucket.clone(), query).await?;
    let with_owner = input.fetch_owner == Some(true);
    answer(ListObjectsV2Output {
        key_count: i32::try_from(page.entries.len() + page.prefixes.len()).ok(),
        max_keys,
        is_truncated: Some(page.next.is_some()),
        next_continuation_token: page.next.as_ref().map(Position::token),
        contents: Some(page.entries.into_iter().map(|version| object(version, encoding, with_owner)).collect()),
        common_prefixes: common_prefixes(page.prefixes, encoding),
        continuation_token: input.continuation_token,
        delimiter: input.delimiter.map(|text| encode(text, encoding)),
        name: Some(input.bucket),
        prefix: Some(encode(input.prefix.unwrap_or_default(), encoding)),
        start_after: input.start_after.map(|text| encode(text, encoding)),
        encoding_type: input.encoding_type,
        ..Default::default()
    })
}

pub(super) async fn v1(
    storage: &Storage,
    request: S3Request<ListObjectsInput>,
) -> Attempt<S3Response<ListObjectsOutput>> {
    let input = request.input;
    let encoding = input.encoding_type.as_ref();
    let query = Query::new(input.prefix.clone(), input.delimiter.clone(), input.max_keys)?;
    let query = query.after(input.marker.as_deref());
    let max_keys = i32::try_from(query.max).ok();
    let page = objects(storage, input.bucket.clone(), query).await?;
    let last = match page.last_is_entry {
        true => page.entries.last().map(|version| version.key.clone()),
        false => page.prefixes.last().cloned(),
    };
    // Without a delimiter the last key is the next marker.
    let next_marker = last.filter(|_| page.next.is_some() && input.delimiter.is_some());
    answer(ListObjectsOutput {
        is_truncated: Some(page.next.is_some()),
        next_marker: next_marker.map(|text| encode(text, encoding)),
        max_keys,
        contents: Some(page.entries.into_iter().map(|version| object(version, encoding, true)).collect()),
        common_prefixes: common_prefixes(page.prefixes, encoding),
        delimiter: input.delimiter.map(|text| encode(text, encoding)),
        marker: Some(encode(input.marker.unwrap_or_default(), encoding)),
        name: Some(input.bucket),
        prefix: Some(encode(input.prefix.unwrap_or_default(), encoding)),
        encoding_type: input.encoding_type,
        ..Default::default()
    })
}

pub(super) async fn versions(
    storage: &Storage,
    request: S3Request<ListObjectVersionsInput>,
) -> Attempt<S3Response<ListObjectVersionsOutput>> {
    let input = request.input;
    let encoding = input.encoding_type.as_ref();
    let query = Query::new(input.prefix.clone(), input.delimiter.clone(), input.max_keys)?;
    let query = query.after(input.key_marker.as_deref());
    let max_keys = i32::try_from(query.max).ok();
    let (bucket, key, id) = (input.bucket.clone(), input.key_marker.clone(), input.version_id_marker.clone());
    let read = move |index: &mut Index<'_>| {
        index.bucket(&bucket)?;
        let start = match (key, id) {
            (Some(key), Some(id)) => {
                let marker = index.version(&bucket, &key, &id)?;
                let invalid = || refused(S3ErrorCode::InvalidArgument, "Invalid version id specified");
                Some(Position { key: key.into_bytes(), rank: marker.ok_or_else(invalid)?.rank })
            }
            _ => None,
        };
        query.from(start).read(|position| {
            let found = index.version_after(&bucket, &position.key, position.rank)?;
            let Some(version) = found else { return Ok(None) };
            let newest = index.newest(&bucket, &version.key)?.is_some_and(|newest| newest.rank == version.rank);
            let after = Position { key: version.key.clone().into_bytes(), rank: version.rank };
            Ok(Some((version.key.clone(), after, Some((version, newest)))))
        })
    };
    let page = storage.index(read).await?;
    let more = page.next.is_some();
    let last = page.entries.last().filter(|_| page.last_is_entry);
    let next_key = last.map(|(version, _)| version.key.clone()).or(page.prefixes.last().cloned());
    let next_id = last.map(|(version, _)| version.id.clone());
    let (markers, objects): (Vec<_>, Vec<_>) =
        page.entries.into_iter().partition(|(version, _)| version.file.is_none());
    let of_marker = |(version, newest): (Version, bool)| DeleteMarkerEntry {
        is_latest: Some(newest),
        key: Some(encode(version.key, encoding)),
        last_modified: Some(timestamp(version.modified)),
        owner: Some(owner()),
        version_id: Some(version.id),
    };
    let of_object = |(version, newest): (Version, bool)| ObjectVersion {
        is_latest: Some(newest),
        storage_class: Some(version.attributes.class().into()),
        key: Some(encode(version.key, encoding)),
        last_modified: Some(timestamp(version.modified)),
        e_tag: Some(ETag::Strong(version.etag)),
        size: Some(signed(version.size)),
        owner: Some(owner()),
        version_id: Some(version.id),
        ..Default::default()
    };
    answer(ListObjectVersionsOutput {
        delete_markers: Some(markers.into_iter().map(of_marker).collect()),
        versions: Some(objects.into_iter().map(of_object).collect()),
        common_prefixes: common_prefixes(page.prefixes, encoding),
        is_truncated: Some(more),
        max_keys,
        next_key_marker: next_key.filter(|_| more).map(|text| encode(text, encoding)),
        next_version_id_marker: next_id.filter(|_| more),
        delimiter: input.delimiter.map(|text| encode(text, encoding)),
        key_marker: Some(encode(input.key_marker.unwrap_or_default(), encoding)),
        version_id_marker: input.version_id_marker,
        name: Some(input.bucket),
        prefix: Some(encode(input.prefix.unwrap_or_default(), encoding)),
        encoding_type: input.encoding_type,
        ..Default::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages of a list of these keys: entries, then common prefixes with a star.
    fn pages(keys: &[&str], prefix: &str, delimiter: &str, max: i32, start: Option<&str>) -> Vec<Vec<String>> {
        let query = |start| {
            let query = Query::new(Some(prefix.to_owned()), Some(delimiter.to_owned()), Some(max));
            query.unwrap_or_else(|_| panic!("valid")).after(start)
        };
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        let (mut pages, mut query_of_page) = (Vec::new(), query(start));
        loop {
            let page = query_of_page.read(|position| {
                let next = sorted.iter().find(|key| (key.as_bytes(), 0) > (&*position.key, position.rank));
                Ok(next.map(|key| ((*key).to_owned(), Position::after(key), Some((*key).to_owned()))))
            });
            let page = page.unwrap_or_else(|_| panic!("a page"));
            let prefixes = page.prefixes.iter().map(|prefix| format!("{prefix}*"));
            pages.push(page.entries.into_iter().chain(prefixes).collect());
            let Some(next) = page.next else { return pages };
            let next = Position::of_token(&next.token()).unwrap_or_else(|_| panic!("a token"));
            query_of_page = query(None).from(Some(next));
        }
    }

    #[test]
    fn keys_fall_into_common_prefixes_after_the_prefix() {
        let keys = ["p", "p/q", "p/r/s", "p/r/t", "z", "é"];
        assert_eq!(pages(&keys, "", "/", 10, None), [["p", "z", "é", "p/*"]]);
        assert_eq!(pages(&keys, "p/", "/", 10, None), [["p/q", "p/r/*"]]);
        assert_eq!(pages(&keys, "p", "", 10, None), [["p", "p/q", "p/r/s", "p/r/t"]]);
    }

    #[test]
    fn each_key_and_common_prefix_is_on_one_page() {
        let keys = ["a", "b/1", "b/2", "b/3", "c", "d//1", "d/2"];
        assert_eq!(pages(&keys, "", "/", 1, None), [["a"], ["b/*"], ["c"], ["d/*"]]);
        assert_eq!(
            pages(&keys, "d/", "/", 1, None),
            [["d/2"], ["d//*"]].map(|page| page).into_iter().rev().collect::<Vec<_>>()
        );
        assert_eq!(pages(&keys, "", "", 3, None).concat(), keys);
    }

    #[test]
    fn a_list_begins_after_a_key_or_a_whole_prefix() {
        let keys = ["a", "b/1", "b/2", "c"];
        assert_eq!(pages(&keys, "", "", 10, Some("b/1")), [["b/2", "c"]]);
        assert_eq!(pages(&keys, "", "/", 10, Some("b/")), [["c"]]);
    }
}
