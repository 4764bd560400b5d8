//! Reservations: goods that are kept for an order.
//!
//! One that is overdue gives its goods back in two ways. Whoever wants for goods looks for overdue ones first. And the item of an open one
//! expires, so that the stream tells of it; the goods are then given back under a marker of their own, since a record may come twice.

use std::future::Future;

use domain::Moment;
use domain::shop::{
    ChangeType, HoldTime, OrderId, Product, ProductId, Quantity, Reservation, ReservationState, RowId, SettleError,
    SettleOutcome, Settlement, StockMovement, StockRefusal,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::change::{Before, ChangeError, ChangeOutcome, Changes, Decision, IdempotencyMarker, Plan, Reused, Subject};
use super::keys::{self, INVENTORY_PREFIX, Item, RESERVATION_PREFIX, SORT_KEY, TTL, key, marker_ttl, n, read, s};
use super::refusals::{Refusal, RefusalMemory};
use super::stock::{StockChangeRefusal, StockEntry, order_marker, stock_item, unmoved};
use super::write::Write;
use crate::{StoreError, Table};

/// The overdue reservations that one transaction settles. It takes 100 items.
const SETTLED_AT_ONCE: i32 = 50;

/// Finds the open reservations of a product in the order in which they are due.
const OPEN_INDEX: &str = "open-reservations";

/// How often a change is tried again after overdue reservations have given goods back.
const RELEASED_MAX: u32 = 5;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReservationRow {
    entity_type: String,
    product_id: String,
    order_id: String,
    quantity: i64,
    state: String,
    created_at: String,
    expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<String>,
    /// The product's partition while the reservation is open: only then it is in the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_of: Option<String>,
}

/// The item. An open one expires with the promise, a settled one is kept as long as the markers of its order.
fn reservation_item(product_id: &ProductId, of: &Reservation) -> Result<Item, StoreError> {
    let (settled_at, ttl) = match of.state {
        // The second after: TTL knows no fractions.
        ReservationState::Open => (None, of.expires_at.timestamp().as_second() + 1),
        ReservationState::Settled(_, at) => (Some(at.to_string()), marker_ttl(at)),
    };
    let row = ReservationRow {
        entity_type: "RESERVATION".to_owned(),
        product_id: product_id.to_string(),
        order_id: of.order_id.to_string(),
        quantity: of.quantity.get() as i64,
        state: of.state.as_str().to_owned(),
        created_at: of.created_at.to_string(),
        expires_at: of.expires_at.to_string(),
        settled_at,
        open_of: (of.state == ReservationState::Open).then(|| keys::product(product_id)),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(keys::product(product_id), keys::reservation(&of.order_id)));
    item.insert(TTL.to_owned(), n(ttl));
    Ok(item)
}

/// The reservation of an item, or of an image of it in the stream, and of which product it is.
pub(super) fn read_reservation(item: Item) -> Result<(ProductId, Reservation), StoreError> {
    let row: ReservationRow = read(item)?;
    let moment = |text: &str| Moment::parse(text).ok();
    let reservation = || {
        let state = match (row.state.as_str(), &row.settled_at) {
            ("OPEN", None) => ReservationState::Open,
            (state, Some(at)) => ReservationState::Settled(state.parse().ok()?, moment(at)?),
            _ => return None,
        };
        let reservation = Reservation {
            order_id: OrderId::new(&row.order_id).ok()?,
            quantity: Quantity::new(row.quantity).ok()?,
            created_at: moment(&row.created_at)?,
            expires_at: moment(&row.expires_at)?,
            state,
        };
        Some((ProductId::new(&row.product_id).ok()?, reservation))
    };
    reservation().ok_or_else(|| {
        StoreError::unreadable(format!("PRODUCT#{} {RESERVATION_PREFIX}{}", row.product_id, row.order_id))
    })
}

/// Goods that an order wants to be kept.
#[derive(Debug, Clone)]
pub struct ReservationRequest {
    /// Of which product.
    pub product_id: ProductId,
    /// For which order. It names the reservation: sent again, it changes nothing.
    pub order_id: OrderId,
    /// How many.
    pub quantity: Quantity,
    /// For how long.
    pub hold_time: HoldTime,
    /// The time.
    pub now: Moment,
}

/// Why a reservation does not end so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleRefusal {
    /// There is no such reservation.
    NotFound,
    /// It has ended otherwise.
    Settled(SettleError),
    /// A client that knows no reservations has taken its goods.
    Missing(StockRefusal),
}

/// Keeps goods, hands them over and gives them back. Its requests are those of a change, `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Reservations {
    changes: Changes,
}

impl Reservations {
    /// The reservations in `table`.
    pub fn new(table: &Table) -> Self {
        Self { changes: Changes { table: table.clone() } }
    }

