//! The bodies of a stock movement, a new reservation and an order. Members are checked one by one, so that
//! a problem names its member.

use domain::ShortText;
use domain::shop::{ChangeType, HoldTime, OrderId, OrderLines, ProductId, Quantity, StockMovement};
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

/// The body of `POST /orders`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OrderBody {
    order_id: Option<Value>,
    lines: Option<Value>,
    expires_in_seconds: Option<Value>,
}

/// One of its lines.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LineBody {
    product_id: Option<Value>,
    quantity: Option<Value>,
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

/// An order with valid members.
#[derive(Debug, PartialEq)]
pub(crate) struct NewOrder {
    pub(crate) order_id: OrderId,
    pub(crate) lines: OrderLines,
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
        Ok(Self {
            hold_time: hold_time(body.expires_in_seconds)?,
            order_id: required_text("orderId", body.order_id, &INVALID_BODY, OrderId::new)?,
            quantity: quantity(body.quantity)?,
        })
    }
}

impl NewOrder {
    pub(crate) fn of(request: &Request) -> Result<Self, Problem> {
        let body: OrderBody = request.json(BODY_BYTES_MAX)?;
        let lines = body.lines.ok_or_else(|| missing("lines", &INVALID_BODY))?;
        let lines: Vec<LineBody> = serde_json::from_value(lines)
            .map_err(|_| invalid("lines", &INVALID_BODY, "must be lines with productId and quantity"))?;
        let line = |line: LineBody| {
            let product_id = required_text("productId", line.product_id, &INVALID_BODY, ProductId::new)?;
            Ok((product_id, quantity(line.quantity)?))
        };
        let lines = lines.into_iter().map(line).collect::<Result<_, Problem>>()?;
        Ok(Self {
            order_id: required_text("orderId", body.order_id, &INVALID_BODY, OrderId::new)?,
            lines: OrderLines::new(lines).map_err(|why| invalid("lines", &INVALID_BODY, why))?,
            hold_time: hold_time(body.expires_in_seconds)?,
        })
    }
}

fn hold_time(value: Option<Value>) -> Result<HoldTime, Problem> {
    let Some(value) = value else { return Ok(HoldTime::default()) };
    let seconds = value.as_i64().unwrap_or_default();
    HoldTime::new(seconds).map_err(|why| invalid("expiresInSeconds", &INVALID_BODY, why))
}

fn quantity(value: Option<Value>) -> Result<Quantity, Problem> {
    Quantity::new(number(value)?).map_err(|why| INVALID_QUANTITY.detail(why))
}

/// A quantity. Fractions and numbers in strings are refused.
fn number(value: Option<Value>) -> Result<i64, Problem> {
    let value = value.ok_or_else(|| missing("quantity", &INVALID_QUANTITY))?;
    value.as_i64().ok_or_else(|| invalid("quantity", &INVALID_QUANTITY, "must be a whole number"))
}
