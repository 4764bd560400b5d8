//! Changes products with optimistic locking: reads the product, decides, and writes the product,
//! the row of the ledger and the idempotency marker in one transaction. Its condition is that the
//! product has not changed since the read.

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::Moment;
use domain::shop::{Product, ProductId, StockRefusal};
use serde::Deserialize;
use std::collections::BTreeMap;

use super::keys::{Item, METADATA, PARTITION_KEY, SORT_KEY, key, product, read};
use super::marker::{IdempotencyMarker, Reused};
use super::refusal::{Refusal, RefusalMemory, StockChangeRefusal, read_refusal};
use super::rows::{product_item, read_product};
use super::write::Write;
use store_base::Retry;
use store_base::{StoreError, Table, TransactionOutcome};

/// The attribute that a product has while it is archived.
const ARCHIVED_AT: &str = "ArchivedAt";

/// Why a change was not made. `R` is the type of the refusals.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError<R> {
    /// The rules refuse the change, for the state that was read last.
    #[error("refused")]
    Refused(R),
    /// The same request was refused before, and stays refused.
    #[error("refused before")]
    RefusedBefore(R),
    /// Another request has used the same name. Nothing was written.
    #[error("another request has used the same name: {0:?}")]
    Reused(Reused),
    /// Other changes were faster in each try. Nothing was written.
    #[error("another change of the product was faster each time")]
    Conflict,
    /// A request failed. Unless it is a [`StoreError::Refused`], the change may have been written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome<T> {
    /// The change was made now.
    Applied(T),
    /// The same request had made the change before.
    AlreadyApplied(T),
}

/// The inputs of a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) product_id: &'a ProductId,
    /// The markers of the request. Empty for a change that has the same result each time it is
    /// requested.
    pub(super) markers: &'a [IdempotencyMarker],
    /// Where a refusal of the request is stored.
    pub(super) memory: &'a RefusalMemory,
    /// The sort keys of other items in the product's partition that the decision needs.
    pub(super) beside: &'a [String],
    /// The sort key of one more, which the request does not write: it is no effect of a copy.
    pub(super) also_read: Option<&'a str>,
    pub(super) now: Moment,
}

impl<'a> Subject<'a> {
    /// A change that has the same result each time it is requested, and whose refusal is not stored.
    pub(super) fn repeatable(product_id: &'a ProductId, beside: &'a [String], now: Moment) -> Self {
        Self { product_id, markers: &[], memory: &RefusalMemory::Nowhere, beside, also_read: None, now }
    }
}

/// The items that a decision is based on.
#[derive(Debug, PartialEq)]
pub(super) struct Before {
    pub(super) product: Option<Product>,
    item: Option<Item>,
    beside: BTreeMap<String, Item>,
}

impl Before {
    /// One of the other items of [`Subject::beside`], or a marker.
    pub(super) fn beside(&self, sort: &str) -> Option<&Item> {
        self.beside.get(sort)
    }

    /// Whether an error of the decision is the request's result. The items may be of different
    /// moments, and a copy of the request may have taken effect in between. Its client must not be
    /// told that the request has failed.
    fn is_final<R>(&self, error: &ChangeError<R>, subject: &Subject<'_>, previous: Option<&Self>) -> bool {
        match error {
            // Without markers, one item alone decides, or storing the refusal finds the copy.
            ChangeError::Refused(_) => subject.markers.is_empty() || previous.is_some(),
            // Items that are the same in two reads were there together between the reads.
            _ => previous == Some(self),
        }
    }

