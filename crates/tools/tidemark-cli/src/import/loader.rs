//! Loads one line, exactly once.

use std::fmt::Display;

use backon::Retryable;
use domain::Moment;
use domain::journal::Entry;
use domain::shop::{Activity, ProductForm};
use jiff::Timestamp;
use journal_store::{AppendOutcome, Journal};
use shop_store::{
    Activities, ChangeError, ChangeOutcome, HistoryRowRefusal, LedgerQuery, PriceOutcome, PriceRefusal, PriceRequest,
    Prices, Products, PutProduct, RecordOutcome, Reused, Stock, StockChangeRefusal, StockRequest,
};
use store_base::Table;
use store_base::{Direction, StoreError, patient_backoff};

use super::row::ImportRow;

/// The result of a loaded line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loaded {
    /// It was stored now.
    New,
    /// It was stored before, or changes nothing.
    Known,
}

/// Why a line was not loaded.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// The line is wrong; it would fail at each attempt.
    Bad(String),
    /// The database failed; the flag says whether a retry may succeed.
    Failed(String, bool),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.to_string(), error.is_transient())
    }
}

fn bad(why: impl Display) -> LoadError {
    LoadError::Bad(why.to_string())
}

/// The error of a line whose change was not made.
fn change_error<R>(error: ChangeError<R>, refused: impl FnOnce(R) -> LoadError) -> LoadError {
    match error {
        ChangeError::Refused(why) | ChangeError::RefusedBefore(why) => refused(why),
        ChangeError::Reused(Reused::Key) => bad("its key belongs to another change"),
        ChangeError::Reused(Reused::Order) => bad("its order belongs to another movement"),
        ChangeError::Conflict => {
            LoadError::Failed("other requests changed the product at each attempt".to_owned(), true)
        }
        ChangeError::Store(error) => error.into(),
    }
}

/// Loads lines.
#[derive(Debug, Clone)]
pub(crate) struct Loader {
    products: Products,
    prices: Prices,
    stock: Stock,
    activities: Activities,
    journal: Journal,
}

impl Loader {
    /// A loader of the shop's table and a journal.
    pub(crate) fn new(shop: &Table, activities: Activities, journal: Journal) -> Self {
        Self { products: Products::new(shop), prices: Prices::new(shop), stock: Stock::new(shop), activities, journal }
    }

    /// Loads a line, and retries while the database is throttled or unreachable.
    pub(crate) async fn load(&self, row: &ImportRow) -> Result<Loaded, LoadError> {
        let load = || self.load_now(row);
        load.retry(patient_backoff()).when(|error| matches!(error, LoadError::Failed(_, true))).await
    }

    async fn load_now(&self, row: &ImportRow) -> Result<Loaded, LoadError> {
        match row {
            ImportRow::Product(put) => self.product(put).await,
            ImportRow::Price(request) => self.price(request).await,
            ImportRow::Stock(request) => self.move_stock(request).await,
            ImportRow::Activity(activity) => self.activity(activity).await,
            ImportRow::Journal(entry) => self.entry(entry).await,
        }
    }

    /// Creates a product. An existing product keeps its price and stock, because they have their
    /// own histories.
    async fn product(&self, put: &PutProduct) -> Result<Loaded, LoadError> {
        let before = self.products.get(&put.id).await?;
        let form = match &before {
            None => put.form.clone(),
            Some(_) => ProductForm { price: None, stock: None, ..put.form.clone() },
        };
        let put = PutProduct { form, ..put.clone() };
        let (after, _) = self.products.put(&put).await.map_err(|error| change_error(error, bad))?;
        Ok(if before.as_ref() == Some(&after) { Loaded::Known } else { Loaded::New })
    }

    async fn price(&self, request: &PriceRequest) -> Result<Loaded, LoadError> {
        let recorded = self.prices.record(request).await;
        let newest = match recorded {
            Ok(ChangeOutcome::Applied(PriceOutcome::Entry(_))) => return Ok(Loaded::New),
            Ok(_) => return Ok(Loaded::Known),
            Err(ChangeError::Refused(HistoryRowRefusal::Older(newest))) => newest,
            Err(error) => {
                return Err(change_error(error, |why| match why {
                    HistoryRowRefusal::Refused(PriceRefusal::Currency(why)) => bad(why),
                    HistoryRowRefusal::Refused(PriceRefusal::Archived) => {
                        bad(format!("{} is archived", request.product_id))
                    }
                    _ => bad(format!("there is no product {}", request.product_id)),
                }));
            }
        };
        // The history already has newer prices. If it has the same price at that moment, the line
        // is known.
        let then =
            self.prices.page(&request.product_id, LedgerQuery::UpTo(request.now), Direction::Desc, 1, None).await?;
        let is_known = then.items.first().is_some_and(|entry| entry.change.price == request.price);
        if is_known { Ok(Loaded::Known) } else { Err(older(newest)) }
    }

    async fn move_stock(&self, request: &StockRequest) -> Result<Loaded, LoadError> {
        let newest = match self.stock.record(request).await {
            Ok(ChangeOutcome::Applied(_)) => return Ok(Loaded::New),
            Ok(ChangeOutcome::AlreadyApplied(_)) => return Ok(Loaded::Known),
            Err(ChangeError::Refused(HistoryRowRefusal::Older(newest))) => newest,
            Err(error) => {
                return Err(change_error(error, |why| match why {
                    HistoryRowRefusal::Refused(StockChangeRefusal::Stock(why)) => bad(why),
                    HistoryRowRefusal::Refused(StockChangeRefusal::Archived) => {
                        bad(format!("{} is archived", request.product_id))
                    }
                    _ => bad(format!("there is no product {}", request.product_id)),
                }));
            }
        };
        // The ledger already has newer rows. The row's id is derived from the line, so the row is
        // found even if its idempotency marker has expired.
        let then = self.stock.page(&request.product_id, LedgerQuery::At(request.now), Direction::Asc, 1, None).await?;
        let is_known = then.items.first().is_some_and(|entry| entry.row.id == request.row_id);
        if is_known { Ok(Loaded::Known) } else { Err(older(newest)) }
    }

    async fn activity(&self, activity: &Activity) -> Result<Loaded, LoadError> {
        if !self.activities.keeps(activity, Timestamp::now()) {
            return Err(bad("it is older than the retention of activities"));
        }
        match self.activities.record(activity).await? {
            RecordOutcome::New => Ok(Loaded::New),
            RecordOutcome::Known => Ok(Loaded::Known),
            RecordOutcome::Reused => Err(bad("its time and id belong to another activity")),
        }
    }

    async fn entry(&self, entry: &Entry) -> Result<Loaded, LoadError> {
        match self.journal.append(entry, Timestamp::now()).await? {
            AppendOutcome::New => Ok(Loaded::New),
            AppendOutcome::Known => Ok(Loaded::Known),
            AppendOutcome::Different => Err(bad("its id belongs to another entry")),
            AppendOutcome::Expired => Err(bad("it is older than its stream's retention period")),
        }
    }
}

fn older(newest: Moment) -> LoadError {
    bad(format!("the product's history already reaches {newest}, and no row is inserted before that"))
}
