//! Reminders: the function on the real engine, and a push service that opens what it gets.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use domain::UserId;
use engine::{Chance, EngineFaults};
use futures::future::join_all;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::outbound::Outbound;
use lambda_kit::push::{Push, VapidKey};
use okusuri_reminder::{Bounds, Reminding, Report, handle};
use secrecy::SecretString;
use serde_json::json;
use store::okusuri::rows::{MedicationLog, PushSubscription, Reminder, User};
use store::okusuri::{DuePartition, Entry, Logs, Notifications, ReminderChange, Reminders};
use tidemark_tests::Database;
use tidemark_tests::okusuri::{put, user};
use tidemark_tests::push::{Answer, PushService, VAPID_KEY, VAPID_SUBJECT};
use uuid::Uuid;

/// An evening in Tokyo, 22:00.
const EVENING: &str = "2026-11-22T13:00:00Z";

struct Scene {
    db: Database,
    service: PushService,
    reminders: Reminders,
    notifications: Notifications,
    reminding: Reminding,
}

impl Scene {
    async fn new() -> Self {
        let (db, service) = (Database::start().await.unwrap(), PushService::start().await.unwrap());
        let key = VapidKey::new(&SecretString::from(VAPID_KEY), VAPID_SUBJECT).unwrap();
        let push = Push::new(Outbound::new(&[service.address()]), key);
        Self {
            reminders: Reminders::new(db.client.clone(), Database::OKUSURI),
            notifications: Notifications::new(db.client.clone(), Database::OKUSURI),
            reminding: Reminding::new(db.client.clone(), Database::OKUSURI, push),
            db,
            service,
        }
    }

    /// A user with a browser of the same name, who has switched reminders on in the morning of [`EVENING`].
    async fn user(&self, id: &str, zone: &str) -> UserId {
        let user = user(&self.db.client, id, zone).await.unwrap();
        self.switch_on(&user, zone, at("2026-11-22T00:00:00Z")).await;
        put(&self.db.client, &self.service.subscription(id, id, at("2026-01-01T00:00:00Z"))).await.unwrap();
        user
    }

    async fn switch_on(&self, user: &UserId, zone: &str, now: Timestamp) {
        let change = ReminderChange { is_enabled: Some(true), time: None };
        self.reminders.change(user, change, &TimeZone::get(zone).unwrap(), now).await.unwrap();
    }

    async fn run(&self, now: &str) -> Report {
        handle(&self.reminding, at(now)).await.unwrap()
    }

    /// Who has got a message so far, with the day that it is about.
    fn reminded(&self) -> Vec<(String, String)> {
        let received = self.service.received().unwrap();
        received.into_iter().map(|one| (one.browser, one.content["date"].as_str().unwrap().to_owned())).collect()
    }

    async fn reminder(&self, user: &UserId) -> Reminder {
        self.reminders.get(user).await.unwrap().unwrap()
    }

    async fn device(&self, user: &UserId) -> PushSubscription {
        self.notifications.of(user).await.unwrap().subscriptions.remove(0)
    }

