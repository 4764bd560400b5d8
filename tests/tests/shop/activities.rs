//! The access patterns of activities against a real engine.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::shop::{Action, Activity, ActivityRange, ProductId};
use domain::{Attributes, Moment, TimeRange, UserId};
use shop_store::{Activities, ActivityPosition, ActivitySuffixes, RecordOutcome};
use store_base::Direction;
use tests::Database;
use tidemark_engine::{Chance, EngineFaults};

const DIRECTIONS: [Direction; 2] = [Direction::Asc, Direction::Desc];

fn moment(text: &str) -> Moment {
    Moment::parse_or_day(text).unwrap()
}

fn range(from: Option<&str>, to: Option<&str>) -> TimeRange {
    TimeRange::new(from.map(moment), to.map(moment)).unwrap()
}

fn activities(db: &Database, suffixes: u8) -> Activities {
    Activities::new(&db.table(Database::SHOP), ActivitySuffixes::new(suffixes).unwrap())
}

/// The `n`th activity, at a moment.
fn activity(n: u32, user: &str, product: Option<&str>, at: &str) -> Activity {
    Activity {
        user_id: UserId::new(user).unwrap(),
        action: Action::new(if n.is_multiple_of(3) { "buy" } else { "view" }).unwrap(),
        product_id: product.map(|product| ProductId::new(product).unwrap()),
        attributes: Attributes::default(),
        at: moment(at),
        id: format!("0199a478-bc40-7abc-8def-{n:012x}").parse().unwrap(),
    }
}

#[tokio::test]
async fn both_rows_of_an_activity_expire_after_the_retention() {
    let db = Database::start().await.unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let activity = activity(1, "ann", Some("p-1"), "2026-11-20");
    let kept = activities(&db, 1).expiring_after(Some(day));
    assert_eq!(kept.record(&activity).await.unwrap(), RecordOutcome::New);
    let rows = db.client.scan().table_name(Database::SHOP).send().await.unwrap().items.unwrap();
    let ttl = moment("2026-11-21").timestamp().as_second().to_string();
    assert!(rows.len() == 2 && rows.iter().all(|row| row["ttl"] == AttributeValue::N(ttl.clone())), "{rows:?}");
    // Another retention, as after a change of the parameter, keeps it the same activity.
    assert_eq!(activities(&db, 1).record(&activity).await.unwrap(), RecordOutcome::Known);
    let keeps = |at| kept.keeps(&activity, moment(at).timestamp());
    assert_eq!([keeps("2026-11-20"), keeps("2026-11-21"), keeps("2027-01-01")], [true, false, false]);
    assert!(activities(&db, 1).keeps(&activity, moment("2099-01-01").timestamp()));
}

/// What a list should be: the activities in the order of time, and of ids where times are the same.
fn sorted(mut activities: Vec<Activity>, direction: Direction) -> Vec<Activity> {
    activities.sort_by_key(|activity| (activity.at, activity.id));
    if direction == Direction::Desc {
        activities.reverse();
    }
    activities
}

/// All pages of so many.
async fn pages(
    limit: u16,
    mut page: impl AsyncFnMut(u16, Option<ActivityPosition>) -> store_base::Page<Activity, ActivityPosition>,
) -> Vec<Activity> {
    let (mut all, mut after) = (Vec::new(), None);
    for _ in 0..1_000 {
        let store_base::Page { items, next, .. } = page(limit, after).await;
        assert!(items.len() <= usize::from(limit));
        all.extend(items);
        after = next;
        if after.is_none() {
            return all;
        }
    }
    panic!("the pages do not end");
}

async fn of_product(store: &Activities, range: TimeRange, direction: Direction, limit: u16) -> Vec<Activity> {
    let (product, range) = (ProductId::new("p-1").unwrap(), ActivityRange::new(range).unwrap());
    pages(limit, async |limit, after| {
        store.of_product(&product, range, direction, limit, after.as_ref()).await.unwrap()
    })
    .await
}

async fn of_ann(
    store: &Activities,
    range: TimeRange,
    action: Option<&Action>,
    direction: Direction,
    limit: u16,
) -> Vec<Activity> {
    let ann = UserId::new("ann").unwrap();
    pages(limit, async |limit, after| {
        store.of_user(&ann, range, action, direction, limit, after.as_ref()).await.unwrap()
    })
    .await
}

