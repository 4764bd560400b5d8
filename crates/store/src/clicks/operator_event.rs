//! What the table's stream tells that people want to know of: records put into quarantine and settled, and statistics repaired.

use jiff::Timestamp;
use serde::Deserialize;

use super::checkpoints::ShardCheckpoint;
use super::keys::{PARTITION_KEY, QUARANTINE, SORT_KEY, checkpoint_partition};
use crate::StoreError;

/// An item in DynamoDB's JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct OperatorEventImage(serde_dynamo::Item);

/// Something to be told of. `name` is the event's own: two events of one kind differ in it, and one that is told twice has it twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorEvent {
    /// A record was put into quarantine.
    Quarantined {
        /// A stable code.
        reason: String,
        /// When.
        at: Timestamp,
        /// The shard's and the record's.
        name: String,
    },
    /// A record in quarantine waits no more.
    Settled {
        /// How it ended: a stable code.
        ending: String,
        /// When.
        at: Timestamp,
        /// The shard's and the record's.
        name: String,
    },
    /// A transaction of a repair took effect.
    Repaired {
        /// When.
        at: Timestamp,
        /// The repair's number.
        name: String,
    },
}

/// The longest text that is taken for a code.
const CODE_BYTES_MAX: usize = 64;

impl OperatorEvent {
    /// What a record tells, of an item as it was before and as it is now; `None` when it is nothing of this.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when an item is not what its key promises.
    pub fn of(
        before: Option<&OperatorEventImage>,
        after: Option<&OperatorEventImage>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(after) = after else { return Ok(None) };
        let (partition, sort) = (after.text(PARTITION_KEY)?, after.text(SORT_KEY)?);
        let repairs = ShardCheckpoint::repair();
        if partition == QUARANTINE {
            let name = sort.to_owned();
            return match before {
                None => {
                    let at = after.time("quarantinedAt")?;
                    Ok(Some(Self::Quarantined { reason: after.code("reason")?, at, name }))
                }
                Some(before) if after.has("ending") && !before.has("ending") => {
                    let at = after.time("endedAt")?;
                    Ok(Some(Self::Settled { ending: after.code("ending")?, at, name }))
                }
                Some(_) => Ok(None),
            };
        }
        if partition == checkpoint_partition(repairs.stream_arn()) && sort == repairs.shard_id() {
            let (at, name) = (after.time("updatedAt")?, after.text("sequenceNumber")?.to_owned());
            return Ok(Some(Self::Repaired { at, name }));
        }
        Ok(None)
    }
}

impl OperatorEventImage {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A stable code, which goes into a sentence that everybody reads.
    fn code(&self, name: &str) -> Result<String, StoreError> {
        let code = self.text(name)?;
        let is_code = code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if !is_code || !(1..=CODE_BYTES_MAX).contains(&code.len()) {
            return Err(StoreError::unreadable(format_args!("{name} is no code")));
        }
        Ok(code.to_owned())
    }

    fn text(&self, name: &str) -> Result<&str, StoreError> {
        match self.0.get(name) {
            Some(serde_dynamo::AttributeValue::S(text)) => Ok(text),
            _ => Err(StoreError::unreadable(format_args!("{name} is missing, or no string"))),
        }
    }

    fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        self.text(name)?.parse().map_err(StoreError::unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(before: Option<Value>, after: Option<Value>) -> Result<Option<OperatorEvent>, StoreError> {
        let image = |json: Value| serde_json::from_value::<OperatorEventImage>(json).expect("an image");
        OperatorEvent::of(before.map(image).as_ref(), after.map(image).as_ref())
    }

    fn quarantined(reason: &str) -> Value {
        json!({
            "userId": {"S": "QUARANTINE#CLICKS"}, "createDateTime": {"S": "shardId-1#7"},
            "reason": {"S": reason}, "quarantinedAt": {"S": "2025-10-02T10:30:00Z"},
        })
    }

    fn at() -> Timestamp {
        "2025-10-02T10:30:00Z".parse().expect("a time")
    }

    #[test]
    fn a_record_is_told_of_when_it_is_put_aside_and_when_it_is_settled() {
        let told = of(None, Some(quarantined("click-count"))).expect("readable");
        let expected =
            OperatorEvent::Quarantined { reason: "click-count".into(), at: at(), name: "shardId-1#7".into() };
        assert_eq!(told, Some(expected));
        let before = Some(quarantined("click-count"));
        assert!(matches!(of(before.clone(), before.clone()), Ok(None)));
        assert!(matches!(of(before.clone(), None), Ok(None)));
        let mut ended = quarantined("click-count");
        ended["ending"] = json!({"S": "counted"});
        ended["endedAt"] = json!({"S": "2025-10-02T10:30:00Z"});
        let told = of(before, Some(ended.clone())).expect("readable");
        let expected = OperatorEvent::Settled { ending: "counted".into(), at: at(), name: "shardId-1#7".into() };
        assert_eq!(told, Some(expected));
        assert!(matches!(of(Some(ended.clone()), Some(ended)), Ok(None)));
    }

    #[test]
    fn each_step_of_a_repair_is_told_of_and_no_other_lane() {
        let shard = |partition: &str, sort: &str| {
            json!({
                "userId": {"S": partition}, "createDateTime": {"S": sort},
                "sequenceNumber": {"S": "000000000000000000003"}, "updatedAt": {"S": "2025-10-02T10:30:00Z"},
            })
        };
        let repair = shard("CHECKPOINT#operator", "repair");
        let expected = OperatorEvent::Repaired { at: at(), name: "000000000000000000003".into() };
        assert_eq!(of(None, Some(repair.clone())).expect("readable"), Some(expected.clone()));
        assert_eq!(of(Some(repair.clone()), Some(repair)).expect("readable"), Some(expected));
        for other in [
            shard("CHECKPOINT#operator", "redrive#00"),
            shard("CHECKPOINT#arn:aws:x", "repair"),
            shard("STAT#TOTAL", "x"),
        ] {
            assert!(matches!(of(None, Some(other)), Ok(None)));
        }
    }

    #[test]
    fn an_item_that_is_not_what_its_key_promises_is_unreadable() {
        for reason in ["", "Click Count", "two\nlines", &"a".repeat(65)] {
            assert!(matches!(of(None, Some(quarantined(reason))), Err(StoreError::Unreadable(_))), "{reason:?}");
        }
        let mut untimed = quarantined("record");
        untimed["quarantinedAt"] = json!({"N": "7"});
        assert!(matches!(of(None, Some(untimed)), Err(StoreError::Unreadable(_))));
    }
}
