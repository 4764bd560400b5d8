//! A writer of the original design beside the suite: it knows neither versions nor reservations,
//! and locks the stock on its value.

use anyhow::{Context, Result};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};

use crate::Database;
use crate::shop_records::{Item, number};

/// The product as it lies in the table.
pub async fn product(client: &Client, id: &str) -> Result<Item> {
    let get = client.get_item().table_name(Database::SHOP).consistent_read(true);
    let get = get.key("PK", s(&format!("PRODUCT#{id}"))).key("SK", s("METADATA"));
    get.send().await?.item.with_context(|| format!("there is no product {id}"))
}

/// `AdjustStock` of the design, at a moment as the design spells it; whether its condition held.
///
/// # Errors
/// When the product cannot be read, or nobody said whether the change was made.
pub async fn adjust_stock(client: &Client, id: &str, quantity: i64, change_type: &str, now: &str) -> Result<bool> {
    let before = number(&product(client, id).await?, "Stock");
    tokio::task::yield_now().await;
    if before + quantity < 0 {
        return Ok(false);
    }
    let update = update(id)
        .update_expression("SET Stock = :newStock")
        .condition_expression("Stock = :prevStock")
        .expression_attribute_values(":newStock", n(before + quantity))
        .expression_attribute_values(":prevStock", n(before));
    let row = row(id, "INVLOG", now)
        .item("EntityType", s("INVENTORY_LOG"))
        .item("ChangeType", s(change_type))
        .item("Quantity", n(quantity))
        .item("PreviousStock", n(before))
        .item("NewStock", n(before + quantity))
        .item("Reason", s(""));
    transact(client, update.build()?, row.build()?).await
}

/// `UpdatePrice` of the design.
///
/// # Errors
/// When nobody said whether the change was made.
pub async fn update_price(client: &Client, id: &str, cents: i64, now: &str) -> Result<bool> {
    let update = update(id)
        .update_expression("SET Price = :price, UpdatedAt = :now")
        .expression_attribute_values(":price", n(cents))
        .expression_attribute_values(":now", s(now));
    let row = row(id, "PRICE", now)
        .item("EntityType", s("PRICE_HISTORY"))
        .item("ProductId", s(id))
        .item("Price", n(cents))
        .item("ChangedBy", s(""));
    transact(client, update.build()?, row.build()?).await
}

fn update(id: &str) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
    let update = Update::builder().table_name(Database::SHOP);
    update.key("PK", s(&format!("PRODUCT#{id}"))).key("SK", s("METADATA"))
}

fn row(id: &str, kind: &str, now: &str) -> aws_sdk_dynamodb::types::builders::PutBuilder {
    let row = Put::builder().table_name(Database::SHOP).item("PK", s(&format!("PRODUCT#{id}")));
    row.item("SK", s(&format!("{kind}#{now}"))).item("CreatedAt", s(now))
}

async fn transact(client: &Client, update: Update, row: Put) -> Result<bool> {
    let update = TransactWriteItem::builder().update(update).build();
    let row = TransactWriteItem::builder().put(row).build();
    let sent = client.transact_write_items().transact_items(update).transact_items(row).send().await;
    match sent.map_err(aws_sdk_dynamodb::Error::from) {
        Ok(_) => Ok(true),
        Err(aws_sdk_dynamodb::Error::TransactionCanceledException(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
