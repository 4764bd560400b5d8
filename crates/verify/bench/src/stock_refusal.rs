//! The cost of refusing a reservation, by the number of reservations that the product has had.

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use domain::shop::{
    Amount, Currency, HoldTime, IdempotencyKey, Money, OrderId, ProductForm, ProductId, Quantity, StockCount,
    StockMovement,
};
use domain::{Moment, ShortText};
use shop_store::{Products, PutProduct, ReservationRequest, Reservations, Stock, StockRequest};
use tidemark_engine::{Engine, Options};
use uuid::Uuid;

use crate::report::{Better, Row};
use crate::wire::{self, Consumed, Meter};
use crate::{events, stack};

const GROUP: &str = "Shop: a movement that is refused while an order keeps all goods";
const SETTLED: [u32; 2] = [0, 1_000];

pub(crate) async fn rows() -> Result<Vec<Row>> {
    let [none, many] = [of_a_refusal(SETTLED[0]).await?, of_a_refusal(SETTLED[1]).await?];
    Ok(vec![
        Row::count(GROUP, "no reservation settled: reads", "RRU", none.read_units),
        Row::count(GROUP, "1,000 reservations settled: reads", "RRU", many.read_units).beside(
            Better::Lower,
            "none settled",
            none.read_units,
        ),
    ])
}

/// The units of one refusal, after this many reservations of the product were made and released.
async fn of_a_refusal(settled: u32) -> Result<Consumed> {
    let engine = Engine::start(Options::default()).await?;
    let (client, table) = (stack::client(&engine), stack::table("ShopTable")?);
    tidemark_local::tables::ensure(&client, &table).await?;
    let (id, now) = (ProductId::new("cup")?, Moment::parse(&format!("{}T10:30:00Z", events::DAY))?);
    let price = Money { amount: Amount::new(1_999)?, currency: Currency::new("EUR")? };
    let (name, stock) = (ShortText::new("Cup")?, Some(StockCount::new(5)?));
    let form = ProductForm { name, price: Some(price), stock, low_stock_threshold: None, archived: None };
    let put = PutProduct { id: id.clone(), form, changed_by: None, now, row_id: Uuid::from_u128(1) };
    Products::new(&store_base::Table::new(client.clone(), &table.name)).put(&put).await.map_err(failed)?;

    let reservations = Reservations::new(&store_base::Table::new(client.clone(), &table.name));
    let reserve = |n: u32| -> Result<ReservationRequest> {
        let (order_id, quantity) = (OrderId::new(&format!("order-{n}"))?, Quantity::new(5)?);
        Ok(ReservationRequest { product_id: id.clone(), order_id, quantity, hold_time: HoldTime::default(), now })
    };
    for n in 0..settled {
        let request = reserve(n)?;
        reservations.reserve(&request).await.map_err(failed)?;
        reservations.release(&id, &request.order_id, now).await.map_err(failed)?;
    }
    reservations.reserve(&reserve(settled)?).await.map_err(failed)?;

    let meter = Arc::new(Meter::new(engine.url()));
    let refused = StockRequest {
        product_id: id,
        key: Some(IdempotencyKey::new("refused")?),
        movement: StockMovement::new("OUT".parse()?, 1)?,
        order_id: None,
        reason: None,
        changed_by: None,
        now,
        row_id: Uuid::from_u128(2),
    };
    let outcome = Stock::new(&store_base::Table::new(wire::client(meter.clone()), &table.name)).change(&refused).await;
    ensure!(outcome.is_err(), "goods that are kept for an order were given away");
    let consumed = meter.take();
    engine.shutdown().await;
    Ok(consumed)
}

fn failed<E: std::fmt::Debug>(error: E) -> anyhow::Error {
    anyhow!("{error:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_refusal_does_not_read_reservations_that_are_settled() {
        let [none, some] = [of_a_refusal(0).await.expect("a refusal"), of_a_refusal(40).await.expect("a refusal")];
        assert_eq!((none.read_units, none.requests), (some.read_units, some.requests));
        assert!(none.read_units > 0.0);
    }
}
