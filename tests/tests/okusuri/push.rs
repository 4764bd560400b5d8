//! `okusuri-api`: the reminder's settings and the push subscriptions, with a push service that
//! decrypts its messages.

use futures::future::join_all;
use jiff::Timestamp;
use lambda_kit::http::Request;
use lambda_kit::outbound::Outbound;
use okusuri_api::{Config, Okusuri, Secrets, handle};
use serde_json::{Value, json};
use tests::Database;
use tests::okusuri::user;
use tests::push::{Answer, PushService, VAPID_KEY, VAPID_SUBJECT};
use uuid::Uuid;

/// Noon in Tokyo.
fn noon() -> Timestamp {
    "2026-11-22T03:00:00Z".parse().unwrap()
}

struct World {
    _db: Database,
    service: PushService,
    okusuri: Okusuri,
}

impl World {
    async fn new() -> Self {
        let (db, service) = (Database::start().await.unwrap(), PushService::start().await.unwrap());
        user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
        user(&db.client, "bob", "Europe/Berlin").await.unwrap();
        let arn = || "arn".to_owned();
        let config = Config {
            table: Database::OKUSURI.to_owned(),
            cursor_key_arn: arn(),
            health_token_arn: arn(),
            key_arn: arn(),
            vapid_key_arn: arn(),
            mail_from: "okusuri@example.com".to_owned(),
            public_url: None,
            providers: Vec::new(),
            vapid_subject: VAPID_SUBJECT.to_owned(),
        };
        let secrets = Secrets {
            cursor_key: "cursor-key-of-the-tests-000000000".into(),
            health_token: "health".into(),
            key: "key-of-the-tests-0000000000000000".into(),
            vapid_key: VAPID_KEY.into(),
        };
        let outbound = Outbound::new(&[service.address()]);
        // No mail is sent here.
        let mails =
            aws_sdk_sesv2::Client::from_conf(aws_sdk_sesv2::Config::builder().behavior_version_latest().build());
        let okusuri = Okusuri::new(&db.table(Database::OKUSURI), mails, outbound, &config, secrets).unwrap();
        let okusuri = okusuri.with(noon, Uuid::now_v7);
        Self { _db: db, service, okusuri }
    }

    async fn send(&self, who: &str, route: &str, platform: &str, body: &Value) -> (u16, Value) {
        let event = json!({
            "routeKey": route,
            "headers": { "authorization": format!("Bearer token-of-{who}"), "content-type": "application/json" },
            "pathParameters": { "platform": platform },
            "requestContext": { "http": { "method": route.split(' ').next() } },
            "body": body.to_string(),
            "isBase64Encoded": false,
        });
        match handle(&self.okusuri, Request::new(serde_json::from_value(event).unwrap())).await {
            Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap_or_default()),
            Err(problem) => (problem.status(), json!(problem.name())),
        }
    }

    async fn post(&self, route: &str, body: &Value) -> (u16, Value) {
        self.send("ann", route, "", body).await
    }

    async fn subscribe(&self, body: &Value) -> (u16, Value) {
        self.post("POST /okusuri/api/push/subscriptions", body).await
    }

    async fn devices(&self, who: &str) -> Value {
        let (_, body) = self.send(who, "GET /okusuri/api/notifications/{platform}", "web", &Value::Null).await;
        body["subscriptions"].clone()
    }
}

