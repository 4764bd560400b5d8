//! Tests which users are reminded, when, and how often.

use super::*;

#[tokio::test]
async fn user_is_reminded_each_evening_and_not_before() {
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
async fn each_user_is_reminded_in_their_own_time_zone() {
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
    // Starting in the morning of the 22nd in Tokyo, each user at 22:00 of their own day.
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
async fn a_user_who_has_logged_the_day_is_not_reminded() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    put(&scene.db.client, &log(&ann, "2026-11-22")).await.unwrap();
    let bob = scene.user("bob", "Asia/Tokyo").await;
    put(&scene.db.client, &log(&bob, "2026-11-21")).await.unwrap();
    // A log of bleeding alone does not mean that the medication was taken.
    let carol = scene.user("carol", "Asia/Tokyo").await;
    let bleeding = MedicationLog { has_bleeding: true, is_taken: false, ..log(&carol, "2026-11-22") };
    put(&scene.db.client, &bleeding).await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { reminded: 2, logged: 1, ..Report::default() });
    let mut reminded = scene.reminded();
    reminded.sort();
    assert_eq!(reminded, [was("bob", "2026-11-22"), was("carol", "2026-11-22")]);
    // The next evening is another day.
    scene.run("2026-11-23T13:00:00Z").await;
    assert_eq!(scene.reminded().len(), 5);
}

#[tokio::test]
async fn a_changed_profile_keeps_the_reminder_that_is_due() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
    scene.reminders.follow(&ann, &tokyo, at("2026-11-22T13:00:20Z")).await.unwrap();
    assert_eq!(scene.run("2026-11-22T13:01:00Z").await, Report { reminded: 1, ..Report::default() });
    // It is given once, and the next one is tomorrow's.
    scene.reminders.follow(&ann, &tokyo, at("2026-11-22T13:01:20Z")).await.unwrap();
    assert_eq!(scene.run("2026-11-22T13:02:00Z").await, Report::default());
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-23T13:00:00Z")));
}

#[tokio::test]
async fn a_resting_user_is_not_reminded() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let logs = Logs::new(&scene.db.table(Database::OKUSURI));
    for day in ["2026-11-19", "2026-11-20", "2026-11-21"] {
        let log = domain::okusuri::Log { date: day.parse().unwrap(), has_bleeding: true };
        logs.put(
            &ann,
            &LogEntry { log, is_taken: true, note: None, flow: None, symptoms: None, id: Uuid::now_v7() },
            at(EVENING),
        )
        .await
        .unwrap();
    }
    // A cycle rests without any log.
    let bob = scene.user("bob", "Asia/Tokyo").await;
    let cycle = Cycle::new(21, 4, "2026-11-01".parse().unwrap()).unwrap();
    let profile = User { regimen: Some(Regimen::Cycle(cycle)), ..scene.profile(&bob).await };
    put(&scene.db.client, &profile).await.unwrap();
    for day in 22..=25 {
        let report = scene.run(&format!("2026-11-{day}T13:00:00Z")).await;
        assert_eq!(report, Report { resting: 2, ..Report::default() }, "{day}");
    }
    assert_eq!(scene.run("2026-11-26T13:00:00Z").await, Report { reminded: 2, ..Report::default() });
    let mut reminded = scene.reminded();
    reminded.sort();
    assert_eq!(reminded, [was("ann", "2026-11-26"), was("bob", "2026-11-26")]);
}

#[tokio::test]
async fn concurrent_instances_remind_each_user_once() {
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
async fn a_killed_instance_reminds_nobody_twice() {
    let scene = Scene::new().await;
    for number in 0..20 {
        scene.user(&format!("user-{number}"), "Asia/Tokyo").await;
    }
    // Cancelled after some milliseconds, at whatever step the run is then.
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
async fn a_claim_with_a_lost_answer_sends_one_reminder() {
    let scene = Scene::new().await;
    scene.user("ann", "Asia/Tokyo").await;
    // The SDK retries the request, and the claim of its first attempt refuses the second.
    scene.db.lose_answers("UpdateItem", 1);
    assert_eq!(scene.run(EVENING).await, Report { reminded: 1, ..Report::default() });
    scene.run("2026-11-22T13:05:00Z").await;
    scene.run("2026-11-23T13:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22"), was("ann", "2026-11-23")]);
}

