//! Redrives and dismissals of quarantined records.

use rollup::{DecodeError, Ending, QuarantinedRecord, RedriveOutcome};

use super::*;

impl World {
    /// Inserts an item that cannot be read, and quarantines its record. Returns the item as it
    /// should be.
    async fn quarantine(&self, number: u32) -> Value {
        let good = image(number, "2025-10-02", "lamp", "ann", 100);
        let mut bad = good.clone();
        bad["cents"] = json!({"S": "one"});
        self.put(&bad).await;
        self.handle(&event(&[record(number, None, Some(&bad))])).await.unwrap();
        good
    }

    async fn put(&self, item: &Value) {
        let item: serde_dynamo::Item = serde_json::from_value(item.clone()).unwrap();
        self.client.put_item().table_name("shop").set_item(Some(item.into())).send().await.unwrap();
    }

    async fn delete(&self, item: &Value) {
        let item: serde_dynamo::Item = serde_json::from_value(json!({"pk": item["pk"], "sk": item["sk"]})).unwrap();
        self.client.delete_item().table_name("shop").set_key(Some(item.into())).send().await.unwrap();
    }

    async fn records(&self) -> Vec<QuarantinedRecord> {
        self.aggregator.quarantined().await.unwrap()
    }

    async fn redrive(&self, record: &QuarantinedRecord) -> RedriveOutcome {
        self.aggregator.redrive(record, &self.table, Timestamp::now()).await.unwrap()
    }

    async fn dismiss(&self, record: &QuarantinedRecord) -> Ending {
        self.aggregator.dismiss(record, &self.table, Timestamp::now()).await.unwrap()
    }

    /// Items of the crate with an attribute.
    async fn items_with(&self, attribute: &str) -> usize {
        let scan = self.client.scan().table_name("shop").filter_expression("attribute_exists(#a)");
        scan.expression_attribute_names("#a", attribute).send().await.unwrap().items().len()
    }
}

#[tokio::test]
async fn a_mended_item_is_counted_by_one_redrive() {
    let world = World::with(Layout::Sums, Policy::Keep).await;
    let good = world.quarantine(1).await;
    let [record] = world.records().await.try_into().unwrap();
    assert_eq!((record.sequence_number.as_str(), record.ending), ("1", None));
    assert!(matches!(world.redrive(&record).await, RedriveOutcome::Unreadable(why) if why.code == "item"));
    world.put(&good).await;
    let redrives = futures::future::join_all((0..8).map(|_| world.redrive(&record))).await;
    assert_eq!(redrives, vec![RedriveOutcome::Settled(Ending::Counted); 8]);
    assert_eq!(world.sold().await, 1);
    let settled = world.aggregator.quarantined_record(&record.id).await.unwrap().unwrap();
    assert!(settled.ending == Some(Ending::Counted) && settled.ended_at.is_some(), "{settled:?}");
    assert_eq!(world.dismiss(&settled).await, Ending::Counted);
    // The checkpoint of the shard and the record expire; the checkpoint of the redrive does not.
    assert_eq!((world.items_with("expiresAt").await, world.items_with("version").await), (2, 2));
}

#[tokio::test]
async fn a_record_is_settled_once() {
    let world = World::with(Layout::Buffers, Policy::Keep).await;
    let (kept_out, gone, again) = (world.quarantine(1).await, world.quarantine(2).await, world.quarantine(3).await);
    let [dismissed, deleted, first] = world.records().await.try_into().unwrap();
    assert_eq!(world.dismiss(&dismissed).await, Ending::Dismissed);
    world.put(&kept_out).await;
    assert_eq!(world.redrive(&dismissed).await, RedriveOutcome::Settled(Ending::Dismissed));
    world.delete(&gone).await;
    assert_eq!(world.redrive(&deleted).await, RedriveOutcome::Settled(Ending::Gone));
    // Another record of an item that is counted.
    let mut bad = again.clone();
    bad["cents"] = json!({"S": "two"});
    world.handle(&event(&[record(4, None, Some(&bad))])).await.unwrap();
    world.put(&again).await;
    assert_eq!(world.redrive(&first).await, RedriveOutcome::Settled(Ending::Counted));
    let waiting = world.records().await.into_iter().find(|record| record.ending.is_none()).unwrap();
    assert_eq!(world.redrive(&waiting).await, RedriveOutcome::Settled(Ending::Duplicate));
    assert_eq!(world.sold().await, 1);
}

