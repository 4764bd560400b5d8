//! Entries of tests, around a day of their own.

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::Client;
use domain::EntryId;
use domain::journal::{Entry, JournalStream, Message};
use domain::{Attributes, TimeRange};
use jiff::{SignedDuration, Timestamp};
use journal_store::{Journal, JournalReader, JournalShards};

use crate::Database;

/// 2024-03-02T10:30:00Z: some of the days before it are of the last year, and of a leap year's
/// February.
pub fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_709_375_400)
}

/// The first moment of a day so many days before [`now`]'s.
pub fn midnight(days_ago: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_709_337_600 - days_ago * 24 * 60 * 60)
}

/// An entry.
pub fn entry(stream: &JournalStream, id: EntryId, message: &str) -> Result<Entry> {
    let attributes = Attributes::new([("kind".to_owned(), "test".to_owned())].into())?;
    Ok(Entry { stream: stream.clone(), id, message: Message::new(message)?, attributes })
}

/// A journal that gives its days so many shards, and keeps entries so long (`default=90`).
///
/// # Panics
/// When there is no such number of shards or retention.
pub fn journal(client: &Client, shards: u8, retention: &str) -> Journal {
    let shards = JournalShards::new(shards).unwrap_or_else(|| panic!("{shards} shards"));
    let retention = retention.parse().unwrap_or_else(|error| panic!("{retention}: {error}"));
    Journal::new(&store_base::Table::new(client.clone(), Database::JOURNAL), shards, retention)
}

/// A reader that shows entries so long.
///
/// # Panics
/// When there is no such retention.
pub fn reader(client: &Client, retention: &str) -> JournalReader {
    let retention = retention.parse().unwrap_or_else(|error| panic!("{retention}: {error}"));
    JournalReader::new(&store_base::Table::new(client.clone(), Database::JOURNAL), retention)
}

/// Everything of a range, in pages of one size.
///
/// # Errors
/// When the store fails, a page has too much in it, or leads to itself.
pub async fn read_all(client: &Client, stream: &JournalStream, range: TimeRange, limit: u16) -> Result<Vec<Entry>> {
    let reader = reader(client, "default=0");
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = reader.page(stream, range, limit, after, now()).await?;
        ensure!(page.items.len() <= usize::from(limit), "{} items of {limit}", page.items.len());
        read.extend(page.items);
        ensure!(page.next.is_none() || page.next != after, "a page leads to itself");
        after = page.next;
        if after.is_none() {
            return Ok(read);
        }
    }
}
