//! Remembers refusals. Without this, an attempt that its client believes lost could still take
//! effect after the client was refused.
//!
//! The refusal of a request with a key is stored under its key, for as long as the marker of a
//! success would be. The refusal of a request that is identified by its order is valid for a
//! minute, which is longer than any attempt lasts. After that, the order may ask again.

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::Moment;
use std::future::Future;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Subject};
use super::keys::{Item, TTL, key, marker_ttl, n, product, s};
use super::refusal::{HOLDS_S, NOT_REFUSED, Refusal, RefusalMemory, read_refusal};
use store_base::Retry;
use store_base::StoreError;

impl Changes {
    /// Makes a change. If it is refused, the refusal is stored.
    pub(super) async fn final_change<T, R: Refusal, F>(
        &self,
        subject: &Subject<'_>,
        change: impl Fn() -> F,
    ) -> Result<ChangeOutcome<T>, ChangeError<R>>
    where
        F: Future<Output = Result<ChangeOutcome<T>, ChangeError<R>>>,
    {
        let mut retry = Retry::new();
        loop {
            match change().await {
                Err(ChangeError::Refused(why)) => {
                    if self.remember(subject, &why).await? {
                        return Err(ChangeError::Refused(why));
                    }
                }
                outcome => return outcome,
            }
            if !retry.wait().await {
                return Err(ChangeError::Conflict);
            }
        }
    }

    /// Stores a refusal; `false` when another attempt at the same request was faster and has taken
    /// effect or was refused.
    async fn remember<R: Refusal>(&self, subject: &Subject<'_>, why: &R) -> Result<bool, StoreError> {
        let (Some((sort, request_fingerprint)), Some(text)) = (subject.memory.place(), why.text()) else {
            return Ok(true);
        };
        let now_s = subject.now.timestamp().as_second();
        let mut item = key(product(subject.product_id), sort.clone());
        item.extend([
            ("Hash".to_owned(), s(request_fingerprint)),
            ("Refused".to_owned(), s(text)),
            (TTL.to_owned(), n(marker_ttl(subject.now))),
        ]);
        if let RefusalMemory::Apart(_) = subject.memory {
            item.extend([("Until".to_owned(), n(now_s + HOLDS_S)), (TTL.to_owned(), n(now_s + HOLDS_S))]);
        }
        // Stops a refusal that was decided on an older read from being stored when a copy of the
        // request has taken effect since.
        let effects = subject.markers.iter().map(|marker| &marker.sort).chain(subject.beside);
        let effects = effects.filter(|effect| **effect != sort).map(|effect| key(product(subject.product_id), effect));
        self.store_refusal(item, effects.collect(), subject.now).await
    }

    /// Stores the item of a refusal, unless a valid one is there or one of `effects` exists; `false`
    /// then.
    pub(super) async fn store_refusal(&self, item: Item, effects: Vec<Item>, now: Moment) -> Result<bool, StoreError> {
        let put = self.table.put(item).condition_expression(NOT_REFUSED).expression_attribute_names("#Until", "Until");
        let put = put.expression_attribute_values(":now", n(now.timestamp().as_second())).build()?;
        let effects = effects.into_iter().map(|effect| {
            let check = self.table.condition_check(effect).condition_expression("attribute_not_exists(PK)").build()?;
            Ok(TransactWriteItem::builder().condition_check(check).build())
        });
        let put = TransactWriteItem::builder().put(put).build();
        let actions = std::iter::once(Ok(put)).chain(effects).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(self.transact(actions).await?.is_some())
    }

    /// The condition check that fails if the request was refused. A marker needs none, since its
    /// own put has a condition.
    pub(super) fn unless_refused(&self, subject: &Subject<'_>) -> Result<Option<TransactWriteItem>, StoreError> {
        let sort = subject.memory.beside();
        sort.map(|sort| self.check_not_refused(key(product(subject.product_id), sort), subject.now)).transpose()
    }

    /// The condition check that fails if this item is a valid refusal.
    pub(super) fn check_not_refused(&self, refusal: Item, now: Moment) -> Result<TransactWriteItem, StoreError> {
        let check = self
            .table
            .condition_check(refusal)
            .condition_expression(NOT_REFUSED)
            .expression_attribute_names("#Until", "Until")
            .expression_attribute_values(":now", n(now.timestamp().as_second()));
        Ok(TransactWriteItem::builder().condition_check(check.build()?).build())
    }
}

impl Before {
    /// The refusal of the request, if it is still valid. The effect of the request takes
    /// precedence: after the refusal has expired, the request may have taken effect, and an
    /// instance with a slow clock would find both.
    pub(super) fn refused<R: Refusal>(&self, subject: &Subject<'_>) -> Result<Option<R>, StoreError> {
        if subject.beside.iter().any(|effect| self.beside(effect).is_some()) {
            return Ok(None);
        }
        let Some(item) = subject.memory.beside().and_then(|sort| self.beside(&sort)) else { return Ok(None) };
        valid_refusal(item, subject.now)
    }
}

/// The refusal in an item, if it is still valid.
pub(super) fn valid_refusal<R: Refusal>(item: &Item, now: Moment) -> Result<Option<R>, StoreError> {
    let until_s: Option<i64> = item.get("Until").and_then(|until| until.as_n().ok()?.parse().ok());
    let holds = until_s.is_some_and(|until_s| until_s > now.timestamp().as_second());
    holds.then(|| read_refusal(item)).transpose()
}
