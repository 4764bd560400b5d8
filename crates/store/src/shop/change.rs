//! How a product is changed: read it, decide, and write the product, the ledger's row and the request's marker in one transaction on the condition
//! that nobody has been faster.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::Moment;
use domain::shop::{Product, ProductId};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::keys::{Item, METADATA, PARTITION_KEY, SORT_KEY, TTL, key, marker_ttl, n, product, read, s};
use super::product::{product_item, read_product};
use super::refusals::{Refusal, RefusalMemory, read_refusal};
use super::write::Write;
use crate::retry::Retry;
use crate::{StoreError, Table, TransactionOutcome};

/// What a product has while it is archived.
const ARCHIVED_AT: &str = "ArchivedAt";

/// What an earlier request had been that used the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reused {
    /// The idempotency key came with another request.
    Key,
    /// The order moved something else.
    Order,
}

/// Why a change was not made. `R` is what the rules have against it.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError<R> {
    /// The rules refuse it, as of the state that was read last.
    #[error("refused")]
    Refused(R),
    /// The same request was refused before, and stays refused.
    #[error("refused before")]
    RefusedBefore(R),
    /// Its name stands for something else. Nothing was written.
    #[error("the same name was used for something else: {0:?}")]
    Reused(Reused),
    /// Others were faster, each time. Nothing was written.
    #[error("others changed the product each time")]
    Conflict,
    /// Anything else; what is not [`StoreError::Refused`] may have been written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a row of a history that was kept elsewhere is not taken. `R` is what the rules have against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRowRefusal<R> {
    /// The rules refuse it.
    Refused(R),
    /// The product's history goes on to this moment already, and nothing is put in between.
    Older(Moment),
}

impl<R> From<R> for HistoryRowRefusal<R> {
    fn from(why: R) -> Self {
        Self::Refused(why)
    }
}

impl<R> HistoryRowRefusal<R> {
    /// Refuses a row that is not later than the newest one.
    pub(super) fn unless_later(newest: Option<Moment>, row: Moment) -> Result<(), Self> {
        newest.filter(|newest| *newest >= row).map_or(Ok(()), |newest| Err(Self::Older(newest)))
    }
}

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome<T> {
    /// It is made.
    Applied(T),
    /// The same request had made it before.
    AlreadyApplied(T),
}

/// What a request is remembered by, so that it takes effect once.
#[derive(Debug, Clone)]
pub(super) struct IdempotencyMarker {
    /// Its sort key in the product's partition.
    pub(super) sort: String,
    /// What the request means; see [`request_fingerprint`].
    pub(super) request_fingerprint: String,
    /// What it is to find another request_fingerprint there.
    pub(super) reused: Reused,
}

impl IdempotencyMarker {
    /// Puts it with the change of `subject`; it leads to the item at the sort key `row`.
    pub(super) fn write(&self, subject: &Subject<'_>, row: &str) -> Write {
        let mut item = key(product(subject.product_id), &self.sort);
        item.extend([
            ("Hash".to_owned(), s(&self.request_fingerprint)),
            ("Row".to_owned(), s(row)),
            (TTL.to_owned(), n(marker_ttl(subject.now))),
        ]);
        Write::new(item)
    }
}

/// The hash of all that makes two requests the same.
pub(super) fn request_fingerprint(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // The length keeps a character from moving between the parts.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a change is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) product_id: &'a ProductId,
    /// What the request is remembered by. None for a change that comes to the same, however often it is asked for.
    pub(super) markers: &'a [IdempotencyMarker],
    /// Where a refusal of the request is remembered.
    pub(super) memory: &'a RefusalMemory,
    /// Sort keys of other items in the product's partition that the decision needs.
    pub(super) beside: &'a [String],
    pub(super) now: Moment,
}

/// What a decision is made of.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) product: Option<Product>,
    item: Option<Item>,
    beside: BTreeMap<String, Item>,
}

impl Before {
    /// One of the other items that were asked for.
    pub(super) fn beside(&self, sort: &str) -> Option<&Item> {
        self.beside.get(sort)
    }

