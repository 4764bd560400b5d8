//! Doing it.

use domain::Moment;
use domain::journal::Entry;
use domain::shop::StockAlert;
use jiff::Timestamp;
use lambda_kit::stream::{BatchProgress, StreamEvent, StreamRecord};
use store::StoreError;
use store::journal::{AppendOutcome, Journal};
use store::shop::{Reservations, ShopChange, ShopImage};

use crate::journal_entries;

/// Watches a shop.
#[derive(Debug, Clone)]
pub struct Watcher {
    journal: Journal,
    reservations: Reservations,
}

/// The counts of one batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchCounts {
    /// Entries that the journal did not have yet.
    pub(crate) journaled: u64,
    /// Those of them that say that a stock runs low.
    pub(crate) low: u64,
    /// Those that say that nothing is left.
    pub(crate) out: u64,
    /// Reservations whose goods were given back.
    pub(crate) released: u64,
}

impl Watcher {
    /// A watcher that tells the journal, and gives back to the reservations' table.
    pub fn new(journal: Journal, reservations: Reservations) -> Self {
        Self { journal, reservations }
    }

    /// Does what a batch tells, record by record, up to the first that fails.
    pub(crate) async fn watch(
        &self,
        event: &StreamEvent<'_>,
        now: Timestamp,
    ) -> Result<(BatchCounts, BatchProgress), StoreError> {
        let records = event.read(|record: &StreamRecord<'_, ShopImage, ShopImage>| {
            let (before, after) = (record.change.old_image.as_ref(), record.change.new_image.as_ref());
            ShopChange::of(before, after, record.is_expiry())
        });
        let mut counts = BatchCounts::default();
        let progress = BatchProgress::process(records, StoreError::is_unreadable, async |change| match change {
            Some(change) => self.change(change, now, &mut counts).await,
            None => Ok(()),
        });
        let progress = progress.await?;
        Ok((counts, progress))
    }

    async fn change(&self, change: ShopChange, now: Timestamp, counts: &mut BatchCounts) -> Result<(), StoreError> {
        match change {
            ShopChange::Priced(entry) => {
                counts.journaled += self.append_to_journal(&journal_entries::price_entry(&entry), now).await?
            }
            ShopChange::Moved(entry) => {
                if let Some(entry) = journal_entries::stock_entry(&entry) {
                    counts.journaled += self.append_to_journal(&entry, now).await?;
                }
            }
            ShopChange::Product(products) => {
                for (alert, entry) in journal_entries::alert_entries(&products) {
                    let journaled = self.append_to_journal(&entry, now).await?;
                    counts.journaled += journaled;
                    match alert {
                        StockAlert::Low => counts.low += journaled,
                        StockAlert::Out => counts.out += journaled,
                    }
                }
            }
            ShopChange::Expired(product_id, reservation) => {
                let now = Moment::new(now).map_err(|error| StoreError::Refused(error.to_string()))?;
                let is_new = self.reservations.release_expired(&product_id, &reservation, now).await?;
                counts.released += u64::from(is_new);
            }
        }
        Ok(())
    }

    /// How many entries are new: one, or none.
    async fn append_to_journal(&self, entry: &Entry, now: Timestamp) -> Result<u64, StoreError> {
        Ok(u64::from(self.journal.append(entry, now).await? == AppendOutcome::New))
    }
}
