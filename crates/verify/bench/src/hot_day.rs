//! How many clicks a second one day takes before DynamoDB throttles it, by the number of date
//! shards.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use clicks_store::{ClickWriter, DateShards};
use domain::UserId;
use domain::clicks::{Click, ClickCount, ClickTime};
use store_base::StoreError;
use tidemark_engine::{Engine, EngineFaults, Options};

use crate::report::{Better, Row};
use crate::{events, stack};

const SECTION: &str = "Hot day: clicks a second before the first one is throttled";

const SHARDS: [u8; 3] = [1, 4, 10];

/// More than any of these can take.
const CLICKS_MAX: usize = 12_000;

/// Clicks of a second, by the number of shards.
pub(crate) async fn rows() -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for shards in SHARDS {
        let clicks = clicks_in_a_second(shards).await?;
        let what = if shards == 1 { "1 date shard".to_owned() } else { format!("{shards} date shards") };
        let row = Row::count(SECTION, what, "clicks/s", clicks);
        rows.push(match rows.first() {
            Some(plain) => row.beside(Better::Higher, "1 date shard", plain.value),
            None => row,
        });
    }
    let last = rows.pop().map(|row| row.pictured("Clicks a second that one day takes", "10 date shards"));
    rows.extend(last);
    Ok(rows)
}

/// The throttle's clock is stopped, so exactly one second's capacity is admitted, on a machine of
/// any speed.
async fn clicks_in_a_second(shards: u8) -> anyhow::Result<f64> {
    let engine = Engine::start(Options::default()).await?;
    let client = stack::client(&engine);
    let table = stack::table("ClicksTable")?;
    tidemark_local::tables::ensure(&client, &table).await?;
    engine.throttle_clock().hold();
    engine.faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    let config = client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let writer = ClickWriter::new(
        &store_base::Table::new(client, table.name),
        DateShards::new(shards).unwrap_or_default(),
        None,
    );
    let mut stored = 0;
    for user in 0..CLICKS_MAX {
        let click = Click {
            user_id: UserId::new(format!("user-{user}"))?,
            time: ClickTime::parse(&format!("{}T10:30:00.000Z", events::DAY))?,
            count: ClickCount::default(),
            target: None,
        };
        match writer.put(&click, "id").await {
            Ok(_) => stored += 1,
            Err(StoreError::Busy(_)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    engine.shutdown().await;
    Ok(f64::from(stored))
}