    fn fail(&self, operation: &str, chance: Chance) {
        let fail_after = BTreeMap::from([(operation.to_owned(), chance)]);
        self.db.engine().faults().set(EngineFaults { fail_after, ..EngineFaults::default() });
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn log(user: &UserId, date: &str) -> MedicationLog {
    MedicationLog {
        user_id: user.to_string(),
        date: date.parse().unwrap(),
        has_bleeding: false,
        log_id: "1".to_owned(),
        note: None,
        created_at: at(EVENING),
        updated_at: at(EVENING),
    }
}

fn was(browser: &str, date: &str) -> (String, String) {
    (browser.to_owned(), date.to_owned())
}

#[tokio::test]
async fn a_user_is_reminded_in_the_evening_of_each_day_and_not_before() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    assert_eq!(scene.run("2026-11-22T12:59:59Z").await, Report::default());
    assert_eq!(scene.run(EVENING).await, Report { reminded: 1, ..Report::default() });
    assert_eq!(scene.run("2026-11-22T13:05:00Z").await, Report::default());
    assert_eq!(scene.run("2026-11-23T13:04:00Z").await.reminded, 1);
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22"), was("ann", "2026-11-23")]);

    let first = scene.service.received().unwrap().remove(0);
    assert_eq!(first.content, json!({ "kind": "reminder", "date": "2026-11-22", "time": "22:00" }));
    assert_eq!((first.time_to_live.as_str(), first.topic.as_str()), ("7200", "reminder"));
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-24T13:00:00Z")));
    assert_eq!(scene.device(&ann).await.last_sent_at, Some(at("2026-11-23T13:04:00Z")));
}

#[tokio::test]
async fn each_is_reminded_by_the_users_own_clock() {
    let scene = Scene::new().await;
    for (id, zone) in [
        ("adelaide", "Australia/Adelaide"),
        ("berlin", "Europe/Berlin"),
        ("honolulu", "Pacific/Honolulu"),
        ("kathmandu", "Asia/Kathmandu"),
        ("kiritimati", "Pacific/Kiritimati"),
        ("new-york", "America/New_York"),
    ] {
        scene.user(id, zone).await;
    }
    // From the morning of Tokyo's 22nd on, each at 22:00 of their own day.
    let expected = [
        ("2026-11-22T03:00:00Z", was("new-york", "2026-11-21")),
        ("2026-11-22T08:00:00Z", was("honolulu", "2026-11-21")),
        ("2026-11-22T08:00:00Z", was("kiritimati", "2026-11-22")),
        ("2026-11-22T11:30:00Z", was("adelaide", "2026-11-22")),
        ("2026-11-22T16:15:00Z", was("kathmandu", "2026-11-22")),
        ("2026-11-22T21:00:00Z", was("berlin", "2026-11-22")),
        ("2026-11-23T03:00:00Z", was("new-york", "2026-11-22")),
        ("2026-11-23T08:00:00Z", was("honolulu", "2026-11-22")),
        ("2026-11-23T08:00:00Z", was("kiritimati", "2026-11-23")),
    ];
    for (count, (moment, _)) in expected.iter().enumerate() {
        let before = handle(&scene.reminding, at(moment) - SignedDuration::from_secs(1)).await.unwrap();
        let is_first = count == 0 || expected[count - 1].0 != *moment;
        assert!(!is_first || before == Report::default(), "before {moment}: {before:?}");
        scene.run(moment).await;
        let mut reminded = scene.reminded();
        reminded.sort();
        let mut due: Vec<_> = expected.iter().filter(|(at, _)| at <= moment).map(|(_, who)| who.clone()).collect();
        due.sort();
        assert_eq!(reminded, due, "{moment}");
    }
}

#[tokio::test]
async fn whoever_has_logged_the_day_is_not_reminded() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    put(&scene.db.client, &log(&ann, "2026-11-22")).await.unwrap();
    let bob = scene.user("bob", "Asia/Tokyo").await;
    put(&scene.db.client, &log(&bob, "2026-11-21")).await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { reminded: 1, logged: 1, ..Report::default() });
    assert_eq!(scene.reminded(), [was("bob", "2026-11-22")]);
    // The next evening is another day.
    scene.run("2026-11-23T13:00:00Z").await;
    assert_eq!(scene.reminded().len(), 3);
}

#[tokio::test]
async fn whoever_rests_is_not_reminded_until_the_rest_is_over() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let logs = Logs::new(scene.db.client.clone(), Database::OKUSURI);
    for day in ["2026-11-19", "2026-11-20", "2026-11-21"] {
        let log = domain::okusuri::Log { date: day.parse().unwrap(), has_bleeding: true };
        logs.put(&ann, &Entry { log, note: None, id: Uuid::now_v7() }, at(EVENING)).await.unwrap();
    }
    for day in 22..=25 {
        let report = scene.run(&format!("2026-11-{day}T13:00:00Z")).await;
        assert_eq!(report, Report { resting: 1, ..Report::default() }, "{day}");
    }
    scene.run("2026-11-26T13:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-26")]);
}