    /// What the first marker that is there says. Another request_fingerprint weighs more than the same: a known order under a key of another request is refused.
    fn known<R: Refusal>(&self, subject: &Subject<'_>) -> Result<Option<Known<R>>, StoreError> {
        let mut same = None;
        for marker in subject.markers {
            let Some(item) = self.beside(&marker.sort) else { continue };
            let row: MarkerRow = read(item.clone())?;
            if row.hash != marker.request_fingerprint {
                return Ok(Some(Known::Other(marker.reused)));
            }
            let known = match row.row {
                Some(row) => Known::Same(row),
                None => Known::Refused(read_refusal(item)?),
            };
            same.get_or_insert(known);
        }
        let refused = || Ok::<_, StoreError>(self.refused(subject)?.map(Known::Refused));
        same.map_or_else(refused, |known| Ok(Some(known)))
    }
}

/// What is decided.
#[derive(Debug)]
pub(super) enum Decision<T> {
    /// Nothing has to be written, and nothing is remembered.
    Nothing(T),
    /// All of it is written, or nothing.
    Write(Box<Plan<T>>),
}

/// What is to be written.
#[derive(Debug)]
pub(super) struct Plan<T> {
    /// The product, in its next version.
    pub(super) product: Product,
    /// The items that go with it.
    pub(super) writes: Vec<Write>,
    /// The sort key of the item that says what the request came to. The markers lead to it.
    pub(super) row: String,
    /// What the caller learns.
    pub(super) outcome: T,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MarkerRow {
    hash: String,
    /// `None` of a request that was refused.
    row: Option<String>,
}

/// What a known request came to: the sort key of its row, or a refusal.
enum Known<R> {
    Same(String),
    Refused(R),
    Other(Reused),
}

/// Changes products. Its requests are `BatchGetItem` and `TransactWriteItems` of updates, puts and deletes.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    pub(super) table: Table,
}

impl Changes {
    /// Reads, decides and writes, and decides again where others were faster. What a marker says to be known is given by `known`, from the row that
    /// the first request wrote.
    pub(super) async fn change<T, R: Refusal>(
        &self,
        subject: Subject<'_>,
        decide: impl Fn(&Before) -> Result<Decision<T>, ChangeError<R>>,
        known: impl Fn(Item) -> Result<T, StoreError>,
    ) -> Result<ChangeOutcome<T>, ChangeError<R>> {
        let mut retry = Retry::new();
        let mut written: Vec<String> = Vec::new();
        let mut is_refused = false;
        loop {
            let before = self.read(&subject).await?;
            match before.known(&subject)? {
                Some(Known::Other(reused)) => return Err(ChangeError::Reused(reused)),
                Some(Known::Refused(why)) => return Err(ChangeError::RefusedBefore(why)),
                Some(Known::Same(row)) => {
                    // The SDK sends a request again whose reply got lost, and the condition then meets this change's own work.
                    let is_own = written.contains(&row);
                    let outcome = known(self.row(subject.product_id, &row).await?)?;
                    return Ok(if is_own {
                        ChangeOutcome::Applied(outcome)
                    } else {
                        ChangeOutcome::AlreadyApplied(outcome)
                    });
                }
                None => {}
            }
            let plan = match decide(&before) {
                // The markers may have been read before the product, and this very request have taken effect in between: nobody shall be told
                // that there is too little left for what they have just got.
                Err(ChangeError::Refused(_)) if !subject.markers.is_empty() && !is_refused => {
                    is_refused = true;
                    continue;
                }
                Err(error) => return Err(error),
                Ok(Decision::Nothing(outcome)) => return Ok(ChangeOutcome::AlreadyApplied(outcome)),
                Ok(Decision::Write(plan)) => plan,
            };
            written.push(plan.row.clone());
            if let Some(outcome) = self.write(&subject, &before, *plan).await? {
                return Ok(ChangeOutcome::Applied(outcome));
            }
            if !retry.wait().await {
                return Err(ChangeError::Conflict);
            }
        }
    }

