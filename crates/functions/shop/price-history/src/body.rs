//! The bodies of a product and of a new price. Members are checked one by one, so that a problem
//! names its member.

use domain::ShortText;
use domain::shop::{Amount, Currency, Money, ProductForm, StockCount};
use lambda_kit::fields::{invalid, missing, required_text, text};
use lambda_kit::http::Request;
use lambda_kit::problem::{INVALID_BODY, Problem};
use serde::Deserialize;
use serde_json::Value;

use crate::problems::{INVALID_CURRENCY, INVALID_PRICE};

/// The largest body: names and a reason of 200 characters each take 5 KB, escaped.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// The body of `PUT /products/{productId}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ProductBody {
    name: Option<Value>,
    price: Option<Value>,
    currency: Option<Value>,
    stock: Option<Value>,
    low_stock_threshold: Option<Value>,
    archived: Option<Value>,
    changed_by: Option<Value>,
}

/// The body of `POST /products/{productId}/price`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PriceBody {
    price: Option<Value>,
    currency: Option<Value>,
    reason: Option<Value>,
    changed_by: Option<Value>,
}

/// A product with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct NewProduct {
    pub(crate) form: ProductForm,
    pub(crate) changed_by: Option<ShortText>,
}

/// A price with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct NewPrice {
    pub(crate) price: Money,
    pub(crate) reason: Option<ShortText>,
    pub(crate) changed_by: Option<ShortText>,
}

impl NewProduct {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let body: ProductBody = request.json(BODY_BYTES_MAX)?;
        let price = match (body.price, body.currency) {
            (None, None) => None,
            (price, currency) => Some(money(price, currency)?),
        };
        let name = required_text("name", body.name, &INVALID_BODY, ShortText::new)?;
        let stock = counted("stock", body.stock)?;
        let low_stock_threshold = counted("lowStockThreshold", body.low_stock_threshold)?;
        let archived = body
            .archived
            .map(|value| value.as_bool().ok_or_else(|| invalid("archived", &INVALID_BODY, "must be true or false")));
        let form = ProductForm { name, price, stock, low_stock_threshold, archived: archived.transpose()? };
        Ok(Self { form, changed_by: text("changedBy", body.changed_by, &INVALID_BODY, ShortText::new)? })
    }
}

impl NewPrice {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let body: PriceBody = request.json(BODY_BYTES_MAX)?;
        Ok(Self {
            price: money(body.price, body.currency)?,
            reason: text("reason", body.reason, &INVALID_BODY, ShortText::new)?,
            changed_by: text("changedBy", body.changed_by, &INVALID_BODY, ShortText::new)?,
        })
    }
}

/// A price in whole minor units of a currency. Fractions and numbers in strings are refused.
fn money(price: Option<Value>, currency: Option<Value>) -> Result<Money, Problem> {
    let price = price.ok_or_else(|| missing("price", &INVALID_PRICE))?;
    let amount = Amount::new(price.as_u64().unwrap_or(u64::MAX)).map_err(|why| INVALID_PRICE.detail(why))?;
    let currency = currency.ok_or_else(|| missing("currency", &INVALID_CURRENCY))?;
    let currency = Currency::new(currency.as_str().unwrap_or_default());
    Ok(Money { amount, currency: currency.map_err(|why| INVALID_CURRENCY.detail(why))? })
}

fn counted(name: &str, value: Option<Value>) -> Result<Option<StockCount>, Problem> {
    let counted = value.map(|value| StockCount::new(value.as_i64().unwrap_or(-1))).transpose();
    counted.map_err(|why| invalid(name, &INVALID_BODY, why))
}
