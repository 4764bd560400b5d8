//! The bodies of a stock movement and of a new reservation. Members are checked one by one, so that
//! a problem names its member.

use domain::ShortText;
use domain::shop::{ChangeType, HoldTime, OrderId, Quantity, StockMovement};
use lambda_kit::fields::{invalid, missing, required_text, text};
use lambda_kit::http::Request;
use lambda_kit::problem::{INVALID_BODY, Problem};
use serde::Deserialize;
use serde_json::Value;

use crate::problems::INVALID_QUANTITY;

/// The largest body: a reason and a name of 200 characters each take 5 KB, escaped.
pub const BODY_BYTES_MAX: usize = 16 * 1024;

/// The body of `POST /products/{productId}/stock`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MovementBody {
    r#type: Option<Value>,
    quantity: Option<Value>,
    reason: Option<Value>,
    order_id: Option<Value>,
    changed_by: Option<Value>,
}

/// The body of `POST /products/{productId}/reservations`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReservationBody {
    order_id: Option<Value>,
    quantity: Option<Value>,
    expires_in_seconds: Option<Value>,
}

/// A stock movement with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct NewMovement {
    pub(crate) movement: StockMovement,
    pub(crate) reason: Option<ShortText>,
    pub(crate) order_id: Option<OrderId>,
    pub(crate) changed_by: Option<ShortText>,
}

/// A reservation with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct NewReservation {
    pub(crate) order_id: OrderId,
    pub(crate) quantity: Quantity,
    pub(crate) hold_time: HoldTime,
}

impl NewMovement {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let body: MovementBody = request.json(BODY_BYTES_MAX)?;
        let change_type: ChangeType = required_text("type", body.r#type, &INVALID_BODY, |text| text.parse())?;
        let movement = StockMovement::new(change_type, number(body.quantity)?);
        Ok(Self {
            movement: movement.map_err(|why| INVALID_QUANTITY.detail(why))?,
            reason: text("reason", body.reason, &INVALID_BODY, ShortText::new)?,
            order_id: text("orderId", body.order_id, &INVALID_BODY, OrderId::new)?,
            changed_by: text("changedBy", body.changed_by, &INVALID_BODY, ShortText::new)?,
        })
    }
}

impl NewReservation {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let body: ReservationBody = request.json(BODY_BYTES_MAX)?;
        let hold_time = match body.expires_in_seconds {
            None => HoldTime::default(),
            Some(value) => HoldTime::new(value.as_i64().unwrap_or_default())
                .map_err(|why| invalid("expiresInSeconds", &INVALID_BODY, why))?,
        };
        Ok(Self {
            order_id: required_text("orderId", body.order_id, &INVALID_BODY, OrderId::new)?,
            quantity: Quantity::new(number(body.quantity)?).map_err(|why| INVALID_QUANTITY.detail(why))?,
            hold_time,
        })
    }
}

/// A quantity. Fractions and numbers in strings are refused.
fn number(value: Option<Value>) -> Result<i64, Problem> {
    let value = value.ok_or_else(|| missing("quantity", &INVALID_QUANTITY))?;
    value.as_i64().ok_or_else(|| invalid("quantity", &INVALID_QUANTITY, "must be a whole number"))
}