async fn count(db: &Database) -> i32 {
    db.client.scan().table_name(Database::SHOP).send().await.unwrap().count()
}

#[tokio::test]
async fn an_activity_is_stored_once_however_often_it_is_told() {
    let db = Database::start().await.unwrap();
    let store = activities(&db, 10);
    let told = activity(1, "ann", Some("p-1"), "2025-10-02T10:30:00.000000001Z");
    assert_eq!(store.record(&told).await.unwrap(), RecordOutcome::New);
    assert_eq!(store.record(&told).await.unwrap(), RecordOutcome::Known);
    // However many suffixes there are by then.
    assert_eq!(activities(&db, 100).record(&told).await.unwrap(), RecordOutcome::Known);
    assert_eq!(count(&db).await, 2);

    let attributes = Attributes::new(BTreeMap::from([("page".to_owned(), "2".to_owned())])).unwrap();
    for other in [
        Activity { action: Action::new("buy").unwrap(), ..told.clone() },
        Activity { product_id: None, ..told.clone() },
        Activity { product_id: Some(ProductId::new("p-2").unwrap()), ..told.clone() },
        Activity { attributes, ..told.clone() },
        // Another user's would take the product's row.
        Activity { user_id: UserId::new("bob").unwrap(), ..told.clone() },
    ] {
        assert_eq!(store.record(&other).await.unwrap(), RecordOutcome::Reused, "{other:?}");
    }
    assert_eq!(count(&db).await, 2);
    assert_eq!(of_ann(&store, TimeRange::default(), None, Direction::Asc, 9).await, [told]);
}

#[tokio::test]
async fn half_written_activity_is_completed_when_sent_again() {
    let db = Database::start().await.unwrap();
    let told = activity(1, "ann", Some("p-1"), "2025-10-02T10:30:00Z");
    let day = range(Some("2025-10-02"), Some("2025-10-03"));
    let store = activities(&db, 10);
    assert_eq!(store.record(&told).await.unwrap(), RecordOutcome::New);
    // Death between the two rows: the product's is not there.
    let items = db.client.scan().table_name(Database::SHOP).send().await.unwrap().items.unwrap();
    let products = items.iter().find(|item| item["PK"].as_s().unwrap().starts_with("PRODUCT#")).unwrap();
    let delete = db.client.delete_item().table_name(Database::SHOP);
    delete.key("PK", products["PK"].clone()).key("SK", products["SK"].clone()).send().await.unwrap();
    assert_eq!(of_product(&store, day, Direction::Asc, 9).await, []);

    // Told again after the number of suffixes grew, it comes to lie where the first attempt meant
    // it to.
    assert_eq!(activities(&db, 37).record(&told).await.unwrap(), RecordOutcome::Known);
    assert_eq!(of_product(&store, day, Direction::Asc, 9).await, [told]);
    assert_eq!(count(&db).await, 2);
}

#[tokio::test]
async fn activity_with_a_lost_reply_can_be_sent_again() {
    let db = Database::start().await.unwrap();
    let store = activities(&db, 10);
    let always = BTreeMap::from([("PutItem".to_owned(), Chance { next: 3, probability: 0.0 })]);
    for (n, faults) in [
        EngineFaults { fail_before: always.clone(), ..EngineFaults::default() },
        EngineFaults { fail_after: always, ..EngineFaults::default() },
    ]
    .into_iter()
    .enumerate()
    {
        let told = activity(n as u32, "ann", Some("p-1"), "2025-10-02T10:30:00Z");
        db.engine().faults().set(faults);
        assert!(store.record(&told).await.unwrap_err().is_transient());
        db.engine().faults().set(EngineFaults::default());
        store.record(&told).await.unwrap();
        assert_eq!(store.record(&told).await.unwrap(), RecordOutcome::Known);
    }
    assert_eq!(count(&db).await, 4);
}

