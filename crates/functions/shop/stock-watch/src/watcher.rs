//! Handles the records of a batch.

use domain::Moment;
use domain::journal::Entry;
use domain::shop::StockAlert;
use jiff::Timestamp;
use journal_store::{AppendOutcome, Journal};
use lambda_kit::stream::{BatchProgress, StreamEvent, StreamRecord};
use shop_store::{Orders, Reservations, ShopChange, ShopImage};
use store_base::{StoreError, Table};

use crate::journal_entries;

/// Follows the changes of a shop.
#[derive(Debug, Clone)]
pub struct Watcher {
    journal: Journal,
    reservations: Reservations,
    orders: Orders,
}

/// The results of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct BatchCounts {
    /// Entries that are new in the journal.
    pub(crate) journaled: u64,
    /// New entries that announce a low stock.
    pub(crate) low: u64,
    /// New entries that announce that nothing is left.
    pub(crate) out: u64,
    /// Expired reservations and orders whose goods were released.
    pub(crate) released: u64,
}

impl Watcher {
    /// A watcher that writes entries into `journal`, and releases the reservations and orders of
    /// `shop`.
    pub fn new(journal: Journal, shop: &Table) -> Self {
        Self { journal, reservations: Reservations::new(shop), orders: Orders::new(shop) }
    }

    /// Handles a batch record by record, up to the first that fails.
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
                let is_new = self.reservations.release_expired(&product_id, &reservation, moment(now)?).await?;
                counts.released += u64::from(is_new);
            }
            ShopChange::OrderExpired(order) => {
                let is_new = self.orders.release_expired(&order, moment(now)?).await?;
                counts.released += u64::from(is_new);
            }
        }
        Ok(())
    }

    /// The number of new entries: one or none.
    async fn append_to_journal(&self, entry: &Entry, now: Timestamp) -> Result<u64, StoreError> {
        Ok(u64::from(self.journal.append(entry, now).await? == AppendOutcome::New))
    }
}

fn moment(now: Timestamp) -> Result<Moment, StoreError> {
    Moment::new(now).map_err(|error| StoreError::Refused(error.to_string()))
}
