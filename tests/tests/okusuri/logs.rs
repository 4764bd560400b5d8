//! Logs on the real engine: after any writes, edits and deletions, by one or several writers, the
//! summary equals that of the stored logs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::calendar::DateRange;
use domain::okusuri::{Cycle, DayState, Flow, Log, Note, Regimen, Status, Summary, Symptom};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use okusuri_store::rows::MedicationLog;
use okusuri_store::{LogEntry, LogRange, LogWriteOutcome, Logs, WriteError};
use store_base::Direction;
use tests::Database;
use tests::okusuri::user;
use uuid::Uuid;

const TODAY: Date = date(2026, 11, 22);

fn now() -> Timestamp {
    "2026-11-22T03:00:00.123456Z".parse().unwrap()
}

/// A day without the medication, with a note.
fn untaken(date: Date, has_bleeding: bool) -> LogEntry {
    LogEntry { is_taken: false, note: Some(Note::new("頭痛").unwrap()), ..entry(date, has_bleeding) }
}

fn entry(date: Date, has_bleeding: bool) -> LogEntry {
    let log = Log { date, has_bleeding };
    LogEntry { log, is_taken: true, note: None, flow: None, symptoms: None, id: Uuid::now_v7() }
}

fn ago(days: i64) -> Date {
    TODAY.saturating_sub(jiff::Span::new().days(days))
}

fn logs(db: &Database) -> Logs {
    Logs::new(&db.table(Database::OKUSURI))
}

async fn stored(logs: &Logs, user: &UserId) -> Vec<MedicationLog> {
    logs.page(user, LogRange::default(), Direction::Asc, 1_000, None).await.unwrap().items
}

fn regimens() -> [Regimen; 3] {
    [Regimen::Continuous, Regimen::Medicines, Regimen::Cycle(Cycle::new(3, 2, ago(8)).unwrap())]
}

/// Checks the summary under each regimen against the summary computed from the stored logs.
async fn check(logs: &Logs, user: &UserId) {
    let rows = stored(logs, user).await;
    for regimen in regimens() {
        let log = |row: &MedicationLog| Log { date: row.date, has_bleeding: row.has_bleeding };
        let counted = rows.iter().filter_map(|row| log(row).counted(row.is_taken, regimen));
        assert_eq!(logs.under(regimen).summary(user).await.unwrap(), Summary::of(counted, regimen));
    }
}

/// A random change of one of the last `days` days, or of the regimen.
async fn change(logs: &Logs, user: &UserId, random: &mut fastrand::Rng, days: i64) {
    let date = ago(random.i64(0..days));
    // Of requests at once, some still have the profile of before a change of the regimen.
    let other = logs.under(regimens()[random.usize(0..3)]);
    let logs = if random.u8(0..6) == 0 { &other } else { logs };
    let outcome = match random.u8(0..11) {
        10 => logs.follow_regimen(user, now()).await.map(|()| None),
        0..3 => logs.delete(user, date, now()).await.map(|(_, summary)| summary),
        3 => {
            let dates: BTreeMap<_, _> = (0..5).map(|_| (ago(random.i64(0..days)), random.bool())).collect();
            let one = |(date, has_bleeding)| if random.u8(0..4) == 0 { untaken } else { entry }(date, has_bleeding);
            let entries: Vec<_> = dates.into_iter().map(one).collect();
            logs.put_all(user, &entries, now()).await.map(|(_, summary)| summary)
        }
        4 => logs.put(user, &untaken(date, random.bool()), now()).await.map(|(_, summary)| summary),
        _ => logs.put(user, &entry(date, random.bool()), now()).await.map(|(_, summary)| summary),
    };
    if let Err(error) = outcome {
        assert!(matches!(error, WriteError::Conflict), "{error}");
    }
}

