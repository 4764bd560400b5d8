//! A walk through the running stack that asks for whatever the document promises.

use std::collections::BTreeSet;

use click_writer::{BODY_BYTES_MAX, CLICKS_MAX, PROBES_MAX};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};
use store::okusuri::rows::{Account, EmailOwner, PushSubscription, Session, User, UserImage, UserSession};
use store::okusuri::sha256_hex;
use tidemark_tests::{ADMIN_TOKEN, Answer, Database, Stack, games, okusuri, shop};

use crate::document::{Answered, Document, JSON, PROBLEM};
use crate::recorded::recorded;

/// Documented answers that are neither recorded nor met on the walk, and why. `*` is any route.
const NOT_SHOWN: [(&str, u16, &str, &str); 5] = [
    ("*", 500, PROBLEM, "a fault of ours: those that are known are mended"),
    ("*", 503, JSON, "Lambda throttles the function, or it takes longer than 29 seconds"),
    (DEPART, 503, PROBLEM, "only who links a login to a session has the table read, and needs a provider that answers"),
    (ARRIVE, 503, PROBLEM, "only an attempt that came back has the table read, and needs a provider that answers"),
    (
        DELETE_ME,
        202,
        JSON,
        "takes more items than are deleted in 15 seconds; the store's tests have them die on the way",
    ),
];

const ARRIVE: &str = "GET /okusuri/api/sign-in/oauth/{provider}/callback";
const DELETE_ME: &str = "DELETE /okusuri/api/me";
const DEPART: &str = "GET /okusuri/api/sign-in/oauth/{provider}";
const MAIL_CODE: &str = "POST /okusuri/api/sign-in/email";

const ACTIVITIES: &str = "POST /users/{userId}/activities";
const CLICKS: &str = "POST /clicks";
const JOURNAL: &str = "POST /journal/{stream}";
const PUSH_TEST: &str = "POST /okusuri/api/push/test";

/// Any second, more requests than an API of this rate takes.
const RATE_OF_ONE: [&str; 5] =
    ["--in-memory", "--parameter", "ApiThrottlingRate=1", "--parameter", "ApiThrottlingBurst=1"];

/// The answers that were met, each as it is documented.
struct Walk {
    document: Document,
    shown: BTreeSet<Answered>,
}

impl Walk {
    /// Takes an answer down, and gives its status.
    fn show(&mut self, route: &str, answer: Answer) -> u16 {
        let body = serde_json::from_str(&answer.body).unwrap_or_else(|_| json!(answer.body));
        self.shown.insert(self.document.check(route, answer.status.as_u16(), &answer.content_type, &body));
        answer.status.as_u16()
    }

    /// The route keys.
    fn routes(&self) -> Vec<String> {
        self.document.operations().into_keys().collect()
    }

    /// Sends what the document gives as examples, with some query besides.
    async fn send(&self, stack: &Stack, route: &str, headers: &[(&str, &str)], query: &str) -> Answer {
        let operation = self.document.operations()[route];
        let (method, path) = route.split_once(' ').unwrap_or(("GET", "/unknown"));
        let method = method.parse().unwrap();
        let body = &operation["requestBody"]["content"][JSON]["examples"]["one"]["value"];
        let body = (!body.is_null()).then(|| body.to_string());
        let needed = self
            .document
            .parameters(operation)
            .filter(|parameter| parameter["in"] == "header" && parameter["required"] == true);
        let needed = needed.filter_map(|parameter| Some((parameter["name"].as_str()?, parameter["example"].as_str()?)));
        // Without it, what changes something of Okusuri's counts as another site's form.
        let needed = needed.chain([("content-type", JSON)]);
        let headers = &needed.chain(headers.iter().copied()).collect::<Vec<_>>()[..];
        stack.request(method, &self.target(path, operation, query), headers, body).await.unwrap()
    }

