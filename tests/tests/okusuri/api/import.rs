//! A file of logs that is imported.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{LOG, World, problem};

#[tokio::test]
async fn import_reads_csv_rows_and_dry_run_writes_nothing() {
    let world = World::new().await;
    world.json("ann", &format!("PUT {LOG}"), &["2026-11-20"], json!({ "hasBleeding": false, "note": "old" })).await;
    let file = "\u{feff}note,Date,has_bleeding,else\r\n,2026-11-18,true,x\r\n\"a, \"\"b\"\"\",2026-11-19,0,\r\nold,2026-11-20,no,\r\n\
                ,2026-11-20,yes,\r\n,2026-11-23,no,\r\n,2026-02-30,no,\r\n,2026-11-17,perhaps,\r\n\r\n,1800-01-01,no,\r\n,,,\r\n";
    let send = async |query: &str, file: &str| {
        world.send("token-of-ann", &format!("POST /okusuri/api/import?{query}"), &[], ("text/csv", file)).await
    };
    for query in ["dryRun=1", "allOrNothing=1"] {
        let (status, body) = send(query, file).await;
        assert_eq!((status, &body["isWritten"], &body["created"]), (200, &json!(false), &json!(2)), "{body}");
        assert_eq!(world.get("ann", "GET /okusuri/api/logs", &[]).await["items"].as_array().unwrap().len(), 1);
    }
    let (status, body) = send("", file).await;
    assert_eq!((status, &body["isWritten"], &body["refused"]), (200, &json!(true), &json!(5)));
    let rows: Vec<_> = body["items"].as_array().unwrap().iter().collect();
    let told = |row: &Value| row["result"].as_str().or(row["problem"].as_str()).unwrap().to_owned();
    let told: Vec<_> = rows.iter().map(|row| (row["line"].as_u64().unwrap(), told(row))).collect();
    let expected = [
        (2, "created"),
        (3, "created"),
        (4, "unchanged"),
        (5, "duplicate-date"),
        (6, "date-in-the-future"),
        (7, "invalid-date"),
        (8, "invalid-has-bleeding"),
        (10, "date-too-early"),
    ];
    assert_eq!(told, expected.map(|(line, told)| (line, told.to_owned())));
    assert_eq!(body["status"]["bestStreak"], 3);
    let log = world.get("ann", &format!("GET {LOG}"), &["2026-11-19"]).await;
    assert_eq!(log["note"], "a, \"b\"");
    // A repeated import changes nothing.
    assert_eq!(send("", file).await.1["unchanged"], 3);

    let many: String = (0..1_001).map(|day| format!("\n2020-01-{day:02},no")).collect();
    assert_eq!(problem(&send("", &format!("date,has_bleeding{many}")).await), (400, "too-many-rows"));
    for file in ["", "date,note\n2026-11-01,x"] {
        assert_eq!(problem(&send("", file).await), (400, "invalid-body"), "{file:?}");
    }
    assert_eq!(problem(&send("dryRun=yes", file).await), (400, "invalid-parameter"));
    let large = format!("date,has_bleeding\n{}", "x".repeat(1024 * 1024));
    assert_eq!(problem(&send("", &large).await), (413, "body-too-large"));
}

#[tokio::test]
async fn a_broken_file_is_refused_whole_with_its_line() {
    let world = World::new().await;
    let good = "date,has_bleeding,note\r\n2026-11-18,true,\"a\nb\"\r\n";
    let (days, utf_8) = ("2026-11-20,no,\n2026-11-21,no,\n", |text: &str| text.as_bytes().to_vec());
    let broken = [
        (4, utf_8(&format!("{good}2026-11-19,yes,\"never ends\n{days}"))),
        (4, utf_8(&format!("{good}2026-11-19,yes,\"until\n2026-11-20,no,\"the next\"\n{days}"))),
        (5, utf_8(&format!("{good}2026-11-19,yes,\n2026-11-20,no\n{days}"))),
        (5, utf_8(&format!("{good}2026-11-19,yes,\n2026-11-20,no,a,b\n{days}"))),
        (4, utf_8(&format!("{good}2026-11-19,yes,\0\n{days}"))),
        (4, [good.as_bytes(), b"2026-11-19,yes,caf\xe9\n"].concat()),
        (1, "date,has_bleeding".encode_utf16().flat_map(u16::to_le_bytes).collect()),
    ];
    for (line, file) in broken {
        let file = base64::engine::general_purpose::STANDARD.encode(file);
        let answer = world.send("token-of-ann", "POST /okusuri/api/import", &[], ("text/csv;base64", &file)).await;
        assert_eq!(problem(&answer), (400, "invalid-body"), "{answer:?}");
        assert!(answer.1["detail"].as_str().unwrap().starts_with(&format!("line {line} ")), "{answer:?}");
        assert_eq!(world.get("ann", "GET /okusuri/api/logs", &[]).await["items"], json!([]));
    }
}

#[tokio::test]
async fn a_thousand_days_are_imported_at_once() {
    let world = World::new().await;
    let first: jiff::civil::Date = "2024-01-01".parse().unwrap();
    let days = first.series(jiff::Span::new().days(1)).take(1_000);
    let file: String = days.map(|day| format!("\n{day},false")).collect();
    let file = format!("date,has_bleeding{file}");
    let (status, body) = world.send("token-of-ann", "POST /okusuri/api/import", &[], ("text/csv", &file)).await;
    assert_eq!((status, &body["created"], &body["status"]["bestStreak"]), (200, &json!(1_000), &json!(1_000)));
}
