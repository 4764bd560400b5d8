//! The shop's access patterns against a real engine: products, prices, and every way of comparing a
//! sort key.

use domain::ShortText;
use domain::shop::{Amount, Currency, IdempotencyKey, Money, Product, ProductForm, ProductId, ProductRefusal, RowId};
use domain::{Moment, TimeRange};
use jiff::civil::date;
use shop_store::{
    ChangeError, ChangeOutcome, IsNew, LedgerQuery, PriceEntry, PriceOutcome, PriceRefusal, PriceRequest, Prices,
    Products, PutProduct, Reused,
};
use store_base::Direction::{self, Asc, Desc};
use tests::Database;
use uuid::Uuid;

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

fn text(text: &str) -> ShortText {
    ShortText::new(text).unwrap()
}

fn id(text: &str) -> ProductId {
    ProductId::new(text).unwrap()
}

fn euro(cents: u64) -> Money {
    Money { amount: Amount::new(cents).unwrap(), currency: Currency::new("EUR").unwrap() }
}

fn form(name: &str) -> ProductForm {
    ProductForm { name: text(name), price: Some(euro(1_000)), stock: None, low_stock_threshold: None, archived: None }
}

fn put(product: &str, form: ProductForm, now: &str) -> PutProduct {
    PutProduct { id: id(product), form, changed_by: Some(text("ann")), now: moment(now), row_id: Uuid::from_u128(1) }
}

fn request(key: &str, cents: u64, now: &str) -> PriceRequest {
    PriceRequest {
        product_id: id("p-1"),
        key: IdempotencyKey::new(key).unwrap(),
        price: euro(cents),
        reason: Some(text("sale")),
        changed_by: Some(text("ann")),
        now: moment(now),
        row_id: Uuid::from_u128(u128::from(cents)),
    }
}

/// A shop with the product `p-1`, made at the beginning of 2024.
async fn shop(db: &Database) -> (Products, Prices) {
    let products = Products::new(&db.table(Database::SHOP));
    let prices = Prices::new(&db.table(Database::SHOP));
    let (_, is_new) = products.put(&put("p-1", form("Cup"), "2024-01-01T00:00:00Z")).await.unwrap();
    assert_eq!(is_new, IsNew(true));
    (products, prices)
}

fn entry(changed: ChangeOutcome<PriceOutcome>) -> PriceEntry {
    match changed {
        ChangeOutcome::Applied(PriceOutcome::Entry(entry))
        | ChangeOutcome::AlreadyApplied(PriceOutcome::Entry(entry)) => entry,
        other => panic!("{other:?}"),
    }
}

async fn current(products: &Products) -> Product {
    products.get(&id("p-1")).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_product_is_created_once_and_then_renamed() {
    let db = Database::start().await.unwrap();
    let (products, _) = shop(&db).await;
    let same = put("p-1", form("Cup"), "2024-01-02T00:00:00Z");
    let (product, is_new) = products.put(&same).await.unwrap();
    assert_eq!((product.version, is_new), (1, IsNew(false)));
    let (product, _) = products.put(&put("p-1", form("Mug"), "2024-01-02T00:00:00Z")).await.unwrap();
    assert_eq!((product.version, product.name.as_str()), (2, "Mug"));
    assert_eq!(current(&products).await, product);
    let dearer = ProductForm { price: Some(euro(2_000)), ..form("Mug") };
    let refused = products.put(&put("p-1", dearer, "2024-01-02T00:00:00Z")).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Refused(ProductRefusal::OtherPrice)), "{refused:?}");
    assert_eq!(products.get(&id("p-2")).await.unwrap(), None);
}

#[tokio::test]
async fn products_are_listed_by_their_names_of_now_in_pages() {
    let db = Database::start().await.unwrap();
    let (products, _) = shop(&db).await;
    for product in ["p-3", "p-2"] {
        products.put(&put(product, form("Plate"), "2024-01-02T00:00:00Z")).await.unwrap();
    }
    products.put(&put("p-2", form("Bowl"), "2024-01-02T00:00:00Z")).await.unwrap();
    let first = products.list(false, 2, None).await.unwrap();
    let names: Vec<_> = first.items.iter().map(|item| (item.id.as_str(), item.name.as_str())).collect();
    assert_eq!(names, [("p-1", "Cup"), ("p-2", "Bowl")]);
    let second = products.list(false, 2, first.next.as_ref()).await.unwrap();
    assert_eq!((second.items.len(), second.next), (1, None));
    assert_eq!(products.list(false, 3, None).await.unwrap().next, None);
}

