//! Loading one line, once.

use std::fmt::Display;
use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use domain::Moment;
use domain::journal::Entry;
use domain::shop::{Activity, ProductForm};
use jiff::Timestamp;
use store::Table;
use store::journal::{Appended, Journal};
use store::shop::{
    Activities, ChangeError, Changed, PriceRefusal, PriceRequest, Prices, Products, Put, Recorded, Repriced, Reused,
    Slice, Stock, StockRequest, Unmoved, Unrecorded,
};
use store::{Direction, StoreError};

use super::row::Row;

/// How often a line is tried while the database asks for patience, beyond the SDK's own tries. About a minute.
const TRIES_MAX: usize = 8;
const WAIT: Duration = Duration::from_millis(200);
const WAIT_MAX: Duration = Duration::from_secs(20);

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loaded {
    /// It is stored.
    New,
    /// It was there before, or says what is so anyway.
    Known,
}

/// Why a line is not loaded.
#[derive(Debug)]
pub(super) enum LoadError {
    /// It cannot be, whenever it is tried.
    Bad(String),
    /// The database could not do it now.
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

/// What a change that was not made means to its line.
fn of_change<R>(error: ChangeError<R>, refused: impl FnOnce(R) -> LoadError) -> LoadError {
    match error {
        ChangeError::Refused(why) | ChangeError::RefusedBefore(why) => refused(why),
        ChangeError::Reused(Reused::Key) => bad("its key has been used for something else"),
        ChangeError::Reused(Reused::Order) => bad("its order has moved something else"),
        ChangeError::Conflict => LoadError::Failed("others changed the product each time".to_owned(), true),
        ChangeError::Store(error) => error.into(),
    }
}

/// Loads lines.
#[derive(Debug, Clone)]
pub(super) struct Loader {
    products: Products,
    prices: Prices,
    stock: Stock,
    activities: Activities,
    journal: Journal,
}

impl Loader {
    /// A loader of the shop's table and a journal.
    pub(super) fn new(shop: &Table, activities: Activities, journal: Journal) -> Self {
        Self { products: Products::new(shop), prices: Prices::new(shop), stock: Stock::new(shop), activities, journal }
    }

    /// Loads a line, and has patience where the database asks for it.
    pub(super) async fn load(&self, row: &Row) -> Result<Loaded, LoadError> {
        let patience = ExponentialBuilder::default().with_min_delay(WAIT).with_max_delay(WAIT_MAX).with_jitter();
        let load = || self.load_now(row);
        load.retry(patience.with_max_times(TRIES_MAX)).when(|error| matches!(error, LoadError::Failed(_, true))).await
    }

    async fn load_now(&self, row: &Row) -> Result<Loaded, LoadError> {
        match row {
            Row::Product(put) => self.product(put).await,
            Row::Price(request) => self.price(request).await,
            Row::Stock(request) => self.move_stock(request).await,
            Row::Activity(activity) => self.activity(activity).await,
            Row::Journal(entry) => self.entry(entry).await,
        }
    }

    /// Creates a product. One that is there keeps its price and its stock, which have histories of their own.
    async fn product(&self, put: &Put) -> Result<Loaded, LoadError> {
        let before = self.products.get(&put.id).await?;
        let form = match &before {
            None => put.form.clone(),
            Some(_) => ProductForm { price: None, stock: None, ..put.form.clone() },
        };
        let put = Put { form, ..put.clone() };
        let (after, _) = self.products.put(&put).await.map_err(|error| of_change(error, bad))?;
        Ok(if before.as_ref() == Some(&after) { Loaded::Known } else { Loaded::New })
    }

    async fn price(&self, request: &PriceRequest) -> Result<Loaded, LoadError> {
        let recorded = self.prices.record(request).await;
        let newest = match recorded {
            Ok(Changed::Now(Repriced::Entry(_))) => return Ok(Loaded::New),
            Ok(_) => return Ok(Loaded::Known),
            Err(ChangeError::Refused(Unrecorded::Older(newest))) => newest,
            Err(error) => {
                return Err(of_change(error, |why| match why {
                    Unrecorded::Refused(PriceRefusal::Currency(why)) => bad(why),
                    Unrecorded::Refused(PriceRefusal::Archived) => bad(format!("{} is archived", request.product_id)),
                    _ => bad(format!("there is no product {}", request.product_id)),
                }));
            }
        };
        // The history goes further already. If it says the same of that moment, the line is in it.
        let then = self.prices.page(&request.product_id, Slice::UpTo(request.now), Direction::Desc, 1, None).await?;
        let is_known = then.items.first().is_some_and(|entry| entry.change.price == request.price);
        if is_known { Ok(Loaded::Known) } else { Err(older(newest)) }
    }

    async fn move_stock(&self, request: &StockRequest) -> Result<Loaded, LoadError> {
        let newest = match self.stock.record(request).await {
            Ok(Changed::Now(_)) => return Ok(Loaded::New),
            Ok(Changed::Before(_)) => return Ok(Loaded::Known),
            Err(ChangeError::Refused(Unrecorded::Older(newest))) => newest,
            Err(error) => {
                return Err(of_change(error, |why| match why {
                    Unrecorded::Refused(Unmoved::Stock(why)) => bad(why),
                    Unrecorded::Refused(Unmoved::Archived) => bad(format!("{} is archived", request.product_id)),
                    _ => bad(format!("there is no product {}", request.product_id)),
                }));
            }
        };
        // The ledger goes further already. A row is named by its line, so it can be looked for when its marker is gone.
        let then = self.stock.page(&request.product_id, Slice::At(request.now), Direction::Asc, 1, None).await?;
        let is_known = then.items.first().is_some_and(|entry| entry.row.id == request.row_id);
        if is_known { Ok(Loaded::Known) } else { Err(older(newest)) }
    }

    async fn activity(&self, activity: &Activity) -> Result<Loaded, LoadError> {
        match self.activities.record(activity).await? {
            Recorded::New => Ok(Loaded::New),
            Recorded::Known => Ok(Loaded::Known),
            Recorded::Reused => Err(bad("its time and id stand for another activity")),
        }
    }

    async fn entry(&self, entry: &Entry) -> Result<Loaded, LoadError> {
        match self.journal.append(entry, Timestamp::now()).await? {
            Appended::New => Ok(Loaded::New),
            Appended::Known => Ok(Loaded::Known),
            Appended::Different => Err(bad("its id stands for another entry")),
            Appended::Expired => Err(bad("it is older than what its stream keeps")),
        }
    }
}

fn older(newest: Moment) -> LoadError {
    bad(format!("the product's history goes on to {newest} already, and nothing is put in between"))
}
