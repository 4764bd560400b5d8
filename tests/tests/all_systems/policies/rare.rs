//! The paths that no sample event takes, but that need a grant: sign-in and deletion of users,
//! sockets, reminders, and rare cases.

use aws_sdk_dynamodb::types::AttributeValue;
use bots::Server;
use domain::EntryId;
use domain::game::{Command, Line, LineId, LineKind, Talk};
use domain::journal::JournalStream;
use game_store::{CHAT_LINES_MAX, Chat, StoredLine};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use okusuri_store::{ReminderChange, Reminders};
use reqwest::Method;
use serde_json::json;
use tests::browser::Browser;
use tests::games::{self, Play};
use tests::journal::{entry, journal};
use tests::oidc::OidcProvider;
use tests::push::PushService;
use tests::shop::Shop;
use tests::{Database, STAFF_TOKEN, Stack, okusuri, sample_event};
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

/// The same visitors come through two shards at once, so that one invocation finds records of them
/// that the other has changed.
pub(super) async fn visitors_come_through_two_shards(stack: &Stack) {
    let table = stack.dynamodb().describe_table().table_name(Database::SHOP).send().await.unwrap().table.unwrap();
    let batches = ["4e5f6a7b", "8c9dae0f"].map(|shard| {
        let mut batch = sample_event("activity-stats", "usual");
        let records = (0..200).map(|n| {
            let mut record = batch["Records"][0].clone();
            record["dynamodb"]["SequenceNumber"] = json!(format!("4421584500000000017450{n:06}"));
            record["dynamodb"]["NewImage"]["UserId"] = json!({ "S": format!("visitor-{n}") });
            record
        });
        batch["Records"] = records.collect();
        batch["eventSourceARN"] = json!(table.latest_stream_arn);
        batch["shardId"] = json!(format!("shardId-00000001759400000000-{shard}"));
        batch
    });
    let [one, other] = &batches;
    let (one, other) =
        futures::future::join(stack.invoke("activity-stats", one), stack.invoke("activity-stats", other)).await;
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
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

/// Somebody is reminded, a moment after the time.
pub(super) async fn a_reminder_is_due(stack: &Stack, service: &PushService) {
    let (client, now) = (stack.dynamodb(), Timestamp::now());
    let user = okusuri::user(&client, "cleo", "UTC").await.unwrap();
    let due = (now - SignedDuration::from_mins(5)).to_zoned(TimeZone::UTC).time();
    let time = format!("{:02}:{:02}", due.hour(), due.minute()).parse().unwrap();
    let change = ReminderChange { is_enabled: Some(true), time: Some(time) };
    let yesterday = now - SignedDuration::from_hours(24);
    Reminders::new(&store_base::Table::new(client.clone(), Database::OKUSURI))
        .change(&user, change, &TimeZone::UTC, yesterday)
        .await
        .unwrap();
    okusuri::put(&client, &service.subscription("cleo", "cleo", now)).await.unwrap();
    let event = sample_event("okusuri-reminder", "nobody-due");
    assert!(stack.invoke("okusuri-reminder", &event).await.unwrap().is_ok());
    assert_eq!(service.received().unwrap().len(), 1);
}
