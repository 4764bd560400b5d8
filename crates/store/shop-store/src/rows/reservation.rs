//! Reservations and orders, as they are stored.

use domain::Moment;
use domain::shop::{Order, OrderId, OrderLines, ProductId, Quantity, Reservation, ReservationState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::super::keys::{self, Item, ORDER_PREFIX, RESERVATION_PREFIX, TTL, key, marker_ttl, n, read};
use store_base::StoreError;

/// The attributes that a reservation and an order share.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HoldRow {
    entity_type: String,
    order_id: String,
    state: String,
    created_at: String,
    expires_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settled_at: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReservationRow {
    #[serde(flatten)]
    hold: HoldRow,
    product_id: String,
    quantity: i64,
    /// The order has an item of its own, which ends all its reservations together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_order_line: bool,
    /// The product's partition, only while the reservation is open. The index has only items with
    /// this attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_of: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OrderRow {
    #[serde(flatten)]
    hold: HoldRow,
    /// The quantity of each product.
    lines: BTreeMap<String, i64>,
}

/// A reservation with its product, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredReservation {
    pub(crate) product_id: ProductId,
    pub(crate) reservation: Reservation,
    /// Whether it is a line of an [`Order`], which alone settles it.
    pub(crate) is_order_line: bool,
}

impl StoredReservation {
    /// The item. An open reservation expires at its end, but not that of an order: its order
    /// expires. A settled one is kept as long as the markers of its order.
    pub(crate) fn item(&self) -> Result<Item, StoreError> {
        let Self { product_id, reservation, is_order_line } = self;
        let is_open = reservation.state == ReservationState::Open;
        let row = ReservationRow {
            hold: HoldRow::of("RESERVATION", reservation),
            product_id: product_id.to_string(),
            quantity: reservation.goods.get() as i64,
            is_order_line: *is_order_line,
            open_of: is_open.then(|| keys::product(product_id)),
        };
        let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
        item.extend(key(keys::product(product_id), keys::reservation(&reservation.order_id)));
        if !(is_open && *is_order_line) {
            item.insert(TTL.to_owned(), n(ttl(reservation)));
        }
        Ok(item)
    }

    /// The reservation in an item, or in its image in the stream.
    pub(crate) fn read(item: Item) -> Result<Self, StoreError> {
        let row: ReservationRow = read(item)?;
        let goods = Quantity::new(row.quantity).ok();
        let reservation = goods.and_then(|goods| row.hold.reservation(goods));
        let found = ProductId::new(&row.product_id).ok().zip(reservation);
        let (product_id, reservation) = found.ok_or_else(|| {
            StoreError::unreadable(format!("PRODUCT#{} {RESERVATION_PREFIX}{}", row.product_id, row.hold.order_id))
        })?;
        Ok(Self { product_id, reservation, is_order_line: row.is_order_line })
    }
}

/// The item of a reservation that is not of an [`Order`].
pub(crate) fn reservation_item(product_id: &ProductId, of: &Reservation) -> Result<Item, StoreError> {
    StoredReservation { product_id: product_id.clone(), reservation: of.clone(), is_order_line: false }.item()
}

/// The item of an order. An open one expires at its end.
pub(crate) fn order_item(of: &Order) -> Result<Item, StoreError> {
    let lines = of.goods.iter().map(|(product_id, quantity)| (product_id.to_string(), quantity.get() as i64));
    let row = OrderRow { hold: HoldRow::of("ORDER", of), lines: lines.collect() };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(keys::order_key(&of.order_id));
    item.insert(TTL.to_owned(), n(ttl(of)));
    Ok(item)
}

/// The order in an item, or in its image in the stream.
pub(crate) fn read_order(item: Item) -> Result<Order, StoreError> {
    let row: OrderRow = read(item)?;
    let lines = row
        .lines
        .iter()
        .map(|(product_id, quantity)| Some((ProductId::new(product_id).ok()?, Quantity::new(*quantity).ok()?)));
    let lines = lines.collect::<Option<Vec<_>>>().and_then(|lines| OrderLines::new(lines).ok());
    let order = lines.and_then(|lines| row.hold.reservation(lines));
    order.ok_or_else(|| StoreError::unreadable(format!("{ORDER_PREFIX}{}", row.hold.order_id)))
}

impl HoldRow {
    fn of<Goods>(entity_type: &str, of: &Reservation<Goods>) -> Self {
        Self {
            entity_type: entity_type.to_owned(),
            order_id: of.order_id.to_string(),
            state: of.state.as_str().to_owned(),
            created_at: of.created_at.to_string(),
            expires_at: of.expires_at.to_string(),
            settled_at: match of.state {
                ReservationState::Open => None,
                ReservationState::Settled(_, at) => Some(at.to_string()),
            },
        }
    }

    fn reservation<Goods>(&self, goods: Goods) -> Option<Reservation<Goods>> {
        let moment = |text: &str| Moment::parse(text).ok();
        let state = match (self.state.as_str(), &self.settled_at) {
            ("OPEN", None) => ReservationState::Open,
            (state, Some(at)) => ReservationState::Settled(state.parse().ok()?, moment(at)?),
            _ => return None,
        };
        let (created_at, expires_at) = (moment(&self.created_at)?, moment(&self.expires_at)?);
        Some(Reservation { order_id: OrderId::new(&self.order_id).ok()?, goods, created_at, expires_at, state })
    }
}

/// When TTL may delete the item.
fn ttl<Goods>(of: &Reservation<Goods>) -> i64 {
    match of.state {
        // Rounded up to the next second, since TTL has no fractions.
        ReservationState::Open => of.expires_at.timestamp().as_second() + 1,
        ReservationState::Settled(_, at) => marker_ttl(at),
    }
}
