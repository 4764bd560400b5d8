//! The stack as foreign programs see it: the aws command line, boto3 and cargo-lambda.
//!
//! `make verify PART=tools` installs them and sets `TIDEMARK_TOOLS`. Without it these tests say so
//! and pass.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use tests::{Stack, repository};

/// One of the tools; `None`, said loudly, where they are not installed.
fn tool(name: &str) -> Option<Command> {
    let Some(tools) = std::env::var_os("TIDEMARK_TOOLS") else {
        eprintln!("NOT RUN: TIDEMARK_TOOLS is not set, so there is no {name}; `make verify PART=tools` installs it");
        return None;
    };
    Some(Command::new(PathBuf::from(tools).join(name)))
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn aws(stack: &Stack, arguments: &[&str]) -> Option<Value> {
    let mut aws = tool("aws")?;
    aws.args(["--endpoint-url", stack.dynamodb_url(), "--output", "json", "dynamodb"]).args(arguments);
    aws.env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local").env("AWS_DEFAULT_REGION", "us-east-1");
    let text = output(&mut aws);
    Some(if text.trim().is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() })
}

fn item(time: &str) -> String {
    json!({
        "userId": {"S": "user-123"}, "createDateTime": {"S": time}, "clickCount": {"N": "1"},
        "dateKey": {"S": "DATE#2025-10-02"}, "recordSort": {"S": format!("CLICK#{time}#user-123")},
    })
    .to_string()
}

const TABLE: [&str; 2] = ["--table-name", "qit-db-local"];

#[tokio::test]
async fn six_queries_answer_the_aws_command_line_as_written() {
    let stack = Stack::start().await.unwrap();
    for time in ["2025-10-02T10:30:00.000Z", "2025-10-02T10:31:00.000Z"] {
        if aws(&stack, &[&["put-item"], &TABLE[..], &["--item", &item(time)]].concat()).is_none() {
            return;
        }
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 2})).await.unwrap();
    let query = |index: bool, condition: &str, values: Value| {
        let values = values.to_string();
        let mut arguments = vec!["query", "--table-name", "qit-db-local", "--key-condition-expression", condition];
        arguments.extend(["--expression-attribute-values", &values]);
        if index {
            arguments.extend(["--index-name", "DateIndex"]);
        }
        aws(&stack, &arguments).unwrap()
    };
    let user = json!({":userId": {"S": "user-123"}});
    assert_eq!(query(false, "userId = :userId", user)["Count"], 2);
    let range = json!({
        ":userId": {"S": "user-123"},
        ":start": {"S": "2025-10-01T00:00:00.000Z"}, ":end": {"S": "2025-10-02T10:30:59.999Z"},
    });
    assert_eq!(query(false, "userId = :userId AND createDateTime BETWEEN :start AND :end", range)["Count"], 1);
    // Two clicks and the day's statistic share the partition.
    assert_eq!(query(true, "dateKey = :date", json!({":date": {"S": "DATE#2025-10-02"}}))["Count"], 3);
    let stat = |key: &str, date_key: &str, sort: &str| {
        let values = json!({format!(":{key}"): {"S": date_key}, ":stat": {"S": sort}});
        query(true, &format!("dateKey = :{key} AND recordSort = :stat"), values)["Items"][0].clone()
    };
    assert_eq!(
        stat("date", "DATE#2025-10-02", "STAT#DAILY"),
        json!({
            "userId": {"S": "STAT#DAILY"}, "createDateTime": {"S": "2025-10-02"}, "totalClicks": {"N": "2"},
            "uniqueUsers": {"N": "1"}, "dateKey": {"S": "DATE#2025-10-02"}, "recordSort": {"S": "STAT#DAILY"},
        })
    );
    assert_eq!(
        stat("month", "MONTH#2025-10", "STAT#MONTHLY"),
        json!({
            "userId": {"S": "STAT#MONTHLY"}, "createDateTime": {"S": "2025-10"}, "totalClicks": {"N": "2"},
            "uniqueUsers": {"N": "1"}, "dateKey": {"S": "MONTH#2025-10"}, "recordSort": {"S": "STAT#MONTHLY"},
        })
    );
    let key = r##"{"userId": {"S": "STAT#TOTAL"}, "createDateTime": {"S": "METADATA"}}"##;
    let total = aws(&stack, &["get-item", "--table-name", "qit-db-local", "--key", key]).unwrap();
    assert_eq!(
        total["Item"],
        json!({
            "userId": {"S": "STAT#TOTAL"}, "createDateTime": {"S": "METADATA"}, "totalClicks": {"N": "2"},
            "dateKey": {"S": "STAT#TOTAL"}, "recordSort": {"S": "METADATA"},
        })
    );
}

#[tokio::test]
async fn the_six_queries_answer_boto3_as_they_are_written() {
    let stack = Stack::start().await.unwrap();
    for time in ["2025-10-02T10:30:00.000Z", "2025-10-03T00:00:00.000Z"] {
        let click = [("userId", "user-123"), ("createDateTime", time)].into_iter();
        let (date_key, sort) = (format!("DATE#{}", &time[..10]), format!("CLICK#{time}#user-123"));
        let click = click.chain([("dateKey", date_key.as_str()), ("recordSort", sort.as_str())]);
        let put = stack.dynamodb().put_item().table_name("qit-db-local");
        let text = |value: &str| aws_sdk_dynamodb::types::AttributeValue::S(value.to_owned());
        click.fold(put, |put, (name, value)| put.item(name, text(value))).send().await.unwrap();
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 2})).await.unwrap();
    let Some(mut python) = tool("python3") else { return };
    let script = repository().join("tests/clients/six_queries.py");
    let answers = output(python.arg(script).arg(stack.dynamodb_url()));
    let answers: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts: Vec<_> = answers.iter().map(|items| items.as_array().unwrap().len()).collect();
    assert_eq!(counts, [2, 1, 2, 1, 1, 1]);
    assert_eq!((&answers[3][0]["totalClicks"], &answers[3][0]["uniqueUsers"]), (&json!(1), &json!(1)));
    assert_eq!((&answers[4][0]["totalClicks"], &answers[4][0]["uniqueUsers"]), (&json!(2), &json!(1)));
    assert_eq!(answers[5][0]["totalClicks"], 2);
}

#[tokio::test]
async fn cargo_lambda_sends_sample_events_to_the_running_stack() {
    let stack = Stack::start().await.unwrap();
    let Some(mut cargo_lambda) = tool("cargo-lambda") else { return };
    let (host, port) = stack.url().trim_start_matches("http://").rsplit_once(':').unwrap();
    let event = repository().join("events/click-writer/usual.json");
    cargo_lambda.args([
        "lambda",
        "invoke",
        "--invoke-address",
        host,
        "--invoke-port",
        port,
        "click-writer",
        "--data-file",
    ]);
    let answer: Value = serde_json::from_str(&output(cargo_lambda.arg(event))).unwrap();
    assert_eq!(answer["statusCode"], 201);
    stack.wait_for("/stats/total", &json!({"totalClicks": 1})).await.unwrap();
}
