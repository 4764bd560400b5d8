//! The shop's stock through the running stack: the real functions, the table's stream, and TTL.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::Moment;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use tests::shop::Shop;
use tests::{Answer, Database, STAFF_TOKEN, Stack};

/// How long a stream may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A stack with a cup of which there are so many; 3 of them are few.
async fn with_cups(cups: i64) -> (Stack, Shop) {
    let stack = Stack::start().await.unwrap();
    let shop = Shop::new(&stack.dynamodb(), Database::SHOP, Moment::new(Timestamp::now()).unwrap());
    shop.product("cup", cups).await.unwrap();
    (stack, shop)
}

async fn post(stack: &Stack, path: &str, key: &str, body: Value) -> Answer {
    let token = format!("Bearer {STAFF_TOKEN}");
    let headers = [("authorization", token.as_str()), ("idempotency-key", key)];
    stack.request(Method::POST, &format!("/products/cup/{path}"), &headers, Some(body.to_string())).await.unwrap()
}

/// Moves goods, and gives the stock after it.
async fn move_goods(stack: &Stack, change_type: &str, quantity: i64, key: &str) -> u64 {
    let answer = post(stack, "stock", key, json!({"type": change_type, "quantity": quantity})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["newStock"].as_u64().unwrap()
}

/// How often each sentence is in the suite's journal: movements in a stream for staff, all else in
/// one that anybody may read.
async fn told(stack: &Stack) -> BTreeMap<String, usize> {
    assert_eq!(stack.get("/journal/stock").await.unwrap().status, 401);
    let public = stack.get("/journal/suite?limit=100").await.unwrap().json();
    let public = public["items"].as_array().unwrap();
    assert!(public.iter().all(|item| item["attributes"]["kind"] != "stock-moved"), "{public:?}");
    let movements = stack.get_with(STAFF_TOKEN, "/journal/stock?limit=100").await.unwrap().json();
    let entries = public.iter().chain(movements["items"].as_array().unwrap());
    let sentences = entries.map(|item| item["message"].as_str().unwrap().to_owned());
    sentences.fold(BTreeMap::new(), |mut told, sentence| {
        *told.entry(sentence).or_default() += 1;
        told
    })
}

/// Everything that is told once a sentence is.
async fn wait_until_told(stack: &Stack, sentence: &str) -> BTreeMap<String, usize> {
    let start = Instant::now();
    loop {
        let known = told(stack).await;
        if known.contains_key(sentence) {
            // The partitions of a day are read concurrently. One may have been read before an entry
            // that is older than this one was written.
            return told(stack).await;
        }
        assert!(start.elapsed() < PATIENCE, "{sentence:?} is never told: {known:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn low_stock_is_announced_once_despite_repeated_batches() {
    let (stack, _) = with_cups(5).await;
    let faults = json!({"functions": {"function": "stock-watch", "deliver_twice": {"probability": 1.0}}});
    stack.set_faults(&faults).await.unwrap();
    for (n, stock) in (0..5).zip([4, 3, 2, 1, 0]) {
        assert_eq!(move_goods(&stack, "OUT", 1, &format!("out-{n}")).await, stock);
    }
    wait_until_told(&stack, "cup is out of stock.").await;
    // A batch is delivered twice before the next one, so the entries of this one come after all
    // others.
    move_goods(&stack, "IN", 9, "in").await;
    let told = wait_until_told(&stack, "Stock of cup: 9 came in, 9 now.").await;
    assert_eq!(told["cup runs low: 3 left, and the threshold is 3."], 1);
    assert!(told.values().all(|times| *times == 1), "{told:?}");
    assert_eq!(told.len(), 10, "{told:?}");
}

#[tokio::test]
async fn crashing_stock_watch_reports_everything_exactly_once() {
    let (stack, _) = with_cups(30).await;
    let chance = json!({"probability": 0.4});
    let faults = json!({"function": "stock-watch", "kill_before": chance, "kill_after": chance});
    stack.set_faults(&json!({ "functions": faults })).await.unwrap();
    for n in 0..20 {
        move_goods(&stack, "OUT", 1, &format!("out-{n}")).await;
    }
    stack.set_faults(&json!({})).await.unwrap();
    move_goods(&stack, "IN", 9, "in").await;
    let told = wait_until_told(&stack, "Stock of cup: 9 came in, 19 now.").await;
    assert!(told.values().all(|times| *times == 1), "{told:?}");
    // The first price, the first count, and each movement.
    assert_eq!(told.len(), 23, "{told:?}");
}

#[tokio::test]
async fn goods_of_an_abandoned_order_return_on_expiry() {
    let (stack, shop) = with_cups(5).await;
    let body = json!({"orderId": "o-1", "quantity": 4, "expiresInSeconds": 1});
    assert_eq!(post(&stack, "reservations", "-", body).await.status, 201);
    assert_eq!(shop.level("cup").await.unwrap(), (5, 4));
    let start = Instant::now();
    while shop.level("cup").await.unwrap() != (5, 0) {
        assert!(start.elapsed() < PATIENCE, "the goods never come back");
        stack.delete_expired().await.unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let answer = post(&stack, "reservations/o-1/commit", "-", json!({})).await;
    assert_eq!((answer.status.as_u16(), answer.problem()), (409, "reservation-expired".to_owned()));
    // And nobody gives them back once more.
    assert_eq!(move_goods(&stack, "OUT", 5, "all").await, 0);
    assert_eq!(shop.level("cup").await.unwrap(), (0, 0));
}
