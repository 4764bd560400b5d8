//! Why a change of a product is refused, and how a refusal is remembered under its request's key.

use domain::Moment;
use domain::shop::{Currency, CurrencyMismatch, ProductId, ProductRefusal, SettleError, StockLevel, StockRefusal};

use super::keys::Item;
use super::marker::{IdempotencyMarker, request_fingerprint};
use store_base::StoreError;

/// How long the refusal of a request without a key is valid, in seconds. The API times out after 30
/// seconds, and Lambda ends an attempt after 10.
pub(super) const HOLDS_S: i64 = 60;

/// There is no item, or a refusal that is no longer valid. Stops an attempt from taking effect
/// after its client was refused.
pub(super) const NOT_REFUSED: &str = "attribute_not_exists(PK) OR #Until <= :now";

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
    pub(super) fn place(&self) -> Option<(String, &str)> {
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

/// The refusal in an item.
pub(super) fn read_refusal<R: Refusal>(item: &Item) -> Result<R, StoreError> {
    let text = item.get("Refused").and_then(|text| text.as_s().ok());
    let refusal = text.and_then(|text| R::read(text));
    refusal.ok_or_else(|| StoreError::unreadable(format!("a refusal of {text:?}")))
}

/// Why a price does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceRefusal {
    /// There is no such product.
    NotFound,
    /// The product is archived.
    Archived,
    /// The product has another currency.
    Currency(CurrencyMismatch),
    /// The product has this price already. [`Prices`](super::Prices) returns it as
    /// [`PriceOutcome::Same`](super::PriceOutcome::Same).
    Same,
}

/// Why the stock does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockChangeRefusal {
    /// There is no such product.
    NotFound,
    /// The product is archived.
    Archived,
    /// The stock is too low or too high.
    Stock(StockRefusal),
}

/// Why a reservation or an order cannot be committed or released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettleRefusal {
    /// There is no such reservation or order.
    NotFound,
    /// It is a line of an order. Only the whole order ends.
    OrderLine,
    /// It has ended in another way.
    Settled(SettleError),
    /// A client that does not know reservations has taken the reserved pieces of this product.
    Missing(ProductId, StockRefusal),
}

/// Why an order is not reserved: its refused lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderRefusal(pub Vec<(ProductId, StockChangeRefusal)>);

/// Why a row of an imported history is refused. `R` is the type of the refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryRowRefusal<R> {
    /// The rules refuse the row.
    Refused(R),
    /// The newest row of the product has this moment. An imported row must be later.
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

/// One line of text for each refused line.
impl Refusal for OrderRefusal {
    fn text(&self) -> Option<String> {
        let lines = self.0.iter().map(|(product_id, why)| Some(format!("{product_id} {}", why.text()?)));
        Some(lines.collect::<Option<Vec<_>>>()?.join("\n"))
    }

    fn read(text: &str) -> Option<Self> {
        let lines = text.lines().map(|line| {
            let (product_id, why) = line.split_once(' ')?;
            Some((ProductId::new(product_id).ok()?, StockChangeRefusal::read(why)?))
        });
        lines.collect::<Option<_>>().map(Self)
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

/// Refusals are not remembered: a request for a product has no key, and the last one wins.
impl Refusal for ProductRefusal {
    fn text(&self) -> Option<String> {
        None
    }

    fn read(_: &str) -> Option<Self> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stock_refused(level: StockLevel) -> StockChangeRefusal {
        StockChangeRefusal::Stock(StockRefusal::Insufficient(level))
    }

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
        let line = |id: &str, why| (ProductId::new(id).expect("a product"), why);
        let lines = vec![line("cup", StockChangeRefusal::NotFound), line("p.1", stock_refused(level))];
        let refusal = OrderRefusal(lines);
        assert_eq!(refusal.text().as_deref().and_then(OrderRefusal::read), Some(refusal));
    }
}
