//! Reminders of doses: when they are sent, how often, and how.

use std::collections::BTreeMap;

use domain::okusuri::{DOSE_MESSAGES_MAX, DoseRecord, Language, Stock};
use okusuri_store::rows::{DoseReminder, Medicine};
use okusuri_store::{DoseKey, DoseReminderChange, Doses};
use tests::okusuri::medicine;

use super::*;

/// 08:00 in Tokyo.
const MORNING: &str = "2026-11-22T23:00:00Z";

impl Scene {
    /// A user with a browser of the same name, who takes iron at 08:00 in Tokyo, and is asked for it
    /// since the evening before.
    async fn taker(&self, id: &str) -> UserId {
        self.taker_at(id, &["08:00"]).await
    }

    async fn taker_at(&self, id: &str, times: &[&str]) -> UserId {
        let user = user(&self.db.client, id, "Asia/Tokyo").await.unwrap();
        let times: Vec<_> = times.iter().map(|time| time.parse().unwrap()).collect();
        put(&self.db.client, &medicine(&user, &times, "2026-11-01").unwrap()).await.unwrap();
        put(&self.db.client, &self.service.subscription(id, id, at("2026-01-01T00:00:00Z"))).await.unwrap();
        let change = DoseReminderChange { is_enabled: Some(true), ..DoseReminderChange::default() };
        self.change_doses(&user, change, EVENING).await;
        user
    }

    async fn change_doses(&self, user: &UserId, change: DoseReminderChange, now: &str) {
        self.reminders.change_doses(user, change, &tokyo(), at(now)).await.unwrap();
    }

    async fn mark(&self, user: &UserId, date: &str, time: &str, record: DoseRecord, now: &str) {
        let medicine_id = medicine(user, &[], "2026-11-01").unwrap().medicine_id;
        let key = DoseKey { date: date.parse().unwrap(), time: time.parse().unwrap(), medicine_id };
        let doses = Doses::new(&self.db.table(Database::OKUSURI));
        doses.mark(user, &key, (record, Some(at(now))), &tokyo(), at(now)).await.unwrap();
        self.reminders.follow_doses(user, &tokyo(), at(now)).await.unwrap();
    }

    async fn dose_reminder(&self, user: &UserId) -> DoseReminder {
        self.reminders.get(user).await.unwrap().unwrap()
    }

    /// The browsers that have received a message about a dose, sorted.
    fn asked(&self) -> Vec<String> {
        let received = self.service.received().unwrap();
        let mut asked: Vec<_> =
            received.into_iter().filter(|one| one.content["kind"] == "dose").map(|one| one.browser).collect();
        asked.sort();
        asked
    }
}

fn tokyo() -> TimeZone {
    TimeZone::get("Asia/Tokyo").unwrap()
}

#[tokio::test]
async fn a_dose_asks_in_its_minute_and_twice_more() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    assert_eq!(scene.dose_reminder(&ann).await.due_at, Some(at(MORNING)));
    let mut asked = Vec::new();
    for minute in -1..=120 {
        let report = handle(&scene.reminding, at(MORNING) + SignedDuration::from_mins(minute)).await.unwrap();
        asked.extend((report.reminded > 0).then_some(minute));
    }
    assert_eq!(asked, [0, 30, 60]);
    let first = scene.service.received().unwrap().remove(0);
    assert_eq!(first.content, json!({ "kind": "dose", "times": ["08:00"], "names": ["Iron"], "low": [], "count": 1 }));
    assert_eq!((first.time_to_live.as_str(), first.topic.as_str()), ("1800", "dose"));
    assert_eq!(scene.dose_reminder(&ann).await.due_at, Some(at("2026-11-23T23:00:00Z")));
}

#[tokio::test]
async fn a_dose_of_yesterday_snoozed_past_midnight_asks() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    // The dose of the 23rd.
    for now in [MORNING, "2026-11-22T23:30:00Z", "2026-11-23T00:00:00Z"] {
        assert_eq!(scene.run(now).await.reminded, 1);
    }
    // 23:55 and 00:05 in Tokyo.
    let snoozed = DoseRecord::Snoozed { until: at("2026-11-23T15:05:00Z") };
    scene.mark(&ann, "2026-11-22", "08:00", snoozed, "2026-11-23T14:55:00Z").await;
    assert_eq!(scene.run("2026-11-23T15:05:00Z").await.reminded, 1);
    assert_eq!(scene.asked().len(), 4);
}

