//! More due users than the limit of a run.

use super::*;

#[tokio::test]
async fn the_next_run_handles_the_users_beyond_a_runs_limits() {
    let scene = Scene::new().await;
    for number in 0..50 {
        scene.user(&format!("user-{number}"), "Asia/Tokyo").await;
    }
    let bounds = RunLimits { users_max: 20, ..RunLimits::default() };
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
        handle(&reminding.within(RunLimits { time: Duration::ZERO, ..bounds }), at("2026-11-23T13:00:00Z")).await;
    assert_eq!(nothing.unwrap(), Report { has_more: true, ..Report::default() });
}

#[tokio::test]
async fn a_run_handles_its_share_of_many_due_users() {
    let users = tests::load(2_000, 10_000);
    let scene = Scene::new().await;
    let (pattern, _) =
        scene.reminders.with_profile::<Reminder>(&scene.user("user-0", "Asia/Tokyo").await).await.unwrap();
    let pattern = pattern.unwrap();
    for numbers in (1..i32::try_from(users).unwrap()).collect::<Vec<_>>().chunks(25) {
        let rows = numbers.iter().map(|number| {
            let user = UserId::new(format!("user-{number}")).unwrap();
            let row = Reminder {
                user_id: user.to_string(),
                due_partition: Some(due_partition(number % 4)),
                ..pattern.clone()
            };
            let put = PutRequest::builder().set_item(Some(okusuri_store::item(&row).unwrap())).build().unwrap();
            WriteRequest::builder().put_request(put).build()
        });
        let request = scene.db.client.batch_write_item().request_items(Database::OKUSURI, rows.collect());
        assert!(request.send().await.unwrap().unprocessed_items.unwrap_or_default().is_empty());
    }
    let reminding = scene.reminding.clone().within(RunLimits { users_max: 600, ..RunLimits::default() });
    // Most users have no profile: a deleted user is only removed from the due index.
    for (runs, minutes) in [(1, 0), (2, 5)] {
        let report = handle(&reminding, at(EVENING) + SignedDuration::from_mins(minutes)).await.unwrap();
        assert_eq!((report.reminded + report.skipped, report.has_more), (600, true));
        assert_eq!(still_due(&scene.reminders).await, users - runs * 600);
    }
}

/// The partition of the due index that contains [`EVENING`].
fn due_partition(shard: i32) -> String {
    format!("DUE#13#{shard}")
}

async fn still_due(reminders: &Reminders) -> usize {
    let mut users = HashSet::new();
    for part in DuePartition::of_run(at(EVENING)) {
        let mut from = None;
        loop {
            let due = reminders.due(&part, at(EVENING), from).await.unwrap();
            users.extend(due.reminders.into_iter().map(|(user, _)| user.to_string()));
            from = due.next;
            if from.is_none() {
                break;
            }
        }
    }
    users.len()
}
