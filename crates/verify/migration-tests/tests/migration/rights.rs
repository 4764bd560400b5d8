//! The rights of the application's role during a cutover.

use clap::Parser as _;
use migration_tests::Migration;
use migration_tests::migration::okusuri_mapping;
use tidemark_migrate::cutover::Postgres;
use tidemark_migrate::{Command, run_quietly};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_applications_role_gains_no_right_to_write_a_table() {
    let mut migration = Migration::new(81, 4).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let tables = r#"CREATE ROLE application LOGIN; GRANT USAGE, CREATE ON SCHEMA public TO application;
        GRANT SELECT, INSERT, UPDATE, DELETE ON session TO application;
        CREATE TABLE payroll (id text PRIMARY KEY, pay integer); INSERT INTO payroll VALUES ('ann', 7);
        INSERT INTO "user" (id, name) VALUES ('ann', 'Ann')"#;
    client.batch_execute(tables).await.unwrap();
    let own = migration.postgres.client().await.unwrap();
    let postgres = Postgres::open(own, "public", &okusuri_mapping()).await.unwrap();
    postgres.grant("application").await.unwrap();
    let role = migration.postgres.client().await.unwrap();
    // A function that would run with the rights of the tool's role, if a name were not qualified.
    let shadow = "SET SESSION AUTHORIZATION application;
        CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN UPDATE public.payroll SET pay = 0; RETURN pg_catalog.format($1, $2); END $$";
    role.batch_execute(shadow).await.unwrap();
    for call in [
        // A table that does not move, and one that moves but that the role may not write.
        r#"'payroll', '{"id": "ann"}', '{"id": "ann", "pay": 9}'"#,
        r#"'payroll', '{"id": "ann"}', NULL"#,
        r#"'schema_migrations', NULL, '{"id": "ann"}'"#,
        r#"'user', '{"id": "ann"}', '{"id": "ann", "name": "Eve"}'"#,
        r#"'user', '{"id": "ann"}', NULL"#,
    ] {
        let call = format!("SELECT tidemark_migration.apply_change('eve', 1, {call})");
        let refused = role.batch_execute(&call).await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{call}: {refused:?}");
    }
    let own = r#"SELECT tidemark_migration.apply_change('eve', 1, 'session', NULL, '{"id": "one", "userId": "eve"}')"#;
    role.batch_execute(own).await.unwrap();
    let left = r#"SELECT (SELECT pay FROM payroll), (SELECT name FROM "user" WHERE id = 'ann'),
        (SELECT "userId" FROM session WHERE id = 'one')"#;
    let left = client.query_one(left, &[]).await.unwrap();
    assert_eq!((left.get(0), left.get(1), left.get(2)), (7, "Ann", "eve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn preflight_names_a_table_that_the_role_may_not_read() {
    let mut migration = Migration::new(82, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("CREATE ROLE application LOGIN").await.unwrap();
    let arguments = migration.arguments("preflight", &[]).into_iter();
    let arguments = arguments.map(|argument| argument.replace("user=okusuri", "user=application"));
    let preflight = Command::parse_from(["okusuri-migrate".to_owned()].into_iter().chain(arguments));
    let report = run_quietly(preflight, &migration.product).await.unwrap();
    assert!(report.text.contains("the role may not read session"), "{}", report.text);
    let grant = "GRANT CREATE ON DATABASE okusuri TO application;";
    assert!(report.text.contains(grant), "{}", report.text);
    assert!(!report.text.contains("List the column"), "{}", report.text);
}