#[tokio::test]
async fn dose_message_names_the_medicine_to_buy() {
    let scene = Scene::new().await;
    for (id, left) in [("ann", 7), ("bob", 9)] {
        let user = scene.taker(id).await;
        let medicine = medicine(&user, &["08:00".parse().unwrap()], "2026-11-01").unwrap();
        let stock = Stock { left, per_dose: 1, pack_size: 28, warn_days: 7, packs: 0 };
        put(&scene.db.client, &Medicine { stock: Some(stock.into()), ..medicine }).await.unwrap();
    }
    assert_eq!(scene.run(MORNING).await.reminded, 2);
    let received = scene.service.received().unwrap();
    let low: BTreeMap<_, _> = received.iter().map(|one| (one.browser.as_str(), one.content["low"].clone())).collect();
    assert_eq!(low, BTreeMap::from([("ann", json!(["Iron"])), ("bob", json!([]))]));
}

#[tokio::test]
async fn a_recorded_dose_asks_no_more() {
    let scene = Scene::new().await;
    let (ann, bob) = (scene.taker("ann").await, scene.taker("bob").await);
    scene.mark(&ann, "2026-11-22", "08:00", DoseRecord::Taken, EVENING).await;
    scene.mark(&ann, "2026-11-23", "08:00", DoseRecord::Taken, "2026-11-22T22:50:00Z").await;
    assert_eq!(scene.run(MORNING).await.reminded, 1);
    scene.mark(&bob, "2026-11-23", "08:00", DoseRecord::Skipped, "2026-11-22T23:10:00Z").await;
    for minute in [30, 60] {
        handle(&scene.reminding, at(MORNING) + SignedDuration::from_mins(minute)).await.unwrap();
    }
    assert_eq!(scene.asked(), ["bob"]);
}

#[tokio::test]
async fn a_snoozed_dose_asks_when_the_snooze_ends() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    scene.run(MORNING).await;
    let until = at("2026-11-22T23:12:00.5Z");
    scene.mark(&ann, "2026-11-23", "08:00", DoseRecord::Snoozed { until }, "2026-11-22T23:02:00.5Z").await;
    for (now, reminded) in [("23:11:59", 0), ("23:12:00", 1), ("23:30:00", 0), ("23:42:00", 1)] {
        assert_eq!(scene.run(&format!("2026-11-22T{now}Z")).await.reminded, reminded, "{now}");
    }
}

#[tokio::test]
async fn a_dose_added_or_moved_changes_the_next_reminder() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    let now = "2026-11-22T13:10:00Z";
    let later = Medicine {
        medicine_id: "later".to_owned(),
        ..medicine(&ann, &["23:00".parse().unwrap()], "2026-11-01").unwrap()
    };
    put(&scene.db.client, &later).await.unwrap();
    scene.reminders.follow_doses(&ann, &tokyo(), at(now)).await.unwrap();
    assert_eq!(scene.dose_reminder(&ann).await.due_at, Some(at("2026-11-22T14:00:00Z")));
    // She travels to Berlin, where it is the afternoon.
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    scene.reminders.follow_doses(&ann, &berlin, at(now)).await.unwrap();
    assert_eq!(scene.dose_reminder(&ann).await.due_at, Some(at("2026-11-22T22:00:00Z")));
    scene
        .change_doses(&ann, DoseReminderChange { is_enabled: Some(false), ..DoseReminderChange::default() }, now)
        .await;
    assert_eq!(scene.dose_reminder(&ann).await.due_at, None);
}

#[tokio::test]
async fn doses_missed_during_an_outage_are_one_message() {
    let scene = Scene::new().await;
    scene.taker_at("ann", &["08:00", "08:20", "12:00"]).await;
    let report = scene.run("2026-11-23T01:00:00Z").await;
    assert_eq!((report.reminded, scene.asked().len()), (1, 1));
    assert_eq!(scene.service.received().unwrap()[0].content["times"], json!(["08:00", "08:20"]));
    // More than two hours late, nothing is sent.
    assert_eq!(scene.run("2026-11-23T08:00:00Z").await.reminded, 0);
}

#[tokio::test]
async fn concurrent_runs_ask_for_each_dose_once() {
    let scene = Scene::new().await;
    for number in 0..10 {
        scene.taker(&format!("user-{number}")).await;
    }
    let instances = (0..4).map(|_| handle(&scene.reminding, at(MORNING)));
    let reports: Vec<_> = join_all(instances).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(reports.iter().map(|report| report.reminded).sum::<usize>(), 10);
    let mut asked = scene.asked();
    asked.dedup();
    assert_eq!((asked.len(), scene.asked().len()), (10, 10));
}

#[tokio::test]
async fn a_claim_with_a_lost_answer_asks_once() {
    let scene = Scene::new().await;
    scene.taker("ann").await;
    scene.db.lose_answers("UpdateItem", 1);
    assert_eq!(scene.run(MORNING).await, Report { reminded: 1, ..Report::default() });
    scene.run(MORNING).await;
    assert_eq!(scene.asked().len(), 1);
}