#[tokio::test]
async fn instances_that_run_at_once_remind_each_user_once() {
    let scene = Scene::new().await;
    for number in 0..20 {
        scene.user(&format!("user-{number}"), "Asia/Tokyo").await;
    }
    let instances = (0..4).map(|_| handle(&scene.reminding, at(EVENING)));
    let reports: Vec<_> = join_all(instances).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(reports.iter().map(|report| report.reminded).sum::<usize>(), 20);
    let mut reminded = scene.reminded();
    reminded.sort();
    reminded.dedup();
    assert_eq!(reminded.len(), 20);
    assert_eq!(scene.service.received().unwrap().len(), 20);
}

#[tokio::test]
async fn an_instance_that_dies_anywhere_reminds_nobody_twice() {
    let scene = Scene::new().await;
    for number in 0..20 {
        scene.user(&format!("user-{number}"), "Asia/Tokyo").await;
    }
    // Cut off after so many milliseconds, wherever it is then.
    for time in [1, 3, 6, 10, 15, 25] {
        drop(tokio::time::timeout(Duration::from_millis(time), handle(&scene.reminding, at(EVENING))).await);
    }
    scene.run(EVENING).await;
    let mut reminded = scene.reminded();
    let all = reminded.len();
    reminded.sort();
    reminded.dedup();
    assert_eq!(reminded.len(), all, "somebody was reminded twice");
    for number in 0..20 {
        let user = UserId::new(format!("user-{number}")).unwrap();
        assert_eq!(scene.reminder(&user).await.due_at, Some(at("2026-11-23T13:00:00Z")));
    }
}

#[tokio::test]
async fn a_claim_whose_answer_is_lost_is_not_given_twice() {
    let scene = Scene::new().await;
    scene.user("ann", "Asia/Tokyo").await;
    // The client tries again by itself, and finds the claim taken: by itself, which it cannot know.
    scene.fail("UpdateItem", Chance { next: 1, probability: 0.0 });
    let report = scene.run(EVENING).await;
    assert_eq!((report.reminded, report.elsewhere), (0, 1));
    scene.run("2026-11-22T13:05:00Z").await;
    assert_eq!(scene.reminded(), []);
    scene.run("2026-11-23T13:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-23")]);
}

#[tokio::test]
async fn runs_that_did_not_take_place_are_caught_up_for_two_hours() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    assert_eq!(scene.run("2026-11-22T15:00:00Z").await.reminded, 1);
    // After midnight it is still about the evening before.
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
    assert_eq!(scene.run("2026-11-23T15:00:01Z").await, Report { left_out: 1, ..Report::default() });
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-24T13:00:00Z")));
    // Days later, at another hour.
    assert_eq!(scene.run("2026-11-29T04:00:00Z").await, Report { left_out: 1, ..Report::default() });
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-29T13:00:00Z")));
    assert_eq!(scene.reminded().len(), 1);
}

#[tokio::test]
async fn who_puts_the_time_off_after_the_reminder_has_had_the_days_and_a_later_time_counts_from_then() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let set = async |time: &str, now: &str| {
        let change = ReminderChange { is_enabled: None, time: Some(time.parse().unwrap()) };
        scene.reminders.change(&ann, change, &TimeZone::get("Asia/Tokyo").unwrap(), at(now)).await.unwrap().due_at
    };
    assert_eq!(set("22:30", "2026-11-22T12:00:00Z").await, Some(at("2026-11-22T13:30:00Z")));
    assert_eq!(scene.run(EVENING).await, Report::default());
    assert_eq!(scene.run("2026-11-22T13:30:00Z").await.reminded, 1);
    assert_eq!(set("23:00", "2026-11-22T13:40:00Z").await, Some(at("2026-11-23T14:00:00Z")));
    assert_eq!(scene.run("2026-11-22T14:00:00Z").await, Report::default());
}

