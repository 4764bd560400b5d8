//! `okusuri-reminder`: sends due reminders every minute.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::push::{Push, VapidKey};
use lambda_kit::{aws, env, mail::Mailer, outbound::Outbound, runtime, telemetry};
use okusuri_reminder::{ReminderService, handle};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let (key, subject) = (env::required("VAPID_KEY_SECRET_ARN")?, env::required("VAPID_SUBJECT")?);
    let (table, from) = (env::required("OKUSURI_TABLE")?, env::required("OKUSURI_MAIL_FROM")?);
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), table);
    okusuri_store::connect(&table).await?;
    let key = VapidKey::new(&aws::secret(&sdk, &key).await?, subject)?;
    let mailer = Mailer::new(aws_sdk_sesv2::Client::new(&sdk), from);
    let service = &ReminderService::new(&table, Push::new(Outbound::from_env()?, key), mailer);
    runtime::run(|_, _| handle(service, Timestamp::now())).await
}
