//! The stored items of a product, and an audit of them that shares no code with the writers.

use std::collections::HashMap;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::Database;

/// An item of the table.
pub type Item = HashMap<String, AttributeValue>;

/// Everything in a product's partition.
#[derive(Debug)]
pub struct ShopRecords {
    /// The product itself.
    pub product: Item,
    /// Its prices, oldest first.
    pub prices: Vec<Item>,
    /// The ledger of its stock, oldest first.
    pub movements: Vec<Item>,
    /// Its reservations, open and settled.
    pub reservations: Vec<Item>,
}

impl ShopRecords {
    /// Reads them.
    pub async fn of(client: &Client, product_id: &str) -> Result<Self> {
        let query =
            client.query().table_name(Database::SHOP).key_condition_expression("PK = :pk").consistent_read(true);
        let query = query.expression_attribute_values(":pk", AttributeValue::S(format!("PRODUCT#{product_id}")));
        let items: Vec<Item> = query.into_paginator().items().send().collect::<Result<_, _>>().await?;
        let of = |prefix: &str| -> Vec<Item> {
            items.iter().filter(|item| text(item, "SK").starts_with(prefix)).cloned().collect()
        };
        let product = of("METADATA").pop().with_context(|| format!("there is no product {product_id}"))?;
        let [prices, movements, reservations] = ["PRICE#", "INVLOG#", "RESERVATION#"].map(of);
        Ok(Self { product, prices, movements, reservations })
    }

    /// The mistakes, one line each, if a writer of the original design also wrote. That writer's
    /// clock orders its rows, so the rows form one chain in any order: each row starts from the
    /// result of another.
    pub fn mistakes_in_any_order(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let [mut begins, mut ends] = ["PreviousStock", "NewStock"]
            .map(|name| self.movements.iter().map(|row| number(row, name)).collect::<Vec<_>>());
        begins.push(number(&self.product, "Stock"));
        ends.push(0);
        begins.sort_unstable();
        ends.sort_unstable();
        if begins != ends {
            mistakes.push(format!("the ledger is not one chain that comes to the stock: {:?}", self.product));
        }
        for row in &self.movements {
            if number(row, "PreviousStock") + number(row, "Quantity") != number(row, "NewStock") {
                mistakes.push(format!("the row does not end where it has to: {row:?}"));
            }
        }
        mistakes
    }

    /// The mistakes, one line each.
    pub fn mistakes(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let mut expect = |holds: bool, what: &str, item: &Item| {
            if !holds {
                mistakes.push(format!("{what}: {item:?}"));
            }
        };
        let mut level = 0;
        for row in &self.movements {
            expect(number(row, "PreviousStock") == level, "the row does not begin where the one before ends", row);
            level += number(row, "Quantity");
            expect(number(row, "NewStock") == level && level >= 0, "the row does not end where it has to", row);
            level = number(row, "NewStock");
        }
        expect(number(&self.product, "Stock") == level, "the ledger does not come to the stock", &self.product);
        for pair in self.prices.windows(2) {
            let chains = number(&pair[1], "PreviousPrice") == number(&pair[0], "Price");
            expect(chains, "the price does not follow the one before", &pair[1]);
        }
        let [last, lowest] = [
            self.prices.last().map(|row| number(row, "Price")),
            self.prices.iter().map(|row| number(row, "Price")).min(),
        ];
        expect(last == Some(number(&self.product, "Price")), "the last price is not the product's", &self.product);
        expect(lowest == Some(number(&self.product, "LowestPrice")), "the lowest price is another", &self.product);
        let open = self.reservations.iter().filter(|item| text(item, "State") == "OPEN");
        let open: i64 = open.map(|item| number(item, "Quantity")).sum();
        expect(
            number(&self.product, "Reserved") == open,
            "reservations do not come to what is reserved",
            &self.product,
        );
        mistakes
    }
}

/// A text of an item, empty when there is none.
pub fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// A number of an item; one that is not there is none that anything adds up with.
pub fn number(item: &Item, name: &str) -> i64 {
    item.get(name).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok()).unwrap_or(i64::MIN / 4)
}
