//! The paths that no sample event takes, but that need a grant: sign-in and deletion of users,
//! sockets, reminders, and rare cases.

use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use bots::Server;
use domain::EntryId;
use domain::game::{Command, Line, LineId, LineKind, Talk};
use domain::journal::JournalStream;
use game_store::{CHAT_LINES_MAX, Chat, StoredLine};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use okusuri_store::{DoseReminderChange, ReminderChange, Reminders};
use reqwest::Method;
use serde_json::json;
use tests::browser::Browser;
use tests::games::{self, Play};
use tests::journal::{entry, journal};
use tests::oidc::OidcProvider;
use tests::push::PushService;
use tests::shop::Shop;
use tests::{Database, PATIENCE, STAFF_TOKEN, Stack, okusuri, sample_event};
use uuid::Uuid;

/// The numbers of shards that a day has had. An entry's place follows from a hash of 16 bits, and
/// no common multiple of these fits into it: only the hash 0 gives the same place under each.
const GROWN: [u8; 4] = [1, 97, 99, 100];

/// Days of the journal that had fewer shards than now, so that watchers look for their entries
/// under those too.
pub(super) async fn days_of_the_journal_have_grown(stack: &Stack) {
    let sampled: Timestamp = "2025-10-02T10:30:00Z".parse().unwrap();
    let now = Timestamp::now();
    // Samples of games end within the hours to come, which may be tomorrow's.
    for at in [sampled, now, now + SignedDuration::from_hours(24)] {
        for (stream, shards) in
            [JournalStream::suite(), JournalStream::stock()].iter().flat_map(|stream| GROWN.map(move |n| (stream, n)))
        {
            let entry = entry(stream, EntryId::derived(at, "grown"), "grown").unwrap();
            journal(&stack.dynamodb(), shards, "default=0").append(&entry, now).await.unwrap();
        }
    }
}

/// Two users tell of something under the same id at the same moment with one product.
pub(super) async fn two_activities_have_one_id(stack: &Stack) {
    let now = Timestamp::now();
    let activity = json!({ "action": "view", "productId": "p-1", "occurredAt": now.to_string(), "id": Uuid::now_v7().to_string() });
    for (user, status) in [("ann", 201), ("bob", 409)] {
        let staff = format!("Bearer {STAFF_TOKEN}");
        let headers = [("content-type", "application/json"), ("authorization", &*staff)];
        let path = format!("/users/{user}/activities");
        let answer = stack.request(Method::POST, &path, &headers, Some(activity.to_string())).await.unwrap();
        assert_eq!(answer.status.as_u16(), status, "{answer:?}");
    }
}

/// A visitor comes twice. Meanwhile what is kept of a visitor is changed, as by another instance:
/// the instance that knows it from the first time has to read it again.
pub(super) async fn a_visitor_is_changed_between_two_visits(stack: &Stack) {
    const KEPT: &str = "ROLLUP#activities#HELD#Visitors#visitor";
    let client = stack.dynamodb();
    let table = client.describe_table().table_name(Database::SHOP).send().await.unwrap().table.unwrap();
    let mut batch = sample_event("activity-stats", "usual");
    batch["eventSourceARN"] = json!(table.latest_stream_arn);
    batch["shardId"] = json!("shardId-00000001759400000000-4e5f6a7b");
    let mut record = batch["Records"][0].take();
    record["dynamodb"]["NewImage"]["UserId"] = json!({ "S": "visitor" });
    // The second time is enough, unless it comes to an instance that is new to the visitor, because
    // the stream's own batches have come between.
    for n in 0..100 {
        record["dynamodb"]["SequenceNumber"] = json!(format!("4421584500000000017450{n:06}"));
        batch["Records"] = json!([record]);
        let counted = stack.invoke("activity-stats", &batch).await.unwrap();
        assert!(counted.is_ok(), "{counted:?}");
        if has_read(stack, "activity-stats", "ROLLUP#activities#HELD#*").await {
            return;
        }
        let query = client.query().table_name(Database::SHOP).key_condition_expression("PK = :pk");
        let query = query.expression_attribute_values(":pk", AttributeValue::S(KEPT.to_owned()));
        let kept = query.consistent_read(true).send().await.unwrap().items.unwrap();
        assert!(!kept.is_empty(), "nothing is kept under {KEPT}");
        for item in kept {
            let update = client.update_item().table_name(Database::SHOP);
            let update = update.key("PK", item["PK"].clone()).key("SK", item["SK"].clone());
            let update =
                update.update_expression("ADD #version :one").expression_attribute_names("#version", "version");
            update.expression_attribute_values(":one", AttributeValue::N("1".to_owned())).send().await.unwrap();
        }
    }
    panic!("the visitor was never read again");
}

/// Whether a function has needed `GetItem` under these keys.
async fn has_read(stack: &Stack, function: &str, keys: &str) -> bool {
    let accounts = stack.get("/_local/policies").await.unwrap().json();
    let functions = accounts["functions"].as_array().unwrap().iter();
    let account = functions.filter(|account| account["function"] == function);
    let mut statements = account.flat_map(|account| account["statements"].as_array().unwrap());
    statements.any(|statement| {
        !statement["patterns"][keys].is_null() && statement["actions"]["dynamodb:GetItem"].as_u64().unwrap_or(0) > 0
    })
}