#[tokio::test]
async fn a_day_that_is_lived_twice_over_the_date_line_has_one_reminder() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    scene.run(EVENING).await;
    // To Honolulu, where it is the morning of the same day.
    let honolulu = TimeZone::get("Pacific/Honolulu").unwrap();
    user(&scene.db.client, "ann", "Pacific/Honolulu").await.unwrap();
    scene.reminders.follow(&ann, &honolulu, at("2026-11-22T18:00:00Z")).await.unwrap();
    scene.run("2026-11-23T08:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
    scene.run("2026-11-24T08:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22"), was("ann", "2026-11-23")]);
}

#[tokio::test]
async fn a_reminder_that_was_left_behind_in_another_zone_follows_its_user() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    user(&scene.db.client, "ann", "Europe/Berlin").await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { left_out: 1, ..Report::default() });
    let reminder = scene.reminder(&ann).await;
    assert_eq!((reminder.time_zone.as_str(), reminder.due_at), ("Europe/Berlin", Some(at("2026-11-22T21:00:00Z"))));
    scene.run("2026-11-22T21:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
}

#[tokio::test]
async fn who_is_switched_off_who_is_going_and_who_has_gone_hear_nothing() {
    let scene = Scene::new().await;
    let off = scene.user("off", "Asia/Tokyo").await;
    let change = ReminderChange { is_enabled: Some(false), time: None };
    scene.reminders.change(&off, change, &TimeZone::get("Asia/Tokyo").unwrap(), at(EVENING)).await.unwrap();
    assert_eq!(scene.reminder(&off).await.due_at, None);

    let going = scene.user("going", "Asia/Tokyo").await;
    let (_, profile) = scene.reminders.with_profile(&going).await.unwrap();
    put(&scene.db.client, &User { deleting: Some(at(EVENING)), ..profile.unwrap() }).await.unwrap();
    let gone = UserId::new("gone").unwrap();
    scene.switch_on(&gone, "Asia/Tokyo", at("2026-11-22T00:00:00Z")).await;

    scene.user("muted", "Asia/Tokyo").await;
    scene
        .notifications
        .set(&UserId::new("muted").unwrap(), domain::okusuri::Platform::Web, false, at(EVENING))
        .await
        .unwrap();
    assert_eq!(scene.run(EVENING).await, Report { left_out: 2, unreached: 1, ..Report::default() });
    assert_eq!(scene.run(EVENING).await, Report::default());
    assert_eq!(scene.reminded(), []);
}

#[tokio::test]
async fn a_reminder_that_cannot_be_read_holds_nobody_up_and_does_not_come_again() {
    let scene = Scene::new().await;
    let bad = scene.user("bad", "Asia/Tokyo").await;
    scene.user("good", "Asia/Tokyo").await;
    let key = [("PK", format!("USER#{bad}")), ("SK", "REMINDER".to_owned())];
    let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    let spoil = scene.db.client.update_item().table_name(Database::OKUSURI).set_key(Some(key.into()));
    let spoil = spoil.update_expression("SET #Time = :Time").expression_attribute_names("#Time", "Time");
    let nonsense = AttributeValue::S("half past never".to_owned());
    spoil.expression_attribute_values(":Time", nonsense).send().await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { reminded: 1, set_aside: 1, ..Report::default() });
    assert_eq!(scene.run(EVENING).await, Report::default());
}

#[tokio::test]
async fn a_push_service_that_calls_a_browser_gone_is_not_asked_again() {
    for status in [404, 410] {
        let scene = Scene::new().await;
        let ann = scene.user("ann", "Asia/Tokyo").await;
        scene.service.answers("ann", &[Answer::Status(status)]);
        assert_eq!(scene.run(EVENING).await, Report { unreached: 1, ..Report::default() });
        let device = scene.device(&ann).await;
        assert_eq!((device.is_enabled, device.disabled_because), (false, Some(status.to_string())));
        assert_eq!(scene.run("2026-11-23T13:00:00Z").await.unreached, 1);
        assert_eq!(scene.service.requests("ann"), 1);
    }
}

