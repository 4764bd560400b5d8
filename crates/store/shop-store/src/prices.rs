//! Price changes, the price history, and the lowest prices.

use domain::shop::{Currency, IdempotencyKey, Money, Price, Product, ProductId, lowest_price, window_start};
use domain::{Moment, ShortText, TimeRange};
use uuid::Uuid;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Decision, Plan, Subject};
use super::keys::{self, PRICE_PREFIX};
use super::ledger::{Ledger, LedgerPosition, LedgerQuery};
use super::marker::{IdempotencyMarker, Reused, request_fingerprint};
use super::product::Products;
use super::refusal::{HistoryRowRefusal, PriceRefusal, Refusal, RefusalMemory};
use super::rows::{PriceEntry, price_item, read_price};
use super::write::Write;
use store_base::{Direction, Page};
use store_base::{StoreError, Table};

/// How many rows one query of a window reads.
const ROWS_AT_ONCE: usize = 1_000;

/// The most queries of a summary. They read 50,000 changes within 30 days, about one a minute.
const WINDOW_PAGES_MAX: usize = 50;

/// A request for a new price.
#[derive(Debug, Clone)]
pub struct PriceRequest {
    /// The product.
    pub product_id: ProductId,
    /// The idempotency key. Sending the request again changes nothing.
    pub key: IdempotencyKey,
    /// The price.
    pub price: Money,
    /// The reason.
    pub reason: Option<ShortText>,
    /// The author.
    pub changed_by: Option<ShortText>,
    /// The time.
    pub now: Moment,
    /// A fresh UUIDv7 for the row.
    pub row_id: Uuid,
}

/// The result of a price request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceOutcome {
    /// The row of the history.
    Entry(PriceEntry),
    /// The product had this price already. Nothing was written.
    Same,
}

/// The current price of a product and its earlier prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceSummary {
    /// The product, with its current price and the lowest and highest price of all time.
    pub product: Product,
    /// The lowest price in effect during the last 30 days, the current price included.
    pub lowest: Price,
    /// The lowest price in effect during the 30 days before the current price. A shop that
    /// announces a reduction must show it.
    pub prior_lowest: Option<Price>,
    /// The price at the requested moment, if the product existed then.
    pub at: Option<Price>,
}

/// Changes and reads prices. Its requests are `BatchGetItem` and `TransactWriteItems` for changes,
/// `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Prices {
    changes: Changes,
    ledger: Ledger,
    products: Products,
}

impl Prices {
    /// The prices in `table`.
    pub fn new(table: &Table) -> Self {
        let ledger = Ledger { table: table.clone(), prefix: PRICE_PREFIX };
        let products = Products::new(table);
        Self { changes: Changes { table: table.clone() }, ledger, products }
    }

    /// Changes the price of a product. A refusal, and a price that the product has already, are
    /// remembered under the request's key too.
    pub async fn change(
        &self,
        request: &PriceRequest,
    ) -> Result<ChangeOutcome<PriceOutcome>, ChangeError<PriceRefusal>> {
        use ChangeError::{Refused, RefusedBefore};
        let memory = RefusalMemory::IdempotencyMarker(marker(request));
        let subject = Subject { memory: &memory, ..subject(request, &[]) };
        match self.changes.final_change(&subject, || self.change_where(request, |_| Ok(()))).await {
            Err(Refused(PriceRefusal::Same) | RefusedBefore(PriceRefusal::Same)) => {
                Ok(ChangeOutcome::AlreadyApplied(PriceOutcome::Same))
            }
            outcome => outcome,
        }
    }

    /// Adds a price of an imported history after the existing rows. The row has exactly the time of
    /// the request, or is refused.
    pub async fn record(
        &self,
        request: &PriceRequest,
    ) -> Result<ChangeOutcome<PriceOutcome>, ChangeError<HistoryRowRefusal<PriceRefusal>>> {
        let allow = |product: &Product| HistoryRowRefusal::unless_later(Some(product.price.since), request.now);
        match self.change_where(request, allow).await {
            Err(ChangeError::Refused(HistoryRowRefusal::Refused(PriceRefusal::Same))) => {
                Ok(ChangeOutcome::AlreadyApplied(PriceOutcome::Same))
            }
            outcome => outcome,
        }
    }

