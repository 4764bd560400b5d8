//! A product: its name, its price and its stock.

use super::{Currency, Money, Price, ProductId, StockCount, StockLevel};
use crate::Moment;
use crate::ShortText;

/// The current state of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The id.
    pub id: ProductId,
    /// The name.
    pub name: ShortText,
    /// The currency of all prices of the product. It never changes.
    pub currency: Currency,
    /// The current price. Its `since` is the moment of the newest price row.
    pub price: Price,
    /// The lowest price the product has ever had, since the first time it had it.
    pub lowest: Price,
    /// The highest price, in the same way.
    pub highest: Price,
    /// The stock, and how much of it is reserved.
    pub level: StockLevel,
    /// The stock is low when it is at or below this number. 0 turns the alerts for low stock off.
    pub low_stock_threshold: StockCount,
    /// The number of changes of the product, from 1 on. It is used for optimistic locking.
    pub version: u64,
    /// The moment of the newest stock row, if there is one.
    pub stocked_at: Option<Moment>,
    /// When the product was created.
    pub created_at: Moment,
    /// When the product was last changed.
    pub updated_at: Moment,
    /// When the product was archived. An archived product is no longer sold, and its price and
    /// stock stay as they are.
    pub archived_at: Option<Moment>,
}

/// The values that a client sends for a product. They create a new product, or set the name, the
/// threshold and the archived state of an existing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductForm {
    /// The name.
    pub name: ShortText,
    /// The price of a new product. For an existing product, it must be its current price.
    pub price: Option<Money>,
    /// The initial stock of a new product. For an existing product, it must be its current stock.
    pub stock: Option<StockCount>,
    /// The threshold for low stock. `None` means 0 for a new product and no change for an existing
    /// one.
    pub low_stock_threshold: Option<StockCount>,
    /// Whether the product is archived. `None` means no for a new product and no change for an
    /// existing one.
    pub archived: Option<bool>,
}

/// Why the values are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProductRefusal {
    /// A new product needs a price.
    #[error("a new product needs `price` and `currency`")]
    PriceMissing,
    /// A price only changes through a price change, which writes a row of the history.
    #[error("the product exists and costs something else: change its price with POST /products/{{id}}/price")]
    OtherPrice,
    /// Stock only changes through a stock change, which writes a row of the ledger.
    #[error("the product exists and has another stock: move it with POST /products/{{id}}/stock")]
    OtherStock,
}

impl ProductForm {
    /// A new product with these values. Its stock is 0 here: the first row of the ledger adds the
    /// initial stock.
    pub fn create(&self, id: ProductId, now: Moment) -> Result<Product, ProductRefusal> {
        let Money { amount, currency } = self.price.ok_or(ProductRefusal::PriceMissing)?;
        let price = Price { amount, since: now };
        Ok(Product {
            id,
            name: self.name.clone(),
            currency,
            price,
            lowest: price,
            highest: price,
            level: StockLevel::default(),
            low_stock_threshold: self.low_stock_threshold.unwrap_or_default(),
            version: 1,
            stocked_at: None,
            created_at: now,
            updated_at: now,
            archived_at: self.archived_at(None, now),
        })
    }

    /// The product with these values; `None` when it has them already.
    pub fn update(&self, product: &Product, now: Moment) -> Result<Option<Product>, ProductRefusal> {
        if self.price.is_some_and(|price| price != product.money()) {
            return Err(ProductRefusal::OtherPrice);
        }
        if self.stock.is_some_and(|stock| stock.get() != product.level.stock()) {
            return Err(ProductRefusal::OtherStock);
        }
        let low_stock_threshold = self.low_stock_threshold.unwrap_or(product.low_stock_threshold);
        let archived_at = self.archived_at(product.archived_at, now);
        let known = (&product.name, product.low_stock_threshold, product.archived_at);
        let is_so = known == (&self.name, low_stock_threshold, archived_at);
        let name = || self.name.clone();
        Ok((!is_so).then(|| Product { name: name(), low_stock_threshold, archived_at, ..product.changed(now) }))
    }