    /// A path with the examples of its parameters; what `query` says wins.
    fn target(&self, path: &str, operation: &Value, query: &str) -> String {
        let mut target = path.to_owned();
        let mut query = vec![query.to_owned()];
        for parameter in self.document.parameters(operation) {
            let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str().unwrap() {
                "path" => target = target.replace(&format!("{{{name}}}"), &example),
                "query" if example != "null" && !query[0].starts_with(name) => query.push(format!("{name}={example}")),
                _ => {}
            }
        }
        format!("{target}?{}", query.join("&"))
    }

    /// The header with the token that opens a route: the admin's, a player's, or a user's.
    fn token(&self, route: &str) -> String {
        let needed = &self.document.operations()[route]["security"][0];
        let is = |scheme: &str| !needed[scheme].is_null();
        let token = match () {
            () if is("playerToken") => Stack::player_token(),
            () if is("session") => "token-of-ann".to_owned(),
            () => ADMIN_TOKEN.to_owned(),
        };
        format!("Bearer {token}")
    }

    /// Takes down what a route answers to somebody with a token, or to nobody, and insists on its status.
    async fn tell(&mut self, stack: &Stack, [route, target, token]: [&str; 3], body: Option<&str>, status: u16) {
        let (method, _) = route.split_once(' ').unwrap();
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", JSON), ("authorization", &*bearer)];
        let headers = if token.is_empty() { &headers[..1] } else { &headers };
        let request = stack.request(method.parse().unwrap(), target, headers, body.map(str::to_owned));
        assert_eq!(self.show(route, request.await.unwrap()), status, "{route}: {body:?}");
    }

