//! The cost of reading the newest entries of a journal, by the length of its history.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use domain::EntryId;
use domain::TimeRange;
use domain::journal::{Entry, JournalStream, Message};
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use journal_store::{Journal, JournalReader, JournalShards};
use tidemark_engine::{Engine, Options};

use crate::report::{Better, Row};
use crate::stack;
use crate::wire::{self, Consumed, Meter};

const SECTION: &str = "Journal: the newest 50 entries, 200 a day";

/// How many days the history has.
const DAYS: [u32; 3] = [1, 10, 100];

/// Entries of a day. The newest day has only begun: it has a tenth of them.
const OF_A_DAY: u32 = 200;

/// The default page size.
const PAGE: u16 = 50;

/// Requests and units of a page.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut first: Option<Consumed> = None;
    for days in DAYS {
        let consumed = of_a_page(days).await?;
        let named = if days == 1 { "1 day of history".to_owned() } else { format!("{days} days of history") };
        let requests = Row::count(SECTION, format!("{named}: requests"), "", consumed.requests);
        let reads = Row::count(SECTION, format!("{named}: reads"), "RRU", consumed.read_units);
        match &first {
            None => rows.extend([requests, reads]),
            Some(first) => rows.extend([
                requests.beside(Better::Lower, A_DAY, first.requests).at_most(first.requests),
                reads.beside(Better::Lower, A_DAY, first.read_units),
            ]),
        }
        first.get_or_insert(consumed);
    }
    Ok(rows)
}

const A_DAY: &str = "1 day";

/// What the first page of a journal with so many days behind today consumes.
async fn of_a_page(days: u32) -> Result<Consumed> {
    let engine = Engine::start(Options::default()).await?;
    let table = stack::table("JournalTable")?;
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    let (shards, retention) = (JournalShards::new(4).context("4 shards")?, "default=0".parse()?);
    let journal = Journal::new(&store_base::Table::new(stack::client(&engine), &table.name), shards, retention);
    let stream = JournalStream::suite();
    let today: Timestamp = "2026-11-21T00:00:00Z".parse()?;
    let mut newest = Vec::new();
    for ago in 0..=days {
        let day = today - SignedDuration::from_hours(24 * i64::from(ago));
        let entries = if ago == 0 { OF_A_DAY / 10 } else { OF_A_DAY };
        let entries = (0..entries).map(|n| {
            let at = day + SignedDuration::from_secs(i64::from(n) * 300);
            let message = Message::new(format!("Entry {n} of {ago} days ago"))?;
            let (stream, attributes) = (stream.clone(), domain::Attributes::default());
            Ok(Entry { stream, id: EntryId::derived(at, &n.to_string()), message, attributes })
        });
        let entries: Vec<_> = entries.collect::<Result<_>>()?;
        for some in entries.chunks(50) {
            try_join_all(some.iter().map(|entry| journal.append(entry, day))).await?;
        }
        newest.extend(entries.into_iter().rev());
        newest.truncate(PAGE.into());
    }
    let meter = Arc::new(Meter::new(engine.url()));
    let reader =
        JournalReader::new(&store_base::Table::new(wire::client(meter.clone()), &table.name), "default=0".parse()?);
    let now = today + SignedDuration::from_hours(12);
    let page = reader.page(&stream, TimeRange::default(), PAGE, None, now).await?;
    ensure!(page.items == newest, "another page comes back from {days} days");
    let consumed = meter.take();
    engine.shutdown().await;
    Ok(consumed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn newest_journal_page_costs_the_same_requests_after_ten_days() {
        let (one, ten) = (of_a_page(1).await.expect("a page"), of_a_page(10).await.expect("a page"));
        assert_eq!(one.requests, ten.requests);
    }
}
