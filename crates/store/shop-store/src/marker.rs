//! The idempotency markers of requests and orders.

use domain::Moment;
use domain::shop::{OrderId, ProductId, StockMovement};
use sha2::{Digest, Sha256};

use super::keys::{self, TTL, key, marker_ttl, n, product, s};
use super::write::Write;

/// The kind of name that another request has used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reused {
    /// Another request has used the idempotency key.
    Key,
    /// The order has another movement of this type.
    Order,
}

/// The idempotency marker of a request: an item that stops the request from taking effect twice.
#[derive(Debug, Clone)]
pub(super) struct IdempotencyMarker {
    /// The sort key of the marker in the product's partition.
    pub(super) sort: String,
    /// The hash of the request; see [`request_fingerprint`].
    pub(super) request_fingerprint: String,
    /// The error if the stored marker has another fingerprint.
    pub(super) reused: Reused,
}

impl IdempotencyMarker {
    /// The write of the marker, together with the change of the product. `row` is the sort key of
    /// the item with the result of the request.
    pub(super) fn write(&self, product_id: &ProductId, row: &str, now: Moment) -> Write {
        let mut item = key(product(product_id), &self.sort);
        item.extend([
            ("Hash".to_owned(), s(&self.request_fingerprint)),
            ("Row".to_owned(), s(row)),
            (TTL.to_owned(), n(marker_ttl(now))),
        ]);
        Write::new(item)
    }
}

/// The hash of all values in which two equal requests must agree.
pub(super) fn request_fingerprint(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Without the length, a character could move from one part to the next without changing the
        // hash.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The idempotency marker of an order's movement. A repeated request may have another reason.
pub(super) fn order_marker(order_id: &OrderId, movement: StockMovement) -> IdempotencyMarker {
    let change_type = movement.change_type();
    IdempotencyMarker {
        sort: keys::order(change_type, order_id),
        request_fingerprint: request_fingerprint(&[change_type.as_str(), &movement.number().to_string()]),
        reused: Reused::Order,
    }
}
