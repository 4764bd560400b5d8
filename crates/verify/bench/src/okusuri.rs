//! What Okusuri's questions cost to answer, beside the layout of five indexes that it comes from:
//! the same data, the same engine.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use domain::UserId;
use domain::okusuri::Log;
use jiff::civil::{Date, date};
use jiff::{Timestamp, ToSpan as _};
use okusuri_store::rows::{EmailOwner, Session, User};
use okusuri_store::{LogEntry, LogRange, Logs, Row as _, Sessions, item, sha256_hex};
use serde_json::json;
use store_base::Direction;
use tidemark_engine::{Engine, Options};
use tidemark_local::stack::Table;
use uuid::Uuid;

use crate::report::{Better, Row};
use crate::stack;
use crate::wire::{self, Consumed, Meter};

const SECTION: &str = "Okusuri: reads, by how many days are logged";

/// How many days are logged: a month, a year, ten years.
const DAYS: [u32; 3] = [30, 365, 3_650];

/// The source.
const FIVE_INDEXES: &str = "five indexes";

const TOKEN: &str = "a-token-of-256-random-bits-in-base64url-000";
const EMAIL: &str = "ann@example.com";
const USER: &str = "AbCdEfGhIjKlMnOpQrStUvWxYz012345";

/// Read units of each question, for each length of history.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for days in DAYS {
        let (own, other) = (Own::new(days).await?, Other::new(days).await?);
        let beside = |what: &str, own: Consumed, other: Consumed| {
            Row::count(SECTION, format!("{days} logs: {what}"), "RRU", own.read_units).beside(
                Better::Lower,
                FIVE_INDEXES,
                other.read_units,
            )
        };
        rows.push(beside("the streak", own.streak().await?, other.everything_of_the_user(days).await?).at_most(1.0));
        rows.push(beside("the newest month", own.month().await?, other.everything_of_the_user(days).await?));
        if days == DAYS[0] {
            rows.push(beside("the user of a token", own.token().await?, other.by("TokenIndex", "Token", TOKEN).await?));
            rows.push(beside(
                "the user of an address",
                own.email().await?,
                other.by("EmailIndex", "Email", EMAIL).await?,
            ));
        }
        own.engine.shutdown().await;
        other.engine.shutdown().await;
    }
    Ok(rows)
}

fn today() -> Date {
    date(2026, 11, 22)
}

