//! Remembers refusals. Without this, an attempt that its client believes lost could still take
//! effect after the client was refused.
//!
//! The refusal of a request with a key is stored under its key, for as long as the marker of a
//! success would be. The refusal of a request that is identified by its order is valid for a
//! minute, which is longer than any attempt lasts. After that, the order may ask again.

use std::future::Future;

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::shop::{Currency, CurrencyMismatch, StockLevel, StockRefusal};

use super::change::{
    Before, ChangeError, ChangeOutcome, Changes, HistoryRowRefusal, IdempotencyMarker, Subject, request_fingerprint,
};
use super::keys::{TTL, key, marker_ttl, n, product, s};
use super::prices::PriceRefusal;
use super::reservations::SettleRefusal;
use super::stock::StockChangeRefusal;
use crate::StoreError;
use crate::item::Item;
use crate::retry::Retry;

/// How long the refusal of a request without a key is valid, in seconds. The API times out after 30
/// seconds, and Lambda ends an attempt after 10.
const HOLDS_S: i64 = 60;

/// There is no item, or a refusal that is no longer valid. Stops an attempt from taking effect
/// after its client was refused.
const NOT_REFUSED: &str = "attribute_not_exists(PK) OR #Until <= :now";

/// Where a refusal is stored.
#[derive(Debug, Clone)]
pub(super) enum RefusalMemory {
    /// The refusal is not stored.
    Nowhere,
    /// Under the key of the idempotency marker.
    IdempotencyMarker(IdempotencyMarker),
    /// In an item of its own, under the fingerprint of the request. The transaction that takes
    /// effect checks this item.
    Apart(String),
}

impl RefusalMemory {
    /// For a request without a key. `parts` are all values in which two equal requests must agree.
    pub(super) fn apart(parts: &[&str]) -> Self {
        Self::Apart(request_fingerprint(parts))
    }

    /// The sort key in the product's partition, and the fingerprint of the request.
    fn place(&self) -> Option<(String, &str)> {
        match self {
            Self::Nowhere => None,
            Self::IdempotencyMarker(marker) => Some((marker.sort.clone(), &marker.request_fingerprint)),
            Self::Apart(request_fingerprint) => Some((format!("REFUSED#{request_fingerprint}"), request_fingerprint)),
        }
    }

    /// The sort key that a decision has to read, unless it is that of a marker, which is read
    /// anyway.
    pub(super) fn beside(&self) -> Option<String> {
        self.place().filter(|_| matches!(self, Self::Apart(_))).map(|(sort, _)| sort)
    }
}

/// A refusal of a rule that can be stored as a text and read back.
pub(super) trait Refusal: Sized {
    /// The text; `None` for a refusal that is not stored.
    fn text(&self) -> Option<String>;
    fn read(text: &str) -> Option<Self>;
}

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
        let put = self.table.put(item).condition_expression(NOT_REFUSED);
        let put = put.expression_attribute_names("#Until", "Until").expression_attribute_values(":now", n(now_s));
        // Stops a refusal that was decided on an older read from being stored when a copy of the
        // request has taken effect since.
        let effects = subject.markers.iter().map(|marker| &marker.sort).chain(subject.beside);
        let effects = effects.filter(|effect| **effect != sort).map(|effect| {
            let check = self.table.condition_check(key(product(subject.product_id), effect));
            let check = check.condition_expression("attribute_not_exists(PK)").build()?;
            Ok(TransactWriteItem::builder().condition_check(check).build())
        });
        let put = TransactWriteItem::builder().put(put.build()?).build();
        let actions = std::iter::once(Ok(put)).chain(effects).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(self.transact(actions).await?.is_some())
    }

    /// The condition check that fails if the request was refused. A marker needs none, since its
    /// own put has a condition.
    pub(super) fn unless_refused(&self, subject: &Subject<'_>) -> Result<Option<TransactWriteItem>, StoreError> {
        let Some(sort) = subject.memory.beside() else { return Ok(None) };
        let check = self
            .table
            .condition_check(key(product(subject.product_id), sort))
            .condition_expression(NOT_REFUSED)
            .expression_attribute_names("#Until", "Until")
            .expression_attribute_values(":now", n(subject.now.timestamp().as_second()));
        Ok(Some(TransactWriteItem::builder().condition_check(check.build()?).build()))
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
        let until_s: Option<i64> = item.get("Until").and_then(|until| until.as_n().ok()?.parse().ok());
        let holds = until_s.is_some_and(|until_s| until_s > subject.now.timestamp().as_second());
        if holds { read_refusal(item).map(Some) } else { Ok(None) }
    }
}