#[tokio::test]
async fn reminder_defaults_to_off_at_22_and_can_change() {
    let world = World::new().await;
    let (status, body) = world.post("GET /okusuri/api/reminder", &Value::Null).await;
    let doses = json!({ "isEnabled": false, "isMailed": true, "nextAt": null });
    let off = json!({ "isEnabled": false, "time": "22:00", "timeZone": "Asia/Tokyo", "nextAt": null, "lastRemindedOn": null, "doses": doses });
    assert_eq!((status, body), (200, off));
    let put = async |body: Value| world.post("PUT /okusuri/api/reminder", &body).await;
    assert_eq!(put(json!({ "isEnabled": true })).await.1["nextAt"], "2026-11-22T13:00:00Z");
    let (status, body) = put(json!({ "time": "07:30" })).await;
    assert_eq!((status, &body["isEnabled"], &body["nextAt"]), (200, &json!(true), &json!("2026-11-22T22:30:00Z")));
    let (_, body) = put(json!({ "isEnabled": false })).await;
    assert_eq!((&body["time"], &body["nextAt"]), (&json!("07:30"), &Value::Null));
    for wrong in
        [json!({ "time": "24:00" }), json!({ "time": "7:30" }), json!({ "isEnabled": "yes" }), json!({ "x": 1 })]
    {
        assert_eq!(put(wrong.clone()).await, (400, json!("invalid-body")), "{wrong}");
    }
    assert_eq!(
        world.send("nobody", "GET /okusuri/api/reminder", "", &Value::Null).await,
        (401, json!("not-signed-in"))
    );
}

#[tokio::test]
async fn a_browser_subscribes_receives_a_message_and_unsubscribes() {
    let world = World::new().await;
    let (_, key) = world.post("GET /okusuri/api/push/key", &Value::Null).await;
    assert_eq!(key["publicKey"].as_str().unwrap().len(), 87);
    let browser = world.service.browser("ann");
    assert_eq!(world.subscribe(&browser).await.0, 201);
    assert_eq!(world.subscribe(&browser).await.0, 200);
    assert_eq!(world.devices("ann").await.as_array().unwrap().len(), 1);
    // Other users cannot see it, send to it, or remove it.
    assert_eq!(world.devices("bob").await, json!([]));
    let nobody = world.send("bob", "POST /okusuri/api/push/test", "", &Value::Null).await;
    assert_eq!(nobody, (404, json!("no-subscription")));
    let endpoint = json!({ "endpoint": browser["endpoint"] });
    assert_eq!(world.send("bob", "POST /okusuri/api/push/unsubscribe", "", &endpoint).await.0, 200);

    let (status, body) = world.post("POST /okusuri/api/push/test", &Value::Null).await;
    assert_eq!((status, &body["items"][0]["delivered"]), (200, &json!(true)), "{body}");
    let received = world.service.received().unwrap();
    assert_eq!((received.len(), &received[0].content), (1, &json!({ "kind": "test" })));

    for _ in 0..2 {
        assert_eq!(world.post("POST /okusuri/api/push/unsubscribe", &endpoint).await.0, 200);
        assert_eq!(world.devices("ann").await, json!([]));
    }
}

#[tokio::test]
async fn concurrent_test_requests_send_one_message() {
    let world = World::new().await;
    world.subscribe(&world.service.browser("ann")).await;
    let many = (0..8).map(|_| world.post("POST /okusuri/api/push/test", &Value::Null));
    let mut statuses: Vec<_> = join_all(many).await.into_iter().map(|(status, _)| status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 429, 429, 429, 429, 429, 429, 429]);
    assert_eq!(world.service.requests("ann"), 1);
}

#[tokio::test]
async fn a_test_reports_an_ended_subscription_and_disables_it() {
    let world = World::new().await;
    world.subscribe(&world.service.browser("ann")).await;
    world.service.answers("ann", &[Answer::Status(410)]);
    let (_, body) = world.post("POST /okusuri/api/push/test", &Value::Null).await;
    assert_eq!((&body["items"][0]["delivered"], &body["items"][0]["reason"]), (&json!(false), &json!("410")));
    let devices = world.devices("ann").await;
    assert_eq!((&devices[0]["isEnabled"], &devices[0]["disabledBecause"]), (&json!(false), &json!("410")));
    // Subscribing again enables it.
    assert_eq!(world.subscribe(&world.service.browser("ann")).await.0, 200);
    assert_eq!(world.devices("ann").await[0]["isEnabled"], true);
}

