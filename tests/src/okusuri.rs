//! Okusuri's function, and users who are signed in.

use anyhow::Result;
use aws_sdk_dynamodb::Client;
use domain::UserId;
use domain::okusuri::Log;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::outbound::Outbound;
use okusuri_api::{Config, Okusuri, Secrets};
use okusuri_store::rows::{EmailOwner, MedicationLog, Medicine, Session, User};
use okusuri_store::{Row, item, sha256_hex};
use uuid::Uuid;

use crate::Database;

/// The secret from which the function makes its keys for codes and logins.
pub const KEY: &str = "key-of-the-tests-0000000000000000";

/// The function on the table of `db`. It can send no mail and call no provider.
pub fn service(db: &Database, now: fn() -> Timestamp) -> Result<Okusuri> {
    let arn = "arn".to_owned();
    let config = Config {
        table: Database::OKUSURI.to_owned(),
        cursor_key_arn: arn.clone(),
        health_token_arn: arn.clone(),
        key_arn: arn.clone(),
        vapid_key_arn: arn,
        mail_from: "okusuri@example.com".to_owned(),
        public_url: None,
        providers: Vec::new(),
        vapid_subject: "mailto:operator@example.com".to_owned(),
    };
    let secrets = Secrets {
        cursor_key: "cursor-key-of-the-tests-000000000".into(),
        health_token: "health".into(),
        key: KEY.into(),
        vapid_key: "vapid-key-of-the-tests-0000000000".into(),
    };
    let mails = aws_sdk_sesv2::Client::from_conf(aws_sdk_sesv2::Config::builder().behavior_version_latest().build());
    let okusuri = Okusuri::new(&db.table(Database::OKUSURI), mails, Outbound::new(&[]), &config, secrets)?;
    Ok(okusuri.with(now, Uuid::now_v7))
}

/// Stores a signed-in user with the token `token-of-<id>`.
pub async fn user(client: &Client, id: &str, time_zone: &str) -> Result<UserId> {
    let created_at: Timestamp = "2025-01-01T00:00:00Z".parse()?;
    let user = User {
        user_id: id.to_owned(),
        name: None,
        email: Some(format!("{id}@example.com")),
        email_verified: true,
        image: None,
        time_zone: time_zone.to_owned(),
        regimen: None,
        asks_regimen: false,
        sessions_from: None,
        sign_in_grants_added: None,
        deleting: None,
        created_at,
        updated_at: created_at,
    };
    let session = Session {
        user_id: id.to_owned(),
        session_id: format!("session-of-{id}"),
        token_hash: sha256_hex(format!("token-of-{id}").as_bytes()),
        expires_at: created_at + SignedDuration::from_hours(24 * 365 * 100),
        ip_address: None,
        user_agent: None,
        created_at,
        updated_at: created_at,
    };
    put(client, &user).await?;
    put(client, &session).await?;
    Ok(UserId::new(id)?)
}

/// Puts a row there, as it is.
pub async fn put<R: Row>(client: &Client, row: &R) -> Result<()> {
    client.put_item().table_name(Database::OKUSURI).set_item(Some(item(row)?)).send().await?;
    Ok(())
}

/// What the sample events of `okusuri-api` are about: Ann, her logs around the beginning of October
/// 2025, a medicine, and what leads to her by her address.
pub async fn samples(client: &Client) -> Result<()> {
    let ann = user(client, "ann", "Asia/Tokyo").await?;
    let created_at: Timestamp = "2025-10-02T10:30:00Z".parse()?;
    put(client, &EmailOwner { email: "ann@example.com".into(), user_id: ann.to_string(), created_at }).await?;
    for (date, has_bleeding) in [("2025-09-30", false), ("2025-10-01", true), ("2025-10-02", true)] {
        let date = date.parse()?;
        put(client, &MedicationLog::new(&ann, Log { date, has_bleeding }, format!("log-{date}"), created_at)).await?;
    }
    let medicine = medicine(&ann, &["08:00".parse()?, "20:00".parse()?], "2025-10-01")?;
    put(client, &Medicine { until: Some("2025-10-03".parse()?), updated_at: created_at, ..medicine }).await
}

/// Iron at some times of each day, which was added before its first day.
pub fn medicine(user: &UserId, times: &[Time], from: &str) -> Result<Medicine> {
    let from: Date = from.parse()?;
    let created_at = from.yesterday()?.at(10, 30, 0, 0).to_zoned(TimeZone::UTC)?.timestamp();
    Ok(Medicine {
        user_id: user.to_string(),
        medicine_id: "0199c0de-0000-7000-8000-00000000000a".into(),
        name: "Iron".into(),
        dose: "1 tablet".into(),
        times: times.to_vec(),
        from,
        until: None,
        former: Vec::new(),
        stock: None,
        version: 0,
        created_at,
        updated_at: created_at,
    })
}
