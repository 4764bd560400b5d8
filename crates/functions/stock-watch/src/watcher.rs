//! Doing it.

use domain::Moment;
use domain::journal::Entry;
use domain::shop::Notice;
use jiff::Timestamp;
use lambda_kit::stream::{Progress, StreamEvent, StreamRecord};
use store::StoreError;
use store::journal::{Appended, Journal};
use store::shop::{Reservations, ShopChange, ShopImage};

use crate::news;

/// Watches a shop.
#[derive(Debug, Clone)]
pub struct Watcher {
    journal: Journal,
    reservations: Reservations,
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    /// Entries that the journal did not have yet.
    pub(crate) told: u64,
    /// Those of them that say that a stock runs low.
    pub(crate) low: u64,
    /// Those that say that nothing is left.
    pub(crate) out: u64,
    /// Reservations whose goods were given back.
    pub(crate) given_back: u64,
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
    ) -> Result<(Watched, Progress), StoreError> {
        let records = event.read(|record: &StreamRecord<'_, ShopImage, ShopImage>| {
            let (before, after) = (record.change.old_image.as_ref(), record.change.new_image.as_ref());
            ShopChange::of(before, after, record.is_expiry())
        });
        let mut watched = Watched::default();
        let progress = Progress::through(records, StoreError::is_unreadable, async |change| match change {
            Some(change) => self.change(change, now, &mut watched).await,
            None => Ok(()),
        });
        let progress = progress.await?;
        Ok((watched, progress))
    }

    async fn change(&self, change: ShopChange, now: Timestamp, watched: &mut Watched) -> Result<(), StoreError> {
        match change {
            ShopChange::Priced(entry) => watched.told += self.tell(&news::priced(&entry), now).await?,
            ShopChange::Moved(entry) => {
                if let Some(entry) = news::moved(&entry) {
                    watched.told += self.tell(&entry, now).await?;
                }
            }
            ShopChange::Product(products) => {
                for (notice, entry) in news::noticed(&products) {
                    let told = self.tell(&entry, now).await?;
                    watched.told += told;
                    match notice {
                        Notice::Low => watched.low += told,
                        Notice::Out => watched.out += told,
                    }
                }
            }
            ShopChange::Expired(product_id, reservation) => {
                let now = Moment::new(now).map_err(|error| StoreError::Refused(error.to_string()))?;
                let is_new = self.reservations.give_back_deleted(&product_id, &reservation, now).await?;
                watched.given_back += u64::from(is_new);
            }
        }
        Ok(())
    }

    /// How many entries are new: one, or none.
    async fn tell(&self, entry: &Entry, now: Timestamp) -> Result<u64, StoreError> {
        Ok(u64::from(self.journal.append(entry, now).await? == Appended::New))
    }
}