#[tokio::test]
async fn missed_runs_are_caught_up_for_two_hours() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    assert_eq!(scene.run("2026-11-22T15:00:00Z").await.reminded, 1);
    // After midnight, the reminder is still about the evening before.
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
    assert_eq!(scene.run("2026-11-23T15:00:01Z").await, Report { skipped: 1, ..Report::default() });
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-24T13:00:00Z")));
    // Days later, and at another hour.
    assert_eq!(scene.run("2026-11-29T04:00:00Z").await, Report { skipped: 1, ..Report::default() });
    assert_eq!(scene.reminder(&ann).await.due_at, Some(at("2026-11-29T13:00:00Z")));
    assert_eq!(scene.reminded().len(), 1);
}

#[tokio::test]
async fn reminder_time_changed_after_sending_applies_tomorrow() {
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
async fn a_day_repeated_across_the_date_line_has_one_reminder() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    scene.run(EVENING).await;
    // She travels to Honolulu, where it is the morning of the same day.
    let honolulu = TimeZone::get("Pacific/Honolulu").unwrap();
    user(&scene.db.client, "ann", "Pacific/Honolulu").await.unwrap();
    scene.reminders.follow(&ann, &honolulu, at("2026-11-22T18:00:00Z")).await.unwrap();
    scene.run("2026-11-23T08:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
    scene.run("2026-11-24T08:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22"), was("ann", "2026-11-23")]);
}

#[tokio::test]
async fn a_reminder_with_an_outdated_time_zone_is_updated() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    user(&scene.db.client, "ann", "Europe/Berlin").await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { skipped: 1, ..Report::default() });
    let reminder = scene.reminder(&ann).await;
    assert_eq!((reminder.time_zone.as_str(), reminder.due_at), ("Europe/Berlin", Some(at("2026-11-22T21:00:00Z"))));
    scene.run("2026-11-22T21:00:00Z").await;
    assert_eq!(scene.reminded(), [was("ann", "2026-11-22")]);
}

#[tokio::test]
async fn disabled_deleting_and_deleted_users_get_no_reminder() {
    let scene = Scene::new().await;
    let off = scene.user("off", "Asia/Tokyo").await;
    let change = ReminderChange { is_enabled: Some(false), time: None };
    scene.reminders.change(&off, change, &TimeZone::get("Asia/Tokyo").unwrap(), at(EVENING)).await.unwrap();
    assert_eq!(scene.reminder(&off).await.due_at, None);

    let going = scene.user("going", "Asia/Tokyo").await;
    let (_, profile) = scene.reminders.with_profile::<Reminder>(&going).await.unwrap();
    put(&scene.db.client, &User { deleting: Some(at(EVENING)), ..profile.unwrap() }).await.unwrap();
    let gone = scene.user("gone", "Asia/Tokyo").await;
    let profile = scene.db.client.delete_item().table_name(Database::OKUSURI);
    let profile = profile.key("PK", AttributeValue::S(format!("USER#{gone}")));
    profile.key("SK", AttributeValue::S("PROFILE".to_owned())).send().await.unwrap();

    scene.user("muted", "Asia/Tokyo").await;
    scene
        .notifications
        .set(&UserId::new("muted").unwrap(), domain::okusuri::Platform::Web, false, at(EVENING))
        .await
        .unwrap();
    assert_eq!(scene.run(EVENING).await, Report { skipped: 2, undelivered: 1, ..Report::default() });
    assert_eq!(scene.run(EVENING).await, Report::default());
    assert_eq!(scene.reminded(), []);
}

#[tokio::test]
async fn unreadable_reminder_delays_nobody_and_leaves_the_index() {
    let scene = Scene::new().await;
    let bad = scene.user("bad", "Asia/Tokyo").await;
    scene.user("good", "Asia/Tokyo").await;
    let key = [("PK", format!("USER#{bad}")), ("SK", "REMINDER".to_owned())];
    let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
    let spoil = scene.db.client.update_item().table_name(Database::OKUSURI).set_key(Some(key.into()));
    let spoil = spoil.update_expression("SET #Time = :Time").expression_attribute_names("#Time", "Time");
    let nonsense = AttributeValue::S("half past never".to_owned());
    spoil.expression_attribute_values(":Time", nonsense).send().await.unwrap();
    assert_eq!(scene.run(EVENING).await, Report { reminded: 1, unreadable: 1, ..Report::default() });
    assert_eq!(scene.run(EVENING).await, Report::default());
}