    /// The product, its markers and what else is asked for, each as of its last write. They may be of different moments: whatever changes any of them
    /// changes the product's version too, and then nothing is written.
    async fn read(&self, subject: &Subject<'_>) -> Result<Before, StoreError> {
        let partition = product(subject.product_id);
        let markers = subject.markers.iter().map(|marker| marker.sort.as_str());
        let refusal = subject.memory.beside();
        let beside = subject.beside.iter().chain(&refusal).map(String::as_str);
        let sorts = [METADATA].into_iter().chain(markers).chain(beside);
        let keys = sorts.map(|sort| key(&partition, sort)).collect();
        let mut beside = BTreeMap::new();
        for item in self.table.batch_get(keys, true).await? {
            let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned();
            beside.insert(sort.unwrap_or_default(), item);
        }
        let item = beside.remove(METADATA);
        Ok(Before { product: item.clone().map(read_product).transpose()?, item, beside })
    }

    async fn row(&self, product_id: &ProductId, sort: &str) -> Result<Item, StoreError> {
        let request = self.table.get_item(key(product(product_id), sort));
        let item = request.consistent_read(true).send().await?.item;
        item.ok_or_else(|| StoreError::unreadable(format!("{product_id} {sort} is remembered and is not there")))
    }

    /// Writes all of it; `None` when somebody was faster, and nothing was written.
    async fn write<T>(&self, subject: &Subject<'_>, before: &Before, plan: Plan<T>) -> Result<Option<T>, StoreError> {
        let after = product_item(&plan.product)?;
        let first = match &before.item {
            Some(item) => self.update(item, after)?,
            None => Write::new(after).build(&self.table)?,
        };
        let markers = subject.markers.iter().map(|marker| marker.write(subject, &plan.row));
        let others = plan.writes.into_iter().chain(markers).map(|write| write.build(&self.table));
        let mut actions: Vec<_> = std::iter::once(Ok(first)).chain(others).collect::<Result<_, _>>()?;
        actions.extend(self.unless_refused(subject)?);
        Ok(self.transact(actions).await?.map(|()| plan.outcome))
    }

    /// Writes all of it; `None` when a condition failed or another transaction was at it, and nothing was written.
    pub(super) async fn transact(&self, actions: Vec<TransactWriteItem>) -> Result<Option<()>, StoreError> {
        Ok(match self.table.transact(actions).await? {
            TransactionOutcome::Written => Some(()),
            // Another change of the product was faster, or is being written at this moment.
            TransactionOutcome::ConditionFailed { .. } | TransactionOutcome::Conflict => None,
        })
    }

    /// Sets what differs. Attributes that this version of the code does not know stay.
    fn update(&self, before: &Item, after: Item) -> Result<TransactWriteItem, StoreError> {
        let key = before.iter().filter(|(name, _)| [PARTITION_KEY, SORT_KEY].contains(&name.as_str()));
        let version =
            before.get("Version").cloned().ok_or_else(|| StoreError::unreadable("a product without a version"))?;
        let mut update = self
            .table
            .update(key.map(|(name, value)| (name.clone(), value.clone())).collect())
            // Stops a change that was decided on an older state. The version, as a value may come back; and the values, as a client of the
            // original design changes them and knows of no version.
            .condition_expression("attribute_exists(PK) AND #Version = :read AND #Stock = :stock AND #Price = :price")
            .expression_attribute_names("#Version", "Version")
            .expression_attribute_values(":read", version);
        for (name, value) in [("Stock", ":stock"), ("Price", ":price")] {
            let read = before.get(name).cloned();
            let read = read.ok_or_else(|| StoreError::unreadable(format!("a product without `{name}`")))?;
            update =
                update.expression_attribute_names(format!("#{name}"), name).expression_attribute_values(value, read);
        }
        let has_archived_at = after.contains_key(ARCHIVED_AT);
        // In the order of their names, so that the same change is the same request.
        let after: BTreeMap<_, _> = after.into_iter().collect();
        let changed = after.into_iter().filter(|(name, value)| before.get(name) != Some(value));
        let mut sets = Vec::new();
        for (index, (name, value)) in changed.enumerate() {
            sets.push(format!("#n{index} = :v{index}"));
            update = update
                .expression_attribute_names(format!("#n{index}"), name)
                .expression_attribute_values(format!(":v{index}"), value);
        }
        // Of what a product may have, this alone goes away again.
        let is_restored = before.contains_key(ARCHIVED_AT) && !has_archived_at;
        let remove = if is_restored { format!(" REMOVE {ARCHIVED_AT}") } else { String::new() };
        let update = update.update_expression(format!("SET {}{remove}", sets.join(", ")));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}
