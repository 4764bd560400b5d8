//! Ends an order of several lines: one transaction settles the order and all its reservations, and
//! changes all its products.
//!
//! The order's state is the condition that stops a second end. Each product has the condition of
//! every other change.

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::Moment;
use domain::shop::{
    ChangeType, Order, OrderId, OrderLines, Product, ProductId, Quantity, Reservation, ReservationState, RowId,
    SettleError, SettleOutcome, Settlement, StockRefusal,
};
use std::collections::BTreeMap;
use uuid::Uuid;

use super::change::{ChangeError, ChangeOutcome, Changes, unreadable};
use super::keys::{self, Item, METADATA, key};
use super::refusal::SettleRefusal;
use super::rows::{StockEntry, StoredReservation, order_item, product_item, read_order, read_product, stock_item};
use super::write::Write;
use store_base::{Retry, StoreError};

/// How an order is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderEnd {
    /// The goods leave. The id becomes part of the ids of the ledger's rows.
    Commit(Uuid),
    /// The goods are available again.
    Release,
    /// The same, if the order is overdue.
    Expire,
}

/// Reads and ends orders.
#[derive(Debug, Clone)]
pub(super) struct OrderChanges {
    pub(super) changes: Changes,
}

impl OrderEnd {
    fn settlement(self, order: &Order, now: Moment) -> Result<SettleOutcome, SettleError> {
        match self {
            // It is settled as expired, so that it stays refused. Otherwise an attempt on an instance
            // with a slow clock could still take the goods.
            _ if order.is_overdue(now) => Ok(SettleOutcome::Now(Settlement::Expired)),
            Self::Commit(_) => order.commit(now),
            Self::Release => order.release(now),
            Self::Expire => Ok(SettleOutcome::Before),
        }
    }
}

impl OrderChanges {
    pub(super) fn of(changes: &Changes) -> Self {
        Self { changes: changes.clone() }
    }

    /// An order, read strongly consistently.
    pub(super) async fn get(&self, order_id: &OrderId) -> Result<Option<Order>, StoreError> {
        let answer = self.changes.table.get_item(keys::order_key(order_id)).consistent_read(true).send().await?;
        answer.item.map(read_order).transpose()
    }

    /// Ends an order. An order that has ended in this way before is left as it is.
    pub(super) async fn settle(
        &self,
        order_id: &OrderId,
        end: OrderEnd,
        now: Moment,
    ) -> Result<ChangeOutcome<Order>, ChangeError<SettleRefusal>> {
        let mut retry = Retry::new();
        loop {
            let order = self.get(order_id).await?.ok_or(ChangeError::Refused(SettleRefusal::NotFound))?;
            let refused = |why| ChangeError::Refused(SettleRefusal::Settled(why));
            let settlement = match end.settlement(&order, now).map_err(refused)? {
                SettleOutcome::Before => return Ok(ChangeOutcome::AlreadyApplied(order)),
                SettleOutcome::Now(settlement) => settlement,
            };
            let settled = Order { state: ReservationState::Settled(settlement, now), ..order.clone() };
            let row_id = match end {
                OrderEnd::Commit(row_id) if settlement == Settlement::Committed => Some(row_id),
                _ => None,
            };
            let own = Write::over_state(order_item(&settled)?, ReservationState::Open.as_str());
            match self.actions(&settled, own, row_id).await {
                Ok(actions) => {
                    if self.changes.transact(actions).await?.is_some() {
                        let expired = settlement == Settlement::Expired && matches!(end, OrderEnd::Commit(_));
                        return match expired {
                            true => Err(refused(SettleError::Expired(order.expires_at))),
                            false => Ok(ChangeOutcome::Applied(settled)),
                        };
                    }
                }
                // The products were read after the order. A copy of the request may have ended it.
                Err(error) if self.get(order_id).await?.as_ref() == Some(&order) => return Err(error),
                Err(_) => {}
            }
            if !retry.wait().await {
                return Err(ChangeError::Conflict);
            }
        }
    }

    /// Gives the goods of an open order back that TTL has deleted; `false` when this was done before.
    /// The order is there again, as expired.
    pub(super) async fn release_expired(&self, deleted: &Order, now: Moment) -> Result<bool, StoreError> {
        let state = ReservationState::Settled(Settlement::Expired, now);
        let expired = Order { state, ..deleted.clone() };
        let mut retry = Retry::new();
        loop {
            // The reservations of an open order stay until it is settled. Their state stops a record
            // that is delivered twice from giving the goods back twice.
            if !self.is_open(deleted).await? {
                return Ok(false);
            }
            let actions = self.actions(&expired, Write::new(order_item(&expired)?), None).await;
            let actions = actions.map_err(|error| match error {
                ChangeError::Store(error) => error,
                other => StoreError::unreadable(format!("{}: {other}", deleted.order_id)),
            })?;
            if self.changes.transact(actions).await?.is_some() {
                return Ok(true);
            }
            if !retry.wait().await {
                return Err(StoreError::Busy(format!("another change of {} was faster each time", deleted.order_id)));
            }
        }
    }