/// TTL deletes a reservation and an order, and their goods come back.
pub(super) async fn a_reservation_expires(stack: &Stack) {
    let shop = Shop::new(&stack.dynamodb(), Database::SHOP, domain::Moment::new(Timestamp::now()).unwrap());
    shop.product("saucer", 10).await.unwrap();
    shop.reserve("saucer", "o-1", 4).await.unwrap();
    let mut event = sample_event("stock-watch", "reservation-expires");
    event["Records"][0]["dynamodb"]["OldImage"]["ProductId"] = json!({ "S": "saucer" });
    assert!(stack.invoke("stock-watch", &event).await.unwrap().is_ok());
    assert_eq!(shop.level("saucer").await.unwrap(), (10, 0));

    shop.order("saucer", "o-9", 3).await.unwrap();
    let key = [("PK", "ORDER#o-9"), ("SK", "RESERVATION#o-9")];
    let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    stack.dynamodb().delete_item().table_name(Database::SHOP).set_key(Some(key.into())).send().await.unwrap();
    let mut event = sample_event("stock-watch", "order-expires");
    event["Records"][0]["dynamodb"]["OldImage"]["Lines"] = json!({ "M": { "saucer": { "N": "3" } } });
    event["Records"][0]["dynamodb"]["OldImage"]["CreatedAt"] = json!({ "S": shop.now.to_string() });
    assert!(stack.invoke("stock-watch", &event).await.unwrap().is_ok());
    assert_eq!(shop.level("saucer").await.unwrap(), (10, 0));
}

/// Somebody takes the seat of a player who never came.
pub(super) async fn a_seat_is_taken_over(stack: &Stack) {
    let long_ago_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap() - 120_000;
    let (client, id) = (stack.dynamodb(), games::game(9));
    let mut play =
        Play::new(&client, Database::GAMES, id, games::settings(1, 2).unwrap(), true, long_ago_ms).await.unwrap();
    play.apply(0, Command::Connect).await.unwrap();
    play.apply(1, Command::Join { name: games::name(1) }).await.unwrap();
    let answer = stack.post(&format!("/games/{id}/players"), &json!({ "name": "Eve" })).await.unwrap();
    assert!(answer.status.is_success(), "{answer:?}");
}

/// A chat that is longer than the lines kept.
pub(super) async fn a_chat_is_long(stack: &Stack) {
    let (chat, id) = (Chat::new(&stack.table(Database::GAMES)), games::game(10));
    let now_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap();
    let lines: Vec<_> = (0..=CHAT_LINES_MAX as u64)
        .map(|n| Line {
            id: LineId(Uuid::from_u128(n.into())),
            player: games::player(0),
            name: games::name(0),
            kind: LineKind::Talk(Talk::new("hello").unwrap()),
            at_ms: now_ms + n,
            turn: None,
        })
        .map(|line| StoredLine { line, solvers_of: None })
        .collect();
    for some in lines.chunks(50) {
        futures::future::try_join_all(some.iter().map(|line| chat.put(id, line))).await.unwrap();
    }
}

/// A player opens a second tab.
pub(super) async fn a_connection_replaces_another(stack: &Stack) {
    let server = Server::at(stack.url(), None).await.unwrap();
    let seat = server.create_game(&json!({ "name": "Ann" })).await.unwrap();
    let _first = server.connect(&seat.ticket).await.unwrap();
    let again = server.join_game(seat.game_id.parse().unwrap(), "Ann", Some(&seat.player_token)).await.unwrap();
    let _second = server.connect(&again.ticket).await.unwrap();
}

/// Users who sign in by mail and by a login, export their data, and delete their account.
pub(super) async fn users_come_in_and_go(stack: &Stack, provider: &OidcProvider, public: &str) {
    let mut dora = Browser::new(stack.url()).unwrap();
    dora.sign_in(stack, "dora@example.com").await.unwrap();
    let mut bob = Browser::new(stack.url()).unwrap();
    let departure = bob.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    let back = provider.sign_in(&mut bob, &departure.location, "bob").await.unwrap();
    bob.get(back.strip_prefix(public).unwrap()).await.unwrap();
    for browser in [&mut dora, &mut bob] {
        assert_eq!(browser.get("/okusuri/api/export").await.unwrap().status.as_u16(), 200);
        assert_eq!(browser.delete("/okusuri/api/me").await.unwrap().status.as_u16(), 204);
    }
}

/// Somebody is reminded, a moment after the time; somebody without a browser is mailed about a dose.
pub(super) async fn a_reminder_is_due(stack: &Stack, service: &PushService) {
    let (client, now) = (stack.dynamodb(), Timestamp::now());
    let user = okusuri::user(&client, "cleo", "UTC").await.unwrap();
    let due = (now - SignedDuration::from_mins(5)).to_zoned(TimeZone::UTC).time();
    let time: Time = format!("{:02}:{:02}", due.hour(), due.minute()).parse().unwrap();
    let change = ReminderChange { is_enabled: Some(true), time: Some(time) };
    let yesterday = now - SignedDuration::from_hours(24);
    let table = store_base::Table::new(client.clone(), Database::OKUSURI);
    okusuri::put(&client, &service.subscription("cleo", "cleo", now)).await.unwrap();
    Reminders::new(&table).change(&user, change, &TimeZone::UTC, yesterday).await.unwrap();
    let dan = okusuri::user(&client, "dan", "UTC").await.unwrap();
    okusuri::put(&client, &okusuri::medicine(&dan, &[time], "2025-01-01").unwrap()).await.unwrap();
    let change = DoseReminderChange { is_enabled: Some(true), ..DoseReminderChange::default() };
    let ago = now - SignedDuration::from_mins(10);
    Reminders::new(&table).change_doses(&dan, change, &TimeZone::UTC, ago).await.unwrap();
    let event = sample_event("okusuri-reminder", "nobody-due");
    assert!(stack.invoke("okusuri-reminder", &event).await.unwrap().is_ok());
    // A run of the stack's own schedule may have claimed them, and be sending them just now.
    let start = Instant::now();
    loop {
        let sent = (service.received().unwrap().len(), stack.mails("dan@example.com").await.unwrap().len());
        if sent == (1, 1) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{sent:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
