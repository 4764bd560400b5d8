//! What happens when a product is hotter than one partition can take, and what days and suffixes do
//! about it.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use domain::shop::{Action, Activity, ProductId};
use domain::{Attributes, Moment, UserId};
use shop_store::{Activities, ActivitySuffixes};
use store_base::StoreError;
use tests::Database;
use tidemark_engine::EngineFaults;

/// What a partition takes in one second.
const TAKEN: u32 = 1_000;

/// Records this many activities with one product in a second, and returns the refusals. Throttled
/// requests are not retried.
async fn offer(offered: u32, suffixes: u8) -> Vec<StoreError> {
    let db = Database::start().await.unwrap();
    // A clock that stands still: each partition has one second's units to give.
    db.engine().throttle_clock().hold();
    db.engine().faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    let config = db.client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let store =
        Activities::new(&store_base::Table::new(client, Database::SHOP), ActivitySuffixes::new(suffixes).unwrap());
    let mut refusals = Vec::new();
    for n in 0..offered {
        let activity = Activity {
            user_id: UserId::new(format!("user-{n}")).unwrap(),
            action: Action::new("view").unwrap(),
            product_id: Some(ProductId::new("p-1").unwrap()),
            attributes: Attributes::default(),
            at: Moment::parse(&format!("2025-10-02T10:30:00.{n:09}Z")).unwrap(),
            id: format!("0199a478-bc40-7abc-8def-{n:012x}").parse().unwrap(),
        };
        refusals.extend(store.record(&activity).await.err());
    }
    refusals
}

#[tokio::test]
async fn one_partition_throttles_beyond_a_thousand_activities_per_second() {
    let offered = tests::load(1_200, 5_000);
    let refusals = offer(offered, 1).await;
    // Each user has a partition to themselves; it is the product's that is full.
    assert_eq!(refusals.len(), (offered - TAKEN) as usize);
    for refusal in &refusals {
        assert!(matches!(refusal, StoreError::Busy(why) if why.contains("TableWriteKeyRangeThroughputExceeded")));
    }
}

#[tokio::test]
async fn suffixes_take_what_one_partition_refuses() {
    let (offered, suffixes) = tests::load((1_200, 2), (5_000, 10));
    assert_eq!(offer(offered, suffixes).await.len(), 0);
}