    /// A reservation as of its last write; `None` when there is none, or it was settled more than 30 days ago.
    pub async fn get(&self, product_id: &ProductId, order_id: &OrderId) -> Result<Option<Reservation>, StoreError> {
        let Changes { table } = &self.changes;
        let key = key(keys::product(product_id), keys::reservation(order_id));
        let answer = table.get_item(key).consistent_read(true).send().await?;
        answer.item.map(|item| read_reservation(item).map(|(_, reservation)| reservation)).transpose()
    }

    /// Keeps goods for an order. Where too few are free, overdue reservations are given back first. What is refused stays refused for a minute.
    pub async fn reserve(
        &self,
        request: &ReservationRequest,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<StockChangeRefusal>> {
        let ReservationRequest { product_id, order_id, quantity, hold_time, now } = request;
        let sort = keys::reservation(order_id);
        let beside = [sort.clone()];
        let seconds = hold_time.duration().as_secs().to_string();
        let memory = RefusalMemory::apart(&["reserve", order_id.as_str(), &quantity.get().to_string(), &seconds]);
        let subject = Subject { product_id, markers: &[], memory: &memory, beside: &beside, now: *now };
        let decide = |before: &Before| {
            if let Some(known) = before.beside(&sort) {
                let (_, known) = read_reservation(known.clone())?;
                let is_same = known.is_for(*quantity, *hold_time);
                return if is_same { Ok(Decision::Nothing(known)) } else { Err(ChangeError::Reused(Reused::Order)) };
            }
            let product = before.product.as_ref().ok_or(ChangeError::Refused(StockChangeRefusal::NotFound))?;
            if product.archived_at.is_some() {
                return Err(ChangeError::Refused(StockChangeRefusal::Archived));
            }
            let level = product.level.reserve(*quantity).map_err(unmoved)?;
            let new =
                Reservation::new(order_id.clone(), *quantity, *hold_time, *now).map_err(StoreError::unreadable)?;
            let writes = vec![Write::new(reservation_item(product_id, &new)?)];
            let product = Product { level, ..product.changed(*now) };
            Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome: new })))
        };
        let change = || self.changes.change(subject, decide, nothing_remembered);
        self.changes.final_change(&subject, || self.with_overdue_released(product_id, *now, change)).await
    }

    /// Hands the goods over: they leave, and the ledger says so. `row_id` becomes part of the row's id.
    ///
    /// One that is overdue is settled, so that the order stays refused: an attempt on an instance whose clock is behind could still take the goods.
    pub async fn commit(
        &self,
        product_id: &ProductId,
        order_id: &OrderId,
        now: Moment,
        row_id: Uuid,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<SettleRefusal>> {
        let sort = keys::reservation(order_id);
        let left = keys::order(ChangeType::Out, order_id);
        let beside = [sort.clone(), left.clone()];
        let subject = Subject { product_id, markers: &[], memory: &RefusalMemory::Nowhere, beside: &beside, now };
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
            // The order's goods have left in another way: they do not leave twice.
            if before.beside(&left).is_some() {
                return Err(ChangeError::Reused(Reused::Order));
            }
            let moved = product.level.commit(open.quantity).map_err(|why| match why {
                StockRefusal::Insufficient(_) => ChangeError::Refused(SettleRefusal::Missing(why)),
                why => unreadable(product_id)(why).into(),
            })?;
            let row = RowId::following(product.stocked_at, now, row_id);
            let entry = StockEntry {
                order_id: Some(order_id.clone()),
                ..StockEntry::new(product_id, row, ChangeType::Out, moved)
            };
            let product = Product { level: moved.after, stocked_at: Some(row.at), ..product.changed(now) };
            let row = keys::row(INVENTORY_PREFIX, row);
            let marker = order_marker(order_id, StockMovement::Out(open.quantity));
            let settled = Reservation { state: ReservationState::Settled(settlement, now), ..open };
            let writes = vec![
                Write::new(stock_item(&entry)?),
                marker.write(&subject, &row),
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

    /// Gives the goods back before the order's time is over. Of one that is overdue, the goods are given back likewise.
    pub async fn release(
        &self,
        product_id: &ProductId,
        order_id: &OrderId,
        now: Moment,
    ) -> Result<ChangeOutcome<Reservation>, ChangeError<SettleRefusal>> {
        let sort = keys::reservation(order_id);
        let beside = [sort.clone()];
        let subject = Subject { product_id, markers: &[], memory: &RefusalMemory::Nowhere, beside: &beside, now };
        let decide = |before: &Before| {
            let (product, open) = found(before, &sort)?;
            let settlement = match open.release(now).map_err(|why| ChangeError::Refused(SettleRefusal::Settled(why)))? {
                SettleOutcome::Before => return Ok(Decision::Nothing(open)),
                SettleOutcome::Now(settlement) => settlement,
            };
            let level = product.level.release(open.quantity.get()).map_err(unreadable(product_id))?;
            let settled = Reservation { state: ReservationState::Settled(settlement, now), ..open };
            let item = reservation_item(product_id, &settled)?;
            let writes = vec![Write::over_state(item, ReservationState::Open.as_str())];
            let product = Product { level, ..product.changed(now) };
            Ok(Decision::Write(Box::new(Plan { product, writes, row: sort.clone(), outcome: settled })))
        };
        self.changes.change(subject, decide, nothing_remembered).await
    }

    /// Gives back what was kept by a reservation that TTL has deleted while it was open; `false` when that had been done before. The order
    /// finds it expired from now on, as it would have been found a moment before.
    pub async fn release_expired(
        &self,
        product_id: &ProductId,
        deleted: &Reservation,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let sort = keys::reservation(&deleted.order_id);
        // Of the one reservation: the order may have made another one meanwhile.
        let marker = IdempotencyMarker {
            sort: keys::expiry(&deleted.order_id, deleted.created_at),
            request_fingerprint: String::new(),
            reused: Reused::Order,
        };
        let beside = [sort.clone(), marker.sort.clone()];
        let subject = Subject { product_id, markers: &[], memory: &RefusalMemory::Nowhere, beside: &beside, now };
        let decide = |before: &Before| {
            // Stops a record that comes twice from giving the goods back twice.
            let is_known = before.beside(&marker.sort).is_some();
            let product = before.product.as_ref().filter(|_| !is_known);
            // Somebody has deleted the product: there is nothing to give the goods back to.
            let Some(product) = product else { return Ok(Decision::Nothing(false)) };
            let level = product.level.release(deleted.quantity.get()).map_err(unreadable(product_id))?;
            let mut writes = vec![marker.write(&subject, &sort)];
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
            Err(_) => Err(StoreError::Busy(format!("others changed {product_id} each time"))),
        }
    }

    /// Tries a change, and again after overdue reservations have given goods back, as long as goods are what it wants for.
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

    /// Settles what is overdue of a product, up to [`SETTLED_AT_ONCE`] reservations, and gives their number.
    async fn release_overdue<R: Refusal>(&self, product_id: &ProductId, now: Moment) -> Result<usize, ChangeError<R>> {
        let beside = self.overdue(product_id, now).await?;
        if beside.is_empty() {
            return Ok(0);
        }
        let subject = Subject { product_id, markers: &[], memory: &RefusalMemory::Nowhere, beside: &beside, now };
        let decide = |before: &Before| {
            let items = beside.iter().filter_map(|sort| before.beside(sort).cloned());
            let known = items.map(|item| Ok(read_reservation(item)?.1)).collect::<Result<Vec<_>, StoreError>>()?;
            // Some may have been settled, or deleted, since they were found.
            let overdue: Vec<_> = known.into_iter().filter(|reservation| reservation.is_overdue(now)).collect();
            let Some(product) = before.product.as_ref().filter(|_| !overdue.is_empty()) else {
                return Ok(Decision::Nothing(0));
            };
            let (product, writes, expired) = expire(product, overdue, now)?;
            let row = keys::METADATA.to_owned();
            Ok(Decision::Write(Box::new(Plan { product, writes, row, outcome: expired.len() })))
        };
        match self.changes.change(subject, decide, nothing_remembered).await? {
            ChangeOutcome::Applied(outcome) | ChangeOutcome::AlreadyApplied(outcome) => Ok(outcome),
        }
    }

    /// The sort keys of reservations that are open and overdue, at most [`SETTLED_AT_ONCE`]: those that are due first come first. The index has open
    /// ones only. It is some milliseconds behind, and a reservation is open for a second at least.
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

/// Settles what is overdue: the product with the goods given back, what is to be written beside it, and the reservations as they are then.
fn expire(
    product: &Product,
    overdue: Vec<Reservation>,
    now: Moment,
) -> Result<(Product, Vec<Write>, Vec<Reservation>), StoreError> {
    let quantity = overdue.iter().map(|reservation| reservation.quantity.get()).sum();
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
    Ok((product, read_reservation(item.clone())?.1))
}

/// A product that has not reserved what its reservations keep: somebody else has written to the table.
fn unreadable(product_id: &ProductId) -> impl Fn(StockRefusal) -> StoreError {
    move |why| StoreError::unreadable(format!("PRODUCT#{product_id}: {why}"))
}

/// Reservations are found by their orders and need no markers.
fn nothing_remembered<T>(_: Item) -> Result<T, StoreError> {
    Err(StoreError::unreadable("a reservation goes by its order, and a marker was found"))
}
