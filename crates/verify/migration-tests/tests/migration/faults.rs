//! Faults that stop a phase of `okusuri-migrate`; none of them loses data.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use migration_tests::migration::Item;
use tidemark_engine::{Chance, EngineFaults};
use tidemark_migrate::{FailureKind, PhaseOutcome};

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn sql(migration: &mut Migration, statement: &str) {
    migration.postgres.client().await.unwrap().batch_execute(statement).await.unwrap();
}

async fn kind(migration: &Migration, phase: &str, flags: &[&str]) -> FailureKind {
    migration.phase(phase, flags).await.unwrap_err().kind
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_schema_is_refused_unless_the_mapping_ignores_it() {
    let mut migration = Migration::new(2, 5).await.unwrap();
    sql(
        &mut migration,
        r#"ALTER TABLE "user" ADD COLUMN nickname text; ALTER TABLE session ADD COLUMN "activeOrganizationId" text"#,
    )
    .await;
    let mapping = migration.product.mapping.unwrap();
    let ignoring = mapping.replace("[tables.session]\n", "[tables.session]\nignore = [\"activeOrganizationId\"]\n");
    for mapping in [mapping.to_owned(), ignoring.clone()] {
        migration.product.mapping = Some(Box::leak(mapping.into_boxed_str()));
        let failure = migration.phase("export", &[]).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::ExtraColumn);
        assert!(failure.detail.contains("user.nickname"), "{failure}");
    }
    assert!(!migration.path("manifest.json").exists());
    let both = ignoring.replace("[tables.user]\n", "[tables.user]\nignore = [\"nickname\"]\n");
    migration.product.mapping = Some(Box::leak(both.into_boxed_str()));
    assert_eq!(migration.phase("export", &[]).await.unwrap(), PhaseOutcome::Done);
    let manifest = migration.json("manifest.json").unwrap();
    assert_eq!(manifest["tablesLeftBehind"], serde_json::json!(["schema_migrations"]));

    sql(&mut migration, r#"ALTER TABLE "user" DROP COLUMN nickname; ALTER TABLE medication_logs RENAME COLUMN has_bleeding TO bleeding"#).await;
    let failure = migration.phase("export", &[]).await.unwrap_err();
    assert_eq!(
        (failure.kind, failure.detail.contains("medication_logs.has_bleeding")),
        (FailureKind::MissingColumn, true)
    );
    sql(&mut migration, "ALTER TABLE medication_logs RENAME COLUMN bleeding TO has_bleeding; ALTER TABLE medication_logs ALTER has_bleeding TYPE text").await;
    assert_eq!(kind(&migration, "export", &[]).await, FailureKind::ColumnType);
    sql(&mut migration, "DROP TABLE verification").await;
    let failure = migration.phase("export", &[]).await.unwrap_err();
    assert_eq!((failure.kind, failure.detail.as_str()), (FailureKind::MissingTable, "there is no public.verification"));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_export_leaves_nothing_and_the_next_is_complete() {
    let mut migration = Migration::new(3, 400).await.unwrap();
    // Some rows are so slow that the export is certainly interrupted. It counts them without the
    // function, because that is STABLE.
    let slow = r#"ALTER TABLE medication_logs RENAME TO logs; CREATE FUNCTION slow(id bigint) RETURNS bigint LANGUAGE plpgsql STABLE AS
        $$ BEGIN IF id % 1000 = 0 THEN PERFORM pg_sleep(60); END IF; RETURN id; END $$;
        CREATE VIEW medication_logs AS SELECT slow(id) AS id, user_id, has_bleeding, created_at, updated_at, deleted_at FROM logs"#;
    sql(&mut migration, slow).await;
    let file = migration.path("export/medication_logs.jsonl");
    let export = migration.phase("export", &[]);
    let crash = async {
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        migration.postgres.crash().unwrap();
    };
    let failure = tokio::join!(export, crash).0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::SourceGone, "{failure}");
    assert_eq!(kind(&migration, "transform", &[]).await, FailureKind::RunIncomplete);
    assert_eq!(kind(&migration, "export", &[]).await, FailureKind::SourceUnreachable);
    migration.postgres.restart().await.unwrap();
    sql(&mut migration, "CREATE OR REPLACE FUNCTION slow(id bigint) RETURNS bigint LANGUAGE sql STABLE AS 'SELECT id'")
        .await;
    assert_eq!(migration.phase("export", &[]).await.unwrap(), PhaseOutcome::Done);
    migration.phase("transform", &[]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn load_into_existing_needs_a_flag_and_keeps_newer_items() {
    let migration = Migration::new(5, 40).await.unwrap();
    migration.loaded().await.unwrap();
    let loaded = migration.items().await.unwrap();
    let keys: Vec<_> = loaded.keys().filter(|(_, sort)| sort.starts_with("MEDICATION#")).take(3).collect();

    // The application changes a log, replaces one with its own, deletes one, and adds an item of
    // its own.
    let with = |item: &Item, more: &[(&str, AttributeValue)]| {
        let mut item = item.clone();
        item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        item
    };
    let of = |(partition, sort): &(String, String)| with(&Item::new(), &[("PK", s(partition)), ("SK", s(sort))]);
    let now = ("UpdatedAt", s("2026-11-22T10:00:00Z"));
    let changed = with(&loaded[keys[0]], &[("HasBleeding", AttributeValue::Bool(true)), now.clone()]);
    // An item is changed and another one is added, both with the migration's attributes.
    let spoilt = loaded.keys().next().unwrap();
    let made_up = of(&("made up".to_owned(), "made up".to_owned()));
    for item in [
        changed,
        with(&of(keys[1]), &[now]),
        of(&("USER#new".to_owned(), "PROFILE".to_owned())),
        with(&loaded[spoilt], &[("Spoilt", AttributeValue::Bool(true))]),
        with(&made_up, &[("MigratedVersion", AttributeValue::N("1".to_owned()))]),
    ] {
        migration.put_item(item).await.unwrap();
    }
    migration.delete_item(&keys[2].0, &keys[2].1).await.unwrap();

    assert_eq!(migration.phase("check", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-check.json").unwrap();
    let differences = &report["differences"];
    assert_eq!(
        (&differences["missing"], &differences["changed"], &differences["extra"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!((&report["newer"], &report["own"]), (&2.into(), &1.into()), "{report}");
    let told = migration.lines("differences.jsonl").unwrap();
    let missing = told.iter().find(|difference| difference["kind"] == "missing").unwrap();
    assert_eq!(missing["item"], format!("{} {}", keys[2].0, keys[2].1));
    let changed = told.iter().find(|difference| difference["kind"] == "changed").unwrap();
    assert_eq!(changed["item"], format!("{} {}", spoilt.0, spoilt.1));

    // The finished load is run again and changes nothing. Without its progress file, as in another
    // folder, it is refused.
    let before = migration.items().await.unwrap();
    assert_eq!(migration.phase("load", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap(), before);
    let (progress, moved) = (migration.path("load.json"), migration.path("moved.json"));
    std::fs::rename(&progress, &moved).unwrap();
    assert_eq!(kind(&migration, "load", &[]).await, FailureKind::TableNotEmpty);
    assert_eq!(migration.items().await.unwrap(), before);
    std::fs::rename(&moved, &progress).unwrap();
    assert_eq!(migration.phase("load", &["--again"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-load.json").unwrap();
    assert_eq!((&report["new"], &report["kept"]), (&1.into(), &2.into()), "{report}");
    let after = migration.items().await.unwrap();
    for n in [0, 1] {
        assert_eq!(after[keys[n]], before[keys[n]]);
    }
    assert_eq!((&after[keys[2]], &after[spoilt]), (&loaded[keys[2]], &loaded[spoilt]));
}

#[tokio::test(flavor = "multi_thread")]
async fn later_export_updates_items_and_earlier_one_does_not() {
    let mut migration = Migration::new(6, 30).await.unwrap();
    migration.loaded().await.unwrap();
    let earlier = migration.items().await.unwrap();
    let copy = migration.folder.path().join("earlier");
    std::fs::rename(migration.path(""), &copy).unwrap();
    sql(
        &mut migration,
        "UPDATE medication_logs SET has_bleeding = true, updated_at = now() WHERE id % 7 = 0 AND isfinite(created_at)",
    )
    .await;
    for (phase, flags) in
        [("export", &[][..]), ("transform", &[]), ("load", &["--into-existing"]), ("check", &["--strict"])]
    {
        migration.phase(phase, flags).await.unwrap();
    }
    let later = migration.items().await.unwrap();
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
    assert_ne!(earlier, later);

    std::fs::rename(migration.path(""), migration.folder.path().join("later")).unwrap();
    std::fs::rename(&copy, migration.path("")).unwrap();
    std::fs::remove_file(migration.path("load.json")).unwrap();
    assert_eq!(migration.phase("load", &["--into-existing"]).await.unwrap(), PhaseOutcome::Done);
    // The last load that finds an equal item claims it.
    let [mut found, mut expected] = [migration.items().await.unwrap(), later];
    for item in found.values_mut().chain(expected.values_mut()) {
        item.remove("MigratedBy");
    }
    assert!(found == expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_requests_and_answers_change_nothing() {
    let migration = Migration::new(8, 40).await.unwrap();
    migration.phase("export", &[]).await.unwrap();
    migration.phase("transform", &[]).await.unwrap();
    let chances = || {
        ["BatchExecuteStatement", "PutItem", "DeleteItem"]
            .map(|name| (name.to_owned(), Chance { next: 0, probability: 0.05 }))
            .into_iter()
            .collect()
    };
    let faults = EngineFaults { fail_before: chances(), fail_after: chances(), ..EngineFaults::default() };
    migration.database.engine().faults().set(faults.clone());
    assert_eq!(migration.phase("load", &[]).await.unwrap(), PhaseOutcome::Done);
    migration.database.engine().faults().set(EngineFaults::default());
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
    let items = migration.items().await.unwrap().len();
    migration.database.engine().faults().set(faults);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    migration.database.engine().faults().set(EngineFaults::default());
    assert_eq!(migration.json("report-rollback.json").unwrap()["itemsRemoved"], items);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_run_files_and_a_missing_table_are_reported() {
    let migration = Migration::new(9, 10).await.unwrap();
    assert_eq!(kind(&migration, "transform", &[]).await, FailureKind::RunIncomplete);
    migration.phase("export", &[]).await.unwrap();
    assert_eq!(kind(&migration, "load", &[]).await, FailureKind::RunIncomplete);
    let file = migration.path("export/session.jsonl");
    let sessions = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, sessions.replace("2099", "2098")).unwrap();
    assert_eq!(kind(&migration, "transform", &[]).await, FailureKind::RunChanged);
    std::fs::write(&file, sessions).unwrap();
    migration.phase("transform", &[]).await.unwrap();
    assert_eq!(kind(&migration, "load", &["--table", "nowhere"]).await, FailureKind::TableRefused);
    assert_eq!(kind(&migration, "check", &["--table", "nowhere"]).await, FailureKind::TableRefused);
    std::fs::write(migration.folder.path().join("key"), "short").unwrap();
    assert_eq!(kind(&migration, "transform", &[]).await, FailureKind::Options);
}
