//! What expires in the running stack: on demand in `make test`, by itself in `make verify`, which
//! waits for up to a minute.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use tests::{Database, Stack};

/// The stack deletes expired items once a minute.
const PATIENCE: Duration = Duration::from_secs(240);

#[tokio::test]
async fn an_expired_item_is_deleted() {
    let stack = Stack::start().await.unwrap();
    let client = stack.dynamodb();
    let key = |request: &str| AttributeValue::S(request.to_owned());
    let put = client.put_item().table_name(Database::SHOP).item("PK", key("PRODUCT#cup")).item("SK", key("EXPIRED"));
    put.item("ttl", AttributeValue::N("1700000000".to_owned())).send().await.unwrap();
    if tests::load(true, false) {
        assert_eq!(stack.delete_expired().await.unwrap(), 1);
    }
    let begin = Instant::now();
    loop {
        let get = client.get_item().table_name(Database::SHOP).key("PK", key("PRODUCT#cup")).key("SK", key("EXPIRED"));
        if get.send().await.unwrap().item.is_none() {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "the item stays");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
