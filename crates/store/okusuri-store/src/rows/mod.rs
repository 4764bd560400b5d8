//! The items of Okusuri's table as they are stored. The service and the migration write the very
//! same rows.
//!
//! Each item has `PK`, `SK` and `Type`, `TypePartition` and `TypeSort` for the index of types, and
//! `TTL` (epoch seconds) where it expires; these are made from the row's own attributes by
//! [`item`]. Times are RFC 3339 in UTC, dates `2025-08-30`. Attributes that a row does not know are
//! left alone by every update, which is why none of them replaces an item.

/// Implements [`Row`] for a row that is made at its `created_at`.
macro_rules! row {
    (
        $row:ident as $type:literal,
        owner $owner:ident,
        key |$of:ident| $key:expr
        $(, optional $optional:expr)?
        $(, listed |$listed_of:ident| $listed:expr)?
        $(, expires |$expires_of:ident| $expires:expr)?
    ) => {
        impl $crate::rows::Row for $row {
            const TYPE: &'static str = $type;
            $(const OPTIONAL: &'static [&'static str] = &$optional;)?

            fn key(&self) -> $crate::keys::Key {
                let $of = self;
                $key
            }

            fn owner(&self) -> &str {
                &self.$owner
            }

            fn created_at(&self) -> jiff::Timestamp {
                self.created_at
            }
            $(
                fn listed_by(&self) -> String {
                    let $listed_of = self;
                    $listed
                }
            )?
            $(
                fn expires_at(&self) -> Option<jiff::Timestamp> {
                    let $expires_of = self;
                    $expires
                }
            )?
        }
    };
}
pub(crate) use row;

mod as_text;
mod log;
mod medicine;
mod notice;
mod user;

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::log::{LogSummary, MedicationLog};
pub use self::medicine::{Dose, DoseMark, Former, Medicine, Stock};
pub use self::notice::{DoseReminder, DueRow, NotificationSetting, PushSubscription, Reminder};
pub use self::user::{Account, AccountOwner, EmailOwner, Session, User, UserImage, UserSession};
use super::keys::{
    self, Item, Key, PARTITION_KEY, SORT_KEY, TTL, TYPE_PARTITION, TYPE_SORT, index_shard, n, s, sortable,
};
use store_base::StoreError;

/// What every row tells of itself.
pub trait Row: Serialize + DeserializeOwned {
    /// The attribute `Type`.
    const TYPE: &'static str;

    /// Optional attributes of the row, by their name in the item. An update removes those that the
    /// row lacks. Attributes that are not listed here stay.
    const OPTIONAL: &'static [&'static str] = &[];

    /// Where it lies.
    fn key(&self) -> Key;

    /// The owner: the user's id, or another id that names the partition.
    fn owner(&self) -> &str;

    /// When it was made.
    fn created_at(&self) -> Timestamp;

    /// What the listing of its type is sorted by: the time of its creation, where there is nothing
    /// better.
    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at()), self.owner())
    }

    /// When TTL may delete it. TTL deletes late, so the reader of the row also refuses expired
    /// rows.
    fn expires_at(&self) -> Option<Timestamp> {
        None
    }
}

/// A row as an item, with all of its attributes.
pub fn item<R: Row>(row: &R) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(row.key().item());
    item.extend([
        ("Type".to_owned(), s(R::TYPE)),
        (TYPE_PARTITION.to_owned(), s(keys::type_partition(R::TYPE, index_shard(row.owner())))),
        (TYPE_SORT.to_owned(), s(row.listed_by())),
    ]);
    if let Some(at) = row.expires_at() {
        item.insert(TTL.to_owned(), n(at.as_second()));
    }
    Ok(item)
}

/// Reads an item; one that is not what its key promises is an error that names the key, but
/// nobody's address: it ends in logs.
pub fn read<R: DeserializeOwned>(item: Item) -> Result<R, StoreError> {
    let key = [PARTITION_KEY, SORT_KEY].map(|name| item.get(name).and_then(|value| value.as_s().ok()).cloned());
    serde_dynamo::from_item(item).map_err(|error| {
        let [mut partition, sort] = key.map(Option::unwrap_or_default);
        if let Some((kind @ ("EMAIL" | "VERIFICATION"), _)) = partition.split_once('#') {
            partition = format!("{kind}#...");
        }
        StoreError::unreadable(format!("{partition} {sort}: {error}"))
    })
}

/// Ids are checked when an item is written; one that an item holds is as good as its key.
pub(crate) fn of_user(id: &str, sort: impl Into<String>) -> Key {
    Key::new(format!("USER#{id}"), sort)
}