/// The refusal in an item.
pub(super) fn read_refusal<R: Refusal>(item: &Item) -> Result<R, StoreError> {
    let text = item.get("Refused").and_then(|text| text.as_s().ok());
    let refusal = text.and_then(|text| R::read(text));
    refusal.ok_or_else(|| StoreError::unreadable(format!("a refusal of {text:?}")))
}

impl Refusal for StockChangeRefusal {
    fn text(&self) -> Option<String> {
        let why = match self {
            Self::NotFound => return Some("not-found".to_owned()),
            Self::Archived => return Some("archived".to_owned()),
            Self::Stock(why) => why,
        };
        let name = match why {
            StockRefusal::Insufficient(_) => "insufficient",
            StockRefusal::Reserved(_) => "reserved",
            StockRefusal::Overflow(_) => "overflow",
            StockRefusal::NotReserved(_) => "not-reserved",
        };
        Some(format!("{name} {} {}", why.level().stock(), why.level().reserved()))
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "not-found" => return Some(Self::NotFound),
            "archived" => return Some(Self::Archived),
            _ => {}
        }
        let words: Vec<_> = text.split(' ').collect();
        let [name, stock, reserved] = *words else { return None };
        let level = StockLevel::new(stock.parse().ok()?, reserved.parse().ok()?).ok()?;
        let why = match name {
            "insufficient" => StockRefusal::Insufficient(level),
            "reserved" => StockRefusal::Reserved(level),
            "overflow" => StockRefusal::Overflow(level),
            "not-reserved" => StockRefusal::NotReserved(level),
            _ => return None,
        };
        Some(Self::Stock(why))
    }
}

impl Refusal for PriceRefusal {
    fn text(&self) -> Option<String> {
        Some(match self {
            Self::NotFound => "not-found".to_owned(),
            Self::Archived => "archived".to_owned(),
            Self::Currency(CurrencyMismatch { of_product }) => of_product.to_string(),
            Self::Same => "same".to_owned(),
        })
    }

    fn read(text: &str) -> Option<Self> {
        match text {
            "not-found" => Some(Self::NotFound),
            "archived" => Some(Self::Archived),
            "same" => Some(Self::Same),
            text => Currency::new(text).ok().map(|of_product| Self::Currency(CurrencyMismatch { of_product })),
        }
    }
}

/// Refusals are not stored: they follow from the state of the reservation, which is final.
impl Refusal for SettleRefusal {
    fn text(&self) -> Option<String> {
        None
    }

    fn read(_: &str) -> Option<Self> {
        None
    }
}

/// Refusals are not stored: a refused line of a file may be accepted after the lines before it are
/// corrected.
impl<R: Refusal> Refusal for HistoryRowRefusal<R> {
    fn text(&self) -> Option<String> {
        None
    }

    fn read(text: &str) -> Option<Self> {
        R::read(text).map(Self::Refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_read_back_from_its_text() {
        let level = StockLevel::new(7, 3).expect("a level");
        for why in [StockRefusal::Insufficient(level), StockRefusal::Reserved(level), StockRefusal::Overflow(level)] {
            let refusal = StockChangeRefusal::Stock(why);
            assert_eq!(refusal.text().as_deref().and_then(StockChangeRefusal::read), Some(refusal));
        }
        let euro = CurrencyMismatch { of_product: Currency::new("EUR").expect("a currency") };
        for refusal in
            [PriceRefusal::NotFound, PriceRefusal::Archived, PriceRefusal::Same, PriceRefusal::Currency(euro)]
        {
            assert_eq!(refusal.text().as_deref().and_then(PriceRefusal::read), Some(refusal));
        }
        for refusal in [StockChangeRefusal::NotFound, StockChangeRefusal::Archived] {
            assert_eq!(refusal.text().as_deref().and_then(StockChangeRefusal::read), Some(refusal));
        }
        assert_eq!(StockChangeRefusal::read("insufficient 7"), None);
    }
}
