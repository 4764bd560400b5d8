//! `okusuri-reminder`: every few minutes.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::{aws, env, telemetry};
use lambda_runtime::{LambdaEvent, service_fn};
use okusuri_reminder::{Reminders, handle};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("OKUSURI_TABLE")?;
    let client = Client::new(&aws::config().await);
    store::okusuri::connect(&client, &table).await?;
    let reminders = Reminders::new(table);
    let reminders = &reminders;
    lambda_runtime::run(service_fn(|_: LambdaEvent<Value>| handle(reminders, Timestamp::now()))).await
}