fn now() -> Timestamp {
    "2026-11-22T03:00:00Z".parse().unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Each logged day, oldest first: every day until today, and bleeding on one in nine.
fn logs(days: u32) -> impl Iterator<Item = Log> {
    let from = today().saturating_sub(i64::from(days.saturating_sub(1)).days());
    from.series(1.day())
        .take(days as usize)
        .zip(0_u32..)
        .map(|(date, n)| Log { date, has_bleeding: n.is_multiple_of(9) })
}

/// Okusuri's own table, and a meter in front of it.
struct Own {
    engine: Engine,
    meter: Arc<Meter>,
    client: Client,
    table: Table,
}

impl Own {
    async fn new(days: u32) -> Result<Self> {
        let engine = Engine::start(Options::default()).await?;
        let table = stack::table("OkusuriTable")?;
        let direct = stack::client(&engine);
        tidemark_local::tables::ensure(&direct, &table).await?;
        let user = User {
            user_id: USER.to_owned(),
            name: Some("Ann".to_owned()),
            email: Some(EMAIL.to_owned()),
            email_verified: true,
            image: None,
            time_zone: "Asia/Tokyo".to_owned(),
            regimen: None,
            asks_regimen: false,
            sessions_from: None,
            sign_in_grants_added: None,
            deleting: None,
            created_at: now(),
            updated_at: now(),
        };
        let session = Session {
            user_id: USER.to_owned(),
            session_id: Uuid::from_u128(1).to_string(),
            token_hash: sha256_hex(TOKEN.as_bytes()),
            expires_at: now() + jiff::SignedDuration::from_hours(24),
            ip_address: None,
            user_agent: None,
            created_at: now(),
            updated_at: now(),
        };
        let owner = EmailOwner { email: EMAIL.to_owned(), user_id: USER.to_owned(), created_at: now() };
        for row in [item(&user)?, item(&session)?, item(&owner)?] {
            direct.put_item().table_name(&table.name).set_item(Some(row)).send().await?;
        }
        let store = Logs::new(&store_base::Table::new(direct, &table.name));
        let entries: Vec<_> = logs(days)
            .zip(1..)
            .map(|(log, n)| LogEntry {
                log,
                is_taken: true,
                note: None,
                flow: None,
                symptoms: None,
                id: Uuid::from_u128(n),
            })
            .collect();
        let written = store.put_all(&user_id()?, &entries, now()).await;
        written.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        let meter = Arc::new(Meter::new(engine.url()));
        let client = wire::client(meter.clone());
        Ok(Self { engine, meter, client, table })
    }

    async fn streak(&self) -> Result<Consumed> {
        let status = Logs::new(&store_base::Table::new(self.client.clone(), &self.table.name))
            .status(&user_id()?, today())
            .await?;
        ensure!(status.streak > 0, "no streak: {status:?}");
        Ok(self.meter.take())
    }

    async fn month(&self) -> Result<Consumed> {
        let range = LogRange { from: Some(today().saturating_sub(29.days())), to: Some(today()) };
        let logs = Logs::new(&store_base::Table::new(self.client.clone(), &self.table.name));
        let page = logs.page(&user_id()?, range, Direction::Desc, 31, None).await?;
        ensure!(page.items.len() == 30, "{} logs of 30 days", page.items.len());
        Ok(self.meter.take())
    }

    async fn token(&self) -> Result<Consumed> {
        let found = Sessions::new(&store_base::Table::new(self.client.clone(), &self.table.name))
            .of_token(TOKEN, now())
            .await?;
        ensure!(found.is_some(), "the token is nobody's");
        Ok(self.meter.take())
    }

    /// The marker, then the profile, both as of the last write.
    async fn email(&self) -> Result<Consumed> {
        let get =
            |key| self.client.get_item().table_name(&self.table.name).set_key(Some(key)).consistent_read(true).send();
        let owner = EmailOwner { email: EMAIL.to_owned(), user_id: USER.to_owned(), created_at: now() };
        get(owner.key().item()).await?.item.context("no such address")?;
        get(key(&format!("USER#{USER}"), "PROFILE")).await?.item.context("no such user")?;
        Ok(self.meter.take())
    }
}

/// The table of five indexes with everything projected, and items with a map `Data`, and a meter in
/// front of it.
struct Other {
    engine: Engine,
    meter: Arc<Meter>,
    client: Client,
}

const OTHER: &str = "five-indexes";

impl Other {
    async fn new(days: u32) -> Result<Self> {
        let engine = Engine::start(Options::default()).await?;
        let direct = stack::client(&engine);
        let indexes = [
            ("TypeIndex", "Type", "PK"),
            ("UserIndex", "UserID", "SK"),
            ("EmailIndex", "Email", "UserID"),
            ("TokenIndex", "Token", "UserID"),
        ];
        let index = |(name, hash, range): &(&str, &str, &str)| {
            json!({
                "IndexName": name,
                "KeySchema": [{ "AttributeName": hash, "KeyType": "HASH" }, { "AttributeName": range, "KeyType": "RANGE" }],
                "Projection": { "ProjectionType": "ALL" },
            })
        };
        let names = ["PK", "SK", "Type", "UserID", "Email", "Token"];
        let mut table = stack::table("OkusuriTable")?;
        OTHER.clone_into(&mut table.name);
        table.create_table = json!({
            "TableName": OTHER,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": names.map(|name| json!({ "AttributeName": name, "AttributeType": "S" })),
            "KeySchema": [{ "AttributeName": "PK", "KeyType": "HASH" }, { "AttributeName": "SK", "KeyType": "RANGE" }],
            "GlobalSecondaryIndexes": indexes.iter().map(index).collect::<Vec<_>>(),
        });
        tidemark_local::tables::ensure(&direct, &table).await?;
        let user = format!("USER#{USER}");
        let mut items = vec![
            original_design_item(&user, "PROFILE", "user", &[("name", "Ann"), ("email", EMAIL)], &[("Email", EMAIL)]),
            original_design_item(
                &user,
                &format!("SESSION#{TOKEN}"),
                "session",
                &[("token", TOKEN)],
                &[("Token", TOKEN)],
            ),
        ];
        items.extend(logs(days).zip(1..).map(|(log, n)| {
            let sort = format!("MEDICATION#{}#{n}", log.date);
            original_design_item(&user, &sort, "medication_log", &[("hasBleeding", &log.has_bleeding.to_string())], &[])
        }));
        for some in items.chunks(25) {
            let put = |item: &HashMap<_, _>| PutRequest::builder().set_item(Some(item.clone())).build();
            let puts = some.iter().map(|item| Ok(WriteRequest::builder().put_request(put(item)?).build()));
            let request = direct.batch_write_item().request_items(OTHER, puts.collect::<Result<_>>()?);
            ensure!(request.send().await?.unprocessed_items.unwrap_or_default().is_empty(), "items were left over");
        }
        let meter = Arc::new(Meter::new(engine.url()));
        let client = wire::client(meter.clone());
        Ok(Self { engine, meter, client })
    }

    /// The streak and the list of logs of the original design: it reads all items of the user
    /// through an index, and drops those that are not logs. DynamoDB refuses the design's filter,
    /// because it is on a key; it would not change the units read.
    async fn everything_of_the_user(&self, days: u32) -> Result<Consumed> {
        let (mut logs, mut from) = (0, None);
        loop {
            let page = self.client.query().table_name(OTHER).index_name("UserIndex");
            let page = page.key_condition_expression("UserID = :User").scan_index_forward(false);
            let page = page.expression_attribute_values(":User", AttributeValue::S(USER.to_owned()));
            let page = page.set_exclusive_start_key(from.take()).send().await?;
            let is_log = |item: &&HashMap<String, AttributeValue>| {
                item.get("SK").and_then(|sort| sort.as_s().ok()).is_some_and(|sort| sort.starts_with("MEDICATION#"))
            };
            logs += page.items().iter().filter(is_log).count();
            from = page.last_evaluated_key;
            if from.is_none() {
                break;
            }
        }
        ensure!(logs == days as usize, "{logs} of {days} logs");
        Ok(self.meter.take())
    }

    /// The user of something that an index knows, then the profile.
    async fn by(&self, index: &str, name: &str, value: &str) -> Result<Consumed> {
        let found = self.client.query().table_name(OTHER).index_name(index).limit(1);
        let found = found.key_condition_expression("#Name = :Value").expression_attribute_names("#Name", name);
        let found = found.expression_attribute_values(":Value", AttributeValue::S(value.to_owned())).send().await?;
        ensure!(found.count == 1, "{index} knows nobody");
        let profile = self.client.get_item().table_name(OTHER).set_key(Some(key(&format!("USER#{USER}"), "PROFILE")));
        profile.send().await?.item.context("no profile")?;
        Ok(self.meter.take())
    }
}

fn user_id() -> Result<UserId> {
    Ok(UserId::new(USER)?)
}

fn key(partition: &str, sort: &str) -> HashMap<String, AttributeValue> {
    [("PK", partition), ("SK", sort)].map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned()))).into()
}