#[tokio::test]
async fn killed_runs_and_lost_answers_ask_for_no_dose_twice() {
    let scene = Scene::new().await;
    for number in 0..10 {
        scene.taker(&format!("user-{number}")).await;
    }
    // The first claim is written, and its answer is lost.
    scene.db.lose_answers("UpdateItem", 1);
    // Cancelled after some milliseconds, at whatever step the run is then.
    for time in [1, 3, 6, 10, 15, 25] {
        drop(tokio::time::timeout(Duration::from_millis(time), handle(&scene.reminding, at(MORNING))).await);
    }
    scene.run(MORNING).await;
    let (mut asked, all) = (scene.asked(), scene.asked().len());
    asked.dedup();
    assert_eq!(asked.len(), all, "somebody was asked twice");
    for number in 0..10 {
        let user = UserId::new(format!("user-{number}")).unwrap();
        assert_eq!(scene.dose_reminder(&user).await.handled_until, at(MORNING));
    }
}

#[tokio::test]
async fn user_without_a_working_browser_gets_a_mail() {
    let scene = Scene::new().await;
    let (ann, bob, off) = (scene.taker("ann").await, scene.taker("bob").await, scene.taker("off").await);
    scene.service.answers("ann", &[Answer::Status(410)]);
    scene.notifications.set(&bob, Platform::Web, false, at(EVENING)).await.unwrap();
    scene
        .change_doses(
            &ann,
            DoseReminderChange { language: Some(Language::Ja), ..DoseReminderChange::default() },
            EVENING,
        )
        .await;
    scene.service.answers("off", &[Answer::Status(403); 3]);
    scene
        .change_doses(&off, DoseReminderChange { is_mailed: Some(false), ..DoseReminderChange::default() }, EVENING)
        .await;
    assert_eq!(scene.run(MORNING).await, Report { mailed: 2, undelivered: 1, ..Report::default() });
    let mut mails = scene.service.mails();
    mails.sort();
    let mail = |name: &str, subject: &str| (format!("{name}@example.com"), subject.to_owned());
    assert_eq!(mails, [mail("ann", "おくすりの時間です：08:00"), mail("bob", "Time for your medicine: 08:00")]);
    // An address that was not confirmed gets none.
    put(&scene.db.client, &User { email_verified: false, ..scene.profile(&bob).await }).await.unwrap();
    assert_eq!(scene.run("2026-11-22T23:30:00Z").await, Report { mailed: 1, undelivered: 2, ..Report::default() });
}

#[tokio::test]
async fn an_abandoned_account_gets_mails_for_a_week() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    scene.notifications.set(&ann, Platform::Web, false, at(EVENING)).await.unwrap();
    let day = async |days: i64| {
        handle(&scene.reminding, at(MORNING) + SignedDuration::from_hours(24 * days)).await.unwrap().mailed
    };
    assert_eq!((day(0).await, day(6).await, day(7).await), (1, 1, 0));
    // A recorded dose shows that the log is in use.
    scene.mark(&ann, "2026-11-30", "08:00", DoseRecord::Skipped, "2026-11-30T00:00:00Z").await;
    assert_eq!((day(8).await, day(20).await), (1, 0));
}

#[tokio::test]
async fn a_day_has_at_most_24_messages() {
    let scene = Scene::new().await;
    let ann = scene.taker_at("ann", &["08:00", "08:10", "08:20", "09:40", "09:50", "11:10", "11:20", "11:30"]).await;
    let evening = Medicine {
        medicine_id: "evening".to_owned(),
        ..medicine(&ann, &["13:00".parse().unwrap(), "13:10".parse().unwrap(), "13:20".parse().unwrap()], "2026-11-01")
            .unwrap()
    };
    put(&scene.db.client, &evening).await.unwrap();
    let begin = at("2026-11-23T00:00:00Z");
    let mut sent = 0;
    for minute in (0..360).step_by(10) {
        sent += handle(&scene.reminding, begin + SignedDuration::from_mins(minute)).await.unwrap().reminded;
    }
    assert_eq!(sent, DOSE_MESSAGES_MAX as usize);
    // The next day begins anew.
    assert_eq!(scene.run("2026-11-24T00:10:00Z").await.reminded, 1);
}

#[tokio::test]
async fn deleted_users_and_unreadable_reminders_leave_the_index() {
    let scene = Scene::new().await;
    let ann = scene.taker("ann").await;
    put(&scene.db.client, &User { deleting: Some(at(EVENING)), ..scene.profile(&ann).await }).await.unwrap();
    let bad = scene.taker("bad").await;
    let broken = Medicine { from: "1899-01-01".parse().unwrap(), ..medicine(&bad, &[], "2026-11-01").unwrap() };
    put(&scene.db.client, &broken).await.unwrap();
    assert_eq!(scene.run(MORNING).await, Report { skipped: 1, unreadable: 1, ..Report::default() });
    assert_eq!(scene.run(MORNING).await, Report::default());
}
