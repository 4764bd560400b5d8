//! Counting clicks from the quarantine, once.
//!
//! What counts is the click as it lies in the table now, by the rules of now: the record tells which. Each click has a lane of its own,
//! with room for one: the transaction that counts the click makes the lane, so there is no second one.

use backon::Retryable;
use domain::clicks::{SequenceNumber, StatDelta, StreamClick, parts};
use jiff::Timestamp;

use super::image::ClickImage;
use super::keys::key;
use super::lanes::{CommitError, Lane, Lanes};
use super::markers::{KnownClaims, Markers};
use super::quarantine::{Ending, Kept, Quarantine};
use super::recount::in_no_shard;
use super::repair::patience;
use crate::{StoreError, Table};

/// What became of a record that was redriven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redriven {
    /// It is done with, now or at some earlier time.
    Ended(Ending),
    /// It stays: its click still cannot be read. A stable code, and the same for people.
    Unreadable(&'static str, String),
}

/// Redrives. Its requests are `GetItem`, `BatchGetItem`, and `UpdateItem` of markers, statistics, lanes and the quarantine, alone and in `TransactWriteItems`.
#[derive(Debug, Clone)]
pub struct Redriver {
    table: Table,
    lanes: Lanes,
    markers: Markers,
    quarantine: Quarantine,
}

impl Redriver {
    /// Redrives what is in quarantine in `table`.
    pub fn new(table: &Table) -> Self {
        Self {
            lanes: Lanes::new(table),
            markers: Markers::new(table),
            quarantine: Quarantine::new(table),
            table: table.clone(),
        }
    }

    /// Counts the click that a record tells of, unless that has been done.
    pub async fn redrive(&self, kept: &Kept, now: Timestamp) -> Result<Redriven, StoreError> {
        (|| self.try_once(kept, now)).retry(patience()).when(StoreError::is_transient).await
    }

    /// Has a record's click count no more, whatever becomes of the record: for clicks that somebody has put anew, and that the stream has brought.
    pub async fn dismiss(&self, kept: &Kept, now: Timestamp) -> Result<Redriven, StoreError> {
        let end = || async {
            match kept.click_key() {
                Some(click) => {
                    self.end(kept, &Lane::redrive(&click), &StatDelta::default(), Ending::Dismissed, now).await
                }
                None => self
                    .quarantine
                    .end(&kept.id, Ending::Dismissed, now)
                    .await
                    .map(|()| Redriven::Ended(Ending::Dismissed)),
            }
        };
        end.retry(patience()).when(StoreError::is_transient).await
    }

    async fn try_once(&self, kept: &Kept, now: Timestamp) -> Result<Redriven, StoreError> {
        if let Some(ending) = kept.ending {
            return Ok(Redriven::Ended(ending));
        }
        let Some(click_key) = kept.click_key() else {
            return Ok(Redriven::Unreadable(
                "no-key",
                "the record does not tell the click's userId and createDateTime".to_owned(),
            ));
        };
        let lane = Lane::redrive(&click_key);
        let (user_id, time) = &click_key;
        let request = self.table.get_item(key(user_id, time));
        let Some(item) = request.consistent_read(true).send().await?.item else {
            return self.end(kept, &lane, &StatDelta::default(), Ending::Gone, now).await;
        };
        match ClickImage::from(&item).click(in_no_shard()) {
            Ok(Some(click)) => {
                let delta = self.claim(&lane, click).await?;
                self.end(kept, &lane, &delta, Ending::Counted, now).await
            }
            Ok(None) => Ok(Redriven::Unreadable("record-sort", "recordSort does not begin with CLICK#".to_owned())),
            Err(why) => Ok(Redriven::Unreadable(why.code(), why.to_string())),
        }
    }

    /// As the aggregator does for a batch, here for one of one record, in a lane where nothing has been counted.
    async fn claim(&self, lane: &Lane, click: StreamClick<'_>) -> Result<StatDelta, StoreError> {
        let first = SequenceNumber::behind(None);
        let mut delta = StatDelta::default();
        for part in parts([StreamClick { sequence_number: first, ..click }], first) {
            let standing = self.markers.claim(&mut KnownClaims::default(), lane.id(), None, &part.visits).await?;
            delta = part.delta(lane.id(), None, &standing);
        }
        Ok(delta)
    }

    /// Counts and closes the lane, or finds it closed.
    async fn end(
        &self,
        kept: &Kept,
        lane: &Lane,
        delta: &StatDelta,
        ending: Ending,
        now: Timestamp,
    ) -> Result<Redriven, StoreError> {
        let note = self.quarantine.ending(&kept.id, ending, now);
        match self.lanes.commit_with(lane, None, SequenceNumber::behind(None), delta, Some(note), now).await {
            Ok(()) => Ok(Redriven::Ended(ending)),
            Err(CommitError::Store(error)) => Err(error),
            // By another redrive, by this one's earlier try, or from another record of the same click.
            Err(CommitError::LaneMoved) => {
                let ended = self.quarantine.get(&kept.id).await?.and_then(|kept| kept.ending);
                if let Some(ending) = ended {
                    return Ok(Redriven::Ended(ending));
                }
                self.quarantine.end(&kept.id, Ending::Duplicate, now).await?;
                Ok(Redriven::Ended(Ending::Duplicate))
            }
        }
    }
}
