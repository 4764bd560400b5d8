//! A full disk below the running stack. `make verify` runs it, because it needs a mount namespace.

use std::fs::File;
use std::io::Write;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tests::Stack;

/// Takes all space that is left.
fn fill(stack: &Stack) -> std::path::PathBuf {
    let path = stack.disk().unwrap().join("filler");
    let mut file = File::create(&path).unwrap();
    for size in [64 * 1024, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

async fn is_full(stack: &Stack) -> Value {
    stack.get("/_local/health").await.unwrap().json()["isStorageFull"].clone()
}

#[tokio::test]
async fn full_disk_is_named_and_loses_no_acknowledged_click() {
    let stack = Stack::on_a_small_disk().await.unwrap();
    let click = async || stack.post("/clicks", &json!({ "userId": "ann" })).await.unwrap();
    assert_eq!(click().await.status, StatusCode::CREATED);
    let mut acknowledged = 1;
    let filler = fill(&stack);
    // Some writes find room in the pages that the database has.
    let refused = loop {
        let answer = click().await;
        if answer.status != StatusCode::CREATED {
            break answer;
        }
        acknowledged += 1;
        assert!(acknowledged < 10_000, "the disk never fills up");
    };
    assert_eq!((refused.status.as_u16(), &*refused.problem()), (503, "storage-full"), "{refused:?}");
    assert_eq!(is_full(&stack).await, json!(true));
    std::fs::remove_file(filler).unwrap();
    assert_eq!(click().await.status, StatusCode::CREATED);
    acknowledged += 1;
    stack.wait_for("/stats/total", &json!({ "totalClicks": acknowledged })).await.unwrap();
    assert_eq!(is_full(&stack).await, json!(false));
    stack.stop().unwrap();
}
