//! A crowd at one product, over HTTP, through the running stack, while its functions die and its
//! table fails. Afterwards the books are looked at.

use std::time::Duration;

use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tests::shop_records::{ShopRecords, text};
use tests::{Answer, STAFF_TOKEN, Stack};

const WRITERS: usize = 64;

/// How often a writer asks for one thing before the test gives up.
const TRIES_MAX: u32 = 400;

/// A change and its last answer.
#[derive(Debug)]
struct Asked {
    path: String,
    key: String,
    body: Value,
    answer: Answer,
}

/// Asks until something is said that asking again would not change.
async fn ask(stack: &Stack, path: &str, key: &str, body: Value) -> Asked {
    let token = format!("Bearer {STAFF_TOKEN}");
    let headers = [("authorization", &*token), ("idempotency-key", key), ("content-type", "application/json")];
    for _ in 0..TRIES_MAX {
        let sent = (!body.is_null()).then(|| body.to_string());
        let answer = stack.request(Method::POST, &format!("/products/cup{path}"), &headers, sent).await.unwrap();
        if answer.status.as_u16() < 500 && answer.status != 429 && answer.problem() != "conflict" {
            return Asked { path: path.to_owned(), key: key.to_owned(), body, answer };
        }
        // All 64 at once again would meet again.
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..200))).await;
    }
    panic!("{path} {key} is never settled");
}

/// The actions of one writer.
async fn write(stack: &Stack, writer: usize) -> Vec<Asked> {
    let mut asked = Vec::new();
    let moved =
        |kind: &str, quantity: usize| json!({"type": kind, "quantity": quantity, "changedBy": format!("w-{writer}")});
    let price = json!({"price": 900 + writer % 5 * 50, "currency": "EUR", "reason": "storm"});
    asked.push(ask(stack, "/price", &format!("p-{writer}"), price).await);
    asked.push(ask(stack, "/stock", &format!("in-{writer}"), moved("IN", 1 + writer % 3)).await);
    asked.push(ask(stack, "/stock", &format!("out-{writer}"), moved("OUT", 1 + writer % 4)).await);
    let order = format!("o-{writer}");
    let reservation = json!({"orderId": order, "quantity": 1 + writer % 3, "expiresInSeconds": 3_600});
    asked.push(ask(stack, "/reservations", &format!("r-{writer}"), reservation).await);
    match writer % 3 {
        0 => asked.push(ask(stack, &format!("/reservations/{order}/commit"), "", Value::Null).await),
        1 => asked.push(ask(stack, &format!("/reservations/{order}/release"), "", Value::Null).await),
        _ => {}
    }
    asked
}

#[tokio::test]
async fn product_books_are_right_after_64_concurrent_writers() {
    let stack = Stack::start().await.unwrap();
    let product = json!({"name": "Cup", "price": 1_000, "currency": "EUR", "stock": 60}).to_string();
    let token = format!("Bearer {STAFF_TOKEN}");
    let made = stack.request(Method::PUT, "/products/cup", &[("authorization", &*token)], Some(product)).await.unwrap();
    assert_eq!(made.status, 201, "{made:?}");

    let seldom = json!({"probability": 0.04});
    let engine = json!({
        "throttle": true,
        "transaction_conflicts": {"probability": 0.1},
        "fail_before": {"BatchGetItem": seldom, "TransactWriteItems": seldom},
        "fail_after": {"TransactWriteItems": {"probability": 0.1}},
    });
    let functions = json!({"kill_before": {"probability": 0.02}, "kill_after": {"probability": 0.04}});
    stack.set_faults(&json!({"functions": functions, "engine": engine})).await.unwrap();
    let asked: Vec<_> =
        join_all((0..WRITERS).map(|writer| write(&stack, writer))).await.into_iter().flatten().collect();
    stack.set_faults(&json!({})).await.unwrap();

    let books = ShopRecords::of(&stack.dynamodb(), "cup").await.unwrap();
    assert_eq!(books.mistakes(), [""; 0]);
    let ShopRecords { prices, movements, reservations, .. } = books;

    let mut effects = 0;
    for Asked { path, key, body, answer } in &asked {
        let rows = if path == "/price" { &prices } else { &movements };
        let mine: Vec<_> = rows.iter().filter(|row| text(row, "RequestId") == key && !key.is_empty()).collect();
        match (path.as_str(), answer.status.as_u16()) {
            ("/price" | "/stock", 200 | 201) if answer.json()["changed"] != false => {
                assert_eq!(mine.len(), 1, "{key} {answer:?}: {mine:?}");
                effects += 1;
            }
            ("/price" | "/stock", _) => assert!(mine.is_empty(), "{key} {answer:?}: {mine:?}"),
            ("/reservations", 200 | 201) => {
                let order = body["orderId"].as_str().unwrap();
                assert!(reservations.iter().any(|item| text(item, "OrderId") == order), "{order}");
                effects += 1;
            }
            (path, status) => {
                let order = path.split('/').nth(2).unwrap_or_default();
                let left = movements.iter().filter(|row| text(row, "OrderId") == order).count();
                assert_eq!(left == 1, status == 200 && path.ends_with("/commit"), "{path} {answer:?}");
            }
        }
        assert!([200, 201, 404, 409].contains(&answer.status.as_u16()), "{path} {answer:?}");
    }
    // It was a storm, and not a row of refusals.
    assert!(effects > 2 * WRITERS, "{effects} took effect");
}
