//! Notifications of changed objects: to functions, queues, topics, and to the default event bus.
//!
//! Source:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arn;
use crate::eventbridge::{Buses, DEFAULT_BUS, NewEvent};
use crate::random_id::random_id;
use crate::stack::{Bucket, BucketNotification};

/// What the storage did with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) bucket: String,
    pub(super) key: String,
    /// `ObjectCreated:Put`, without `s3:`.
    pub(super) event: &'static str,
    /// `PutObject`.
    pub(super) reason: &'static str,
    pub(super) size: u64,
    pub(super) etag: String,
    /// `None` in a bucket without versions.
    pub(super) version: Option<String>,
    /// The access key.
    pub(super) caller: String,
}

/// Sends the notifications of all buckets.
pub(super) struct Notifier {
    buckets: Vec<Bucket>,
    buses: Arc<Buses>,
}

impl Change {
    /// The record of a notification.
    fn record(&self, id: &str, now: Timestamp) -> Value {
        let Self { bucket, key, event, size, etag, caller, .. } = self;
        let mut object = json!({ "key": encoded(key), "sequencer": format!("{:016X}", now.as_microsecond()) });
        if event.starts_with("ObjectCreated") {
            object["size"] = (*size).into();
        }
        if !event.starts_with("ObjectRemoved") {
            object["eTag"] = (**etag).into();
        }
        if let Some(version) = &self.version {
            object["versionId"] = (**version).into();
        }
        json!({
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "awsRegion": arn::region(),
            "eventTime": format!("{now:.3}"),
            "eventName": event,
            "userIdentity": { "principalId": format!("AWS:{caller}") },
            "requestParameters": { "sourceIPAddress": "127.0.0.1" },
            "responseElements": { "x-amz-request-id": random_id(), "x-amz-id-2": random_id() },
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": id,
                "bucket": {
                    "name": bucket,
                    "ownerIdentity": { "principalId": arn::account() },
                    "arn": format!("arn:aws:s3:::{bucket}"),
                },
                "object": object,
            },
        })
    }

    /// The event for the default bus.
    ///
    /// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html>.
    fn bus_event(&self, now: Timestamp) -> NewEvent {
        let Self { bucket, key, event, reason, size, etag, .. } = self;
        let kind = match event.split_once(':') {
            Some(("ObjectCreated", _)) => "Object Created",
            Some(("ObjectTagging", "Put")) => "Object Tags Added",
            Some(("ObjectTagging", _)) => "Object Tags Deleted",
            _ => "Object Deleted",
        };
        let is_tagging = kind.starts_with("Object Tags");
        let mut object = json!({ "key": key });
        if !is_tagging {
            object["sequencer"] = format!("{:016X}", now.as_microsecond()).into();
        }
        if kind == "Object Created" {
            object["size"] = (*size).into();
        }
        if kind != "Object Deleted" {
            object["etag"] = (**etag).into();
        }
        if let Some(version) = &self.version {
            object["version-id"] = (**version).into();
        }
        let mut detail = json!({
            "version": "0",
            "bucket": { "name": bucket },
            "object": object,
            "request-id": random_id(),
            "requester": arn::account(),
            "source-ip-address": "127.0.0.1",
        });
        if !is_tagging {
            detail["reason"] = (*reason).into();
        }
        if kind == "Object Deleted" {
            let marker = event.ends_with("DeleteMarkerCreated");
            detail["deletion-type"] = if marker { "Delete Marker Created" } else { "Permanently Deleted" }.into();
        }
        NewEvent {
            source: "aws.s3".to_owned(),
            detail_type: kind.to_owned(),
            resources: vec![format!("arn:aws:s3:::{bucket}")],
            detail,
            time: now,
        }
    }
}

impl Notifier {
    pub(super) fn new(buckets: &[Bucket], buses: &Arc<Buses>) -> Self {
        Self { buckets: buckets.to_vec(), buses: Arc::clone(buses) }
    }

    /// Sends the notifications of a change.
    pub(super) fn notify(&self, change: &Change) {
        let Some(bucket) = self.buckets.iter().find(|bucket| bucket.name == change.bucket) else { return };
        let now = Timestamp::now();
        for notification in bucket.notifications.iter().filter(|notification| wants(notification, change)) {
            let record = change.record(&notification.id, now);
            self.buses.send(&notification.target, json!({ "Records": [record] }).to_string());
        }
        if bucket.sends_events {
            self.buses.put(DEFAULT_BUS, change.bus_event(now));
        }
    }
}

/// Whether a notification is for this change.
fn wants(notification: &BucketNotification, change: &Change) -> bool {
    let is_event = |wanted: &String| {
        let wanted = wanted.strip_prefix("s3:").unwrap_or(wanted);
        wanted == change.event || wanted.strip_suffix('*').is_some_and(|prefix| change.event.starts_with(prefix))
    };
    notification.events.iter().any(is_event)
        && change.key.starts_with(&notification.prefix)
        && change.key.ends_with(&notification.suffix)
}

/// The key as notifications have it: URL-encoded, with `+` for a space.
pub(super) fn encoded(key: &str) -> String {
    form_urlencoded::byte_serialize(key.as_bytes()).collect::<String>().replace("%2F", "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::Target;

    #[test]
    fn a_notification_is_for_its_events_prefix_and_suffix() {
        let notification = |events: &str, prefix: &str, suffix: &str| BucketNotification {
            id: "N".to_owned(),
            events: vec![events.to_owned()],
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            target: Target::Function("F".to_owned()),
        };
        let change = Change {
            bucket: "b".to_owned(),
            key: "images/a b.png".to_owned(),
            event: "ObjectCreated:Put",
            reason: "PutObject",
            size: 5,
            etag: "tag".to_owned(),
            version: None,
            caller: "anonymous".to_owned(),
        };
        assert!(wants(&notification("s3:ObjectCreated:*", "images/", ".png"), &change));
        assert!(wants(&notification("s3:ObjectCreated:Put", "", ""), &change));
        assert!(!wants(&notification("s3:ObjectRemoved:*", "", ""), &change));
        assert!(!wants(&notification("s3:ObjectCreated:*", "images/", ".jpg"), &change));
        let record = change.record("N", Timestamp::UNIX_EPOCH);
        assert_eq!(record["s3"]["object"]["key"], "images/a+b.png");
        assert_eq!(
            (&record["eventTime"], &record["s3"]["object"]["size"]),
            (&json!("1970-01-01T00:00:00.000Z"), &json!(5))
        );
        assert!(serde_json::from_value::<Value>(record).is_ok());
    }
}