    /// Whether the reservations of this order are open. All are, or none.
    async fn is_open(&self, order: &Order) -> Result<bool, StoreError> {
        let Some((product_id, _)) = order.goods.iter().next() else { return Ok(false) };
        let key = key(keys::product(product_id), keys::reservation(&order.order_id));
        let found = self.changes.table.batch_get(vec![key], true).await?.pop();
        let stored = found.map(StoredReservation::read).transpose()?;
        Ok(stored.is_some_and(|StoredReservation { reservation, is_order_line, .. }| {
            is_order_line && reservation.state == ReservationState::Open && reservation.created_at == order.created_at
        }))
    }

    /// The transaction that settles an order. Its goods leave with `row_id`, or are available again.
    async fn actions(
        &self,
        settled: &Order,
        own: Write,
        row_id: Option<Uuid>,
    ) -> Result<Vec<TransactWriteItem>, ChangeError<SettleRefusal>> {
        let ReservationState::Settled(_, now) = settled.state else {
            return Err(StoreError::unreadable(format!("{} is still open", settled.order_id)).into());
        };
        let products = self.products(&settled.goods).await?;
        let mut actions = vec![own.build(&self.changes.table)?];
        for (number, line) in lines(settled).enumerate() {
            let StoredReservation { product_id, reservation, .. } = &line;
            let found = products.get(product_id);
            let after = match (found, row_id) {
                (None, Some(_)) => return Err(ChangeError::Refused(SettleRefusal::NotFound)),
                // The product was deleted, so there is no stock to release.
                (None, None) => None,
                (Some((item, product)), Some(row_id)) => {
                    // The journal knows an entry by the id of its row, so each line has another.
                    let row_id = Uuid::from_u128(row_id.as_u128().wrapping_add(number as u128));
                    let (product, entry) = leave(product, reservation, now, row_id)?;
                    actions.push(Write::new(stock_item(&entry)?).build(&self.changes.table)?);
                    Some((item, product))
                }
                (Some((item, product)), None) => {
                    let level = product.level.release(reservation.goods.get()).map_err(unreadable(product_id))?;
                    Some((item, Product { level, ..product.changed(now) }))
                }
            };
            if let Some((item, product)) = after {
                actions.push(self.changes.update(item, product_item(&product)?)?);
            }
            let write = Write::over_state(line.item()?, ReservationState::Open.as_str());
            actions.push(write.build(&self.changes.table)?);
        }
        Ok(actions)
    }

    /// The products of the lines that exist, each read strongly consistently.
    async fn products(&self, lines: &OrderLines) -> Result<BTreeMap<ProductId, (Item, Product)>, StoreError> {
        let keys = lines.iter().map(|(product_id, _)| key(keys::product(product_id), METADATA)).collect();
        let items = self.changes.table.batch_get(keys, true).await?;
        let read = |item: Item| read_product(item.clone()).map(|product| (product.id.clone(), (item, product)));
        items.into_iter().map(read).collect()
    }
}

/// The reservations of an order, in its state.
pub(super) fn lines(order: &Order) -> impl Iterator<Item = StoredReservation> {
    let Order { order_id, created_at, expires_at, state, .. } = order;
    order.goods.iter().map(move |(product_id, goods): (&ProductId, Quantity)| StoredReservation {
        product_id: product_id.clone(),
        reservation: Reservation {
            order_id: order_id.clone(),
            goods,
            created_at: *created_at,
            expires_at: *expires_at,
            state: *state,
        },
        is_order_line: true,
    })
}

/// The product and the row of its ledger when reserved goods leave.
pub(super) fn leave(
    product: &Product,
    reservation: &Reservation,
    now: Moment,
    row_id: Uuid,
) -> Result<(Product, StockEntry), ChangeError<SettleRefusal>> {
    let moved = product.level.commit(reservation.goods).map_err(|why| match why {
        StockRefusal::Insufficient(_) => ChangeError::Refused(SettleRefusal::Missing(product.id.clone(), why)),
        why => unreadable(&product.id)(why).into(),
    })?;
    let row = RowId::following(product.stocked_at, now, row_id);
    let order_id = Some(reservation.order_id.clone());
    let entry = StockEntry { order_id, ..StockEntry::new(&product.id, row, ChangeType::Out, moved) };
    Ok((Product { level: moved.after, stocked_at: Some(row.at), ..product.changed(now) }, entry))
}