#[tokio::test]
async fn a_browser_that_subscribes_anew_is_not_switched_off_by_an_answer_about_the_old_keys() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let old = scene.device(&ann).await;
    let anew = PushSubscription { created_at: at(EVENING), updated_at: at(EVENING), ..old.clone() };
    assert!(!scene.notifications.subscribe(&ann, &anew).await.unwrap());
    scene.notifications.gone(&old, "410", at(EVENING)).await.unwrap();
    assert!(scene.device(&ann).await.is_enabled);
    // And one that was forgotten meanwhile stays so.
    scene.notifications.unsubscribe(&ann, &old.endpoint).await.unwrap();
    scene.notifications.reached(&anew, at(EVENING)).await.unwrap();
    assert_eq!(scene.notifications.of(&ann).await.unwrap().subscriptions, []);
}

#[tokio::test]
async fn a_push_service_that_cannot_now_is_asked_again_a_little_later_and_not_for_ever() {
    let scene = Scene::new().await;
    for id in ["soon", "late", "broken", "mended"] {
        scene.user(id, "Asia/Tokyo").await;
    }
    scene.service.answers("soon", &[Answer::RetryAfter(429, 1)]);
    scene.service.answers("late", &[Answer::RetryAfter(429, 3_600)]);
    scene.service.answers("broken", &[Answer::Status(500); 9]);
    scene.service.answers("mended", &[Answer::Status(503), Answer::RetryAfter(500, 0)]);
    assert_eq!(scene.run(EVENING).await, Report { reminded: 2, unreached: 2, ..Report::default() });
    let mut reminded = scene.reminded();
    reminded.sort();
    assert_eq!(reminded, [was("mended", "2026-11-22"), was("soon", "2026-11-22")]);
    let requests = ["soon", "late", "broken", "mended"].map(|id| scene.service.requests(id));
    assert_eq!(requests, [2, 1, 3, 3]);
    let broken = scene.device(&UserId::new("broken").unwrap()).await;
    assert_eq!((broken.failures, broken.is_enabled), (1, true));
}

#[tokio::test]
async fn a_push_service_that_hangs_holds_nobody_else_up_and_is_not_asked_twice() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    put(&scene.db.client, &scene.service.subscription("ann", "ann-phone", at(EVENING))).await.unwrap();
    scene.user("bob", "Asia/Tokyo").await;
    scene.service.answers("ann", &[Answer::Nothing; 3]);
    // Ann's other device is reached.
    assert_eq!(scene.run(EVENING).await, Report { reminded: 2, ..Report::default() });
    assert_eq!(scene.service.requests("ann"), 1);
    let devices = scene.notifications.of(&ann).await.unwrap().subscriptions;
    let failures = |browser: &str| {
        let endpoint = scene.service.endpoint(browser);
        devices.iter().find(|device| device.endpoint == endpoint).unwrap().failures
    };
    assert_eq!([failures("ann"), failures("ann-phone")], [1, 0]);
}

#[tokio::test]
async fn a_browser_that_refuses_for_a_fortnight_is_switched_off_and_one_that_recovers_is_not() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    for day in 0..13 {
        scene.service.answers("ann", &[Answer::Status(403)]);
        handle(&scene.reminding, at(EVENING) + SignedDuration::from_hours(24 * day)).await.unwrap();
    }
    assert_eq!(scene.device(&ann).await.failures, 13);
    scene.run("2026-12-05T13:00:00Z").await;
    assert_eq!(scene.device(&ann).await.failures, 0);
    for day in 14..28 {
        scene.service.answers("ann", &[Answer::Status(403)]);
        handle(&scene.reminding, at(EVENING) + SignedDuration::from_hours(24 * day)).await.unwrap();
    }
    let device = scene.device(&ann).await;
    assert!(!device.is_enabled && device.disabled_because.unwrap().contains("403"));
}

