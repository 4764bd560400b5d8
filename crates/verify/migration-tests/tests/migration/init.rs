//! Drafts of mappings: each is used as `init` writes it, up to a checked copy.

use clap::Parser;
use migration_tests::foreign::{CHAT, SHOP, Source, TRACKER};
use migration_tests::{Migration, Postgres};
use serde_json::Value;
use tidemark_migrate::mapping::Mapping;
use tidemark_migrate::{Command, PhaseOutcome, Product, run_quietly};

const PRODUCT: Product = Product { name: "tidemark-migrate", mapping: None, conversions: &[], extension: None };

/// A library that lends books.
pub(super) const LIBRARY: &str = r#"
    CREATE TYPE copy_state AS ENUM ('on shelf', 'lent', 'lost');
    CREATE DOMAIN euro AS numeric(10, 2) CHECK (VALUE >= 0);
    CREATE TABLE branches (id serial PRIMARY KEY, name varchar(100) NOT NULL UNIQUE, opens time);
    CREATE TABLE members (
        id bigserial PRIMARY KEY, card_number varchar(20) NOT NULL UNIQUE, email text, name text NOT NULL,
        password_digest text NOT NULL, api_token uuid UNIQUE, branch_id integer NOT NULL REFERENCES branches,
        type text, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(),
        deleted_at timestamptz, "Preferred Language" text
    );
    CREATE UNIQUE INDEX members_email ON members (lower(email));
    CREATE TABLE books (id bigserial PRIMARY KEY, isbn text UNIQUE, title text NOT NULL, price euro, cover bytea, subjects text[]);
    CREATE TABLE copies (
        id bigserial PRIMARY KEY, book_id bigint NOT NULL REFERENCES books ON DELETE CASCADE,
        branch_id integer NOT NULL REFERENCES branches, barcode text NOT NULL UNIQUE, state copy_state NOT NULL, details jsonb
    );
    CREATE TABLE loans (
        id bigserial PRIMARY KEY, member_id bigint NOT NULL REFERENCES members, copy_id bigint NOT NULL REFERENCES copies,
        due_on date NOT NULL, returned_at timestamptz
    );
    CREATE UNIQUE INDEX loans_open ON loans (copy_id) WHERE returned_at IS NULL;
    CREATE TABLE fines (id bigserial PRIMARY KEY, loan_id bigint NOT NULL REFERENCES loans ON DELETE CASCADE, amount euro NOT NULL);
    CREATE TABLE reservations (member_id bigint REFERENCES members ON DELETE CASCADE, book_id bigint, expires_at timestamptz,
        PRIMARY KEY (member_id, book_id));
    -- Neither has a beginning without the other.
    CREATE TABLE groups (id serial PRIMARY KEY, leader_id integer);
    CREATE TABLE readers (id serial PRIMARY KEY, group_id integer NOT NULL REFERENCES groups);
    ALTER TABLE groups ADD FOREIGN KEY (leader_id) REFERENCES readers;
    CREATE TABLE exchange_rates (currency text, day date, rate numeric, PRIMARY KEY (currency, day));
    CREATE TABLE visits (branch_id integer, at timestamptz);
    CREATE TABLE schema_migrations (version text PRIMARY KEY);
    INSERT INTO branches (name) SELECT 'Branch ' || n FROM generate_series(1, 3) n;
    INSERT INTO members (card_number, email, name, password_digest, api_token, branch_id)
        SELECT 'C' || n, 'Member' || n || '@Example.com', 'Member ' || n, 'digest ' || n, md5(n::text)::uuid, 1 + n % 3 FROM generate_series(1, 30) n;
    INSERT INTO books (isbn, title, price, cover, subjects) SELECT 'I' || n, 'Book ' || n, n, '\x00ff', ARRAY['a', NULL] FROM generate_series(1, 20) n;
    INSERT INTO copies (book_id, branch_id, barcode, state, details) SELECT 1 + n % 20, 1 + n % 3, 'B' || n, 'lent', '{"shelf": 1.50}' FROM generate_series(1, 40) n;
    INSERT INTO loans (member_id, copy_id, due_on) SELECT 1 + n % 30, 1 + n, '2025-01-01' FROM generate_series(0, 39) n;
    INSERT INTO fines (loan_id, amount) SELECT n, n FROM generate_series(1, 9) n;
    INSERT INTO reservations SELECT n, n, now() + interval '7 days' FROM generate_series(1, 9) n;
    INSERT INTO groups DEFAULT VALUES;
    INSERT INTO readers (group_id) VALUES (1);
    INSERT INTO exchange_rates VALUES ('EUR', '2025-01-01', 1);
    INSERT INTO schema_migrations VALUES ('1');"#;

/// Leaves a part of the owners, so that the test is short.
const FEWER_SHOPS: &str = "
    DELETE FROM orders WHERE abs(hashtext(coalesce(customer_id, md5(id::text)::uuid)::text)) % 20 > 0;
    DELETE FROM products WHERE id % 20 > 0;
    DELETE FROM customers WHERE abs(hashtext(id::text)) % 20 > 0;
    DELETE FROM stock_movements WHERE product_id % 20 > 0";