    async fn change_where<R: From<PriceRefusal> + Refusal>(
        &self,
        request: &PriceRequest,
        allow: impl Fn(&Product) -> Result<(), R>,
    ) -> Result<ChangeOutcome<PriceOutcome>, ChangeError<R>> {
        let refused = |why: PriceRefusal| ChangeError::Refused(R::from(why));
        let PriceRequest { product_id, price, now, row_id, .. } = request;
        let decide = |before: &Before| {
            let product = before.product.as_ref().ok_or_else(|| refused(PriceRefusal::NotFound))?;
            allow(product).map_err(ChangeError::Refused)?;
            if product.archived_at.is_some() {
                return Err(refused(PriceRefusal::Archived));
            }
            let repriced = product.reprice(*price, *now, *row_id);
            let repriced = repriced.map_err(|why| refused(PriceRefusal::Currency(why)))?;
            let (product, change) = repriced.ok_or_else(|| refused(PriceRefusal::Same))?;
            let entry = PriceEntry {
                product_id: product_id.clone(),
                change,
                reason: request.reason.clone(),
                changed_by: request.changed_by.clone(),
                idempotency_key: Some(request.key.clone()),
            };
            let writes = vec![Write::new(price_item(&entry)?)];
            let row = keys::row(PRICE_PREFIX, change.row);
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: PriceOutcome::Entry(entry) })))
        };
        self.changes
            .change(subject(request, &[marker(request)]), decide, |item| read_price(item).map(PriceOutcome::Entry))
            .await
    }

    /// A page of a product's price history.
    pub async fn page(
        &self,
        product_id: &ProductId,
        slice: LedgerQuery,
        direction: Direction,
        limit: u16,
        after: Option<&LedgerPosition>,
    ) -> Result<Page<PriceEntry, LedgerPosition>, StoreError> {
        let mut page = self.ledger.page(product_id, slice, direction, limit.into(), after, read_price).await?;
        let mut unnamed = page.items.iter_mut().map(|entry| &mut entry.change.price.currency);
        if unnamed.any(|currency| *currency == Currency::UNNAMED) {
            let product = self.products.get(product_id).await?;
            for currency in page.items.iter_mut().map(|entry| &mut entry.change.price.currency) {
                *currency = product
                    .as_ref()
                    .filter(|_| *currency == Currency::UNNAMED)
                    .map_or(*currency, |product| product.currency);
            }
        }
        Ok(page)
    }

    /// The price summary of a product that was just read.
    pub async fn summary(&self, product: Product, at: Option<Moment>, now: Moment) -> Result<PriceSummary, StoreError> {
        let now = now.max(product.price.since);
        let to = now.next().unwrap_or(now);
        let (from, prior_from) = (window_start(now), window_start(product.price.since));
        let first = from.min(prior_from);
        let (before, mut prices) =
            futures::try_join!(self.in_effect(&product.id, first), self.within(&product.id, first, to))?;
        prices.splice(..0, before);
        // A client of the original design changes only the price of the product, not its time. The
        // row of the history tells the time.
        let newest = prices.last().filter(|newest| newest.amount == product.price.amount);
        let current = newest.filter(|newest| newest.since > product.price.since).copied().unwrap_or(product.price);
        let (product, since) = (Product { price: current, ..product }, current.since);
        // The read of the history may be some milliseconds behind the product.
        prices.retain(|price| price.since < since);
        prices.push(product.price);
        let at = match at {
            Some(at) if at >= since => Some(product.price),
            Some(at) => self.in_effect(&product.id, at).await?,
            None => None,
        };
        let lowest_now = lowest_price(&prices, from, to).unwrap_or(product.price);
        let prior_lowest = lowest_price(&prices, window_start(since), since);
        Ok(PriceSummary { product, lowest: lowest_now, prior_lowest, at })
    }

    /// The price at a moment: the newest row at or before it.
    async fn in_effect(&self, product_id: &ProductId, at: Moment) -> Result<Option<Price>, StoreError> {
        let page = self.page(product_id, LedgerQuery::UpTo(at), Direction::Desc, 1, None).await?;
        Ok(page.items.first().map(price))
    }

    /// The prices that came into effect between `from` (included) and `to` (excluded), oldest
    /// first.
    async fn within(&self, product_id: &ProductId, from: Moment, to: Moment) -> Result<Vec<Price>, StoreError> {
        let Ok(range) = TimeRange::new(Some(from), Some(to)) else { return Ok(Vec::new()) };
        let (mut prices, mut position) = (Vec::new(), None);
        for _ in 0..WINDOW_PAGES_MAX {
            let page = self.ledger.page(
                product_id,
                LedgerQuery::Range(range),
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

/// The idempotency marker of a request.
fn marker(request: &PriceRequest) -> IdempotencyMarker {
    let text = |text: &Option<ShortText>| text.as_ref().map(ShortText::to_string).unwrap_or_default();
    let (amount, currency) = (request.price.amount.get().to_string(), request.price.currency.as_str());
    IdempotencyMarker {
        sort: keys::request(&request.key),
        request_fingerprint: request_fingerprint(&[
            "price",
            &amount,
            currency,
            &text(&request.reason),
            &text(&request.changed_by),
        ]),
        reused: Reused::Key,
    }
}

fn subject<'a>(request: &'a PriceRequest, markers: &'a [IdempotencyMarker]) -> Subject<'a> {
    Subject { markers, ..Subject::repeatable(&request.product_id, &[], request.now) }
}

fn price(entry: &PriceEntry) -> Price {
    Price { amount: entry.change.price.amount, since: entry.change.row.at }
}
