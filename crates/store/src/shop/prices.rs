//! Prices: how they change, and what they have been.

use aws_sdk_dynamodb::Client;
use domain::ShortText;
use domain::shop::{
    Amount, Currency, CurrencyMismatch, Money, Price, PriceChange, Product, ProductId, RequestKey, lowest, window_start,
};
use domain::{Moment, TimeRange};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::{
    Before, ChangeError, Changed, Changes, Decision, Marker, Plan, Reused, Subject, Unrecorded, Write, meaning,
};
use super::history::{Ledger, LedgerPosition, Slice};
use super::keys::{self, Item, PRICE_PREFIX, SORT_KEY, key, read};
use crate::StoreError;
use crate::series::{Direction, Page};

/// The price rows of a query that reads all of a window.
const ROWS_AT_ONCE: usize = 1_000;

/// Bounds the rows that a summary reads: 50,000 changes within 30 days, one a minute.
const WINDOW_PAGES_MAX: usize = 50;

/// A row of the price history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceEntry {
    /// Whose price.
    pub product_id: ProductId,
    /// The change.
    pub change: PriceChange,
    /// Why.
    pub reason: Option<ShortText>,
    /// By whom.
    pub changed_by: Option<ShortText>,
    /// The request that made it.
    pub request_key: Option<RequestKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PriceRow {
    entity_type: String,
    product_id: String,
    price: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_price: Option<u64>,
    currency: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    created_at: String,
}

/// The row's item.
pub(super) fn price_item(entry: &PriceEntry) -> Result<Item, StoreError> {
    let row = PriceRow {
        entity_type: "PRICE_HISTORY".to_owned(),
        product_id: entry.product_id.to_string(),
        price: entry.change.price.amount.get(),
        previous_price: entry.change.previous.map(Amount::get),
        currency: entry.change.price.currency.to_string(),
        reason: entry.reason.as_ref().map(ShortText::to_string),
        changed_by: entry.changed_by.as_ref().map(ShortText::to_string),
        request_id: entry.request_key.as_ref().map(RequestKey::to_string),
        created_at: entry.change.row.at.to_string(),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(keys::product(&entry.product_id), keys::row(PRICE_PREFIX, entry.change.row)));
    Ok(item)
}

/// The row of an item, or of an image of it in the stream.
pub(super) fn read_price(item: Item) -> Result<PriceEntry, StoreError> {
    let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
    let row: PriceRow = read(item)?;
    let id = keys::row_id(PRICE_PREFIX, &sort)?;
    let entry = || {
        let text = |text: &Option<String>| text.as_deref().map(ShortText::new).transpose().ok();
        let price = Money { amount: Amount::new(row.price).ok()?, currency: Currency::new(&row.currency).ok()? };
        Some(PriceEntry {
            product_id: ProductId::new(&row.product_id).ok()?,
            change: PriceChange { row: id, price, previous: row.previous_price.map(Amount::new).transpose().ok()? },
            reason: text(&row.reason)?,
            changed_by: text(&row.changed_by)?,
            request_key: row.request_id.as_deref().map(RequestKey::new).transpose().ok()?,
        })
    };
    entry().ok_or_else(|| StoreError::unreadable(format!("PRODUCT#{} {sort}", row.product_id)))
}

/// A price that a product is to have.
#[derive(Debug, Clone)]
pub struct PriceRequest {
    /// Which product.
    pub product_id: ProductId,
    /// What the request is called: sent again, it changes nothing.
    pub key: RequestKey,
    /// The price.
    pub price: Money,
    /// Why.
    pub reason: Option<ShortText>,
    /// By whom.
    pub changed_by: Option<ShortText>,
    /// The time.
    pub now: Moment,
    /// A fresh UUIDv7 for the row.
    pub row_id: Uuid,
}

/// Why a price does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceRefusal {
    /// There is no such product.
    NotFound,
    /// It is priced in another currency.
    Currency(CurrencyMismatch),
}

/// What a request for a price came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repriced {
    /// A row of the history.
    Entry(PriceEntry),
    /// Nothing: the product costs that already.
    Same(Box<Product>),
}

/// What a product costs and has cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceSummary {
    /// The product, with its current price and the extremes of all time.
    pub product: Product,
    /// The lowest price that was in effect during the last 30 days, today's among them.
    pub lowest: Price,
    /// The lowest price that was in effect during the 30 days before the current one came: what a shop that announces a reduction has to show.
    pub prior_lowest: Option<Price>,
    /// The price at the moment that was asked for, if the product existed.
    pub at: Option<Price>,
}

/// Changes and shows prices. Its requests are those of a change, `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Prices {
    changes: Changes,
    ledger: Ledger,
}