const FEWER_PROJECTS: &str = "
    CREATE INDEX ON attachments (comment_id);
    DELETE FROM projects WHERE abs(hashtext(id::text)) % 20 > 0;
    DELETE FROM attachments WHERE comment_id IS NULL AND abs(hashtext(id::text)) % 20 > 0";
const FEWER_ROOMS: &str = "
    DELETE FROM messages WHERE room_id % 20 > 0;
    DELETE FROM rooms WHERE id % 20 > 0";

pub(super) async fn draft(postgres: &Postgres, flags: &[&str]) -> Value {
    let command = ["tidemark-migrate", "init", "--source", &postgres.url()].map(str::to_owned);
    let command = Command::parse_from(command.into_iter().chain(flags.iter().map(|flag| (*flag).to_owned())));
    run_quietly(command, &PRODUCT).await.unwrap().json
}

/// Copies a database by a mapping. Each row becomes an item of the type of its table, or is
/// rejected; every item is compared.
async fn assert_copied(mut migration: Migration, mapping: String) -> Migration {
    migration.product = Product { mapping: Some(Box::leak(mapping.into_boxed_str())), ..PRODUCT };
    let preflight = migration.report("preflight").await.unwrap();
    // Columns of JSON with equal names are only named.
    assert_eq!(preflight.json["stops"], serde_json::json!([]), "{}", preflight.text);
    migration.phase("export", &[]).await.unwrap();
    let transformed = migration.report("transform").await.unwrap();
    let report = &transformed.json;
    let items = report["items"].as_object().unwrap().values();
    let whole: u64 = items.map(|count| count.as_u64().unwrap()).sum();
    let rejects = migration.lines("rejects.jsonl").unwrap();
    let (kept, rejected): (Vec<_>, Vec<_>) = rejects.iter().partition(|reject| reject["kept"] == true);
    for (what, lines) in [("left out, rows of ", &rejected), ("left out, values or items of kept rows of ", &kept)] {
        let counts = transformed.text.lines().filter_map(|line| line.strip_prefix(what)?.split_once(": "));
        let counts = counts.flat_map(|(_, counts)| counts.split(", ")).filter_map(|count| count.rsplit_once(' '));
        let sum: usize = counts.map(|(_, count)| count.parse::<usize>().unwrap()).sum();
        assert_eq!(sum, lines.len(), "{}", transformed.text);
    }
    let rows = report["rows"].as_u64().unwrap();
    assert_eq!(rows, whole + rejected.len() as u64);
    // Owners that do not exist, texts that are no part of a key, items that are too large.
    let unusual = ["orphan", "missing-value", "invalid-id", "invalid-value", "unreadable-time", "too-large"];
    for reject in &rejected {
        assert!(unusual.contains(&reject["reason"].as_str().unwrap()), "{reject}");
    }
    assert!(rejected.len() as u64 * 5 < rows, "{} of {rows} rows", rejected.len());
    let table = ["--table", "copy"];
    let load = migration.phase("load", &[&table[..], &["--create-table"]].concat()).await.unwrap();
    let check = migration.phase("check", &[&table[..], &["--strict"]].concat()).await.unwrap();
    assert_eq!((load, check), (PhaseOutcome::Done, PhaseOutcome::Done), "{:?}", migration.json("report-check.json"));
    migration
}