    /// The result of an earlier request, from its marker. A marker with another fingerprint takes
    /// precedence: a known order with the key of another request is refused.
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

/// The result of a decision.
#[derive(Debug)]
pub(super) enum Decision<T> {
    /// Nothing has to be written or remembered.
    Nothing(T),
    /// All of the plan is written, or nothing.
    Write(Box<Plan<T>>),
}

/// The writes of a change.
#[derive(Debug)]
pub(super) struct Plan<T> {
    /// The product, with its next version.
    pub(super) product: Product,
    /// The other items of the transaction.
    pub(super) writes: Vec<Write>,
    /// The sort key of the item with the result of the request. The markers refer to it.
    pub(super) row: String,
    /// The result for the caller.
    pub(super) outcome: T,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct MarkerRow {
    hash: String,
    /// `None` if the request was refused.
    row: Option<String>,
}

/// The result of a known request: the sort key of its row, or a refusal.
enum Known<R> {
    Same(String),
    Refused(R),
    Other(Reused),
}

/// Changes products. Its requests are `BatchGetItem` and `TransactWriteItems` of updates, puts and
/// deletes.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    pub(super) table: Table,
}

impl Changes {
    /// Reads, decides and writes. If another change is faster, it starts again. For a known
    /// request, `known` makes the result from the row that the first request has written.
    pub(super) async fn change<T, R: Refusal>(
        &self,
        subject: Subject<'_>,
        decide: impl Fn(&Before) -> Result<Decision<T>, ChangeError<R>>,
        known: impl Fn(Item) -> Result<T, StoreError>,
    ) -> Result<ChangeOutcome<T>, ChangeError<R>> {
        let mut retry = Retry::new();
        let mut written: Vec<String> = Vec::new();
        let mut doubted: Option<Before> = None;
        loop {
            let before = self.read(&subject).await?;
            match before.known(&subject)? {
                Some(Known::Other(reused)) => return Err(ChangeError::Reused(reused)),
                Some(Known::Refused(why)) => return Err(ChangeError::RefusedBefore(why)),
                Some(Known::Same(row)) => {
                    // The SDK repeats a request whose reply was lost. The condition then fails
                    // because of this change's own write.
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
                Err(error) if !before.is_final(&error, &subject, doubted.as_ref()) => {
                    let is_first = doubted.replace(before).is_none();
                    if is_first || retry.wait().await {
                        continue;
                    }
                    return Err(ChangeError::Conflict);
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

    /// Reads the product, its markers and the other items, each strongly consistently. They may be
    /// of different moments. If one of them changes, the product's version changes too, and the
    /// write fails.
    async fn read(&self, subject: &Subject<'_>) -> Result<Before, StoreError> {
        let partition = product(subject.product_id);
        let markers = subject.markers.iter().map(|marker| marker.sort.as_str());
        let refusal = subject.memory.beside();
        let beside = subject.beside.iter().chain(&refusal).map(String::as_str);
        let sorts = [METADATA].into_iter().chain(markers).chain(beside).chain(subject.also_read);
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
        item.ok_or_else(|| {
            StoreError::unreadable(format!("{product_id} has a marker for {sort}, which does not exist"))
        })
    }

    /// Writes the plan; `None` when another change was faster and nothing was written.
    async fn write<T>(&self, subject: &Subject<'_>, before: &Before, plan: Plan<T>) -> Result<Option<T>, StoreError> {
        let after = product_item(&plan.product)?;
        let first = match &before.item {
            Some(item) => self.update(item, after)?,
            None => Write::new(after).build(&self.table)?,
        };
        let markers = subject.markers.iter().map(|marker| marker.write(subject.product_id, &plan.row, subject.now));
        let others = plan.writes.into_iter().chain(markers).map(|write| write.build(&self.table));
        let mut actions: Vec<_> = std::iter::once(Ok(first)).chain(others).collect::<Result<_, _>>()?;
        actions.extend(self.unless_refused(subject)?);
        Ok(self.transact(actions).await?.map(|()| plan.outcome))
    }

    /// Writes all actions; `None` when a condition failed or another transaction held an item.
    /// Nothing was written then.
    pub(super) async fn transact(&self, actions: Vec<TransactWriteItem>) -> Result<Option<()>, StoreError> {
        Ok(match self.table.transact(actions).await? {
            TransactionOutcome::Written => Some(()),
            // Another change of the product was faster, or is being written now.
            TransactionOutcome::ConditionFailed { .. } | TransactionOutcome::Conflict => None,
        })
    }

    /// Sets the attributes that differ. Attributes that this version of the code does not know are
    /// kept.
    pub(super) fn update(&self, before: &Item, after: Item) -> Result<TransactWriteItem, StoreError> {
        let key = before.iter().filter(|(name, _)| [PARTITION_KEY, SORT_KEY].contains(&name.as_str()));
        let version =
            before.get("Version").cloned().ok_or_else(|| StoreError::unreadable("a product without a version"))?;
        let mut update = self
            .table
            .update(key.map(|(name, value)| (name.clone(), value.clone())).collect())
            // Stops a change that was decided on an older state. The values alone are not enough,
            // since a value may come back. The version alone is not enough, since a client of the
            // original design changes the values without it.
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
        // Sorted by name, so that the same change is the same request.
        let after: BTreeMap<_, _> = after.into_iter().collect();
        let changed = after.into_iter().filter(|(name, value)| before.get(name) != Some(value));
        let mut sets = Vec::new();
        for (index, (name, value)) in changed.enumerate() {
            sets.push(format!("#n{index} = :v{index}"));
            update = update
                .expression_attribute_names(format!("#n{index}"), name)
                .expression_attribute_values(format!(":v{index}"), value);
        }
        // `ArchivedAt` is the only attribute of a product that is ever removed.
        let is_restored = before.contains_key(ARCHIVED_AT) && !has_archived_at;
        let remove = if is_restored { format!(" REMOVE {ARCHIVED_AT}") } else { String::new() };
        let update = update.update_expression(format!("SET {}{remove}", sets.join(", ")));
        Ok(TransactWriteItem::builder().update(update.build()?).build())
    }
}

/// The product has fewer pieces reserved than its reservations hold: another client has written to
/// the table.
pub(super) fn unreadable(product_id: &ProductId) -> impl Fn(StockRefusal) -> StoreError {
    move |why| StoreError::unreadable(format!("PRODUCT#{product_id}: {why}"))
}

/// The error for a refused stock change.
pub(super) fn stock_refused(why: StockRefusal) -> ChangeError<StockChangeRefusal> {
    ChangeError::Refused(StockChangeRefusal::Stock(why))
}
