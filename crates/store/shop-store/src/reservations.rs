//! Reservations: stock that is held for an order.
//!
//! The stock of an overdue reservation is released in two ways. A change that needs stock releases
//! overdue reservations first. Also, the item of an open reservation expires by TTL, and a stream
//! record tells of it. The release then has a marker of its own, since a record may be delivered
//! twice.

use domain::Moment;
use domain::shop::{
    ChangeType, HoldTime, OrderId, Product, ProductId, Quantity, Reservation, ReservationState, SettleError,
    SettleOutcome, Settlement, StockMovement, StockRefusal,
};
use std::future::Future;
use uuid::Uuid;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Decision, Plan, Subject, stock_refused, unreadable};
use super::keys::{self, INVENTORY_PREFIX, Item, SORT_KEY, key, s};
use super::marker::{IdempotencyMarker, Reused, order_marker};
use super::order_changes::{OrderChanges, OrderEnd, leave};
use super::refusal::{Refusal, RefusalMemory, SettleRefusal, StockChangeRefusal};
use super::rows::{StoredReservation, reservation_item, stock_item};
use super::write::Write;
use store_base::{StoreError, Table};

/// How many overdue reservations one transaction settles. A transaction has at most 100 items.
const SETTLED_AT_ONCE: i32 = 50;

/// How many overdue orders of several lines a try settles, each in a transaction of its own.
const ORDERS_AT_ONCE: usize = 10;

/// The index with the open reservations of a product, sorted by their ends.
const OPEN_INDEX: &str = "open-reservations";

/// How many times a change is repeated after overdue reservations were released.
pub(super) const RELEASED_MAX: u32 = 5;

/// A request to reserve stock for an order.
#[derive(Debug, Clone)]
pub struct ReservationRequest {
    /// The product.
    pub product_id: ProductId,
    /// The order. It identifies the reservation: sending the request again changes nothing.
    pub order_id: OrderId,
    /// The number of pieces.
    pub quantity: Quantity,
    /// How long the stock is held.
    pub hold_time: HoldTime,
    /// The time.
    pub now: Moment,
}

/// Reserves stock, and commits and releases reservations. Its requests are `BatchGetItem` and
/// `TransactWriteItems` for changes, `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Reservations {
    changes: Changes,
}

impl Reservations {
    /// The reservations in `table`.
    pub fn new(table: &Table) -> Self {
        Self { changes: Changes { table: table.clone() } }
    }

    /// A reservation, read strongly consistently; `None` when there is none, or when it was settled
    /// more than 30 days ago.
    pub async fn get(&self, product_id: &ProductId, order_id: &OrderId) -> Result<Option<Reservation>, StoreError> {
        let Changes { table } = &self.changes;
        let key = key(keys::product(product_id), keys::reservation(order_id));
        let answer = table.get_item(key).consistent_read(true).send().await?;
        Ok(answer.item.map(StoredReservation::read).transpose()?.map(|stored| stored.reservation))
    }

