//! Orders of several lines: all lines are reserved, committed and released together, or none.

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::Moment;
use domain::shop::{ChangeType, HoldTime, Order, OrderId, OrderLines, Product, ProductId, StockRefusal};
use std::collections::BTreeMap;
use uuid::Uuid;

use super::change::{ChangeError, ChangeOutcome, Changes};
use super::keys::{self, Item, METADATA, PARTITION_KEY, SORT_KEY, TTL, key, n, s};
use super::marker::{Reused, request_fingerprint};
use super::order_changes::{OrderChanges, OrderEnd, lines};
use super::refusal::{HOLDS_S, OrderRefusal, Refusal, SettleRefusal, StockChangeRefusal};
use super::remembered_refusals::valid_refusal;
use super::reservations::{RELEASED_MAX, Reservations};
use super::rows::{order_item, product_item, read_order, read_product};
use super::write::Write;
use store_base::{Retry, StoreError, Table};

/// A request to reserve the lines of an order.
#[derive(Debug, Clone)]
pub struct OrderRequest {
    /// The order. It identifies the request: sending it again changes nothing.
    pub order_id: OrderId,
    /// The products with their quantities.
    pub lines: OrderLines,
    /// How long the stock is held.
    pub hold_time: HoldTime,
    /// The time.
    pub now: Moment,
}

/// Reserves, commits and releases orders. Its requests are `BatchGetItem` and `TransactWriteItems`
/// for changes, `GetItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Orders {
    changes: Changes,
    ends: OrderChanges,
    reservations: Reservations,
}

/// What was read for a new order. The items may be of different moments.
#[derive(Debug, PartialEq)]
struct Before(BTreeMap<(String, String), Item>);

impl Orders {
    /// The orders in `table`.
    pub fn new(table: &Table) -> Self {
        let changes = Changes { table: table.clone() };
        Self { ends: OrderChanges::of(&changes), changes, reservations: Reservations::new(table) }
    }

    /// An order, read strongly consistently; `None` when there is none, or when it was settled more
    /// than 30 days ago.
    pub async fn get(&self, order_id: &OrderId) -> Result<Option<Order>, StoreError> {
        self.ends.get(order_id).await
    }

    /// Commits an order: the stock of all lines leaves, each with a row of its ledger. `row_id`
    /// becomes part of the rows' ids. An overdue order is settled as expired and refused.
    pub async fn commit(
        &self,
        order_id: &OrderId,
        now: Moment,
        row_id: Uuid,
    ) -> Result<ChangeOutcome<Order>, ChangeError<SettleRefusal>> {
        self.ends.settle(order_id, OrderEnd::Commit(row_id), now).await
    }

    /// Releases an order before its end. An overdue one is settled as expired.
    pub async fn release(
        &self,
        order_id: &OrderId,
        now: Moment,
    ) -> Result<ChangeOutcome<Order>, ChangeError<SettleRefusal>> {
        self.ends.settle(order_id, OrderEnd::Release, now).await
    }

    /// Gives the goods of an open order back that TTL has deleted; `false` when this was done
    /// before.
    pub async fn release_expired(&self, deleted: &Order, now: Moment) -> Result<bool, StoreError> {
        self.ends.release_expired(deleted, now).await
    }

    /// Reserves all lines of an order, or none. If too little is available, overdue reservations are
    /// released first. A refusal names each refused line, and is valid for a minute.
    pub async fn reserve(&self, request: &OrderRequest) -> Result<ChangeOutcome<Order>, ChangeError<OrderRefusal>> {
        let OrderRequest { order_id, lines, hold_time, now } = request;
        let order = Order::new(order_id.clone(), lines.clone(), *hold_time, *now).map_err(StoreError::unreadable)?;
        let memory = refusal_key(request);
        let (mut retry, mut releases) = (Retry::new(), 0);
        let releases_max = RELEASED_MAX.max(lines.iter().count() as u32);
        let mut doubted: Option<Before> = None;
        loop {
            let before = self.read(request, &memory).await?;
            if let Some(known) = before.order(order_id)? {
                let is_same = known.is_for(lines, *hold_time);
                return is_same
                    .then_some(ChangeOutcome::AlreadyApplied(known))
                    .ok_or(ChangeError::Reused(Reused::Order));
            }
            if let Some(why) = before.refusal(&memory, *now)? {
                return Err(ChangeError::RefusedBefore(why));
            }
            // A copy of this request may have taken effect between the reads of two items. Items that
            // are the same in two reads were there together.
            if before.knows_order(request) {
                if doubted.as_ref() == Some(&before) {
                    return Err(ChangeError::Reused(Reused::Order));
                }
                doubted = Some(before);
            } else {
                match self.actions(&order, &before, &memory)? {
                    Ok(actions) => {
                        if self.changes.transact(actions).await?.is_some() {
                            return Ok(ChangeOutcome::Applied(order));
                        }
                    }
                    Err(why) => {
                        releases += 1;
                        if releases <= releases_max && self.release_overdue(&why, *now).await? {
                            continue;
                        }
                        if self.remember(request, &memory, &why).await? {
                            return Err(ChangeError::Refused(why));
                        }
                    }
                }
            }
            if !retry.wait().await {
                return Err(ChangeError::Conflict);
            }
        }
    }

