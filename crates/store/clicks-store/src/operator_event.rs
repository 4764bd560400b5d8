//! Events for operators, read from the table's stream: records quarantined and settled, and
//! statistics repaired.

use jiff::Timestamp;
use rollup::OwnItem;
use serde::Deserialize;

use super::keys::{PARTITION_KEY, SORT_KEY};
use store_base::StoreError;

/// An item in DynamoDB's JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct OperatorEventImage(serde_dynamo::Item);

/// An event for operators. `name` is unique among the events of a kind, and the same when an event
/// is read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperatorEvent {
    /// A record was quarantined.
    Quarantined {
        /// A stable code.
        reason: String,
        /// When.
        at: Timestamp,
        /// The shard and the sequence number of the record.
        name: String,
    },
    /// A quarantined record was settled.
    Settled {
        /// How it was settled, as a stable code.
        ending: String,
        /// When.
        at: Timestamp,
        /// The shard and the sequence number of the record.
        name: String,
    },
    /// A transaction of a repair was committed.
    Repaired {
        /// When.
        at: Timestamp,
        /// The number of the transaction.
        name: String,
    },
}

/// The longest text that is accepted as a code.
const CODE_BYTES_MAX: usize = 64;

impl OperatorEvent {
    /// The event in a stream record, from the item before and after the change; `None` when the
    /// record is not such an event.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when an item does not have the attributes that its key requires.
    pub fn of(
        before: Option<&OperatorEventImage>,
        after: Option<&OperatorEventImage>,
    ) -> Result<Option<Self>, StoreError> {
        let Some(after) = after else { return Ok(None) };
        let (partition, sort) = (after.text(PARTITION_KEY)?, after.text(SORT_KEY)?);
        let Some(item) = OwnItem::of(partition, sort) else { return Ok(None) };
        match (item, before) {
            (OwnItem::Quarantined, None) => {
                let (reason, at) = (after.code("code")?, after.time("quarantinedAt")?);
                Ok(Some(Self::Quarantined { reason, at, name: sort.to_owned() }))
            }
            (OwnItem::Quarantined, Some(before)) if after.has("ending") && !before.has("ending") => {
                let (ending, at) = (after.code("ending")?, after.time("endedAt")?);
                Ok(Some(Self::Settled { ending, at, name: sort.to_owned() }))
            }
            (OwnItem::Repairs, _) => {
                let (at, name) = (after.second("movedAt")?, after.text("sequenceNumber")?.to_owned());
                Ok(Some(Self::Repaired { at, name }))
            }
            _ => Ok(None),
        }
    }
}

impl OperatorEventImage {
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A stable code. It becomes part of a public sentence, so other texts are refused.
    fn code(&self, name: &str) -> Result<String, StoreError> {
        let code = self.text(name)?;
        let is_code = code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        if !is_code || !(1..=CODE_BYTES_MAX).contains(&code.len()) {
            return Err(StoreError::unreadable(format_args!("{name} is not a code")));
        }
        Ok(code.to_owned())
    }

    fn text(&self, name: &str) -> Result<&str, StoreError> {
        match self.0.get(name) {
            Some(serde_dynamo::AttributeValue::S(text)) => Ok(text),
            _ => Err(StoreError::unreadable(format_args!("{name} is missing or not a string"))),
        }
    }

    fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        self.text(name)?.parse().map_err(StoreError::unreadable)
    }

    /// A time in epoch seconds.
    fn second(&self, name: &str) -> Result<Timestamp, StoreError> {
        let second = match self.0.get(name) {
            Some(serde_dynamo::AttributeValue::N(number)) => number.parse().ok(),
            _ => None,
        };
        let time = second.and_then(|second| Timestamp::from_second(second).ok());
        time.ok_or_else(|| StoreError::unreadable(format_args!("{name} is not a time in epoch seconds")))
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
            "userId": {"S": "ROLLUP#clicks#QUARANTINE"}, "createDateTime": {"S": "shardId-1#7"},
            "code": {"S": reason}, "quarantinedAt": {"S": "2025-10-02T10:30:00Z"},
        })
    }

    fn at() -> Timestamp {
        "2025-10-02T10:30:00Z".parse().expect("a time")
    }

    #[test]
    fn quarantine_and_settlement_each_give_an_operator_event() {
        let event = of(None, Some(quarantined("click-count"))).expect("readable");
        let expected =
            OperatorEvent::Quarantined { reason: "click-count".into(), at: at(), name: "shardId-1#7".into() };
        assert_eq!(event, Some(expected));
        let before = Some(quarantined("click-count"));
        assert!(matches!(of(before.clone(), before.clone()), Ok(None)));
        assert!(matches!(of(before.clone(), None), Ok(None)));
        let mut ended = quarantined("click-count");
        ended["ending"] = json!({"S": "counted"});
        ended["endedAt"] = json!({"S": "2025-10-02T10:30:00Z"});
        let event = of(before, Some(ended.clone())).expect("readable");
        let expected = OperatorEvent::Settled { ending: "counted".into(), at: at(), name: "shardId-1#7".into() };
        assert_eq!(event, Some(expected));
        assert!(matches!(of(Some(ended.clone()), Some(ended)), Ok(None)));
    }

    #[test]
    fn only_checkpoints_of_repairs_give_repair_events() {
        let checkpoint = |partition: &str, sort: &str| {
            json!({
                "userId": {"S": partition}, "createDateTime": {"S": sort},
                "sequenceNumber": {"S": "000000000000000000003"}, "movedAt": {"N": "1759401000"},
            })
        };
        let repair = checkpoint("ROLLUP#clicks#CHECKPOINT#operator", "repair");
        let expected = OperatorEvent::Repaired { at: at(), name: "000000000000000000003".into() };
        assert_eq!(of(None, Some(repair.clone())).expect("readable"), Some(expected.clone()));
        assert_eq!(of(Some(repair.clone()), Some(repair)).expect("readable"), Some(expected));
        for other in [
            checkpoint("ROLLUP#clicks#CHECKPOINT#operator", "redrive#00"),
            checkpoint("ROLLUP#clicks#CHECKPOINT#arn:aws:x", "repair"),
            checkpoint("STAT#TOTAL", "x"),
        ] {
            assert!(matches!(of(None, Some(other)), Ok(None)));
        }
    }

    #[test]
    fn quarantine_item_without_required_attributes_is_unreadable() {
        for reason in ["", "Click Count", "two\nlines", &"a".repeat(65)] {
            assert!(matches!(of(None, Some(quarantined(reason))), Err(StoreError::Unreadable(_))), "{reason:?}");
        }
        let mut untimed = quarantined("record");
        untimed["quarantinedAt"] = json!({"N": "7"});
        assert!(matches!(of(None, Some(untimed)), Err(StoreError::Unreadable(_))));
    }
}