    /// Reserves stock for an order. If too little is available, overdue reservations are released
    /// first. A refusal is valid for a minute.
    pub async fn reserve(
        &self,
        request: &ReservationRequest,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<StockChangeRefusal>> {
        let ReservationRequest { product_id, order_id, quantity, hold_time, now } = request;
        let sort = keys::reservation(order_id);
        let beside = [sort.clone()];
        let seconds = hold_time.duration().as_secs().to_string();
        let memory = RefusalMemory::apart(&["reserve", order_id.as_str(), &quantity.get().to_string(), &seconds]);
        let subject = Subject { memory: &memory, ..Subject::repeatable(product_id, &beside, *now) };
        let decide = |before: &Before| {
            if let Some(known) = before.beside(&sort) {
                let StoredReservation { reservation, is_order_line, .. } = StoredReservation::read(known.clone())?;
                let is_same = reservation.is_for(quantity, *hold_time) && !is_order_line;
                return is_same.then_some(Decision::Nothing(reservation)).ok_or(ChangeError::Reused(Reused::Order));
            }
            let product = before.product.as_ref().ok_or(ChangeError::Refused(StockChangeRefusal::NotFound))?;
            if product.archived_at.is_some() {
                return Err(ChangeError::Refused(StockChangeRefusal::Archived));
            }
            let level = product.level.reserve(*quantity).map_err(stock_refused)?;
            let new =
                Reservation::new(order_id.clone(), *quantity, *hold_time, *now).map_err(StoreError::unreadable)?;
            let writes = vec![Write::new(reservation_item(product_id, &new)?)];
            let product = Product { level, ..product.changed(*now) };
            Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome: new })))
        };
        let change = || self.changes.change(subject, decide, nothing_remembered);
        self.changes.final_change(&subject, || self.with_overdue_released(product_id, *now, change)).await
    }

    /// Commits a reservation: the stock leaves, and a row of the ledger records it. `row_id`
    /// becomes part of the row's id.
    ///
    /// An overdue reservation is settled as expired, so that the order stays refused. Otherwise an
    /// attempt on an instance with a slow clock could still take the stock.
    pub async fn commit(
        &self,
        product_id: &ProductId,
        order_id: &OrderId,
        now: Moment,
        row_id: Uuid,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<SettleRefusal>> {
        let sort = keys::reservation(order_id);
        let out_sort = keys::order(ChangeType::Out, order_id);
        let beside = [sort.clone(), out_sort.clone()];
        let subject = Subject::repeatable(product_id, &beside, now);
        let decide = |before: &Before| {
            let (product, open) = found(before, &sort)?;
            if open.is_overdue(now) {
                let (product, writes, expired) = expire(product, vec![open], now)?;
                let outcome = expired.into_iter().next().ok_or(ChangeError::Refused(SettleRefusal::NotFound))?;
                return Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome })));
            }
            let settlement = match open.commit(now).map_err(|why| ChangeError::Refused(SettleRefusal::Settled(why)))? {
                SettleOutcome::Before => return Ok(Decision::Nothing(open)),
                SettleOutcome::Now(settlement) => settlement,
            };
            // The order's stock has already left by a movement. It must not leave twice.
            if before.beside(&out_sort).is_some() {
                return Err(ChangeError::Reused(Reused::Order));
            }
            let (product, entry) = leave(product, &open, now, row_id)?;
            let row = keys::row(INVENTORY_PREFIX, entry.row);
            let marker = order_marker(order_id, StockMovement::Out(open.goods));
            let settled = Reservation { state: ReservationState::Settled(settlement, now), ..open };
            let writes = vec![
                Write::new(stock_item(&entry)?),
                marker.write(subject.product_id, &row, subject.now),
                Write::over_state(reservation_item(product_id, &settled)?, ReservationState::Open.as_str()),
            ];
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: settled })))
        };
        let changed = self.changes.change(subject, decide, nothing_remembered).await?;
        match changed {
            ChangeOutcome::Applied(Reservation {
                state: ReservationState::Settled(Settlement::Expired, _),
                expires_at,
                ..
            }) => Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Expired(expires_at)))),
            changed => Ok(changed),
        }
    }

    /// Releases a reservation before its end. An overdue one is settled as expired, and its stock
    /// is released as well.
    pub async fn release(
        &self,
        product_id: &ProductId,
        order_id: &OrderId,
        now: Moment,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<SettleRefusal>> {
        let sort = keys::reservation(order_id);
        let beside = [sort.clone()];
        let subject = Subject::repeatable(product_id, &beside, now);
        let decide = |before: &Before| {
            let (product, open) = found(before, &sort)?;
            let settlement = match open.release(now).map_err(|why| ChangeError::Refused(SettleRefusal::Settled(why)))? {
                SettleOutcome::Before => return Ok(Decision::Nothing(open)),
                SettleOutcome::Now(settlement) => settlement,
            };
            let level = product.level.release(open.goods.get()).map_err(unreadable(product_id))?;
            let settled = Reservation { state: ReservationState::Settled(settlement, now), ..open };
            let item = reservation_item(product_id, &settled)?;
            let writes = vec![Write::over_state(item, ReservationState::Open.as_str())];
            let product = Product { level, ..product.changed(now) };
            Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome: settled })))
        };
        self.changes.change(subject, decide, nothing_remembered).await
    }

    /// Releases the stock of an open reservation that TTL has deleted; `false` when this was done
    /// before. The order finds the reservation as expired, as it would have before the deletion.
    pub async fn release_expired(
        &self,
        product_id: &ProductId,
        deleted: &Reservation,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let sort = keys::reservation(&deleted.order_id);
        // The marker belongs to this one reservation. The order may have made another one since.
        let marker = IdempotencyMarker {
            sort: keys::expiry(&deleted.order_id, deleted.created_at),
            request_fingerprint: String::new(),
            reused: Reused::Order,
        };
        let beside = [sort.clone(), marker.sort.clone()];
        let subject = Subject::repeatable(product_id, &beside, now);
        let decide = |before: &Before| {
            // Stops a record that is delivered twice from releasing the stock twice.
            let is_known = before.beside(&marker.sort).is_some();
            let product = before.product.as_ref().filter(|_| !is_known);
            // The product was deleted, so there is no stock to release.
            let Some(product) = product else { return Ok(Decision::Nothing(false)) };
            let level = product.level.release(deleted.goods.get()).map_err(unreadable(product_id))?;
            let mut writes = vec![marker.write(subject.product_id, &sort, subject.now)];
            if before.beside(&sort).is_none() {
                let state = ReservationState::Settled(Settlement::Expired, now);
                let expired = Reservation { state, ..deleted.clone() };
                writes.push(Write::new(reservation_item(product_id, &expired)?));
            }
            let product = Product { level, ..product.changed(now) };
            Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome: true })))
        };
        match self.changes.change::<bool, SettleRefusal>(subject, decide, nothing_remembered).await {
            Ok(ChangeOutcome::Applied(outcome) | ChangeOutcome::AlreadyApplied(outcome)) => Ok(outcome),
            Err(ChangeError::Store(error)) => Err(error),
            Err(_) => Err(StoreError::Busy(format!("another change of {product_id} was faster each time"))),
        }
    }

    /// Tries a change, and repeats it after overdue reservations were released, as long as it is
    /// refused for lack of stock.
    pub(super) async fn with_overdue_released<T, F>(
        &self,
        product_id: &ProductId,
        now: Moment,
        change: impl Fn() -> F,
    ) -> Result<ChangeOutcome<T>, ChangeError<StockChangeRefusal>>
    where
        F: Future<Output = Result<ChangeOutcome<T>, ChangeError<StockChangeRefusal>>>,
    {
        let mut outcome = change().await;
        for _ in 0..RELEASED_MAX {
            let Err(ChangeError::Refused(StockChangeRefusal::Stock(refusal))) = &outcome else { break };
            let wants = matches!(refusal, StockRefusal::Insufficient(_) | StockRefusal::Reserved(_));
            if !wants || refusal.level().reserved() == 0 || self.release_overdue(product_id, now).await? == 0 {
                break;
            }
            outcome = change().await;
        }
        outcome
    }

    /// Settles overdue reservations of a product, at most [`SETTLED_AT_ONCE`], and the orders with an
    /// overdue line. Returns their number.
    pub(super) async fn release_overdue<R: Refusal>(
        &self,
        product_id: &ProductId,
        now: Moment,
    ) -> Result<usize, ChangeError<R>> {
        let beside = self.overdue(product_id, now).await?;
        if beside.is_empty() {
            return Ok(0);
        }
        let subject = Subject::repeatable(product_id, &beside, now);
        let decide = |before: &Before| {
            let items = beside.iter().filter_map(|sort| before.beside(sort).cloned());
            let known = items.map(StoredReservation::read).collect::<Result<Vec<_>, StoreError>>()?;
            // Some may have been settled or deleted since the query.
            let overdue = known.into_iter().filter(|stored| stored.reservation.is_overdue(now));
            let (lines, overdue): (Vec<_>, Vec<_>) = overdue.partition(|stored| stored.is_order_line);
            let orders: Vec<_> = lines.into_iter().map(|line| line.reservation.order_id).collect();
            let Some(product) = before.product.as_ref().filter(|_| !overdue.is_empty()) else {
                return Ok(Decision::Nothing((0, orders)));
            };
            let overdue = overdue.into_iter().map(|stored| stored.reservation).collect();
            let (product, writes, expired) = expire(product, overdue, now)?;
            let row = keys::METADATA.to_owned();
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: (expired.len(), orders) })))
        };
        let changed = self.changes.change(subject, decide, nothing_remembered).await?;
        let (ChangeOutcome::Applied((mut settled, orders)) | ChangeOutcome::AlreadyApplied((mut settled, orders))) =
            changed;
        for order_id in orders {
            if settled >= ORDERS_AT_ONCE {
                break;
            }
            match OrderChanges::of(&self.changes).settle(&order_id, OrderEnd::Expire, now).await {
                Ok(_) => settled += 1,
                // TTL has deleted its item: the stream tells of it, and its goods come back with that.
                Err(ChangeError::Refused(_) | ChangeError::RefusedBefore(_) | ChangeError::Reused(_)) => {}
                Err(ChangeError::Conflict) => return Err(ChangeError::Conflict),
                Err(ChangeError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(settled)
    }

    /// The sort keys of open and overdue reservations, at most [`SETTLED_AT_ONCE`]. Those that were
    /// due first come first. The index is some milliseconds behind, but a reservation is open for
    /// at least a second.
    async fn overdue(&self, product_id: &ProductId, now: Moment) -> Result<Vec<String>, StoreError> {
        let Changes { table } = &self.changes;
        let answer = table
            .query()
            .index_name(OPEN_INDEX)
            .key_condition_expression("OpenOf = :product AND ExpiresAt <= :now")
            .expression_attribute_values(":product", s(keys::product(product_id)))
            .expression_attribute_values(":now", s(now.to_string()))
            .limit(SETTLED_AT_ONCE)
            .send()
            .await?;
        let items = answer.items.unwrap_or_default();
        Ok(items.into_iter().filter_map(|item| item.get(SORT_KEY)?.as_s().ok().cloned()).collect())
    }
}

/// Settles overdue reservations as expired. Returns the product with their pieces available again,
/// the writes, and the settled reservations.
fn expire(
    product: &Product,
    overdue: Vec<Reservation>,
    now: Moment,
) -> Result<(Product, Vec<Write>, Vec<Reservation>), StoreError> {
    let quantity = overdue.iter().map(|reservation| reservation.goods.get()).sum();
    let level = product.level.release(quantity).map_err(unreadable(&product.id))?;
    let state = ReservationState::Settled(Settlement::Expired, now);
    let expired: Vec<_> = overdue.into_iter().map(|open| Reservation { state, ..open }).collect();
    let writes = expired
        .iter()
        .map(|expired| Ok(Write::over_state(reservation_item(&product.id, expired)?, ReservationState::Open.as_str())));
    let writes = writes.collect::<Result<_, StoreError>>()?;
    Ok((Product { level, ..product.changed(now) }, writes, expired))
}

/// The product and the reservation that a decision is about.
fn found<'a>(before: &'a Before, sort: &str) -> Result<(&'a Product, Reservation), ChangeError<SettleRefusal>> {
    let found = before.product.as_ref().zip(before.beside(sort));
    let (product, item) = found.ok_or(ChangeError::Refused(SettleRefusal::NotFound))?;
    let StoredReservation { reservation, is_order_line, .. } = StoredReservation::read(item.clone())?;
    if is_order_line {
        return Err(ChangeError::Refused(SettleRefusal::OrderLine));
    }
    Ok((product, reservation))
}

/// Reservations are identified by their orders and have no markers.
fn nothing_remembered<T>(_: Item) -> Result<T, StoreError> {
    Err(StoreError::unreadable("a marker was found for a reservation, which has none"))
}
