//! Refusals are remembered. Without this, an attempt that its client believes lost could still take effect after the client was
//! refused.
//!
//! A request with a key is remembered under its key, for as long as what it would have written. A request that goes by its order is
//! remembered for a minute, which is longer than any attempt lives: then the order may ask again.

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

/// How long the refusal of a request without a key holds, seconds. The API gives up on an attempt after 30 seconds, and Lambda ends
/// it after 10.
const HOLDS_S: i64 = 60;

/// Nothing is there, or a refusal that holds no longer. Stops an attempt from taking effect after its client was refused.
const NOT_REFUSED: &str = "attribute_not_exists(PK) OR #Until <= :now";

/// Under which name a refusal is remembered.
#[derive(Debug, Clone)]
pub(super) enum RefusalMemory {
    /// Not at all.
    Nowhere,
    /// Where its key's marker would lie.
    IdempotencyMarker(IdempotencyMarker),
    /// In an item of its own, by what the request means. The transaction that takes effect checks it.
    Apart(String),
}

impl RefusalMemory {
    /// Of a request that has no key: `parts` are all that makes two requests the same.
    pub(super) fn apart(parts: &[&str]) -> Self {
        Self::Apart(request_fingerprint(parts))
    }

    /// Its sort key in the product's partition, and what it means.
    fn place(&self) -> Option<(String, &str)> {
        match self {
            Self::Nowhere => None,
            Self::IdempotencyMarker(marker) => Some((marker.sort.clone(), &marker.request_fingerprint)),
            Self::Apart(request_fingerprint) => Some((format!("REFUSED#{request_fingerprint}"), request_fingerprint)),
        }
    }

    /// The sort key that a decision has to read, unless its marker is read anyway.
    pub(super) fn beside(&self) -> Option<String> {
        self.place().filter(|_| matches!(self, Self::Apart(_))).map(|(sort, _)| sort)
    }
}

/// What a rule has against a request, as text and back.
pub(super) trait Refusal: Sized {
    /// `None` for one that is not remembered.
    fn text(&self) -> Option<String>;
    fn read(text: &str) -> Option<Self>;
}

impl Changes {
    /// Makes a change; where it is refused, it stays refused.
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

    /// Remembers a refusal; `false` when another attempt at the request was faster: it has taken effect, or was refused.
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
        // Stops a refusal that was decided on an older read from standing beside what a copy of the request has done since.
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

    /// The part of a transaction that fails where the request was refused. A marker's own condition does that.
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
    /// What the request was refused for, if that still holds. Its effect weighs more: after a refusal ran out the request may have taken effect,
    /// and a clock that is behind would find both.
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

/// A refusal to settle is a state of the reservation, which stays.
impl Refusal for SettleRefusal {
    fn text(&self) -> Option<String> {
        None
    }

    fn read(_: &str) -> Option<Self> {
        None
    }
}

/// A line of a file that is refused may be taken once the lines before it are mended.
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
    fn a_refusal_is_read_back_as_it_was() {
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