#[tokio::test]
async fn a_private_endpoint_that_lies_in_the_table_is_not_written_to() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let other = PushService::start().await.unwrap();
    let inside = PushSubscription { endpoint: other.endpoint("ann"), ..scene.device(&ann).await };
    put(&scene.db.client, &inside).await.unwrap();
    scene.run(EVENING).await;
    assert_eq!((scene.reminded().len(), other.requests("ann")), (1, 0));
}

#[tokio::test]
async fn what_is_beyond_a_runs_bounds_goes_on_in_the_next_without_loss() {
    let scene = Scene::new().await;
    for number in 0..50 {
        scene.user(&format!("user-{number}"), "Asia/Tokyo").await;
    }
    let bounds = Bounds { users_max: 20, ..Bounds::default() };
    let reminding = scene.reminding.clone().within(bounds);
    let mut runs = Vec::new();
    for minutes in [0, 5, 10, 15] {
        let report = handle(&reminding, at(EVENING) + SignedDuration::from_mins(minutes)).await.unwrap();
        runs.push((report.reminded, report.has_more));
    }
    assert_eq!(runs, [(20, true), (20, true), (10, false), (0, false)]);
    let mut reminded = scene.reminded();
    reminded.sort();
    reminded.dedup();
    assert_eq!(reminded.len(), 50);

    let nothing =
        handle(&reminding.within(Bounds { time: Duration::ZERO, ..bounds }), at("2026-11-23T13:00:00Z")).await;
    assert_eq!(nothing.unwrap(), Report { has_more: true, ..Report::default() });
}

#[tokio::test]
async fn of_ten_thousand_who_are_due_at_once_a_run_takes_its_share_and_the_rest_stays_due() {
    let scene = Scene::new().await;
    let (pattern, _) = scene.reminders.with_profile(&scene.user("user-0", "Asia/Tokyo").await).await.unwrap();
    let pattern = pattern.unwrap();
    for numbers in (1..10_000).collect::<Vec<_>>().chunks(25) {
        let rows = numbers.iter().map(|number| {
            let user = UserId::new(format!("user-{number}")).unwrap();
            let row = Reminder {
                user_id: user.to_string(),
                due_partition: Some(due_partition(number % 4)),
                ..pattern.clone()
            };
            let put = PutRequest::builder().set_item(Some(store::okusuri::item(&row).unwrap())).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        });
        let request = scene.db.client.batch_write_item().request_items(Database::OKUSURI, rows.collect());
        assert!(request.send().await.unwrap().unprocessed_items.unwrap_or_default().is_empty());
    }
    let reminding = scene.reminding.clone().within(Bounds { users_max: 600, ..Bounds::default() });
    // Most have no profile: a user who has gone is taken out of the index, and that is all.
    for (runs, minutes) in [(1, 0), (2, 5)] {
        let report = handle(&reminding, at(EVENING) + SignedDuration::from_mins(minutes)).await.unwrap();
        assert_eq!((report.reminded + report.left_out, report.has_more), (600, true));
        assert_eq!(still_due(&scene.reminders).await, 10_000 - runs * 600);
    }
}

/// The part of the index in which [`EVENING`] lies.
fn due_partition(shard: i32) -> String {
    format!("DUE#13#{shard}")
}

async fn still_due(reminders: &Reminders) -> usize {
    let mut users = HashSet::new();
    for part in DuePartition::all(at(EVENING)) {
        let mut from = None;
        loop {
            let due = reminders.due(&part, at(EVENING), from).await.unwrap();
            users.extend(due.users.into_iter().map(|user| user.to_string()));
            from = due.next;
            if from.is_none() {
                break;
            }
        }
    }
    users.len()
}
