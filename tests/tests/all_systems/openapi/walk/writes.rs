//! The part of the walk that writes: clicks, entries, activities, and bodies that are too large.

use click_writer::{BODY_BYTES_MAX, SLOTS_MAX};
use reqwest::Method;
use serde_json::json;
use tests::{OPERATOR_TOKEN, Stack};

use super::{DELETE_ME, MAIL_CODE, Walk};
use crate::all_systems::openapi::document::JSON;

const ACTIVITIES: &str = "POST /users/{userId}/activities";
const CLICKS: &str = "POST /clicks";
const JOURNAL: &str = "POST /journal/{stream}";

impl Walk {
    /// What becomes of clicks: stored, stored before, without a place, listed, too large for the
    /// function, too large for Lambda.
    pub(super) async fn click(&mut self, stack: &Stack) {
        let examples = self.document.operations()[CLICKS]["requestBody"]["content"][JSON]["examples"].clone();
        for example in examples.as_object().unwrap().values() {
            let status = self.show(CLICKS, stack.post("/clicks", &example["value"]).await.unwrap());
            assert!([201, 207].contains(&status), "{example}: {status}");
        }
        let now = jiff::Timestamp::now().as_millisecond().unsigned_abs();
        let key = |n: u8| uuid::Builder::from_unix_timestamp_millis(now, &[n; 10]).into_uuid().to_string();
        let click = |n| json!({ "userId": "user-123", "idempotencyKey": key(n) });
        // The first one that finds no free millisecond.
        let last = u8::try_from(SLOTS_MAX).unwrap();
        for (n, status) in [(0, 201), (0, 200)] {
            assert_eq!(self.show(CLICKS, stack.post("/clicks", &click(n)).await.unwrap()), status);
        }
        for some in (1..last).collect::<Vec<_>>().chunks(25) {
            let clicks: Vec<_> = some.iter().map(|n| click(*n)).collect();
            assert_eq!(self.show(CLICKS, stack.post("/clicks", &json!({ "clicks": clicks })).await.unwrap()), 207);
        }
        assert_eq!(self.show(CLICKS, stack.post("/clicks", &click(last)).await.unwrap()), 409);
        for route in ["total", "visitors"] {
            let misspelled = stack.get(&format!("/stats/{route}?form=csv")).await.unwrap();
            assert_eq!(self.show(&format!("GET /stats/{route}"), misspelled), 400);
        }
        let listed = stack.get_with(OPERATOR_TOKEN, "/users/user-123/clicks?limit=2").await.unwrap();
        assert_eq!(self.show("GET /users/{userId}/clicks", listed), 200);
        for size_bytes in [BODY_BYTES_MAX + 1, 7 * 1024 * 1024] {
            let body = Some("x".repeat(size_bytes));
            assert_eq!(self.show(CLICKS, stack.request(Method::POST, "/clicks", &[], body).await.unwrap()), 413);
        }
    }

    /// What becomes of entries: stored, stored before, refused because another one has their id or
    /// nobody may write, too large for the function, too large for Lambda.
    pub(super) async fn append(&mut self, stack: &Stack) {
        let (path, id) = ("/journal/audit", uuid::Uuid::now_v7().to_string());
        let (token, key) = (("authorization", &*self.token(JOURNAL)), ("idempotency-key", &*id));
        for (message, headers, status) in [
            ("one", &[token, key][..], 201),
            ("one", &[token, key], 200),
            ("another", &[token, key], 409),
            ("without a key", &[token], 201),
            ("without a token", &[], 401),
        ] {
            let body = json!({ "message": message }).to_string();
            let answer = stack.request(Method::POST, path, headers, Some(body)).await.unwrap();
            assert_eq!(self.show(JOURNAL, answer), status, "{message}");
        }
        for size_bytes in [journal::BODY_BYTES_MAX + 1, 7 * 1024 * 1024] {
            let answer = stack.request(Method::POST, path, &[token], Some("x".repeat(size_bytes))).await.unwrap();
            assert_eq!(self.show(JOURNAL, answer), 413);
        }
    }

    /// What becomes of activities: stored, stored before, refused because another one has their id,
    /// several, too large for the function, too large for Lambda.
    pub(super) async fn act(&mut self, stack: &Stack) {
        let path = "/users/user-123/activities";
        let id = uuid::Uuid::now_v7().to_string();
        for (action, status) in [("view", 201), ("view", 200), ("buy", 409)] {
            let answer = stack.post(path, &json!({ "action": action, "productId": "p-1", "id": id })).await.unwrap();
            assert_eq!(self.show(ACTIVITIES, answer), status);
        }
        let several = json!([{ "action": "view" }, { "action": "" }]);
        assert_eq!(self.show(ACTIVITIES, stack.post(path, &several).await.unwrap()), 207);
        for size_bytes in [activity_log::BODY_BYTES_MAX + 1, 7 * 1024 * 1024] {
            let body = Some("x".repeat(size_bytes));
            assert_eq!(self.show(ACTIVITIES, stack.request(Method::POST, path, &[], body).await.unwrap()), 413);
        }
    }

    /// What the game's and the shop's routes answer to a body that is too large for the function,
    /// and too large for Lambda.
    pub(super) async fn flood(&mut self, stack: &Stack) {
        let (of_games, of_stock) = (game_api::BODY_BYTES_MAX, inventory_log::BODY_BYTES_MAX);
        let of_prices = price_history::BODY_BYTES_MAX;
        for (route, size_bytes_max) in [
            ("POST /games", of_games),
            ("POST /games/{gameId}/players", of_games),
            ("POST /products/{productId}/stock", of_stock),
            ("POST /products/{productId}/reservations", of_stock),
            ("POST /orders", of_stock),
            ("POST /products/{productId}/price", of_prices),
            ("PUT /products/{productId}", of_prices),
            ("PUT /okusuri/api/logs/{date}", 16 * 1024),
            ("POST /okusuri/api/medicines", 16 * 1024),
            ("PUT /okusuri/api/medicines/{medicineId}", 16 * 1024),
            ("PUT /okusuri/api/doses/{date}/{time}/{medicineId}", 1_024),
            ("POST /okusuri/api/import", 1024 * 1024),
            ("PUT /okusuri/api/reminder", 1_024),
            ("POST /okusuri/api/push/subscriptions", 8 * 1024),
            ("POST /okusuri/api/push/unsubscribe", 8 * 1024),
            ("PUT /okusuri/api/notifications/{platform}", 8 * 1024),
            (MAIL_CODE, 4 * 1024),
            ("POST /okusuri/api/sign-in/email/verify", 4 * 1024),
            ("POST /okusuri/api/sign-out", 4 * 1024),
            ("PUT /okusuri/api/me", 4 * 1024),
            (DELETE_ME, 4 * 1024),
            ("PUT /okusuri/api/me/image", 256 * 1024),
        ] {
            let (method, path) = route.split_once(' ').unwrap();
            let method: Method = method.parse().unwrap();
            let target = self.target(path, self.document.operations()[route], "");
            let token = ("authorization", &*self.token(route));
            let headers = if size_bytes_max == of_games { &[] } else { &[token, ("content-type", JSON)][..] };
            for size_bytes in [size_bytes_max + 1, 7 * 1024 * 1024] {
                let body = Some("x".repeat(size_bytes));
                let answer = stack.request(method.clone(), &target, headers, body).await.unwrap();
                assert_eq!(self.show(route, answer), 413, "{route}");
            }
        }
    }
}