    /// Reads the order, its refusal, and for each line the product, a reservation of the order, and
    /// the marker of its movement: at most 92 items, each strongly consistently.
    async fn read(&self, request: &OrderRequest, memory: &Item) -> Result<Before, StoreError> {
        let of_product = request.lines.iter().flat_map(|(product_id, _)| {
            let partition = keys::product(product_id);
            let [reservation, movement] = own_sorts(&request.order_id);
            [METADATA.to_owned(), reservation, movement].map(|sort| key(&partition, sort))
        });
        let keys = [keys::order_key(&request.order_id), memory.clone()].into_iter().chain(of_product).collect();
        let items = self.changes.table.batch_get(keys, true).await?;
        Ok(Before(items.into_iter().map(|item| (position(&item), item)).collect()))
    }

    /// The transaction that reserves all lines, or the lines that the rules refuse.
    fn actions(
        &self,
        order: &Order,
        before: &Before,
        memory: &Item,
    ) -> Result<Result<Vec<TransactWriteItem>, OrderRefusal>, StoreError> {
        let Changes { table } = &self.changes;
        let mut actions = vec![Write::new(order_item(order)?).build(table)?];
        let mut refused = Vec::new();
        for line in lines(order) {
            let stored = before.0.get(&(keys::product(&line.product_id), METADATA.to_owned()));
            let product = stored.cloned().map(read_product).transpose()?;
            let level = match &product {
                None => Err(StockChangeRefusal::NotFound),
                Some(product) if product.archived_at.is_some() => Err(StockChangeRefusal::Archived),
                Some(product) => product.level.reserve(line.reservation.goods).map_err(StockChangeRefusal::Stock),
            };
            match (level, product, stored) {
                (Ok(level), Some(product), Some(stored)) => {
                    let product = Product { level, ..product.changed(order.created_at) };
                    actions.push(self.changes.update(stored, product_item(&product)?)?);
                    actions.push(Write::new(line.item()?).build(table)?);
                }
                (Err(why), ..) => refused.push((line.product_id, why)),
                (Ok(_), ..) => refused.push((line.product_id, StockChangeRefusal::NotFound)),
            }
        }
        actions.push(self.changes.check_not_refused(memory.clone(), order.created_at)?);
        Ok(if refused.is_empty() { Ok(actions) } else { Err(OrderRefusal(refused)) })
    }

    /// Releases overdue reservations of the first product that has too little and has some; whether
    /// there were any. One product a try bounds the time of a request.
    async fn release_overdue(&self, why: &OrderRefusal, now: Moment) -> Result<bool, ChangeError<OrderRefusal>> {
        for (product_id, why) in &why.0 {
            let StockChangeRefusal::Stock(StockRefusal::Insufficient(level)) = why else { continue };
            if level.reserved() > 0 && self.reservations.release_overdue::<OrderRefusal>(product_id, now).await? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores a refusal, so that an attempt that its client believes lost cannot take effect later;
    /// `false` when another attempt was faster.
    async fn remember(&self, request: &OrderRequest, memory: &Item, why: &OrderRefusal) -> Result<bool, StoreError> {
        let until = n(request.now.timestamp().as_second() + HOLDS_S);
        let mut item = memory.clone();
        item.extend([
            ("Refused".to_owned(), s(why.text().unwrap_or_default())),
            ("Until".to_owned(), until.clone()),
            (TTL.to_owned(), until),
        ]);
        self.changes.store_refusal(item, vec![keys::order_key(&request.order_id)], request.now).await
    }
}

impl Before {
    fn order(&self, order_id: &OrderId) -> Result<Option<Order>, StoreError> {
        self.0.get(&position(&keys::order_key(order_id))).cloned().map(read_order).transpose()
    }

    /// The refusal of the request, if it is still valid.
    fn refusal(&self, memory: &Item, now: Moment) -> Result<Option<OrderRefusal>, StoreError> {
        self.0.get(&position(memory)).map_or(Ok(None), |item| valid_refusal(item, now))
    }

    /// Whether a product has a reservation or a movement of the order.
    fn knows_order(&self, request: &OrderRequest) -> bool {
        let own = own_sorts(&request.order_id);
        let of = |product_id: &ProductId| own.clone().map(|sort| (keys::product(product_id), sort));
        request.lines.iter().flat_map(|(product_id, _)| of(product_id)).any(|key| self.0.contains_key(&key))
    }
}

/// The sort keys in a product's partition that belong to an order.
fn own_sorts(order_id: &OrderId) -> [String; 2] {
    [keys::reservation(order_id), keys::order(ChangeType::Out, order_id)]
}

/// Where the refusal of a request is stored.
fn refusal_key(request: &OrderRequest) -> Item {
    let lines = request.lines.iter().map(|(product_id, quantity)| format!("{product_id} {}", quantity.get()));
    let parts: Vec<_> = [request.hold_time.duration().as_secs().to_string()].into_iter().chain(lines).collect();
    let parts: Vec<_> = parts.iter().map(String::as_str).collect();
    let partition = format!("{}{}", keys::ORDER_PREFIX, request.order_id);
    key(partition, format!("REFUSED#{}", request_fingerprint(&parts)))
}

/// The two parts of an item's key.
fn position(item: &Item) -> (String, String) {
    let part = |name: &str| item.get(name).and_then(|part| part.as_s().ok()).cloned().unwrap_or_default();
    (part(PARTITION_KEY), part(SORT_KEY))
}
