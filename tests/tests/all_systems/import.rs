//! `tidemark import`, from its flags to what lies in the tables, with the files of `examples/`.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use domain::shop::ProductId;
use shop_store::{LedgerQuery, Prices, Products, Stock};
use store_base::Direction;
use tempfile::TempDir;
use tests::{Database, repository};
use tidemark_cli::{Command, CommandOutcome, run};
use tidemark_engine::{Chance, EngineFaults};

async fn import(db: &Database, kind: &str, file: &Path, flags: &[&str]) -> anyhow::Result<CommandOutcome> {
    let (endpoint, file) = (db.url(), file.to_str().unwrap());
    let arguments = [&["tidemark", "import", kind, file, "--endpoint", &endpoint], flags].concat();
    run(Command::try_parse_from(arguments)?).await
}

/// A file of a test's own, and where the bad lines of it go.
fn file(folder: &TempDir, text: &str) -> (PathBuf, PathBuf) {
    let path = folder.path().join("lines.csv");
    std::fs::write(&path, text).unwrap();
    (path.clone(), folder.path().join("lines.csv.rejects.csv"))
}

fn example(kind: &str) -> PathBuf {
    repository().join(format!("examples/{kind}.csv"))
}

fn product(id: &str) -> ProductId {
    ProductId::new(id).unwrap()
}

/// What lies in both tables, in some fixed order. FirstSeenRecords of requests come and go: those
/// of old lines are about to expire when they are written.
async fn everything(db: &Database) -> Vec<String> {
    let mut all = Vec::new();
    for table in [Database::SHOP, Database::JOURNAL] {
        let items = db.client.scan().table_name(table).into_paginator().items().send();
        let items: Result<Vec<_>, _> = items.collect().await;
        let items = items.unwrap().into_iter().filter(|item| !is_marker(item));
        all.extend(items.map(|item| {
            let mut item: Vec<_> = item.into_iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
            item.sort();
            item.join(" ")
        }));
    }
    all.sort();
    all
}

/// A map's own order is another each time.
fn text(value: AttributeValue) -> String {
    match value {
        AttributeValue::M(map) => format!("{:?}", BTreeMap::from_iter(map)),
        value => format!("{value:?}"),
    }
}

fn is_marker(item: &HashMap<String, AttributeValue>) -> bool {
    let sort = item["SK"].as_s().unwrap();
    sort.starts_with("REQUEST#") || sort.starts_with("ORDER#")
}

async fn import_examples(db: &Database) -> Vec<CommandOutcome> {
    let mut outcomes = Vec::new();
    for kind in ["products", "prices", "stock", "activities", "journal"] {
        outcomes.push(import(db, kind, &example(kind), &[]).await.unwrap());
    }
    outcomes
}

#[tokio::test]
async fn the_examples_are_loaded_and_loading_them_again_changes_nothing() {
    tests::away_from_midnight().await;
    let db = Database::start().await.unwrap();
    assert_eq!(import_examples(&db).await, [CommandOutcome::Success; 5]);
    let loaded = everything(&db).await;
    assert_eq!(import_examples(&db).await, [CommandOutcome::Success; 5]);
    assert_eq!(everything(&db).await, loaded);

    // Without any marker, the histories themselves show which rows are known.
    let items = db.client.scan().table_name(Database::SHOP).into_paginator().items().send();
    let items: Result<Vec<_>, _> = items.collect().await;
    for marker in items.unwrap().into_iter().filter(is_marker) {
        let delete = db.client.delete_item().table_name(Database::SHOP).key("PK", marker["PK"].clone());
        delete.key("SK", marker["SK"].clone()).send().await.unwrap();
    }
    assert_eq!(import_examples(&db).await, [CommandOutcome::Success; 5]);
    assert_eq!(everything(&db).await, loaded);
}