#[tokio::test]
async fn users_activities_match_a_vector_in_any_page_size() {
    let db = Database::start().await.unwrap();
    let store = activities(&db, 10);
    let times = [
        "2023-12-31T23:59:59.999999999Z",
        "2024-01-01",
        "2024-01-01T00:00:00.000000001Z",
        "2024-01-31T23:59:59.999999999Z",
        "2024-02-01",
        "2024-02-29T12:00:00.5Z",
        "2024-02-29T12:00:00.5Z",
        "2024-02-29T12:00:00.500000001Z",
        "2024-03-01",
    ];
    let mut all = Vec::new();
    for (n, at) in (0..).zip(times) {
        let told = activity(n, "ann", None, at);
        store.record(&told).await.unwrap();
        store.record(&Activity { user_id: UserId::new("ann2").unwrap(), ..told.clone() }).await.unwrap();
        all.push(told);
    }
    let ranges = [
        (None, None),
        (Some("2024-01-01"), None),
        (Some("2024-01-01T00:00:00.000000001Z"), None),
        (None, Some("2024-01-01")),
        (None, Some("2024-01-01T00:00:00.000000001Z")),
        (Some("2024-01-01"), Some("2024-02-01")),
        (Some("2024-02-29T12:00:00.5Z"), Some("2024-02-29T12:00:00.500000001Z")),
        (Some("2025-01-01"), None),
    ];
    let buy = Action::new("buy").unwrap();
    for (range, direction) in
        ranges.map(|(from, to)| range(from, to)).into_iter().flat_map(|range| DIRECTIONS.map(|d| (range, d)))
    {
        let expected: Vec<_> =
            sorted(all.clone(), direction).into_iter().filter(|told| range.contains(told.at)).collect();
        let bought: Vec<_> = expected.iter().filter(|told| told.action == buy).cloned().collect();
        for limit in 1..=10 {
            assert_eq!(of_ann(&store, range, None, direction, limit).await, expected, "{range:?} {limit}");
            assert_eq!(of_ann(&store, range, Some(&buy), direction, limit).await, bought, "{range:?} {limit}");
        }
    }
}

#[tokio::test]
async fn action_filter_fills_a_page_within_twenty_queries() {
    const ROWS: u32 = 2_100;
    let db = Database::start().await.unwrap();
    let store = activities(&db, 10);
    for chunk in (0..ROWS).collect::<Vec<_>>().chunks(100) {
        let told: Vec<_> = chunk.iter().map(|n| (*n, format!("2024-01-01T00:00:00.{n:09}Z"))).collect();
        let told = told.iter().map(|(n, at)| {
            // One at either end, two thousand rows apart.
            let action = Action::new(if [0, ROWS - 1].contains(n) { "buy" } else { "view" }).unwrap();
            Activity { action, ..activity(*n, "ann", None, at) }
        });
        futures::future::join_all(told.map(async |told| store.record(&told).await.unwrap())).await;
    }
    let (ann, buy) = (UserId::new("ann").unwrap(), Action::new("buy").unwrap());
    for direction in DIRECTIONS {
        let page = store.of_user(&ann, TimeRange::default(), Some(&buy), direction, 2, None).await.unwrap();
        assert_eq!((page.items.len(), page.next), (2, None), "{direction:?}");
        let first = store.of_user(&ann, TimeRange::default(), Some(&buy), direction, 1, None).await.unwrap();
        assert_eq!(first.items.len(), 1);
        let second =
            store.of_user(&ann, TimeRange::default(), Some(&buy), direction, 1, first.next.as_ref()).await.unwrap();
        assert_eq!((second.items.len(), second.next), (1, None), "{direction:?}");
    }
}