/// An item as the documents spell it: everything of the entity in a map, and times twice.
fn original_design_item(
    partition: &str,
    sort: &str,
    kind: &str,
    data: &[(&str, &str)],
    indexed: &[(&str, &str)],
) -> HashMap<String, AttributeValue> {
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let at = "2025-08-30T10:00:00Z";
    let times = [("createdAt", at), ("updatedAt", at)];
    let data = data.iter().chain(&times).map(|(name, value)| ((*name).to_owned(), text(value))).collect();
    let mut item = key(partition, sort);
    item.insert("Data".to_owned(), AttributeValue::M(data));
    let own = [("Type", kind), ("UserID", USER), ("CreatedAt", at), ("UpdatedAt", at)];
    item.extend(own.iter().chain(indexed).map(|(name, value)| ((*name).to_owned(), text(value))));
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn streak_costs_the_same_after_a_year_as_a_month() {
        let (month, year) = (Own::new(30).await.expect("a table"), Own::new(365).await.expect("a table"));
        let (month, year) = (month.streak().await.expect("a streak"), year.streak().await.expect("a streak"));
        assert_eq!(month.read_units, year.read_units);
        let other = Other::new(365).await.expect("a table");
        let everything = other.everything_of_the_user(365).await.expect("logs").read_units;
        assert!(everything > 10.0 * year.read_units, "{everything} and {}", year.read_units);
        println!("streak {month:?} {year:?}, everything {everything}");
    }
}