#[tokio::test]
async fn imported_lines_keep_their_times_and_the_ledger_chains() {
    let db = Database::start().await.unwrap();
    import_examples(&db).await;
    let lines = |kind: &str| csv_lines(&std::fs::read_to_string(example(kind)).unwrap());
    let (prices, stock) = (Prices::new(&db.table(Database::SHOP)), Stock::new(&db.table(Database::SHOP)));
    for id in ["p-umbrella", "p-lamp", "p-teapot"] {
        let id = product(id);
        let all = LedgerQuery::Range(domain::TimeRange::default());
        let rows = prices.page(&id, all, Direction::Asc, 1_000, None).await.unwrap().items;
        // The first is the product's own.
        let imported: Vec<_> = rows[1..]
            .iter()
            .map(|row| (row.change.price.amount.get().to_string(), second(row.change.row.at)))
            .collect();
        let expected: Vec<_> = lines("prices")
            .into_iter()
            .filter(|line| line[0] == id.as_str())
            .map(|line| (line[1].clone(), line[3].clone()))
            .collect();
        assert_eq!(imported, expected);

        let rows = stock.page(&id, all, Direction::Asc, 1_000, None).await.unwrap().items;
        let imported: Vec<_> = rows[1..].iter().map(|row| (row.change_type.to_string(), second(row.row.at))).collect();
        let expected: Vec<_> = lines("stock")
            .into_iter()
            .filter(|line| line[0] == id.as_str())
            .map(|line| (line[1].clone(), line[3].clone()))
            .collect();
        assert_eq!(imported, expected);
        let level = Products::new(&db.table(Database::SHOP)).get(&id).await.unwrap().unwrap().level;
        let mut before = 0;
        for row in &rows {
            assert_eq!(row.previous_stock, before);
            before = row.new_stock;
        }
        assert_eq!(level.stock(), before);
    }
}