impl Prices {
    /// The prices in `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        let table = table.into();
        let ledger = Ledger { client: client.clone(), table: table.clone(), prefix: PRICE_PREFIX };
        Self { changes: Changes { client, table }, ledger }
    }

    /// Gives a product a price. One that it has already is neither written nor remembered: the same request may come to something later.
    pub async fn change(&self, request: &PriceRequest) -> Result<Changed<Repriced>, ChangeError<PriceRefusal>> {
        self.change_where(request, |_| Ok(())).await
    }

    /// Puts a price of a history that was kept elsewhere behind those that are known: its row has exactly the request's time, or it is not taken.
    pub async fn record(
        &self,
        request: &PriceRequest,
    ) -> Result<Changed<Repriced>, ChangeError<Unrecorded<PriceRefusal>>> {
        self.change_where(request, |product| Unrecorded::unless_later(Some(product.price.since), request.now)).await
    }

    async fn change_where<R: From<PriceRefusal>>(
        &self,
        request: &PriceRequest,
        allow: impl Fn(&Product) -> Result<(), R>,
    ) -> Result<Changed<Repriced>, ChangeError<R>> {
        let refused = |why: PriceRefusal| ChangeError::Refused(R::from(why));
        let PriceRequest { product_id, price, now, row_id, .. } = request;
        let text = |text: &Option<ShortText>| text.as_ref().map(ShortText::to_string).unwrap_or_default();
        let (amount, currency) = (price.amount.get().to_string(), price.currency.as_str());
        let marker = Marker {
            sort: keys::request(&request.key),
            meaning: meaning(&["price", &amount, currency, &text(&request.reason), &text(&request.changed_by)]),
            reused: Reused::Key,
        };
        let subject = Subject { product_id, markers: &[marker], beside: &[], now: *now };
        let decide = |before: &Before| {
            let product = before.product.as_ref().ok_or_else(|| refused(PriceRefusal::NotFound))?;
            allow(product).map_err(ChangeError::Refused)?;
            let repriced = product.reprice(*price, *now, *row_id);
            let Some((product, change)) = repriced.map_err(|why| refused(PriceRefusal::Currency(why)))? else {
                return Ok(Decision::Nothing(Repriced::Same(Box::new(product.clone()))));
            };
            let entry = PriceEntry {
                product_id: product_id.clone(),
                change,
                reason: request.reason.clone(),
                changed_by: request.changed_by.clone(),
                request_key: Some(request.key.clone()),
            };
            let writes = vec![Write::new(price_item(&entry)?)];
            let row = keys::row(PRICE_PREFIX, change.row);
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: Repriced::Entry(entry) })))
        };
        self.changes.change(subject, decide, |item| read_price(item).map(Repriced::Entry)).await
    }

    /// Rows of a product's history.
    pub async fn page(
        &self,
        product_id: &ProductId,
        slice: Slice,
        direction: Direction,
        limit: u16,
        after: Option<&LedgerPosition>,
    ) -> Result<Page<PriceEntry, LedgerPosition>, StoreError> {
        self.ledger.page(product_id, slice, direction, limit.into(), after, read_price).await
    }

    /// What `product`, as it was just read, has cost.
    pub async fn summary(&self, product: Product, at: Option<Moment>, now: Moment) -> Result<PriceSummary, StoreError> {
        let since = product.price.since;
        let now = now.max(since);
        let to = now.next().unwrap_or(now);
        let (from, prior_from) = (window_start(now), window_start(since));
        let first = from.min(prior_from);
        let (before, mut prices) =
            futures::try_join!(self.in_effect(&product.id, first), self.within(&product.id, first, to))?;
        prices.splice(..0, before);
        // The history may be some milliseconds behind the product.
        prices.retain(|price| price.since < since);
        prices.push(product.price);
        let at = match at {
            Some(at) if at >= since => Some(product.price),
            Some(at) => self.in_effect(&product.id, at).await?,
            None => None,
        };
        let lowest_now = lowest(&prices, from, to).unwrap_or(product.price);
        let prior_lowest = lowest(&prices, prior_from, since);
        Ok(PriceSummary { product, lowest: lowest_now, prior_lowest, at })
    }

    /// The price at a moment: the newest row at it or before it.
    async fn in_effect(&self, product_id: &ProductId, at: Moment) -> Result<Option<Price>, StoreError> {
        let page = self.page(product_id, Slice::UpTo(at), Direction::Desc, 1, None).await?;
        Ok(page.items.first().map(price))
    }

    /// The prices that came into effect from `from` up to `to`, oldest first.
    async fn within(&self, product_id: &ProductId, from: Moment, to: Moment) -> Result<Vec<Price>, StoreError> {
        let Ok(range) = TimeRange::new(Some(from), Some(to)) else { return Ok(Vec::new()) };
        let (mut prices, mut position) = (Vec::new(), None);
        for _ in 0..WINDOW_PAGES_MAX {
            let page = self.ledger.page(
                product_id,
                Slice::Range(range),
                Direction::Asc,
                ROWS_AT_ONCE,
                position.as_ref(),
                read_price,
            );
            let page = page.await?;
            prices.extend(page.items.iter().map(price));
            position = page.next;
            if position.is_none() {
                return Ok(prices);
            }
        }
        Err(StoreError::unreadable(format!("{product_id} has too many prices within 30 days")))
    }
}

fn price(entry: &PriceEntry) -> Price {
    Price { amount: entry.change.price.amount, since: entry.change.row.at }
}
