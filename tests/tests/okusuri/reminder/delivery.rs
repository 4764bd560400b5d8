//! The answers of push services, and their effect on subscriptions.

use super::*;

#[tokio::test]
async fn an_ended_subscription_gets_no_further_messages() {
    for status in [404, 410] {
        let scene = Scene::new().await;
        let ann = scene.user("ann", "Asia/Tokyo").await;
        scene.service.answers("ann", &[Answer::Status(status)]);
        assert_eq!(scene.run(EVENING).await, Report { undelivered: 1, ..Report::default() });
        let device = scene.device(&ann).await;
        assert_eq!((device.is_enabled, device.disabled_because), (false, Some(status.to_string())));
        assert_eq!(scene.run("2026-11-23T13:00:00Z").await.undelivered, 1);
        assert_eq!(scene.service.requests("ann"), 1);
    }
}

#[tokio::test]
async fn renewed_subscription_survives_answers_about_old_keys() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let old = scene.device(&ann).await;
    let anew = PushSubscription { created_at: at(EVENING), updated_at: at(EVENING), ..old.clone() };
    assert!(!scene.notifications.subscribe(&scene.profile(&ann).await, &anew).await.unwrap());
    scene.notifications.gone(&old, "410", at(EVENING)).await.unwrap();
    assert!(scene.device(&ann).await.is_enabled);
    // A subscription that was removed meanwhile stays removed.
    scene.notifications.unsubscribe(&ann, &old.endpoint).await.unwrap();
    scene.notifications.reached(&anew, at(EVENING)).await.unwrap();
    assert_eq!(scene.notifications.of(&ann).await.unwrap().subscriptions, []);
}

#[tokio::test]
async fn settings_of_a_concurrently_deleted_user_are_not_stored() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let (device, profile) = (scene.device(&ann).await, scene.profile(&ann).await);
    let everything = okusuri_store::UserData::new(&scene.db.table(Database::OKUSURI));
    everything.delete(&ann, at(EVENING), || true).await.unwrap();
    let late = scene.notifications.subscribe(&profile, &device).await;
    assert!(matches!(late, Err(WriteError::NoUser)), "{late:?}");
    let late = scene.notifications.set(&ann, Platform::Web, false, at(EVENING)).await;
    assert!(matches!(late, Err(WriteError::NoUser)), "{late:?}");
    assert_eq!(scene.notifications.of(&ann).await.unwrap(), UserNotifications::default());
    let late = scene.reminders.change(&ann, ReminderChange::default(), &TimeZone::UTC, at(EVENING)).await;
    assert!(matches!(late, Err(WriteError::NoUser)), "{late:?}");
    assert_eq!(scene.reminders.get::<Reminder>(&ann).await.unwrap(), None);
}

#[tokio::test]
async fn unavailable_push_service_is_retried_only_a_few_times() {
    let scene = Scene::new().await;
    for id in ["soon", "late", "broken", "mended"] {
        scene.user(id, "Asia/Tokyo").await;
    }
    scene.service.answers("soon", &[Answer::RetryAfter(429, 1)]);
    scene.service.answers("late", &[Answer::RetryAfter(429, 3_600)]);
    scene.service.answers("broken", &[Answer::Status(500); 9]);
    scene.service.answers("mended", &[Answer::Status(503), Answer::RetryAfter(500, 0)]);
    assert_eq!(scene.run(EVENING).await, Report { reminded: 2, undelivered: 2, ..Report::default() });
    let mut reminded = scene.reminded();
    reminded.sort();
    assert_eq!(reminded, [was("mended", "2026-11-22"), was("soon", "2026-11-22")]);
    let requests = ["soon", "late", "broken", "mended"].map(|id| scene.service.requests(id));
    assert_eq!(requests, [2, 1, 3, 3]);
    let broken = scene.device(&UserId::new("broken").unwrap()).await;
    assert_eq!((broken.failures, broken.is_enabled), (1, true));
}

#[tokio::test]
async fn hanging_push_service_delays_nobody_and_is_not_retried() {
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
async fn browser_failing_for_two_weeks_is_disabled_unless_it_recovers() {
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
async fn a_stored_private_endpoint_gets_no_message() {
    let scene = Scene::new().await;
    let ann = scene.user("ann", "Asia/Tokyo").await;
    let other = PushService::start().await.unwrap();
    let inside = PushSubscription { endpoint: other.endpoint("ann"), ..scene.device(&ann).await };
    put(&scene.db.client, &inside).await.unwrap();
    scene.run(EVENING).await;
    assert_eq!((scene.reminded().len(), other.requests("ann")), (1, 0));
}
