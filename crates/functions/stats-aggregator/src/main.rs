//! `stats-aggregator`: the clicks table's stream.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::{aws, env, stream, telemetry};
use stats_aggregator::{Aggregator, handle};
use store::Table;
use store::clicks::StatLayout;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("CLICKS_TABLE")?;
    let layout = env::parsed("STAT_LAYOUT", StatLayout::default(), "sums or buffers", Some)?;
    let table = Table::new(Client::new(&aws::config().await), table);
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    store::clicks::connect(&table).await?;
    let aggregator = Aggregator::new(&table, layout);
    stream::run(|event, context| handle(&aggregator, event, context.deadline(), Timestamp::now())).await
}