    /// The time when the product was archived. Archiving it again keeps the first time.
    fn archived_at(&self, known: Option<Moment>, now: Moment) -> Option<Moment> {
        match self.archived {
            None => known,
            Some(is_archived) => is_archived.then_some(known.unwrap_or(now)),
        }
    }
}

impl Product {
    /// The current price as an amount of a currency.
    pub fn money(&self) -> Money {
        Money { amount: self.price.amount, currency: self.currency }
    }

    /// The product with the next version and change time. Each change of a product starts with
    /// this.
    pub fn changed(&self, now: Moment) -> Self {
        Self { version: self.version + 1, updated_at: self.updated_at.max(now), ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::Amount;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).expect("a moment")
    }

    fn form(name: &str) -> ProductForm {
        let price = Money {
            amount: Amount::new(1_999).expect("an amount"),
            currency: Currency::new("EUR").expect("a currency"),
        };
        let name = ShortText::new(name).expect("a text");
        ProductForm {
            name,
            price: Some(price),
            stock: None,
            low_stock_threshold: StockCount::new(3).ok(),
            archived: None,
        }
    }

    fn cup() -> Product {
        let id = ProductId::new("p-1").expect("an id");
        form("Cup").create(id, moment("2024-01-15T10:30:00Z")).expect("a product")
    }

    #[test]
    fn new_product_requires_a_price_and_starts_without_stock() {
        let product = cup();
        assert_eq!((product.version, product.level), (1, StockLevel::default()));
        assert_eq!(product.price.since, product.created_at);
        let free = ProductForm { price: None, ..form("Cup") };
        assert_eq!(free.create(product.id, product.created_at), Err(ProductRefusal::PriceMissing));
    }

    #[test]
    fn the_same_form_again_changes_nothing() {
        assert_eq!(form("Cup").update(&cup(), moment("2024-01-16T00:00:00Z")), Ok(None));
        let leaves_the_threshold = ProductForm { low_stock_threshold: None, price: None, ..form("Cup") };
        assert_eq!(leaves_the_threshold.update(&cup(), moment("2024-01-16T00:00:00Z")), Ok(None));
    }

    #[test]
    fn product_form_changes_neither_price_nor_stock() {
        let now = moment("2024-01-16T00:00:00Z");
        let renamed = form("Mug").update(&cup(), now).expect("a form").expect("a change");
        assert_eq!((renamed.name.as_str(), renamed.version, renamed.updated_at), ("Mug", 2, now));
        let cheaper = Money { amount: Amount::new(1).expect("an amount"), ..cup().money() };
        let cheaper = ProductForm { price: Some(cheaper), ..form("Mug") };
        assert_eq!(cheaper.update(&cup(), now), Err(ProductRefusal::OtherPrice));
        let stocked = ProductForm { stock: StockCount::new(1).ok(), ..form("Mug") };
        assert_eq!(stocked.update(&cup(), now), Err(ProductRefusal::OtherStock));
    }

    #[test]
    fn product_form_archives_restores_or_keeps_a_product() {
        let [now, later] = ["2024-01-16T00:00:00Z", "2024-01-17T00:00:00Z"].map(moment);
        let of = |archived| ProductForm { archived, ..form("Cup") };
        let archived = of(Some(true)).update(&cup(), now).expect("a form").expect("a change");
        assert_eq!((archived.archived_at, archived.version), (Some(now), 2));
        assert_eq!(of(Some(true)).update(&archived, later), Ok(None));
        assert_eq!(of(None).update(&archived, later), Ok(None));
        let restored = of(Some(false)).update(&archived, later).expect("a form").expect("a change");
        assert_eq!((restored.archived_at, restored.version), (None, 3));
        assert_eq!(of(Some(false)).update(&restored, later), Ok(None));
    }

    #[test]
    fn a_slow_clock_does_not_move_the_change_time_backwards() {
        let earlier = moment("2024-01-14T00:00:00Z");
        assert_eq!(cup().changed(earlier).updated_at, cup().updated_at);
    }
}