#[tokio::test]
async fn price_request_takes_effect_once_per_key() {
    let db = Database::start().await.unwrap();
    let (products, prices) = shop(&db).await;
    let first = prices.change(&request("a", 900, "2024-01-02T00:00:00Z")).await.unwrap();
    let ChangeOutcome::Applied(PriceOutcome::Entry(first)) = first else { panic!("{first:?}") };
    assert_eq!((first.change.previous, first.change.price), (Some(euro(1_000).amount), euro(900)));
    // Somebody else in between does not matter: it is the first outcome that is told again.
    prices.change(&request("b", 800, "2024-01-03T00:00:00Z")).await.unwrap();
    let again = prices.change(&request("a", 900, "2024-01-04T00:00:00Z")).await.unwrap();
    assert_eq!(again, ChangeOutcome::AlreadyApplied(PriceOutcome::Entry(first)));
    let product = current(&products).await;
    assert_eq!((product.version, product.price.amount), (3, euro(800).amount));

    let other = prices.change(&request("a", 901, "2024-01-04T00:00:00Z")).await.unwrap_err();
    assert!(matches!(other, ChangeError::Reused(Reused::Key)), "{other:?}");
    let reason = PriceRequest { reason: None, ..request("a", 900, "2024-01-04T00:00:00Z") };
    let other = prices.change(&reason).await.unwrap_err();
    assert!(matches!(other, ChangeError::Reused(Reused::Key)), "{other:?}");
    assert_eq!(current(&products).await, product);
}

#[tokio::test]
async fn a_refused_or_unchanged_price_changes_nothing_then_or_later() {
    let db = Database::start().await.unwrap();
    let (products, prices) = shop(&db).await;
    let same = prices.change(&request("a", 1_000, "2024-01-02T00:00:00Z")).await.unwrap();
    assert!(matches!(same, ChangeOutcome::AlreadyApplied(PriceOutcome::Same)), "{same:?}");
    let yen = Money { currency: Currency::new("JPY").unwrap(), ..euro(5) };
    let yen = PriceRequest { price: yen, ..request("b", 5, "2024-01-02T00:00:00Z") };
    let refused = prices.change(&yen).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Refused(PriceRefusal::Currency(_))), "{refused:?}");
    let unknown = PriceRequest { product_id: id("p-9"), ..request("c", 5, "2024-01-02T00:00:00Z") };
    let refused = prices.change(&unknown).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Refused(PriceRefusal::NotFound)), "{refused:?}");
    assert_eq!(current(&products).await.version, 1);
    // What each key was told stays true when the price is another, and the product is there.
    entry(prices.change(&request("d", 900, "2024-01-02T00:00:00Z")).await.unwrap());
    products.put(&put("p-9", form("Pot"), "2024-01-02T00:00:00Z")).await.unwrap();
    let same = prices.change(&request("a", 1_000, "2024-01-03T00:00:00Z")).await.unwrap();
    assert!(matches!(same, ChangeOutcome::AlreadyApplied(PriceOutcome::Same)), "{same:?}");
    let refused = prices.change(&unknown).await.unwrap_err();
    assert!(matches!(refused, ChangeError::RefusedBefore(PriceRefusal::NotFound)), "{refused:?}");
    assert_eq!(current(&products).await.price.amount, euro(900).amount);
}

