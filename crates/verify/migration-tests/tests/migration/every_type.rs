//! A table with a column of every type that PostgreSQL and its common extensions offer moves there
//! and back. A twin that only SQL changes says what is expected. The database has settings that
//! change how values are written.

use std::collections::BTreeSet;

use clap::Parser;
use migration_tests::{Migration, Postgres};
use tidemark_migrate::cutover::{Side, Writer};
use tidemark_migrate::mapping::Mapping;
use tidemark_migrate::{Command, FailureKind, PhaseOutcome, Product, run_quietly};
use tokio_postgres::Client;

use super::cutover::{compared, killed};

/// Each type with two values.
const TYPES: &[(&str, &str, &str)] = &[
    ("bool", "true", "false"),
    ("bytea", r"\x00ff5c27", r"\x"),
    ("char", "x", "y"),
    ("name", "a name", "another"),
    ("int8", "9223372036854775807", "-9223372036854775808"),
    ("int2", "-32768", "7"),
    ("int4", "2147483647", "0"),
    ("text", "tab\t\"x\" 🌊", ""),
    ("oid", "4294967295", "1"),
    ("tid", "(0,1)", "(42,3)"),
    ("xid", "4294967295", "3"),
    ("xid8", "18446744073709551615", "3"),
    ("cid", "7", "8"),
    ("json", r#"{"a": [null, "x"], "b": 1.50}"#, "[1, 2]"),
    ("jsonb", "null", r#"{"a": {"b": 1.10}}"#),
    ("xml", "<a>x</a>", "text <b/> mixed"),
    ("jsonpath", "$.\"a\"[*]", "$.\"b\""),
    ("point", "(1.1,2.2)", "(0,-1e+300)"),
    ("lseg", "[(1,2),(3,4)]", "[(0,0),(1,1)]"),
    ("path", "((1,2),(3,4))", "[(0,0),(1,1)]"),
    ("box", "(3,4),(1,2)", "(1,1),(0,0)"),
    ("polygon", "((1,2),(3,4))", "((0,0),(1,1))"),
    ("line", "{1,-1,0}", "{2,3,4}"),
    ("circle", "<(1,2),3>", "<(0,0),1>"),
    ("float4", "1.1", "NaN"),
    ("float8", "0.1", "-Infinity"),
    ("money", "$1,234.50", "-$7.00"),
    ("macaddr", "08:00:2b:01:02:03", "00:00:00:00:00:01"),
    ("macaddr8", "08:00:2b:01:02:03:04:05", "00:00:00:00:00:00:00:01"),
    ("inet", "::1/64", "10.0.0.1"),
    ("cidr", "10.0.0.0/8", "::/0"),
    ("date", "infinity", "0044-03-15 BC"),
    ("time", "23:59:59.999999", "24:00:00"),
    ("timetz", "12:00:00+05:30", "00:00:00-12"),
    ("timestamp", "-infinity", "2024-02-29 12:00:00.000001"),
    ("timestamptz", "infinity", "12026-01-01 00:00:00+00"),
    ("interval", "1 year -2 mons +3 days -04:05:06.7", "-1 days"),
    ("bit", "1", "0"),
    ("varbit", "10110", ""),
    ("numeric", "12345678901234567890123456789012345678901234.50", "NaN"),
    ("uuid", "0f8fad5b-d9cb-469f-a165-70867728950e", "00000000-0000-0000-0000-000000000000"),
    ("tsvector", "'a':1A 'b c':2", ""),
    ("tsquery", "'a' & !'b'", "'c':*"),
    ("pg_lsn", "16/B374D848", "0/0"),
    ("pg_snapshot", "10:20:10,14", "1:1:"),
    ("txid_snapshot", "10:20:10,14", "1:1:"),
    ("varchar", " spaces ", "x"),
    ("bpchar", "a", "é"),
    ("refcursor", "a cursor", "b"),
    ("regclass", "pg_class", "pg_type"),
    ("regtype", "integer", "text[]"),
    ("regproc", "pg_catalog.now", "pg_catalog.pi"),
    ("regprocedure", "pg_catalog.abs(integer)", "pg_catalog.pi()"),
    ("regoper", "pg_catalog.|/", "pg_catalog.||/"),
    ("regoperator", "pg_catalog.+(integer,integer)", "pg_catalog.-(integer,integer)"),
    ("regconfig", "english", "simple"),
    ("regdictionary", "simple", "simple"),
    ("regrole", "pg_monitor", "pg_read_all_data"),
    ("regnamespace", "pg_catalog", "public"),
    ("regcollation", "\"C\"", "\"POSIX\""),
    ("int4range", "[1,5)", "empty"),
    ("int8range", "(,7)", "[1,2)"),
    ("numrange", "[1.10,2.20]", "(,)"),
    ("tsrange", "[\"2024-01-01 00:00:00\",infinity)", "empty"),
    ("tstzrange", "[\"2024-01-01 00:00:00+00\",)", "empty"),
    ("daterange", "[2024-01-01,2024-02-01)", "empty"),
    ("int4multirange", "{[1,3),[5,7)}", "{}"),
    ("int8multirange", "{[1,3)}", "{}"),
    ("nummultirange", "{[1.1,3.3]}", "{}"),
    ("tsmultirange", "{[\"2024-01-01 00:00:00\",\"2024-02-01 00:00:00\")}", "{}"),
    ("tstzmultirange", "{[\"2024-01-01 00:00:00+00\",)}", "{}"),
    ("datemultirange", "{[2024-01-01,2024-02-01)}", "{}"),
    ("citext", "Ann", "bob"),
    ("ltree", "Top.Science", "Top"),
    ("mood", "so so", "it's bad"),
    ("int4[]", "{1,NULL,3}", "{}"),
    ("text[]", "{\"a b\",NULL,\"\\\"\"}", "{}"),
    ("bytea[]", "{\"\\\\x00ff\"}", "{}"),
    ("interval[]", "{\"1 year -2 mons\"}", "{}"),
    ("pair", "(1,\"a b\")", "(,)"),
];

/// Types of PostGIS, which is tried where it is installed.
const POSTGIS_TYPES: &[(&str, &str, &str)] = &[
    (
        "geography",
        "0101000020E6100000295C8FC2F528F43F0000000000000040",
        "0101000020E610000000000000000000000000000000000000",
    ),
    ("box2d", "BOX(1 2,3 4)", "BOX(0 0,1.5 1)"),
    ("box3d", "BOX3D(1 2 3,4 5 6)", "BOX3D(0 0 0,1 1 1)"),
];

/// Types that the server keeps to itself, of which no application has a column.
const INTERNAL: [&str; 9] = [
    "aclitem",
    "gtsvector",
    "int2vector",
    "oidvector",
    "pg_node_tree",
    "pg_ndistinct",
    "pg_dependencies",
    "pg_mcv_list",
    "pg_brin_bloom_summary",
];

type Types = [(&'static str, &'static str, &'static str)];

/// A server, and the types of its columns.
async fn postgres() -> (Postgres, Vec<(&'static str, &'static str, &'static str)>) {
    let mut postgres = Postgres::start().await.unwrap();
    let types = if has_postgis(&mut postgres).await { [TYPES, POSTGIS_TYPES].concat() } else { TYPES.to_vec() };
    (postgres, types)
}

/// Whether PostGIS is installed: `make verify` says so if it is not. The extension is made.
async fn has_postgis(postgres: &mut Postgres) -> bool {
    let client = postgres.client().await.unwrap();
    let available = "SELECT FROM pg_available_extensions WHERE name = 'postgis'";
    let is_available = client.query_opt(available, &[]).await.unwrap().is_some();
    if is_available {
        client.batch_execute("CREATE EXTENSION postgis").await.unwrap();
    }
    is_available
}

fn column(n: usize) -> String {
    format!("c{n}")
}

fn schema(types: &Types) -> String {
    let columns: String = types
        .iter()
        .enumerate()
        .map(|(n, (kind, ..))| {
            let kind = if *kind == "char" { "\"char\"" } else { kind };
            format!(", {} {kind}", column(n))
        })
        .collect();
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let values = |second: bool| -> String {
        types.iter().map(|(_, one, other)| format!(", {}", literal(if second { other } else { one }))).collect()
    };
    format!(
        "CREATE EXTENSION citext; CREATE EXTENSION ltree; CREATE TYPE mood AS ENUM ('so so', 'it''s bad');
         CREATE TYPE pair AS (one int, other text);
         CREATE TABLE owners (id int PRIMARY KEY, name text);
         CREATE TABLE things (id int PRIMARY KEY, owner_id int NOT NULL REFERENCES owners, note text{columns});
         INSERT INTO owners SELECT n, 'Owner ' || n FROM generate_series(1, 12) AS n;
         INSERT INTO things SELECT n, n, 'first'{} FROM generate_series(1, 8) AS n;
         INSERT INTO things SELECT n, n, 'second'{} FROM generate_series(9, 10) AS n;
         INSERT INTO things (id, owner_id) SELECT n, n FROM generate_series(11, 12) AS n;
         CREATE TABLE twin AS SELECT * FROM things;
         ALTER DATABASE okusuri SET bytea_output = 'escape'; ALTER DATABASE okusuri SET intervalstyle = 'iso_8601';
         ALTER DATABASE okusuri SET datestyle = 'German'; ALTER DATABASE okusuri SET extra_float_digits = -5;
         ALTER DATABASE okusuri SET xmloption = 'document'; ALTER DATABASE okusuri SET timezone = 'Asia/Kolkata'",
        values(false),
        values(true),
    )
}

fn mapping(types: &Types) -> &'static str {
    let columns: String = (0..types.len()).map(|n| format!("{} = \"any\"\n", column(n))).collect();
    let attributes: String = (0..types.len()).map(|n| format!("{0} = \"{{{0}}}\"\n", column(n))).collect();
    let text = format!(
        "[target]\nkey = [\"PK\", \"SK\"]\n[owners.owner]\ntable = \"owners\"\npartitions = [\"OWNER#{{$owner}}\"]
[tables.owners]\nowner = {{ kind = \"owner\", column = \"id\" }}\ncolumns = {{ id = \"integer\", name = \"text\" }}
[[tables.owners.items]]\ntype = \"owner\"\nkey = {{ PK = \"OWNER#{{id}}\", SK = \"OWNER\" }}\nattributes = {{ Name = \"{{name}}\" }}
[tables.things]\nowner = {{ kind = \"owner\", column = \"owner_id\" }}
[tables.things.columns]\nid = \"integer\"\nowner_id = \"integer\"\nnote = \"text\"\n{columns}
[[tables.things.items]]\ntype = \"thing\"\nkey = {{ PK = \"OWNER#{{owner_id}}\", SK = \"THING#{{id | pad(9)}}\" }}
[tables.things.items.attributes]\nNote = \"{{note}}\"\n{attributes}"
    );
    Box::leak(text.into_boxed_str())
}

/// The rows that differ from the twin's, with the columns.
async fn differing(client: &Client, types: &Types) -> Vec<String> {
    let columns: Vec<_> = (0..types.len()).map(column).chain(["note".to_owned()]).collect();
    let compared = columns.iter().map(|name| {
        format!("CASE WHEN things.{name}::text IS DISTINCT FROM twin.{name}::text
                 THEN things.id || ' {name}: ' || coalesce(things.{name}::text, 'NULL') || ' instead of ' || coalesce(twin.{name}::text, 'NULL') END")
    });
    let sql = format!(
        "SELECT unnest(array_remove(ARRAY[{}], NULL)) FROM things JOIN twin USING (id)",
        compared.collect::<Vec<_>>().join(", ")
    );
    client.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn table_with_every_type_moves_and_returns_unchanged() {
    let (mut postgres, types) = postgres().await;
    let mapping_text = mapping(&types);
    postgres.client().await.unwrap().batch_execute(&schema(&types)).await.unwrap();
    let mut migration = Migration::of_postgres(postgres, mapping_text).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("SET extra_float_digits = 1").await.unwrap();
    let all = "SELECT typname::text FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm')
               AND typcategory <> 'A' AND typname NOT LIKE '\\_%'";
    let known: BTreeSet<_> = TYPES.iter().map(|(kind, ..)| *kind).chain(INTERNAL).collect();
    for row in client.query(all, &[]).await.unwrap() {
        let kind: String = row.get(0);
        assert!(known.contains(kind.as_str()) || kind.starts_with("pg_brin"), "{kind} is not tried");
    }
    let report = migration.report("preflight").await.unwrap();
    assert_eq!(report.json["stops"], serde_json::json!([]), "{}", report.text);
    assert!(report.text.contains("(jsonb): 8 of 12 compared values"), "{}", report.text);

    migration.captured_and_loaded().await.unwrap();
    let writer_mapping = Mapping::read(mapping_text, &[]).unwrap();
    let mut random = fastrand::Rng::with_seed(5);
    for (round, (to, side)) in
        [("dual", Side::Postgres), ("100%", Side::Dynamo), ("0%", Side::Postgres), ("100%", Side::Dynamo)]
            .into_iter()
            .enumerate()
    {
        killed(&migration, &mut random, "cutover", &["--to", to]).await;
        let writer = Writer::new(migration.sides().await.unwrap());
        // Another column of each row changes, and all other values stay.
        for id in 1..=12 {
            let json = format!(r#"{{"id": {id}, "owner_id": {id}, "note": "round {round}"}}"#);
            assert_eq!(writer.put(&writer_mapping.row("things", &json).unwrap()).await.unwrap(), side, "{id}");
        }
        client.execute("UPDATE twin SET note = $1", &[&format!("round {round}")]).await.unwrap();
        // Each value is written as PostgreSQL writes it in JSON.
        for (n, (kind, one, other)) in types.iter().enumerate() {
            // The JSON null is NULL for a write.
            if *kind == "jsonb" {
                continue;
            }
            let kind = if *kind == "char" { "\"char\"" } else { kind };
            let value = if round % 2 == 0 { other } else { one }.replace('\'', "''");
            let (id, name) = (1 + n % 7, column(n));
            let own = migration.postgres.client().await.unwrap();
            own.batch_execute("SET bytea_output = hex; SET intervalstyle = postgres; SET datestyle = 'ISO, MDY'; SET extra_float_digits = 1;
                SET xmloption = content; SET timezone = 'UTC'; SET lc_monetary = 'C'").await.unwrap();
            let sql = format!(
                "UPDATE twin SET {name} = '{value}'::{kind} WHERE id = {id}
                RETURNING jsonb_build_object('id', id, 'owner_id', owner_id, '{name}', {name})::text"
            );
            let json: String = own.query_one(&sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).get(0);
            let written = writer.put(&writer_mapping.row("things", &json).unwrap()).await;
            assert!(written.is_ok(), "{to} {json}: {written:?}");
        }
        compared(&migration, to).await;
        assert_eq!(differing(&client, &types).await, Vec::<String>::new(), "{to}");
    }
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(differing(&client, &types).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn column_whose_values_do_not_round_trip_is_refused() {
    let schema = "CREATE EXTENSION hstore; CREATE DOMAIN grade AS int;
        CREATE TABLE owners (id int PRIMARY KEY, extra hstore, list int[], grade grade);
        INSERT INTO owners VALUES (1, 'a=>1', '{1}', 7), (2, NULL, '[5:6]={7,8}', 1);
        ALTER DOMAIN grade ADD CHECK (VALUE < 7) NOT VALID";
    let mapping = "[target]\nkey = [\"PK\", \"SK\"]\n[owners.owner]\ntable = \"owners\"\npartitions = [\"OWNER#{$owner}\"]
[tables.owners]\nowner = { kind = \"owner\", column = \"id\" }\ncolumns = { id = \"integer\", extra = \"any\", list = \"array\", grade = \"integer\" }
[[tables.owners.items]]\ntype = \"owner\"\nkey = { PK = \"OWNER#{id}\", SK = \"OWNER\" }\nattributes = { Extra = \"{extra}\" }";
    let mut migration = Migration::of_schema(schema, mapping).await.unwrap();
    let init = Command::parse_from(["tidemark-migrate", "init", "--source", &migration.postgres.url()]);
    let draft = run_quietly(init, &Product { mapping: None, ..migration.product }).await.unwrap();
    assert!(draft.text.contains("ignore = [\"extra\"]\n# ? extra is left behind"), "{}", draft.text);
    let refused = migration.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    for named in [
        "owners.extra (hstore): PostgreSQL writes this type as JSON of its own",
        "owners.list (integer[]): 1 of 2 compared values",
        "owners.grade (integer): PostgreSQL does not read its own JSON of a value",
    ] {
        assert!(refused.detail.contains(named), "{refused}");
    }
    assert!(refused.detail.contains("such as that of the row 2. Correct"), "{refused}");
    // A rehearsal begins nothing that would have to be undone, so the mapping may be changed.
    let refused = migration.phase("rehearse", &["--confirm", "okusuri"]).await.unwrap_err();
    assert!(refused.detail.contains("stops: owners.list"), "{refused}");
    assert_eq!(migration.json("rehearsal.json").map_or(0, |steps| steps.as_array().unwrap().len()), 0);
    let ignoring = mapping
        .replace(", extra = \"any\", list = \"array\", grade = \"integer\"", "")
        .replace("{extra}", "{id}")
        .replace("\ncolumns", "\nignore = [\"extra\", \"list\", \"grade\"]\ncolumns");
    migration.product.mapping = Some(Box::leak(ignoring.into_boxed_str()));
    assert_eq!(migration.phase("cutover", &["--to", "capture"]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn geometry_is_refused_though_all_its_values_come_back() {
    let mut postgres = Postgres::start().await.unwrap();
    if !has_postgis(&mut postgres).await {
        return;
    }
    let schema = "CREATE DOMAIN place AS geometry(Point);
        CREATE TABLE owners (id int PRIMARY KEY, shape geometry, places place[]);
        INSERT INTO owners VALUES (1, 'POINT(1 2)', ARRAY['POINT(1 2)'::place])";
    postgres.client().await.unwrap().batch_execute(schema).await.unwrap();
    let init = Command::parse_from(["tidemark-migrate", "init", "--source", &postgres.url()]);
    let mapping = "[target]\nkey = [\"PK\", \"SK\"]\n[owners.owner]\ntable = \"owners\"\npartitions = [\"OWNER#{$owner}\"]
[tables.owners]\nowner = { kind = \"owner\", column = \"id\" }\ncolumns = { id = \"integer\", shape = \"any\", places = \"any\" }
[[tables.owners.items]]\ntype = \"owner\"\nkey = { PK = \"OWNER#{id}\", SK = \"OWNER\" }\nattributes = { Shape = \"{shape}\" }";
    let migration = Migration::of_postgres(postgres, mapping).await.unwrap();
    let draft = run_quietly(init, &Product { mapping: None, ..migration.product }).await.unwrap();
    assert!(draft.text.contains("# ? shape is left behind"), "{}", draft.text);
    let refused = migration.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    for named in ["owners.shape (geometry): PostgreSQL writes", "owners.places (place[]): PostgreSQL writes"] {
        assert!(refused.detail.contains(named), "{refused}");
    }
}