#[tokio::test]
async fn summary_equals_stored_logs_after_any_changes() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    for seed in 0..6 {
        let logs = logs.under(regimens()[seed as usize / 2]);
        let ann = user(&db.client, &format!("ann-{seed}"), "Asia/Tokyo").await.unwrap();
        let mut random = fastrand::Rng::with_seed(seed);
        // Few days, so that bleeding days are consecutive; or many, so that streaks are long.
        let days = [12, 40, 120][seed as usize % 3];
        for date in (0..days).rev().map(ago).filter(|_| seed % 2 == 0) {
            logs.put(&ann, &entry(date, random.u8(0..3) == 0), now()).await.unwrap();
        }
        for _ in 0..40 {
            change(&logs, &ann, &mut random, days).await;
            check(&logs, &ann).await;
        }
    }
}

#[tokio::test]
async fn summary_equals_stored_logs_after_concurrent_changes() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    for round in 0..8 {
        let logs = logs.under(regimens()[round as usize % 3]);
        let writers = (0..3).map(|writer| {
            let (logs, ann) = (logs.clone(), ann.clone());
            tokio::spawn(async move {
                let mut random = fastrand::Rng::with_seed(round * 10 + writer);
                for _ in 0..4 {
                    change(&logs, &ann, &mut random, 15).await;
                }
            })
        });
        futures::future::try_join_all(writers).await.unwrap();
        check(&logs, &ann).await;
    }
}

#[tokio::test]
async fn a_summary_of_another_regimen_counts_for_nothing() {
    let db = Database::start().await.unwrap();
    let continuous = logs(&db);
    let [_, medicines, cycle] = regimens().map(|regimen| continuous.under(regimen));
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    // Under the cycle it is a day of rest, so nothing counts.
    let (_, summary) = cycle.put(&ann, &entry(ago(4), true), now()).await.unwrap();
    assert_eq!(summary, None);
    assert_eq!(continuous.status(&ann, ago(4)).await.unwrap().streak, 1);
    for days in [3, 2, 1] {
        cycle.put(&ann, &entry(ago(days), true), now()).await.unwrap();
    }
    let standing = async |logs: &Logs| {
        let status = logs.status(&ann, TODAY).await.unwrap();
        (status.streak, status.is_resting, status.rest_days_left)
    };
    assert_eq!(standing(&cycle).await, (3, true, 2));
    assert_eq!(standing(&medicines).await, (4, false, 0));
    assert_eq!(standing(&continuous).await, (0, true, 3));
    check(&continuous, &ann).await;
    let range = DateRange::new(ago(4), TODAY).unwrap();
    let states = cycle.calendar(&ann, range, TODAY).await.unwrap().days.into_iter().map(|day| day.state);
    let bleeding = DayState::Bleeding;
    assert_eq!(states.collect::<Vec<_>>(), [DayState::Rest, bleeding, bleeding, bleeding, DayState::Rest]);
}

/// Counts the requests.
#[derive(Debug, Default, Clone)]
struct Requests(Arc<AtomicUsize>);

impl Intercept for Requests {
    fn name(&self) -> &'static str {
        "Requests"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test]
async fn logging_today_reads_only_summary_and_that_day() {
    let db = Database::start().await.unwrap();
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let days: Vec<_> = (1..=300).rev().map(|days| entry(ago(days), false)).collect();
    logs(&db).put_all(&ann, &days, now()).await.unwrap();

    let requests = Requests::default();
    let config = db.client.config().to_builder().interceptor(requests.clone()).build();
    let counted = Logs::new(&store_base::Table::new(aws_sdk_dynamodb::Client::from_conf(config), Database::OKUSURI));
    let sent = || requests.0.swap(0, Ordering::SeqCst);
    let (written, summary) = counted.put(&ann, &entry(TODAY, false), now()).await.unwrap();
    assert!(matches!(written, LogWriteOutcome::New(_)));
    assert_eq!((summary.unwrap().streak_state.streak(), sent()), (301, 3), "the summary, the day, and the transaction");
    assert_eq!((counted.status(&ann, TODAY).await.unwrap().streak, sent()), (301, 1));
    // Yesterday is changed to bleeding: reads its log, the two before it, and today's.
    counted.put(&ann, &entry(ago(1), true), now()).await.unwrap();
    assert_eq!(sent(), 5);
    counted.delete(&ann, TODAY, now()).await.unwrap();
    assert_eq!(sent(), 4);
    check(&logs(&db), &ann).await;
}