#[tokio::test]
async fn prices_chain_when_many_change_them_at_once() {
    const WRITERS: u64 = 24;
    let db = Database::start().await.unwrap();
    let (products, prices) = shop(&db).await;
    let changes = (0..WRITERS).map(|n| {
        let prices = prices.clone();
        async move {
            // All with the same clock: time alone would not order them.
            let request = request(&format!("key-{n}"), 100 + n, "2024-01-02T00:00:00Z");
            for _ in 0..50 {
                match prices.change(&request).await {
                    Ok(changed) => return entry(changed),
                    Err(ChangeError::Conflict) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
            panic!("the conflicts do not end");
        }
    });
    let mut entries = futures::future::join_all(changes).await;
    entries.sort_by_key(|entry| entry.change.row);
    let listed = prices.page(&id("p-1"), LedgerQuery::Range(TimeRange::default()), Asc, 100, None).await.unwrap().items;
    assert_eq!(listed[1..], entries);
    for pair in listed.windows(2) {
        assert_eq!(pair[1].change.previous, Some(pair[0].change.price.amount));
    }
    let product = current(&products).await;
    assert_eq!(product.version, 1 + WRITERS);
    assert_eq!(product.price.since, listed.last().unwrap().change.row.at);
    assert_eq!(product.lowest.amount, euro(100).amount);
}

/// Moments around which ranges begin and end: nanoseconds apart, and across midnight, a month and a
/// year.
const TIMES: [&str; 12] = [
    "2024-01-31T23:59:59.999999999Z",
    "2024-02-01T00:00:00.000000000Z",
    "2024-02-01T00:00:00.000000001Z",
    "2024-02-28T12:00:00.123000000Z",
    "2024-02-28T12:00:00.123000001Z",
    "2024-02-29T00:00:00.000000000Z",
    "2024-02-29T23:59:59.999999999Z",
    "2024-03-01T00:00:00.000000000Z",
    "2024-12-31T23:59:59.000000000Z",
    "2024-12-31T23:59:59.999999999Z",
    "2025-01-01T00:00:00.000000000Z",
    "2025-01-01T00:00:00.000000001Z",
];

/// A history of a price at each of [`TIMES`], after the first one, in a partition that has other
/// rows as well.
async fn history(db: &Database) -> (Prices, Vec<PriceEntry>) {
    let (_, prices) = shop(db).await;
    for (n, time) in (0..).zip(TIMES) {
        entry(prices.change(&request(&format!("key-{n}"), 100 + n, time)).await.unwrap());
    }
    // Rows of other kinds, before and behind: a reservation, and a movement of stock of every
    // moment.
    for sort in ["INVLOG#2024-02-29T00:00:00Z#000000000#x", "ORDER#OUT#7", "RESERVATION#7"] {
        let item = [("PK", "PRODUCT#p-1"), ("SK", sort)]
            .map(|(name, value)| (name.to_owned(), aws_sdk_dynamodb::types::AttributeValue::S(value.to_owned())));
        db.client.put_item().table_name(Database::SHOP).set_item(Some(item.into())).send().await.unwrap();
    }
    let all = prices.page(&id("p-1"), LedgerQuery::Range(TimeRange::default()), Asc, 100, None).await.unwrap();
    assert_eq!((all.items.len(), all.next), (1 + TIMES.len(), None));
    (prices, all.items)
}

/// The rows of a slice in both directions and in pages of several sizes are those that `expected`
/// picks.
async fn check(prices: &Prices, all: &[PriceEntry], slice: LedgerQuery, expected: impl Fn(&RowId) -> bool) {
    for direction in [Asc, Desc] {
        let mut wanted: Vec<_> = all.iter().filter(|entry| expected(&entry.change.row)).cloned().collect();
        if direction == Desc {
            wanted.reverse();
        }
        for limit in [3, 100] {
            assert_eq!(pages(prices, slice, direction, limit).await, wanted, "{slice:?} {direction:?} {limit}");
        }
    }
}

async fn pages(prices: &Prices, slice: LedgerQuery, direction: Direction, limit: u16) -> Vec<PriceEntry> {
    let (mut entries, mut position) = (Vec::new(), None);
    for _ in 0..=TIMES.len() + 1 {
        let page = prices.page(&id("p-1"), slice, direction, limit, position.as_ref()).await.unwrap();
        assert!(page.items.len() == usize::from(limit) || page.next.is_none(), "only the last page may be short");
        assert!(!page.items.is_empty() || position.is_none(), "no page is empty but the first");
        entries.extend(page.items);
        position = page.next;
        if position.is_none() {
            return entries;
        }
    }
    panic!("the pages do not end");
}

#[tokio::test]
async fn price_range_ends_are_exact_to_the_nanosecond() {
    let db = Database::start().await.unwrap();
    let (prices, all) = history(&db).await;
    check(&prices, &all, LedgerQuery::Range(TimeRange::default()), |_| true).await;
    for time in TIMES.map(moment) {
        check(&prices, &all, LedgerQuery::At(time), |row| row.at == time).await;
        check(&prices, &all, LedgerQuery::UpTo(time), |row| row.at <= time).await;
        let before = TimeRange::new(None, Some(time)).unwrap();
        check(&prices, &all, LedgerQuery::Range(before), |row| row.at < time).await;
        let from = TimeRange::new(Some(time), None).unwrap();
        check(&prices, &all, LedgerQuery::Range(from), |row| row.at >= time).await;
    }
    for entry in &all {
        let id = entry.change.row;
        check(&prices, &all, LedgerQuery::Row(id), |row| *row == id).await;
        check(&prices, &all, LedgerQuery::After(id), |row| *row > id).await;
    }
    for day in [date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 28), date(2024, 2, 29), date(2024, 12, 31)] {
        check(&prices, &all, LedgerQuery::Day(day), |row| row.at.date() == day).await;
    }
    check(&prices, &all, LedgerQuery::Day(date(2024, 2, 2)), |_| false).await;
}

#[tokio::test]
async fn a_range_has_its_first_nanosecond_and_not_its_last() {
    let db = Database::start().await.unwrap();
    let (prices, all) = history(&db).await;
    for (index, from) in TIMES.iter().enumerate() {
        for to in &TIMES[index + 1..] {
            let range = TimeRange::new(Some(moment(from)), Some(moment(to))).unwrap();
            let listed = pages(&prices, LedgerQuery::Range(range), Desc, 4).await;
            let wanted: Vec<_> =
                all.iter().rev().filter(|entry| range.contains(entry.change.row.at)).cloned().collect();
            assert_eq!(listed, wanted, "{from} {to}");
        }
    }
}

#[tokio::test]
async fn lowest_price_of_thirty_days_includes_the_initial_price() {
    let db = Database::start().await.unwrap();
    let (products, prices) = shop(&db).await;
    for (n, (time, cents)) in
        [("2024-01-10T00:00:00Z", 500), ("2024-01-20T00:00:00Z", 700), ("2024-02-15T00:00:00Z", 650)]
            .into_iter()
            .enumerate()
    {
        prices.change(&request(&format!("key-{n}"), cents, time)).await.unwrap();
    }
    let summary = async |at: Option<&str>, now| {
        prices.summary(current(&products).await, at.map(moment), moment(now)).await.unwrap()
    };
    // The window begins on 19 January, a day before 500 was given up; a day later it does not count
    // any more.
    let with = summary(None, "2024-02-18T23:59:59.999999999Z").await;
    assert_eq!(with.lowest.amount, euro(500).amount);
    let without = summary(None, "2024-02-19T00:00:00Z").await;
    assert_eq!((without.lowest.amount, without.lowest.since), (euro(650).amount, moment("2024-02-15T00:00:00Z")));
    // The 30 days before the present price began on 16 January, at 500, whatever the day is now.
    for summary in [&with, &without, &summary(None, "2026-01-01T00:00:00Z").await] {
        assert_eq!(summary.prior_lowest.unwrap().amount, euro(500).amount);
        assert_eq!(
            (summary.product.lowest.amount, summary.product.highest.amount),
            (euro(500).amount, euro(1_000).amount)
        );
    }
    for (at, cents) in [
        ("2023-12-31T23:59:59.999999999Z", None),
        ("2024-01-01T00:00:00Z", Some(1_000)),
        ("2024-01-09T23:59:59.999999999Z", Some(1_000)),
        ("2024-01-10T00:00:00Z", Some(500)),
        ("2024-02-15T00:00:00Z", Some(650)),
        ("2024-02-18T00:00:00Z", Some(650)),
    ] {
        let price = summary(Some(at), "2024-02-19T00:00:00Z").await.at;
        assert_eq!(price.map(|price| price.amount.get()), cents, "{at}");
    }
}

#[tokio::test]
async fn archived_product_changes_lists_and_keeps_its_price() {
    let db = Database::start().await.unwrap();
    let (products, prices) = shop(&db).await;
    let lists = async || {
        let ids = async |are_archived| {
            let page = products.list(are_archived, 9, None).await.unwrap();
            page.items.into_iter().map(|item| item.name).collect::<Vec<_>>()
        };
        (ids(false).await, ids(true).await)
    };
    let told = |name: &str, archived| put("p-1", ProductForm { archived, ..form(name) }, "2024-01-02T00:00:00Z");
    for _ in 0..2 {
        let (product, _) = products.put(&told("Cup", Some(true))).await.unwrap();
        assert_eq!((product.version, product.archived_at), (2, Some(moment("2024-01-02T00:00:00Z"))));
        assert_eq!(lists().await, (vec![], vec!["Cup".to_owned()]));
    }
    // Another name does not bring it back into the list.
    let (renamed, _) = products.put(&told("Mug", None)).await.unwrap();
    assert_eq!((renamed.archived_at.is_some(), lists().await), (true, (vec![], vec!["Mug".to_owned()])));
    let refused = prices.change(&request("a", 900, "2024-01-03T00:00:00Z")).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Refused(PriceRefusal::Archived)), "{refused:?}");

    for _ in 0..2 {
        let (product, _) = products.put(&told("Mug", Some(false))).await.unwrap();
        assert_eq!((product.version, product.archived_at), (4, None));
        assert_eq!(current(&products).await, product);
        assert_eq!(lists().await, (vec!["Mug".to_owned()], vec![]));
    }
    // What a key was told stays true; another one finds the product on sale.
    let refused = prices.change(&request("a", 900, "2024-01-03T00:00:00Z")).await.unwrap_err();
    assert!(matches!(refused, ChangeError::RefusedBefore(PriceRefusal::Archived)), "{refused:?}");
    prices.change(&request("b", 900, "2024-01-03T00:00:00Z")).await.unwrap();
}