fn csv_lines(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The times of the examples are whole seconds.
fn second(at: domain::Moment) -> String {
    at.to_string().replace(".000000000Z", "Z")
}

#[tokio::test]
async fn rejected_lines_keep_their_numbers_and_load_after_correction() {
    let db = Database::start().await.unwrap();
    import(&db, "products", &example("products"), &[]).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = "sku,price,currency,time\n\
        p-lamp,5100,EUR,2026-02-01T10:00:00Z\n\
        p-lamp,51.50,EUR,2026-02-02T10:00:00Z\n\
        \n\
        p-lamp,5200\n\
        p-lamp,5200,USD,2026-02-03T10:00:00Z\n\
        \"p-nobody\",\"100\",EUR,2026-02-03T10:00:00Z\n\
        p-lamp,5300,EUR,2026-02-03T10:00:00\n\
        p-lamp,5400,EUR,2026-01-20T10:00:00Z\n\
        p-lamp,4900,EUR,2026-01-20T10:00:00Z\n\
        p-lamp,5500,EUR,2026-02-04T10:00:00Z\n";
    let (path, rejects) = file(&folder, text);
    assert_eq!(import(&db, "prices", &path, &["--map", "sku=productId"]).await.unwrap(), CommandOutcome::Rejected);
    let kept = std::fs::read_to_string(&rejects).unwrap();
    assert_eq!(
        kept,
        "sku,price,currency,time,line,problem\n\
         p-lamp,51.50,EUR,2026-02-02T10:00:00Z,3,`price`: expected a whole number of minor units: 1999 for EUR 19.99\n\
         p-lamp,5200,,,5,\"it has 2 fields, but the header has 4\"\n\
         p-lamp,5200,USD,2026-02-03T10:00:00Z,6,\"the product is priced in EUR, and a product's currency does not change\"\n\
         p-nobody,100,EUR,2026-02-03T10:00:00Z,7,there is no product p-nobody\n\
         p-lamp,5300,EUR,2026-02-03T10:00:00,8,\"`time`: expected a time with its zone, as 2024-01-15T10:30:00Z or 2024-01-15T19:30:00.5+09:00\"\n\
         p-lamp,5400,EUR,2026-01-20T10:00:00Z,9,\"the product's history already reaches 2026-02-01T10:00:00.000000000Z, and no row is inserted before that\"\n"
    );
    let now = Products::new(&db.table(Database::SHOP)).get(&product("p-lamp")).await.unwrap().unwrap();
    assert_eq!(now.price.amount.get(), 5_500);

    // A corrected reject file can be imported as it is; its extra columns of the first run are
    // ignored.
    let mended = "sku,price,currency,time,line,problem\np-lamp,5600,EUR,2026-02-05T10:00:00Z,3,`price`: ...\n";
    std::fs::write(&rejects, mended).unwrap();
    assert_eq!(import(&db, "prices", &rejects, &["--map", "sku=productId"]).await.unwrap(), CommandOutcome::Success);
    let now = Products::new(&db.table(Database::SHOP)).get(&product("p-lamp")).await.unwrap().unwrap();
    assert_eq!(now.price.amount.get(), 5_600);
}

#[tokio::test]
async fn unknown_columns_are_refused_before_anything_is_loaded() {
    let db = Database::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (path, rejects) = file(&folder, "userId,action,time,colour\nann,view,-2d 08:00:00.000,blue\n");
    let error = import(&db, "activities", &path, &[]).await.unwrap_err().to_string();
    assert!(error.contains("`colour`") && error.contains("attributes.<name>"), "{error}");
    assert_eq!(everything(&db).await, Vec::<String>::new());
    assert_eq!(
        import(&db, "activities", &path, &["--map", "colour=attributes.colour"]).await.unwrap(),
        CommandOutcome::Success
    );
    // The activity, and over how many partitions a product's day is spread.
    assert_eq!(everything(&db).await.len(), 2);
    assert!(!rejects.exists());
    assert!(import(&db, "activities", &folder.path().join("nothing.csv"), &[]).await.is_err());
    assert!(import(&db, "clicks", &path, &[]).await.is_err());
}

#[tokio::test]
async fn activity_older_than_its_retention_is_rejected() {
    let db = Database::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (path, rejects) = file(&folder, "userId,action,time\nann,view,2001-01-01\n");
    assert_eq!(import(&db, "activities", &path, &[]).await.unwrap(), CommandOutcome::Rejected);
    assert!(std::fs::read_to_string(&rejects).unwrap().contains("older than the retention"));
    assert_eq!(
        import(&db, "activities", &path, &["--activity-retention-days", "0"]).await.unwrap(),
        CommandOutcome::Success
    );
}

#[tokio::test]
async fn a_dry_run_tells_what_is_bad_and_touches_nothing() {
    let db = Database::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let good = "productId,type,quantity,time\np-1,IN,5,2026-01-01\np-1,OUT,2,2026-01-02\n";
    let (path, rejects) = file(&folder, good);
    assert_eq!(import(&db, "stock", &path, &["--dry-run"]).await.unwrap(), CommandOutcome::Success);
    let (path, _) = file(&folder, &format!("{good}p-1,OUT,2,2026-01-01\n"));
    assert_eq!(import(&db, "stock", &path, &["--dry-run", "--json"]).await.unwrap(), CommandOutcome::Rejected);
    assert!(!rejects.exists());
    assert_eq!(everything(&db).await, Vec::<String>::new());
}

/// How many rows a ledger of the shop has.
async fn rows(db: &Database, prefix: &str) -> usize {
    everything(db).await.iter().filter(|item| item.contains(&format!("SK=S(\"{prefix}"))).count()
}

/// The write units that the shop's table has taken, as its meter tells.
fn written(db: &Database) -> f64 {
    db.engine().meter().used().get(&(Database::SHOP.to_owned(), None)).map_or(0.0, |usage| usage.write_units)
}

#[tokio::test]
async fn an_import_that_is_killed_goes_on_from_there() {
    let db = Database::start().await.unwrap();
    import(&db, "products", &example("products"), &[]).await.unwrap();
    for (kind, prefix) in [("prices", "PRICE#"), ("stock", "INVLOG#")] {
        let file = example(kind);
        let lines = csv_lines(&std::fs::read_to_string(&file).unwrap()).len();
        for _ in 0..2 {
            let before = rows(&db, prefix).await;
            // Looked up without a request, which the import could outrun: a line takes four units
            // or more.
            let enough = written(&db) + 100.0;
            let reached = async {
                while written(&db) < enough {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                outcome = import(&db, kind, &file, &["--parallel", "3"]) => panic!("it was not killed: {outcome:?}"),
                () = reached => {}
            }
            let now = rows(&db, prefix).await;
            assert!(before < now && now < 3 + lines, "{before} rows, then {now}");
        }
        assert_eq!(import(&db, kind, &file, &[]).await.unwrap(), CommandOutcome::Success);
        // Of each product's first row the product itself knows.
        assert_eq!(rows(&db, prefix).await, 3 + lines);
    }
}

#[tokio::test]
async fn lost_replies_neither_duplicate_nor_lose_an_imported_line() {
    let db = Database::start().await.unwrap();
    import(&db, "products", &example("products"), &[]).await.unwrap();
    for (kind, prefix) in [("prices", "PRICE#"), ("stock", "INVLOG#")] {
        let chance = || [("TransactWriteItems".to_owned(), Chance { next: 7, probability: 0.0 })].into();
        for faults in [
            EngineFaults { fail_before: chance(), ..EngineFaults::default() },
            EngineFaults { fail_after: chance(), ..EngineFaults::default() },
        ] {
            db.engine().faults().set(faults);
            assert_eq!(import(&db, kind, &example(kind), &[]).await.unwrap(), CommandOutcome::Success);
        }
        let lines = csv_lines(&std::fs::read_to_string(example(kind)).unwrap()).len();
        assert_eq!(rows(&db, prefix).await, 3 + lines);
    }
    // An error that no retry cures stops the import, which names the line.
    let error = import(&db, "prices", &example("prices"), &["--shop-table", "nowhere"]).await.unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("continue from there") && error.contains("line "), "{error}");
}

#[tokio::test]
async fn an_import_never_overtakes_what_the_shop_does_meanwhile() {
    let db = Database::start().await.unwrap();
    import(&db, "products", &example("products"), &[]).await.unwrap();
    // The shop is open: its newest price is of now.
    let now = domain::Moment::new(jiff::Timestamp::now()).unwrap();
    let prices = Prices::new(&db.table(Database::SHOP));
    let request = shop_store::PriceRequest {
        product_id: product("p-lamp"),
        key: domain::shop::IdempotencyKey::new("live").unwrap(),
        price: domain::shop::Money {
            amount: domain::shop::Amount::new(1).unwrap(),
            currency: domain::shop::Currency::new("EUR").unwrap(),
        },
        reason: None,
        changed_by: None,
        now,
        row_id: uuid::Uuid::now_v7(),
    };
    prices.change(&request).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = file(&folder, "productId,price,currency,time\np-lamp,7000,EUR,2026-02-01\n");
    assert_eq!(import(&db, "prices", &path, &[]).await.unwrap(), CommandOutcome::Rejected);
    let lamp = Products::new(&db.table(Database::SHOP)).get(&product("p-lamp")).await.unwrap().unwrap();
    assert_eq!(lamp.price.amount.get(), 1);
    let rows =
        db.client.query().table_name(Database::SHOP).key_condition_expression("PK = :pk AND begins_with(SK, :sk)");
    let rows = rows.expression_attribute_values(":pk", AttributeValue::S("PRODUCT#p-lamp".into()));
    let rows = rows.expression_attribute_values(":sk", AttributeValue::S("PRICE#".into())).send().await.unwrap();
    assert_eq!(rows.count(), 2);
}
