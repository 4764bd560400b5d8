//! A reservation, as it is stored.

use domain::Moment;
use domain::shop::{OrderId, ProductId, Quantity, Reservation, ReservationState};
use serde::{Deserialize, Serialize};

use super::super::keys::{self, Item, RESERVATION_PREFIX, TTL, key, marker_ttl, n, read};
use store_base::StoreError;

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
    /// The product's partition, only while the reservation is open. The index has only items with
    /// this attribute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_of: Option<String>,
}

/// The item of a reservation. An open one expires at its end. A settled one is kept as long as the
/// markers of its order.
pub(crate) fn reservation_item(product_id: &ProductId, of: &Reservation) -> Result<Item, StoreError> {
    let (settled_at, ttl) = match of.state {
        // Rounded up to the next second, since TTL has no fractions.
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

/// The reservation in an item, or in its image in the stream, and its product.
pub(crate) fn read_reservation(item: Item) -> Result<(ProductId, Reservation), StoreError> {
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