async fn assert_copied_by_draft(source: Source, fewer: &str, owners: &[&str]) {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    source.fill(&client, 1).await.unwrap();
    client.batch_execute(fewer).await.unwrap();
    let made = draft(&postgres, &[]).await;
    assert_eq!(made["owners"], serde_json::json!(owners));
    assert_eq!(made["leftOut"], serde_json::json!({}));
    let migration = Migration::of_postgres(postgres, "").await.unwrap();
    assert_copied(migration, made["mapping"].as_str().unwrap().to_owned()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_copies_a_shop_as_it_is() {
    assert_copied_by_draft(SHOP, FEWER_SHOPS, &["customers", "products"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_of_init_copies_a_tracker_and_a_chat() {
    assert_copied_by_draft(TRACKER, FEWER_PROJECTS, &["attachments", "projects", "users"]).await;
    assert_copied_by_draft(CHAT, FEWER_ROOMS, &["rooms", "users"]).await;
}

/// A table is a lookup table because of its rows, and a restored dump has no statistics of them. By
/// its columns alone this one would own the classes.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_counts_rows_without_statistics() {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    let schema = "
        CREATE TABLE levels (id int PRIMARY KEY, name text, color text, description text);
        CREATE TABLE studios (id int PRIMARY KEY, name text, city text, opened date);
        CREATE TABLE classes (id int PRIMARY KEY, level_id int NOT NULL REFERENCES levels, studio_id int NOT NULL REFERENCES studios)
            WITH (autovacuum_enabled = false);
        INSERT INTO levels SELECT n, n FROM generate_series(1, 12) AS n;
        INSERT INTO studios SELECT n, n FROM generate_series(1, 300) AS n;
        INSERT INTO classes SELECT n, 1 + n % 12, 1 + n % 300 FROM generate_series(1, 2000) AS n";
    client.batch_execute(schema).await.unwrap();
    let made = draft(&postgres, &[]).await;
    assert_eq!(made["owners"], serde_json::json!(["levels", "studios"]));
    let owned_by_studio =
        made["mapping"].as_str().unwrap().contains(r#"owner = { kind = "studio", column = "studio_id""#);
    assert!(owned_by_studio, "{}", made["mapping"]);
}

/// Rooms have no foreign key of one column, and the name of a hotel is unique in its chain.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_follows_keys_of_several_columns() {
    let schema = "
        CREATE TABLE chains (id int PRIMARY KEY, name text, city text, opened date);
        CREATE TABLE hotels (id int PRIMARY KEY, chain_id int NOT NULL REFERENCES chains, name text,
            sign text GENERATED ALWAYS AS (upper(name)) STORED, UNIQUE (chain_id, name));
        CREATE TABLE contracts (id int PRIMARY KEY, chain_id int NOT NULL UNIQUE REFERENCES chains);
        CREATE TABLE room_types (hotel_id int REFERENCES hotels, code text, PRIMARY KEY (hotel_id, code));
        CREATE TABLE rooms (hotel_id int, number int, type_code text, PRIMARY KEY (hotel_id, number),
            FOREIGN KEY (hotel_id, type_code) REFERENCES room_types);
        INSERT INTO chains SELECT n, n FROM generate_series(1, 3) AS n;
        INSERT INTO hotels SELECT n, 1 + n % 3, n FROM generate_series(1, 9) AS n;
        INSERT INTO contracts SELECT id, id FROM chains;
        INSERT INTO room_types SELECT id, code FROM hotels, unnest(ARRAY['A', 'B']) AS code;
        INSERT INTO rooms SELECT id, n, 'A' FROM hotels, generate_series(1, 5) AS n";
    let migration = Migration::of_schema(schema, "").await.unwrap();
    let made = draft(&migration.postgres, &[]).await;
    assert_eq!((&made["owners"], &made["leftOut"]), (&serde_json::json!(["chains"]), &serde_json::json!({})));
    let mapping = made["mapping"].as_str().unwrap();
    let through_hotels = r#"owner = { kind = "chain", column = "hotel_id", through = "hotels" }"#;
    assert_eq!(mapping.matches(through_hotels).count(), 2, "{mapping}");
    assert!(mapping.contains("# ? PostgreSQL computes sign"), "{mapping}");
    assert!(mapping.contains("# ? To keep the unique index hotels_chain_id_name_key (chain_id, name)"), "{mapping}");
    assert_copied(migration, mapping.to_owned()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_copies_the_tables_of_better_auth() {
    let migration = Migration::new(1, 40).await.unwrap();
    let made = draft(&migration.postgres, &[]).await;
    assert_eq!(made["owners"], serde_json::json!(["user", "verification"]));
    assert_eq!(made["leftOut"].as_object().unwrap().keys().collect::<Vec<_>>(), ["schema_migrations"]);
    assert_copied(migration, made["mapping"].as_str().unwrap().to_owned()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_copies_a_library() {
    let migration = Migration::of_schema(LIBRARY, "").await.unwrap();
    let made = draft(&migration.postgres, &[]).await;
    assert_eq!(made["owners"], serde_json::json!(["books", "branches", "groups", "members"]));
    let left_out: Vec<_> = made["leftOut"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(left_out, ["exchange_rates", "schema_migrations", "visits"]);
    let migration = assert_copied(migration, made["mapping"].as_str().unwrap().to_owned()).await;

    // With named owners, only their rows are in the draft.
    let named = draft(&migration.postgres, &["--owner", "members", "--tables", "members,loans,fines,books"]).await;
    assert_eq!(named["owners"], serde_json::json!(["members"]));
    assert_eq!(named["leftOut"].as_object().unwrap().keys().collect::<Vec<_>>(), ["books"]);
    assert!(Mapping::read(named["mapping"].as_str().unwrap(), &[]).is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_of_init_leaves_out_tables_that_inherit() {
    let schema =
        "CREATE TABLE people (id int PRIMARY KEY, name text); CREATE TABLE cities (id int PRIMARY KEY, name text);
        CREATE TABLE capitals (country text, PRIMARY KEY (id)) INHERITS (cities); INSERT INTO people VALUES (1, 'Ann')";
    let migration = Migration::of_schema(schema, "").await.unwrap();
    let made = draft(&migration.postgres, &[]).await;
    let left_out: Vec<_> = made["leftOut"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(left_out, ["capitals", "cities"]);
    let mapping = made["mapping"].as_str().unwrap().to_owned();
    let of_cities = mapping.replace("people", "cities");
    let mut migration = assert_copied(migration, mapping).await;
    migration.product.mapping = Some(Box::leak(of_cities.into_boxed_str()));
    let refused = migration.phase("export", &[]).await.unwrap_err();
    assert!(refused.detail.contains("capitals inherits from cities"), "{refused}");
}
