//! The part of the walk that is somebody's own: signing in and out, a profile, logs, medicines,
//! browsers.

use jiff::SignedDuration;
use okusuri_store::rows::{Account, EmailOwner, PushSubscription, Session, User, UserImage, UserSession};
use okusuri_store::sha256_hex;
use serde_json::json;
use tests::{Stack, okusuri};

use super::{ARRIVE, DELETE_ME, DEPART, MAIL_CODE, Walk};

const PUSH_TEST: &str = "POST /okusuri/api/push/test";

impl Walk {
    /// What becomes of codes: sent, asked for too often, wrong, right, guessed.
    pub(super) async fn sign_in(&mut self, stack: &Stack) {
        const VERIFY: &str = "POST /okusuri/api/sign-in/email/verify";
        let mail = [MAIL_CODE, "/okusuri/api/sign-in/email", ""];
        let verify = [VERIFY, "/okusuri/api/sign-in/email/verify", ""];
        for (email, status) in [("walker", 400), ("walker@example.com", 202), ("walker@example.com", 202)] {
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
        self.tell(stack, mail, Some(r#"{"email": "guessed@example.com"}"#), 429).await;
        // Nobody answers for this provider; and there is no other one.
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/google", ""], None, 302).await;
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/google?returnTo=//evil.example", ""], None, 400).await;
        self.tell(stack, [DEPART, "/okusuri/api/sign-in/oauth/nobody", ""], None, 404).await;
        self.tell(stack, [ARRIVE, "/okusuri/api/sign-in/oauth/google/callback", ""], None, 302).await;
        self.tell(stack, [ARRIVE, "/okusuri/api/sign-in/oauth/nobody/callback", ""], None, 404).await;
    }

    /// The routes of a user's own data: profile, picture, logins, sessions, and the whole account.
    pub(super) async fn own(&mut self, stack: &Stack) {
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
        let cycle = r#"{"regimen": {"kind": "cycle", "activeDays": 24, "restDays": 4, "startOn": "2026-11-02"}}"#;
        self.tell(stack, [CHANGE, me, owner], Some(cycle), 200).await;
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
            regimen: None,
            asks_regimen: false,
            sessions_from: None,
            sign_in_grants_added: None,
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
        let other = UserSession(Session {
            user_id: "owner".to_owned(),
            session_id: "phone".to_owned(),
            token_hash: sha256_hex(b"token-of-the-phone"),
            expires_at: now + SignedDuration::from_hours(1),
            ip_address: None,
            user_agent: None,
            created_at: now,
            updated_at: now,
        });
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

    /// What becomes of a message to a browser whose keys no browser makes, so that it goes nowhere;
    /// and of another one at once.
    pub(super) async fn notify(&mut self, stack: &Stack) {
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
    pub(super) async fn intrude(&mut self, stack: &Stack) {
        for route in self.routes().iter().filter(|route| route.contains(" /okusuri/")) {
            if !self.document.operations()[route]["responses"]["403"].is_object() {
                continue;
            }
            let headers = [("authorization", &*self.token(route)), ("sec-fetch-site", "cross-site")];
            let answer = self.send(stack, route, &headers, "").await;
            assert_eq!(self.show(route, answer), 403, "{route}");
        }
    }

    /// What the routes answer that change somebody's logs, medicines and doses, while others are
    /// faster each time.
    pub(super) async fn meet(&mut self, stack: &Stack) {
        // A medicine with a stock, a new pack, and a dose, which the requests below then change.
        let stock = okusuri_store::rows::Stock { left: 12, per_dose: 1, pack_size: 28, warn_days: 7, packs: 0 };
        let iron = okusuri::medicine(&domain::UserId::new("ann").unwrap(), &[], "2025-10-01").unwrap();
        let iron = okusuri_store::rows::Medicine { stock: Some(stock), ..iron };
        okusuri::put(&stack.dynamodb(), &iron).await.unwrap();
        for route in [
            "PUT /okusuri/api/medicines/{medicineId}/packs/{number}",
            "PUT /okusuri/api/doses/{date}/{time}/{medicineId}",
        ] {
            let answer = self.send(stack, route, &[("authorization", &*self.token(route))], "").await;
            assert!(self.show(route, answer) < 300, "{route}");
        }
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
}