    /// What becomes of codes: sent, asked for too often, wrong, right, guessed.
    async fn sign_in(&mut self, stack: &Stack) {
        const VERIFY: &str = "POST /okusuri/api/sign-in/email/verify";
        let mail = [MAIL_CODE, "/okusuri/api/sign-in/email", ""];
        let verify = [VERIFY, "/okusuri/api/sign-in/email/verify", ""];
        for (email, status) in [("walker", 400), ("walker@example.com", 202), ("walker@example.com", 429)] {
            self.tell(stack, mail, Some(&json!({ "email": email }).to_string()), status).await;
        }
        let right = stack.mailed_code("walker@example.com").await.unwrap();
        let wrong = stack.wrong_code("walker@example.com").await.unwrap();
        for (code, status) in [("one", 400), (wrong, 401), (&*right, 200)] {
            let body = json!({ "email": "walker@example.com", "code": code }).to_string();
            self.tell(stack, verify, Some(&body), status).await;
        }
        self.tell(stack, mail, Some(r#"{"email": "guessed@example.com"}"#), 202).await;
        let wrong = stack.wrong_code("guessed@example.com").await.unwrap();
        for status in [401, 401, 401, 401, 401, 429] {
            let body = json!({ "email": "guessed@example.com", "code": wrong }).to_string();
            self.tell(stack, verify, Some(&body), status).await;
        }
        // Nobody answers for this provider; and there is no other one.
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/google", ""], None, 302).await;
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/google?returnTo=//evil.example", ""], None, 400).await;
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/nobody", ""], None, 404).await;
        self.tell(stack, [ARRIVE, "/okusuri/api/sign-in/oauth/google/callback", ""], None, 302).await;
        self.tell(stack, [ARRIVE, "/okusuri/api/sign-in/oauth/nobody/callback", ""], None, 404).await;
    }

    /// What becomes of what is somebody's own: profile, picture, logins elsewhere, sessions, and all of it.
    async fn own(&mut self, stack: &Stack) {
        const CHANGE: &str = "PUT /okusuri/api/me";
        const UNLINK: &str = "DELETE /okusuri/api/me/accounts/{provider}";
        const END: &str = "DELETE /okusuri/api/sessions/{sessionId}";
        const SIGN_OUT: &str = "POST /okusuri/api/sign-out";
        let (client, now) = (stack.dynamodb(), jiff::Timestamp::now());
        for user in ["owner", "lonely", "leaving"] {
            okusuri::user(&client, user, "UTC").await.unwrap();
        }
        let (owner, me) = ("token-of-owner", "/okusuri/api/me");
        self.tell(stack, [CHANGE, me, owner], Some(r#"{"timeZone": "Mars/Base"}"#), 400).await;
        self.tell(stack, [CHANGE, me, owner], Some(r#"{"name": "Olive"}"#), 200).await;
        self.tell(stack, [CHANGE, me, ""], Some(r#"{"name": "Olive"}"#), 401).await;
        self.tell(stack, ["GET /okusuri/api/export", "/okusuri/api/export?format=csv", owner], None, 200).await;

        let [set, show, remove] = ["PUT", "GET", "DELETE"].map(|method| format!("{method} /okusuri/api/me/image"));
        let image = "/okusuri/api/me/image";
        self.tell(stack, [&*show, image, owner], None, 404).await;
        self.tell(stack, [&*show, image, ""], None, 401).await;
        self.tell(stack, [&*set, image, owner], Some("no picture"), 400).await;
        self.tell(stack, [&*set, image, ""], Some("RIFF0000WEBP"), 401).await;
        self.tell(stack, [&*set, image, owner], Some("RIFF0000WEBP"), 200).await;
        self.tell(stack, [&*show, image, owner], None, 200).await;
        for (content_type, bytes) in [("image/png", &b"\x89PNG\r\n\x1a\n"[..]), ("image/jpeg", b"\xff\xd8\xff")] {
            let (user_id, bytes) = ("owner".to_owned(), bytes.to_vec().into());
            let content_type = content_type.to_owned();
            let picture = UserImage { user_id, content_type, bytes, created_at: now, updated_at: now };
            okusuri::put(&client, &picture).await.unwrap();
            self.tell(stack, [&*show, image, owner], None, 200).await;
        }
        self.tell(stack, [&*remove, image, owner], None, 204).await;
        self.tell(stack, [&*remove, image, ""], None, 401).await;

        let lonely = User {
            user_id: "lonely".to_owned(),
            name: None,
            email: None,
            email_verified: false,
            image: None,
            time_zone: "UTC".to_owned(),
            sessions_from: None,
            deleting: None,
            created_at: now,
            updated_at: now,
        };
        okusuri::put(&client, &lonely).await.unwrap();
        // The owner can be found by an address as well, the lonely one cannot.
        let (email, user_id) = ("owner@example.com".to_owned(), "owner".to_owned());
        okusuri::put(&client, &EmailOwner { email, user_id, created_at: now }).await.unwrap();
        for (user, status) in [("owner", 204), ("owner", 404), ("lonely", 409)] {
            if status != 404 {
                let account = Account {
                    user_id: user.to_owned(),
                    provider: "google".to_owned(),
                    subject: user.to_owned(),
                    access_token: None,
                    refresh_token: None,
                    id_token: None,
                    access_token_expires_at: None,
                    refresh_token_expires_at: None,
                    scope: None,
                    created_at: now,
                    updated_at: now,
                };
                okusuri::put(&client, &account).await.unwrap();
            }
            let token = format!("token-of-{user}");
            self.tell(stack, [UNLINK, "/okusuri/api/me/accounts/google", &token], None, status).await;
        }
        self.tell(stack, [UNLINK, "/okusuri/api/me/accounts/google", ""], None, 401).await;

        self.tell(stack, [END, "/okusuri/api/sessions/unknown", owner], None, 404).await;
        self.tell(stack, [END, "/okusuri/api/sessions/unknown", ""], None, 401).await;
        let other = UserSession {
            user_id: "owner".to_owned(),
            session_id: "phone".to_owned(),
            token_hash: sha256_hex(b"token-of-the-phone"),
            expires_at: now + SignedDuration::from_hours(1),
            ip_address: None,
            user_agent: None,
            created_at: now,
            updated_at: now,
        };
        okusuri::put(&client, &other).await.unwrap();
        self.tell(stack, [END, "/okusuri/api/sessions/phone", owner], None, 204).await;
        self.tell(stack, [SIGN_OUT, "/okusuri/api/sign-out", owner], Some(r#"{"everywhere": 1}"#), 400).await;
        self.tell(stack, [SIGN_OUT, "/okusuri/api/sign-out", owner], Some("{}"), 204).await;

        // A session of long ago has to prove itself, and guesses are counted.
        let leaving = "token-of-leaving";
        self.tell(stack, [DELETE_ME, me, ""], None, 401).await;
        self.tell(stack, [DELETE_ME, me, leaving], None, 403).await;
        self.tell(stack, [DELETE_ME, me, leaving], Some(r#"{"code": "one"}"#), 400).await;
        let mail = [MAIL_CODE, "/okusuri/api/sign-in/email", ""];
        self.tell(stack, mail, Some(r#"{"email": "leaving@example.com"}"#), 202).await;
        let wrong = json!({ "code": stack.wrong_code("leaving@example.com").await.unwrap() }).to_string();
        for status in [401, 401, 401, 401, 401, 429] {
            self.tell(stack, [DELETE_ME, me, leaving], Some(&wrong), status).await;
        }
        let fresh = Session {
            user_id: "leaving".to_owned(),
            session_id: "fresh".to_owned(),
            token_hash: sha256_hex(b"token-of-fresh"),
            expires_at: now + SignedDuration::from_hours(1),
            ip_address: None,
            user_agent: None,
            created_at: now,
            updated_at: now,
        };
        okusuri::put(&client, &fresh).await.unwrap();
        self.tell(stack, [DELETE_ME, me, "token-of-fresh"], None, 204).await;
    }

    /// What the routes answer to those who ask well, without a token, and badly.
    async fn ask(&mut self, stack: &Stack) {
        // Whoever goes to a provider is sent on, and who has no picture is shown none: `sign_in` and `own`.
        let is_asked =
            |route: &&String| route.starts_with("GET ") && !route.contains("/oauth/") && !route.ends_with("/image");
        for route in self.routes().iter().filter(is_asked) {
            let token = ("authorization", &*self.token(route));
            let is_secured = self.document.operations()[route]["responses"]["401"].is_object();
            // Each is asked for CSV, also those that have none.
            for media in [JSON, "text/csv"] {
                let answer = self.send(stack, route, &[token, ("accept", media)], "").await;
                assert_eq!(self.show(route, answer), 200, "{route}");
            }
            if is_secured {
                // Where anybody may come, a token that is sent has to be right all the same.
                let security = self.document.operations()[route]["security"].as_array().cloned().unwrap_or_default();
                let wrong = [("authorization", "Bearer wrong")];
                let headers = if security.contains(&json!({})) { &wrong[..] } else { &[] };
                let answer = self.send(stack, route, headers, "").await;
                assert_eq!(self.show(route, answer), 401, "{route}");
            }
            let operation = self.document.operations()[route];
            if self.document.parameters(operation).any(|parameter| parameter["name"] == "limit") {
                let answer = self.send(stack, route, &[token], "limit=0").await;
                assert_eq!(self.show(route, answer), 400, "{route}");
            }
        }
    }

    /// What becomes of clicks: stored, stored before, without a place, listed, too large for the function, too large for Lambda.
    async fn click(&mut self, stack: &Stack) {
        let examples = self.document.operations()[CLICKS]["requestBody"]["content"][JSON]["examples"].clone();
        for example in examples.as_object().unwrap().values() {
            let status = self.show(CLICKS, stack.post("/clicks", &example["value"]).await.unwrap());
            assert!([201, 207].contains(&status), "{example}: {status}");
        }
        let now = jiff::Timestamp::now().as_millisecond().unsigned_abs();
        let key = |n: u8| uuid::Builder::from_unix_timestamp_millis(now, &[n; 10]).into_uuid().to_string();
        let click = |n| json!({ "userId": "user-123", "idempotencyKey": key(n) });
        // The first one that finds no free millisecond.
        let last = u8::try_from(PROBES_MAX).unwrap();
        for (n, status) in [(0, 201), (0, 200)] {
            assert_eq!(self.show(CLICKS, stack.post("/clicks", &click(n)).await.unwrap()), status);
        }
        for some in (1..last).collect::<Vec<_>>().chunks(CLICKS_MAX) {
            let clicks: Vec<_> = some.iter().map(|n| click(*n)).collect();
            assert_eq!(self.show(CLICKS, stack.post("/clicks", &json!({ "clicks": clicks })).await.unwrap()), 207);
        }
        assert_eq!(self.show(CLICKS, stack.post("/clicks", &click(last)).await.unwrap()), 409);
        let listed = stack.get_as_admin("/users/user-123/clicks?limit=2").await.unwrap();
        assert_eq!(self.show("GET /users/{userId}/clicks", listed), 200);
        for size_bytes in [BODY_BYTES_MAX + 1, 7 * 1024 * 1024] {
            let body = Some("x".repeat(size_bytes));
            assert_eq!(self.show(CLICKS, stack.request(Method::POST, "/clicks", &[], body).await.unwrap()), 413);
        }
    }

    /// What becomes of entries: stored, stored before, refused because another one has their id or nobody may write, too large for the function, too
    /// large for Lambda.
    async fn append(&mut self, stack: &Stack) {
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

    /// What becomes of activities: stored, stored before, refused because another one has their id, several, too large for the function, too large for
    /// Lambda.
    async fn act(&mut self, stack: &Stack) {
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

    /// What the game's and the shop's routes answer to a body that is too large for the function, and too large for Lambda.
    async fn flood(&mut self, stack: &Stack) {
        let (of_games, of_stock) = (game_api::BODY_BYTES_MAX, inventory_log::BODY_BYTES_MAX);
        let of_prices = price_history::BODY_BYTES_MAX;
        for (route, size_bytes_max) in [
            ("POST /games", of_games),
            ("POST /games/{gameId}/players", of_games),
            ("POST /products/{productId}/stock", of_stock),
            ("POST /products/{productId}/reservations", of_stock),
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

    /// What becomes of a message to a browser whose keys no browser makes, so that it goes nowhere; and of another one at once.
    async fn notify(&mut self, stack: &Stack) {
        let now = jiff::Timestamp::now();
        let browser = PushSubscription {
            user_id: "ann".to_owned(),
            platform: "web".to_owned(),
            endpoint: "https://push.example.com/of-ann".to_owned(),
            p256dh: String::new(),
            auth: String::new(),
            is_enabled: true,
            disabled_because: None,
            failures: 0,
            last_sent_at: None,
            created_at: now,
            updated_at: now,
        };
        okusuri::put(&stack.dynamodb(), &browser).await.unwrap();
        for status in [200, 429] {
            let answer = self.send(stack, PUSH_TEST, &[("authorization", &*self.token(PUSH_TEST))], "").await;
            assert_eq!(self.show(PUSH_TEST, answer), status);
        }
    }

    /// What the routes answer to another site's page that say that they answer it.
    async fn intrude(&mut self, stack: &Stack) {
        for route in self.routes().iter().filter(|route| route.contains(" /okusuri/")) {
            if !self.document.operations()[route]["responses"]["403"].is_object() {
                continue;
            }
            let headers = [("authorization", &*self.token(route)), ("sec-fetch-site", "cross-site")];
            let answer = self.send(stack, route, &headers, "").await;
            assert_eq!(self.show(route, answer), 403, "{route}");
        }
    }

    /// What the routes answer that change somebody's logs, medicines and doses, while others are faster each time.
    async fn meet(&mut self, stack: &Stack) {
        stack.set_faults(&json!({ "engine": { "transaction_conflicts": { "probability": 1 } } })).await.unwrap();
        for route in self.routes().iter().filter(|route| route.contains(" /okusuri/")) {
            let operation = self.document.operations()[route];
            let is_csv = operation["requestBody"]["content"]["text/csv"].is_object();
            let (method, path) = route.split_once(' ').unwrap();
            // The last way in is one of `own`.
            let answer = if !operation["responses"]["409"].is_object() || route.contains("/me/accounts/") {
                continue;
            } else if is_csv {
                let target = self.target(path, operation, "");
                let headers = [("authorization", &*self.token(route)), ("content-type", "text/csv")];
                let body = Some("date,has_bleeding\n2025-07-01,no\n".to_owned());
                stack.request(method.parse().unwrap(), &target, &headers, body).await.unwrap()
            } else {
                self.send(stack, route, &[("authorization", &*self.token(route))], "").await
            };
            assert_eq!(self.show(route, answer), 409, "{route}");
        }
        stack.set_faults(&json!({})).await.unwrap();
    }

    /// What each route that reads or writes answers while DynamoDB fails, and then every route while its function dies: in this
    /// order, since a function that starts anew needs DynamoDB.
    async fn hurt(&mut self, stack: &Stack) {
        let always = json!({ "probability": 1 });
        let operations = ["PutItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems"];
        let failing: Value = operations.map(|operation| (operation.to_owned(), always.clone())).into_iter().collect();
        stack.set_faults(&json!({ "engine": { "fail_before": failing } })).await.unwrap();
        let reads =
            |route: &&String| *route != "$default" && !route.contains("/oauth/") && !route.ends_with("/providers");
        for route in self.routes().iter().filter(reads) {
            let token = ("authorization", &*self.token(route));
            let answer = self.send(stack, route, &[token], "").await;
            assert_eq!(self.show(route, answer), 503, "{route}");
        }
        stack.set_faults(&json!({ "functions": { "kill_before": always } })).await.unwrap();
        for route in self.routes() {
            let token = ("authorization", &*self.token(&route));
            let answer = self.send(stack, &route, &[token], "").await;
            assert_eq!(self.show(&route, answer), 500, "{route}");
        }
    }

    /// What every route answers to those who ask too often.
    async fn hurry(&mut self, stack: &Stack) {
        for route in self.routes() {
            // However slow the machine: one of a hundred requests in a row comes too early.
            for _ in 0..100 {
                let answer = self.send(stack, &route, &[], "").await;
                if self.show(&route, answer) == 429 {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn each_answer_is_documented_and_each_documented_answer_is_given() {
    let document = Document::closed();
    let shown = recorded().iter().map(|recorded| recorded.check(&document)).collect();
    let mut walk = Walk { document, shown };
    let provider = r#"[{"id": "google", "name": "Google", "issuer": "https://nobody.invalid", "clientId": "walk"}]"#;
    let stack = Stack::with(&["--parameter", &format!("OkusuriProviders={provider}")]).await.unwrap();
    let now_ms = jiff::Timestamp::now().as_millisecond().unsigned_abs();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();
    shop::stock_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    shop::price_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    okusuri::samples(&stack.dynamodb()).await.unwrap();
    walk.ask(&stack).await;
    walk.sign_in(&stack).await;
    walk.own(&stack).await;
    walk.click(&stack).await;
    walk.append(&stack).await;
    walk.act(&stack).await;
    walk.flood(&stack).await;
    walk.notify(&stack).await;
    walk.intrude(&stack).await;
    walk.meet(&stack).await;
    walk.hurt(&stack).await;
    walk.hurry(&Stack::with(&RATE_OF_ONE).await.unwrap()).await;

    let excused = |(route, status, media): &Answered| {
        NOT_SHOWN.iter().any(|(r, s, m, _)| (*r == "*" || r == route) && s == status && m == media)
    };
    // Both ways: an answer that nothing shows, and an excuse for one that something does.
    let expected: BTreeSet<_> = walk.document.answers().into_keys().filter(|answer| !excused(answer)).collect();
    assert_eq!(walk.shown, expected);
}
