//! A client of the original design: it knows no versions, markers or reservations, and locks the
//! stock on its value.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{PRODUCT, State, TABLE, World, apply, now};

/// How often it changes something in a wave.
const CHANGES_MAX: u8 = 20;

/// The client.
#[derive(Debug)]
pub(super) struct Foreign {
    world: World,
}

impl Foreign {
    pub(super) fn new(world: World) -> Self {
        Self { world }
    }

    /// Changes stock and prices while the crowd does.
    pub(super) async fn come(self) {
        let changes = self.world.with(|state| state.history.rng.u8(1..CHANGES_MAX));
        for _ in 0..changes {
            let (wait_ms, number, is_price) = self.world.with(|state| {
                (state.history.rng.u64(1..80), state.history.rng.i64(-3..6), state.history.rng.u8(..4) == 0)
            });
            sleep(Duration::from_millis(wait_ms)).await;
            if is_price {
                self.world.with(|state| reprice(state, 900 + number * 50));
            } else {
                self.adjust(number).await;
            }
        }
    }

    /// `AdjustStock`: reads the product, and writes on the condition that the stock is unchanged.
    async fn adjust(&self, quantity: i64) {
        let stock = self.world.with(|state| number(&product(state), "Stock"));
        let latency = self.world.with(|state| state.history.latency());
        sleep(latency).await;
        let after = stock + quantity;
        if after < 0 {
            return;
        }
        let update = json!({
            "TableName": TABLE,
            "Key": key("METADATA"),
            "UpdateExpression": "SET Stock = :newStock",
            "ConditionExpression": "Stock = :prevStock",
            "ExpressionAttributeValues": { ":newStock": n(after), ":prevStock": n(stock) },
        });
        let row = json!({
            "PK": key("")["PK"],
            "SK": { "S": format!("INVLOG#{}", now()) },
            "EntityType": { "S": "INVENTORY_LOG" },
            "ChangeType": { "S": "ADJUST" },
            "Quantity": n(quantity),
            "PreviousStock": n(stock),
            "NewStock": n(after),
            "Reason": { "S": "" },
            "CreatedAt": { "S": format!("{:.0}", now()) },
        });
        self.world.with(|state| write(state, &update, &row));
    }
}

/// `UpdatePrice`: writes whatever the price is.
fn reprice(state: &mut State, price: i64) {
    let before = number(&product(state), "Price");
    let update = json!({
        "TableName": TABLE,
        "Key": key("METADATA"),
        "UpdateExpression": "SET Price = :price, UpdatedAt = :now",
        "ExpressionAttributeValues": { ":price": n(price), ":now": { "S": format!("{:.0}", now()) } },
    });
    let sort = format!("PRICE#{}", now());
    let row = json!({
        "PK": key("")["PK"],
        "SK": { "S": sort },
        "EntityType": { "S": "PRICE_HISTORY" },
        "ProductId": { "S": PRODUCT },
        "Price": n(price),
        "ChangedBy": { "S": "foreign" },
        "CreatedAt": { "S": format!("{:.0}", now()) },
    });
    write(state, &update, &row);
    if let Some(replaced) = &mut state.replaced {
        replaced.insert(sort, before);
    }
}

fn write(state: &mut State, update: &Value, row: &Value) {
    let put = json!({ "TableName": TABLE, "Item": row });
    let transaction = json!({ "TransactItems": [{ "Update": update }, { "Put": put }] });
    let (status, _) = apply(state, "TransactWriteItems", &transaction);
    *state.history.faults.entry(if status == 200 { "foreign change" } else { "foreign conflict" }).or_default() += 1;
}

fn product(state: &mut State) -> Value {
    let request = json!({ "TableName": TABLE, "Key": key("METADATA"), "ConsistentRead": true });
    apply(state, "GetItem", &request).1["Item"].clone()
}

fn key(sort: &str) -> Value {
    json!({ "PK": { "S": format!("PRODUCT#{PRODUCT}") }, "SK": { "S": sort } })
}

fn n(number: i64) -> Value {
    json!({ "N": number.to_string() })
}

fn number(item: &Value, name: &str) -> i64 {
    item[name]["N"].as_str().and_then(|number| number.parse().ok()).unwrap_or_default()
}