#[tokio::test]
async fn changed_log_keeps_its_note_and_unknown_attributes() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let note = |text: &str| Some(Note::new(text).unwrap());
    let first = LogEntry { note: note("頭痛"), ..entry(TODAY, false) };
    let (LogWriteOutcome::New(row), _) = logs.put(&ann, &first, now()).await.unwrap() else { panic!("not new") };
    assert_eq!((row.log_id, row.note.as_deref()), (first.id.to_string(), Some("頭痛")));
    let foreign = db.client.update_item().table_name(Database::OKUSURI);
    let foreign = foreign.key("PK", AttributeValue::S("USER#ann".into()));
    let foreign = foreign.key("SK", AttributeValue::S(format!("MEDICATION#{TODAY}")));
    let foreign = foreign.update_expression("SET MigratedVersion = :v");
    foreign.expression_attribute_values(":v", AttributeValue::N("7".into())).send().await.unwrap();

    let (LogWriteOutcome::Same(row), _) = logs.put(&ann, &entry(TODAY, false), now()).await.unwrap() else {
        panic!("not the same")
    };
    assert_eq!(row.note.as_deref(), Some("頭痛"));
    let (LogWriteOutcome::Changed(row), _) = logs.put(&ann, &entry(TODAY, true), now()).await.unwrap() else {
        panic!("not changed")
    };
    assert_eq!((row.log_id, row.note.as_deref()), (first.id.to_string(), Some("頭痛")));
    let without = LogEntry { note: note(" "), ..entry(TODAY, true) };
    assert!(matches!(logs.put(&ann, &without, now()).await.unwrap().0, LogWriteOutcome::Changed(_)));
    assert_eq!(logs.get(&ann, TODAY).await.unwrap().unwrap().note, None);
    let item = db.client.get_item().table_name(Database::OKUSURI);
    let item = item.key("PK", AttributeValue::S("USER#ann".into()));
    let item = item.key("SK", AttributeValue::S(format!("MEDICATION#{TODAY}"))).send().await.unwrap().item.unwrap();
    assert_eq!(item["MigratedVersion"], AttributeValue::N("7".into()));

    assert!(matches!(logs.delete(&ann, TODAY, now()).await.unwrap().0, LogWriteOutcome::Deleted(_)));
    assert!(matches!(logs.delete(&ann, TODAY, now()).await.unwrap().0, LogWriteOutcome::Nothing));
    assert_eq!(logs.status(&ann, TODAY).await.unwrap(), Status::default());
    assert!(matches!(logs.put(&ann, &entry(TODAY, true), now()).await.unwrap().0, LogWriteOutcome::New(_)));
    check(&logs, &ann).await;
}

#[tokio::test]
async fn flow_and_symptoms_stay_until_told_otherwise() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let put = async |entry: LogEntry| {
        let outcome = logs.put(&ann, &entry, now()).await.unwrap().0;
        let row = logs.get(&ann, TODAY).await.unwrap().unwrap();
        assert_eq!(outcome.row(), Some(&row));
        (matches!(outcome, LogWriteOutcome::Same(_)), row.flow, row.symptoms.join(" "))
    };
    let told = LogEntry {
        flow: Some(Some(Flow::Heavy)),
        symptoms: Some([Symptom::Mood, Symptom::Cramps].into()),
        ..entry(TODAY, true)
    };
    let heavy = Some("heavy".to_owned());
    assert_eq!(put(told.clone()).await, (false, heavy.clone(), "cramps mood".to_owned()));
    assert_eq!(put(told.clone()).await, (true, heavy.clone(), "cramps mood".to_owned()));
    assert_eq!(put(entry(TODAY, true)).await, (true, heavy.clone(), "cramps mood".to_owned()));
    // Flow goes with the bleeding, and symptoms stay.
    assert_eq!(put(entry(TODAY, false)).await, (false, None, "cramps mood".to_owned()));
    assert_eq!(put(told.clone()).await.1, heavy);
    let nothing = LogEntry { flow: Some(None), symptoms: Some([].into()), ..entry(TODAY, true) };
    assert_eq!(put(nothing).await, (false, None, String::new()));
    let key = [("PK", "USER#ann".to_owned()), ("SK", format!("MEDICATION#{TODAY}"))];
    let key = key.map(|(name, text)| (name.to_owned(), AttributeValue::S(text)));
    let item = db.client.get_item().table_name(Database::OKUSURI).set_key(Some(key.into())).send().await.unwrap();
    let item = item.item.unwrap();
    assert!(!item.contains_key("Flow") && !item.contains_key("Symptoms"), "{item:?}");
    check(&logs, &ann).await;
}