#[tokio::test]
async fn non_public_push_endpoint_is_refused() {
    let world = World::new().await;
    let with = |endpoint: &str| {
        let mut browser = world.service.browser("ann");
        browser["endpoint"] = json!(endpoint);
        browser
    };
    for endpoint in [
        "https://127.0.0.1/push",
        "https://localhost/push",
        "https://10.0.0.8:8443/push",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/push",
        "https://[::ffff:192.168.0.1]/push",
        "https://user:secret@8.8.8.8/push",
        "http://8.8.8.8/push",
        "ftp://8.8.8.8/push",
        "/push",
        "not an address",
        "",
    ] {
        assert_eq!(world.subscribe(&with(endpoint)).await, (400, json!("invalid-endpoint")), "{endpoint}");
    }
    let too_long = format!("https://8.8.8.8/{}", "x".repeat(2_048));
    assert_eq!(world.subscribe(&with(&too_long)).await, (400, json!("invalid-endpoint")));
    assert_eq!(world.devices("ann").await, json!([]));
    // A public endpoint gets no message before there is one to send.
    assert_eq!(world.subscribe(&with("https://8.8.8.8/push")).await.0, 201);
}

#[tokio::test]
async fn an_invalid_subscription_is_refused() {
    let world = World::new().await;
    let browser = world.service.browser("ann");
    for (pointer, value) in
        [("/keys/p256dh", json!("AAAA")), ("/keys/auth", json!("")), ("/keys", json!(null)), ("/endpoint", json!(1))]
    {
        let mut wrong = browser.clone();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert_eq!(world.subscribe(&wrong).await, (400, json!("invalid-body")), "{pointer}");
    }
    let mut wrong = browser.clone();
    wrong["platform"] = json!("toaster");
    assert_eq!(world.subscribe(&wrong).await, (400, json!("invalid-body")));
    let mut large = browser;
    large["padding"] = json!("x".repeat(9_000));
    assert_eq!(world.subscribe(&large).await, (413, json!("body-too-large")));
}

#[tokio::test]
async fn twenty_first_browser_replaces_the_least_useful() {
    let world = World::new().await;
    for number in 0..20 {
        world.subscribe(&world.service.browser(&format!("b{number}"))).await;
    }
    world.service.answers("b7", &[Answer::Status(404)]);
    world.post("POST /okusuri/api/push/test", &Value::Null).await;
    assert_eq!(world.subscribe(&world.service.browser("new")).await.0, 201);
    let devices = world.devices("ann").await;
    let endpoints: Vec<_> = devices.as_array().unwrap().iter().map(|device| device["endpoint"].clone()).collect();
    assert_eq!(endpoints.len(), 20);
    assert!(endpoints.contains(&json!(world.service.endpoint("new"))));
    assert!(!endpoints.contains(&json!(world.service.endpoint("b7"))));
}

#[tokio::test]
async fn a_platform_is_disabled_and_enabled_for_all_its_browsers() {
    let world = World::new().await;
    let mut phone = world.service.browser("phone");
    phone["platform"] = json!("android");
    world.subscribe(&phone).await;
    world.subscribe(&world.service.browser("desk")).await;
    let set = async |platform, body: Value| {
        world.send("ann", "PUT /okusuri/api/notifications/{platform}", platform, &body).await
    };
    let (status, body) = set("android", json!({ "isEnabled": false })).await;
    assert_eq!((status, &body["isEnabled"], body["subscriptions"].as_array().unwrap().len()), (200, &json!(false), 1));
    world.post("POST /okusuri/api/push/test", &Value::Null).await;
    assert_eq!([world.service.requests("phone"), world.service.requests("desk")], [0, 1]);
    assert_eq!(set("android", json!({ "isEnabled": true })).await.1["isEnabled"], true);
    assert_eq!(set("toaster", json!({ "isEnabled": true })).await, (400, json!("invalid-parameter")));
    assert_eq!(set("ios", json!({})).await, (400, json!("invalid-body")));
}
