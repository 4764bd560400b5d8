//! A product: what it is called, what it costs, and how much of it there is.

use super::{Currency, Money, Price, ProductId, StockCount, StockLevel};
use crate::Moment;
use crate::ShortText;

/// A product as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Which.
    pub id: ProductId,
    /// What people call it.
    pub name: ShortText,
    /// The currency of all its prices, for ever.
    pub currency: Currency,
    /// What it costs, and since when: the moment of its newest price row.
    pub price: Price,
    /// The lowest price it ever had, and since when it had it first.
    pub lowest: Price,
    /// The highest, likewise.
    pub highest: Price,
    /// How many there are, and how many of them are promised.
    pub level: StockLevel,
    /// The stock at which it is low; of 0, it is never low before all is gone.
    pub low_stock_threshold: StockCount,
    /// Counts every change of any of it, from 1 on: what concurrent changes meet at.
    pub version: u64,
    /// The moment of its newest row of stock, if there is one.
    pub stocked_at: Option<Moment>,
    /// When it was created.
    pub created_at: Moment,
    /// When it was changed last.
    pub updated_at: Moment,
    /// Since when it is archived: it is not sold any more, and its price and stock stay as they are.
    pub archived_at: Option<Moment>,
}

/// What a product is to be: a new one, or a known one by another name, with another threshold, archived or restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductForm {
    /// What people call it.
    pub name: ShortText,
    /// What it costs; for a known product, what it costs already.
    pub price: Option<Money>,
    /// How many are there from the beginning; for a known product, how many there are already.
    pub stock: Option<StockCount>,
    /// The stock at which it is low. A new product that does not say has 0, a known one keeps what it has.
    pub low_stock_threshold: Option<StockCount>,
    /// Whether it is archived. A new product that does not say is not, a known one stays as it is.
    pub archived: Option<bool>,
}

/// Why a product cannot be what it is asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProductRefusal {
    /// A new product needs a price.
    #[error("a new product needs `price` and `currency`")]
    PriceMissing,
    /// Prices change in their own way, with a row in the history.
    #[error("the product exists and costs something else: change its price with POST /products/{{id}}/price")]
    OtherPrice,
    /// Stock moves in its own way, with a row in the ledger.
    #[error("the product exists and has another stock: move it with POST /products/{{id}}/stock")]
    OtherStock,
}

impl ProductForm {
    /// A new product of this form, without any stock yet: that comes with its first row.
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

    /// A known product in this form; `None` when it is so already.
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

    /// Since when the product is archived. One that is archived again keeps its moment.
    fn archived_at(&self, known: Option<Moment>, now: Moment) -> Option<Moment> {
        match self.archived {
            None => known,
            Some(is_archived) => is_archived.then_some(known.unwrap_or(now)),
        }
    }
}

impl Product {
    /// What it costs.
    pub fn money(&self) -> Money {
        Money { amount: self.price.amount, currency: self.currency }
    }

    /// The same in its next version. Each change of a product begins with it.
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
    fn a_new_product_needs_a_price_and_has_no_stock_yet() {
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
    fn a_form_changes_name_and_threshold_and_neither_price_nor_stock() {
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
    fn a_form_archives_and_restores_and_one_that_says_nothing_leaves_it() {
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
    fn a_clock_that_is_slow_does_not_turn_back_when_a_product_was_changed() {
        let earlier = moment("2024-01-14T00:00:00Z");
        assert_eq!(cup().changed(earlier).updated_at, cup().updated_at);
    }
}