#[tokio::test]
async fn bleeding_without_medication_counts_as_an_unlogged_day() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let range = DateRange::new(ago(6), TODAY).unwrap();
    let shown = async || {
        let calendar = logs.calendar(&ann, range, TODAY).await.unwrap();
        let states: Vec<_> = calendar.days.iter().map(|day| day.state.as_str()).collect();
        let noted: Vec<_> = calendar.logs.iter().map(|log| (log.date, log.has_bleeding, log.is_taken)).collect();
        (states.join(" "), noted)
    };
    // The first log of a user, and logs after the newest day that counts.
    let (written, summary) = logs.put(&ann, &untaken(ago(2), true), now()).await.unwrap();
    assert!(matches!(written, LogWriteOutcome::New(_)) && summary.is_none());
    assert_eq!(shown().await, ("none none none none none none none".to_owned(), vec![(ago(2), true, false)]));
    for days in [5, 4, 3] {
        logs.put(&ann, &entry(ago(days), days < 5), now()).await.unwrap();
    }
    logs.put(&ann, &untaken(TODAY, true), now()).await.unwrap();
    check(&logs, &ann).await;
    let noted = vec![
        (ago(5), false, true),
        (ago(4), true, true),
        (ago(3), true, true),
        (ago(2), true, false),
        (TODAY, true, false),
    ];
    assert_eq!(shown().await, ("none taken bleeding bleeding missed missed none".to_owned(), noted));
    let status = logs.status(&ann, TODAY).await.unwrap();
    assert_eq!((status.streak, status.best_streak, status.logged_today), (0, 3, false));
    // Changed to taken: the third bleeding day begins the rest. The note stays.
    let (LogWriteOutcome::Changed(row), _) = logs.put(&ann, &entry(ago(2), true), now()).await.unwrap() else {
        panic!()
    };
    assert_eq!(row.note.as_deref(), Some("頭痛"));
    assert!(logs.status(&ann, TODAY).await.unwrap().is_resting);
    // Changed back to not taken: the rest ends.
    logs.put(&ann, &untaken(ago(2), true), now()).await.unwrap();
    assert!(!logs.status(&ann, TODAY).await.unwrap().is_resting);
    assert!(matches!(logs.delete(&ann, ago(2), now()).await.unwrap().0, LogWriteOutcome::Deleted(_)));
    check(&logs, &ann).await;
}

#[tokio::test]
async fn no_log_is_stored_for_deleting_or_unknown_users() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    logs.put(&ann, &entry(TODAY, false), now()).await.unwrap();
    let deleting = db.client.update_item().table_name(Database::OKUSURI);
    let deleting = deleting.key("PK", AttributeValue::S("USER#ann".into()));
    let deleting = deleting.key("SK", AttributeValue::S("PROFILE".into())).update_expression("SET Deleting = :now");
    deleting.expression_attribute_values(":now", AttributeValue::S(now().to_string())).send().await.unwrap();
    let nobody = UserId::new("nobody").unwrap();
    for user in [&ann, &nobody] {
        let refused = logs.put(user, &entry(ago(1), false), now()).await;
        assert!(matches!(refused, Err(WriteError::NoUser)), "{refused:?}");
        let refused = logs.put_all(user, &[entry(ago(1), false)], now()).await;
        assert!(matches!(refused, Err(WriteError::NoUser)), "{refused:?}");
    }
    assert_eq!(stored(&logs, &ann).await.len(), 1);
}