#[tokio::test]
async fn a_record_without_a_redrive_can_be_dismissed() {
    for policy in [Policy::Keep, Policy::Retract] {
        let world = World::with(Layout::Sums, policy).await;
        world.handle(&event(&[json!("no record")])).await.unwrap();
        let [record] = world.records().await.try_into().unwrap();
        assert_eq!(record.sequence_number, "");
        assert_eq!(world.dismiss(&record).await, Ending::Dismissed);
    }
    let world = World::new(Layout::Sums).await;
    world.quarantine(1).await;
    let [record] = world.records().await.try_into().unwrap();
    assert_eq!(world.dismiss(&record).await, Ending::Dismissed);
    assert_eq!(world.items_with("version").await, 1, "only the checkpoint of the shard");
    assert_eq!(world.records().await[0].ending, Some(Ending::Dismissed));
}

#[tokio::test]
async fn a_mended_record_of_a_retracting_rollup_is_settled() {
    let world = World::new(Layout::Sums).await;
    let good = world.quarantine(1).await;
    let [waiting] = world.records().await.try_into().unwrap();
    assert!(matches!(world.redrive(&waiting).await, RedriveOutcome::Unreadable(why) if why.code == "item"));
    let mut bad = good.clone();
    bad["cents"] = json!({"S": "one"});
    world.put(&good).await;
    world.handle(&event(&[record(2, Some(&bad), Some(&good))])).await.unwrap();
    assert_eq!(world.redrive(&waiting).await, RedriveOutcome::Settled(Ending::Counted));
    assert_eq!(world.sold().await, 1, "the modification has counted it");

    world.quarantine(3).await;
    let unread = world.records().await.into_iter().find(|record| record.ending.is_none()).unwrap();
    let lenient = |image: &RawValue| {
        let image = image.get().replace(r#"{"S":"one"}"#, r#"{"N":"1"}"#);
        let item: serde_dynamo::Item = serde_json::from_str(&image).map_err(|why| DecodeError::new("item", why))?;
        serde_dynamo::from_item(item).map(Some).map_err(|why| DecodeError::new("item", why))
    };
    let reader = Aggregator::decoding(sales(Policy::Retract), world.table.clone(), lenient);
    let redriven = reader.redrive(&unread, &world.table, Timestamp::now()).await.unwrap();
    assert!(matches!(redriven, RedriveOutcome::Unreadable(why) if why.code == "not-modified"));
    world.delete(&image(3, "", "", "", 0)).await;
    assert_eq!(world.redrive(&unread).await, RedriveOutcome::Settled(Ending::Gone));
}

#[tokio::test]
async fn a_readable_item_of_an_unreadable_record_stops_nobody() {
    let world = World::new(Layout::Sums).await;
    let sale = image(1, "2025-10-02", "lamp", "ann", 100);
    let mut unnumbered = record(1, None, Some(&sale));
    unnumbered["dynamodb"]["SequenceNumber"] = json!("x");
    world.handle(&event(&[record(1, None, Some(&sale)), unnumbered])).await.unwrap();
    let restarted = Aggregator::new(sales(Policy::Retract), world.table.clone());
    let world = World { aggregator: restarted, ..world };
    let mut of_another_shard = event(&[record(2, None, Some(&image(2, "2025-10-02", "lamp", "bob", 1)))]);
    of_another_shard["shardId"] = json!("shardId-00000001700000000001-00000000");
    world.handle(&of_another_shard).await.unwrap();
    assert_eq!(world.sold().await, 2);
    let [waiting] = world.records().await.try_into().unwrap();
    assert!(matches!(world.redrive(&waiting).await, RedriveOutcome::Unreadable(why) if why.code == "no-number"));
    assert_eq!(world.dismiss(&waiting).await, Ending::Dismissed);
    let [settled] = world.records().await.try_into().unwrap();
    assert_eq!(world.redrive(&settled).await, RedriveOutcome::Settled(Ending::Dismissed));
}