#[tokio::test]
async fn products_activities_match_a_vector_across_midnight_and_suffixes() {
    const ROWS: u32 = 30;
    let db = Database::start().await.unwrap();
    let mut all = Vec::new();
    // Around two midnights and on a later day, the same moment several times.
    let seconds = [
        "2024-02-28T23:59:59",
        "2024-02-29T00:00:00",
        "2024-02-29T23:59:59",
        "2024-03-01T00:00:00",
        "2024-03-07T12:00:00",
    ];
    for n in 0..ROWS {
        let suffixes = [1, 2, 4][n as usize / 10];
        let at = format!("{}.{:09}Z", seconds[n as usize % 5], [0, 1, 999_999_999][n as usize % 3]);
        let told = activity(n, &format!("user-{}", n % 7), Some("p-1"), &at);
        assert_eq!(activities(&db, suffixes).record(&told).await.unwrap(), RecordOutcome::New);
        all.push(told);
    }
    // A neighbour that is none: another product, whose id begins alike.
    activities(&db, 4).record(&activity(1_000, "ann", Some("p-10"), "2024-02-29T00:00:00Z")).await.unwrap();

    let store = activities(&db, 4);
    let every_size: Vec<_> = (1..=ROWS as u16 + 1).collect();
    for (from, to, limits) in [
        ("2024-02-28", "2024-03-08", &*every_size),
        ("2024-02-29", "2024-03-01", &[1, 3, 100]),
        ("2024-02-28T23:59:59.999999999Z", "2024-02-29T00:00:00.000000001Z", &[1, 3, 100]),
        ("2024-02-15", "2024-03-17", &[7, 100]),
        ("2024-03-02", "2024-03-07", &[1]),
    ] {
        let range = range(Some(from), Some(to));
        for direction in DIRECTIONS {
            let expected = sorted(all.clone(), direction);
            let expected: Vec<_> = expected.into_iter().filter(|told| range.contains(told.at)).collect();
            for limit in limits {
                let listed = of_product(&store, range, direction, *limit).await;
                assert_eq!(listed, expected, "{from} to {to}, {direction:?}, pages of {limit}");
            }
        }
    }
    // A page of a reader with the smaller number continues with a reader that knows the larger one.
    let whole = range(Some("2024-02-28"), Some("2024-03-08"));
    let (product, whole) = (ProductId::new("p-1").unwrap(), ActivityRange::new(whole).unwrap());
    let first = store.of_product(&product, whole, Direction::Desc, 12, None).await.unwrap();
    let store = activities(&db, 100);
    let second = store.of_product(&product, whole, Direction::Desc, 100, first.next.as_ref()).await.unwrap();
    assert_eq!([first.items, second.items].concat(), sorted(all, Direction::Desc));
}

#[tokio::test]
async fn suffixes_that_are_lowered_lose_no_activity() {
    let db = Database::start().await.unwrap();
    let remembered = async |suffixes| {
        let suffixes = ActivitySuffixes::new(suffixes).unwrap();
        suffixes.remembered(&db.table(Database::SHOP)).await.unwrap()
    };
    let many = Activities::new(&db.table(Database::SHOP), remembered(10).await);
    for n in 0..30 {
        many.record(&activity(n, "ann", Some("p-1"), "2024-02-29T12:00:00Z")).await.unwrap();
    }
    for (suffixes, most) in [(2, 10), (10, 10), (12, 12), (1, 12)] {
        let suffixes = remembered(suffixes).await;
        assert_eq!(Some(suffixes), ActivitySuffixes::new(most));
        let store = Activities::new(&db.table(Database::SHOP), suffixes);
        let day = range(Some("2024-02-29"), Some("2024-03-01"));
        assert_eq!(of_product(&store, day, Direction::Asc, 100).await.len(), 30);
    }
}

#[tokio::test]
async fn unreadable_row_is_left_out_and_counted() {
    let db = Database::start().await.unwrap();
    let store = activities(&db, 1);
    let put = |partition: &str, sort: &str| {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let put = db.client.put_item().table_name(Database::SHOP).item("PK", text(partition)).item("SK", text(sort));
        let put = put.item("EntityType", text("ACTIVITY")).item("UserId", text("ann")).item("Action", text("a b"));
        put.item("CreatedAt", text("2024-01-01T00:00:00.000000000Z"))
    };
    let sort = "ACTIVITY#2024-01-01T00:00:00Z#000000000#0199a478-bc40-7abc-8def-000000000001";
    for partition in ["USER#ann", "PRODUCT#p-1#2024-01-01#0"] {
        put(partition, sort).send().await.unwrap();
    }
    let (ann, product) = (UserId::new("ann").unwrap(), ProductId::new("p-1").unwrap());
    let page = store.of_user(&ann, TimeRange::default(), None, Direction::Asc, 9, None).await.unwrap();
    assert_eq!((page.items, page.next, page.skipped), (Vec::new(), None, 1));
    let day = ActivityRange::new(range(Some("2024-01-01"), Some("2024-01-02"))).unwrap();
    let page = store.of_product(&product, day, Direction::Asc, 9, None).await.unwrap();
    assert_eq!((page.items, page.next, page.skipped), (Vec::new(), None, 1));
}