#[tokio::test]
async fn logs_of_other_writers_count_after_the_summary_is_deleted() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let put = async |days: i64| {
        let row = MedicationLog::new(&ann, Log { date: ago(days), has_bleeding: false }, days.to_string(), now());
        tests::okusuri::put(&db.client, &row).await.unwrap();
    };
    // Without a summary, as after the migration.
    put(3).await;
    assert_eq!(logs.status(&ann, ago(3)).await.unwrap().streak, 1);
    logs.forget_summary(&ann).await.unwrap();
    logs.put(&ann, &entry(ago(2), false), now()).await.unwrap();
    check(&logs, &ann).await;
    put(4).await;
    logs.forget_summary(&ann).await.unwrap();
    assert_eq!(logs.status(&ann, ago(2)).await.unwrap().streak, 3);
    logs.put(&ann, &entry(ago(1), false), now()).await.unwrap();
    assert_eq!(logs.status(&ann, TODAY).await.unwrap().streak, 4);
    check(&logs, &ann).await;
}

#[tokio::test]
async fn log_pages_of_any_size_hold_each_log_once() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let bob = user(&db.client, "bob", "Asia/Tokyo").await.unwrap();
    let days: Vec<_> = (0..25).map(|days| entry(ago(days * 2), days % 3 == 0)).collect();
    logs.put_all(&ann, &days, now()).await.unwrap();
    logs.put(&bob, &entry(TODAY, true), now()).await.unwrap();
    let range = LogRange { from: Some(ago(41)), to: Some(ago(4)) };
    let expected: Vec<_> = (2..=20).map(|days| ago(days * 2)).collect();
    for limit in [1, 2, 7, 19, 20] {
        for direction in [Direction::Desc, Direction::Asc] {
            let (mut read, mut after) = (Vec::new(), None);
            loop {
                let page = logs.page(&ann, range, direction, limit, after).await.unwrap();
                read.extend(page.items.into_iter().map(|row| row.date));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            if direction == Direction::Asc {
                read.reverse();
            }
            assert_eq!(read, expected, "{limit} {direction:?}");
        }
    }
}

#[tokio::test]
async fn a_rest_continues_into_the_next_month() {
    let db = Database::start().await.unwrap();
    let logs = logs(&db);
    let ann = user(&db.client, "ann", "Asia/Tokyo").await.unwrap();
    let days = [(26, false), (27, false), (28, true), (29, true), (30, true)];
    let days: Vec<_> = days.iter().map(|(day, has_bleeding)| entry(date(2026, 9, *day), *has_bleeding)).collect();
    logs.put_all(&ann, &days, now()).await.unwrap();
    let october = DateRange::new(date(2026, 10, 1), date(2026, 10, 31)).unwrap();
    let calendar = logs.calendar(&ann, october, date(2026, 10, 6)).await.unwrap();
    let states: Vec<_> = calendar.days.iter().map(|day| day.state).take(8).collect();
    let mut expected = vec![DayState::Rest; 4];
    expected.extend([DayState::Missed, DayState::None, DayState::Future, DayState::Future]);
    assert_eq!(states, expected);
    assert_eq!((calendar.days.len(), calendar.logs.len()), (31, 0));
    let september = DateRange::new(date(2026, 9, 1), date(2026, 9, 30)).unwrap();
    let calendar = logs.calendar(&ann, september, date(2026, 10, 6)).await.unwrap();
    assert_eq!(calendar.days[24].state, DayState::None, "before the first log");
    assert_eq!(calendar.logs.len(), 5);
}
