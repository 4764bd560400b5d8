//! Notifications of changed objects: to functions, queues, topics, and to the default event bus.
//!
//! Source:
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arn;
use crate::eventbridge::{Buses, DEFAULT_BUS, NewEvent};
use crate::policies::caller;
use crate::random_id::random_id;
use crate::stack::{Bucket, BucketNotification};

/// A change of an object that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    bucket: String,
    /// Decoded.
    key: String,
    /// `ObjectCreated:Put`, without `s3:`.
    event: &'static str,
    /// `PutObject`.
    reason: &'static str,
    size: u64,
    caller: String,
}

/// Sends the notifications of all buckets.
pub(super) struct Notifier {
    buckets: Vec<Bucket>,
    buses: Arc<Buses>,
}

impl Change {
    /// The change that a request makes if it succeeds; `None` for reads and for parts of uploads.
    pub(super) fn of(request: &Request<Body>) -> Option<Self> {
        let (bucket, key) = request.uri().path().strip_prefix('/')?.split_once('/')?;
        if key.is_empty() {
            return None;
        }
        let query = request.uri().query().unwrap_or_default();
        let has = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
        let headers = request.headers();
        let (event, reason) = match *request.method() {
            Method::PUT if headers.contains_key("x-amz-copy-source") && !has("partNumber") => {
                ("ObjectCreated:Copy", "CopyObject")
            }
            Method::PUT
                if !["partNumber", "tagging", "acl", "retention", "legal-hold"].iter().any(|name| has(name)) =>
            {
                ("ObjectCreated:Put", "PutObject")
            }
            Method::POST if has("uploadId") => ("ObjectCreated:CompleteMultipartUpload", "CompleteMultipartUpload"),
            Method::DELETE if !has("uploadId") && !has("tagging") => ("ObjectRemoved:Delete", "DeleteObject"),
            _ => return None,
        };
        // A body in chunks has more bytes than the object.
        let length = ["x-amz-decoded-content-length", header::CONTENT_LENGTH.as_str()]
            .into_iter()
            .find_map(|name| headers.get(name)?.to_str().ok()?.parse().ok());
        Some(Self {
            bucket: bucket.to_owned(),
            key: percent_encoding::percent_decode_str(key).decode_utf8_lossy().into_owned(),
            event,
            reason,
            size: length.unwrap_or_default(),
            caller: caller(headers).unwrap_or("anonymous").to_owned(),
        })
    }

    /// The record of a notification.
    fn record(&self, id: &str, etag: &str, now: Timestamp) -> Value {
        let Self { bucket, key, event, size, caller, .. } = self;
        let mut object = json!({ "key": encoded(key), "sequencer": format!("{:016X}", now.as_microsecond()) });
        if event.starts_with("ObjectCreated") {
            object["size"] = (*size).into();
            object["eTag"] = etag.into();
        }
        json!({
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "awsRegion": arn::REGION,
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
                    "ownerIdentity": { "principalId": arn::ACCOUNT },
                    "arn": format!("arn:aws:s3:::{bucket}"),
                },
                "object": object,
            },
        })
    }

    /// The event for the default bus.
    ///
    /// Source: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html>.
    fn bus_event(&self, etag: &str, now: Timestamp) -> NewEvent {
        let Self { bucket, key, event, reason, size, .. } = self;
        let created = event.starts_with("ObjectCreated");
        let mut object = json!({ "key": key, "sequencer": format!("{:016X}", now.as_microsecond()) });
        if created {
            object["size"] = (*size).into();
            object["etag"] = etag.into();
        }
        let mut detail = json!({
            "version": "0",
            "bucket": { "name": bucket },
            "object": object,
            "request-id": random_id(),
            "requester": arn::ACCOUNT,
            "source-ip-address": "127.0.0.1",
            "reason": reason,
        });
        if !created {
            detail["deletion-type"] = "Permanently Deleted".into();
        }
        NewEvent {
            source: "aws.s3".to_owned(),
            detail_type: if created { "Object Created" } else { "Object Deleted" }.to_owned(),
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

    /// Sends the notifications of a change, with the object's tag from the response.
    pub(super) fn notify(&self, change: &Change, response: &HeaderMap) {
        let Some(bucket) = self.buckets.iter().find(|bucket| bucket.name == change.bucket) else { return };
        let etag = response.get(header::ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default().trim_matches('"');
        let now = Timestamp::now();
        for notification in bucket.notifications.iter().filter(|notification| wants(notification, change)) {
            let record = change.record(&notification.id, etag, now);
            self.buses.send(&notification.target, json!({ "Records": [record] }).to_string());
        }
        if bucket.sends_events {
            self.buses.put(DEFAULT_BUS, change.bus_event(etag, now));
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
fn encoded(key: &str) -> String {
    form_urlencoded::byte_serialize(key.as_bytes()).collect::<String>().replace("%2F", "/")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::stack::Target;

    fn change(method: &str, uri: &str) -> Option<Change> {
        let request = Request::builder().method(method).uri(uri).header("content-length", "5");
        Change::of(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn only_requests_that_change_an_object_are_changes() {
        let event = |method: &str, uri: &str| change(method, uri).map(|change| change.event);
        assert_eq!(event("PUT", "/b/a/b.txt?x-id=PutObject"), Some("ObjectCreated:Put"));
        assert_eq!(event("POST", "/b/a?uploadId=1"), Some("ObjectCreated:CompleteMultipartUpload"));
        assert_eq!(event("DELETE", "/b/a"), Some("ObjectRemoved:Delete"));
        for (method, uri) in [
            ("GET", "/b/a"),
            ("PUT", "/b"),
            ("PUT", "/b/"),
            ("PUT", "/b/a?partNumber=1&uploadId=1"),
            ("POST", "/b/a?uploads"),
        ] {
            assert_eq!(event(method, uri), None, "{method} {uri}");
        }
    }

    #[test]
    fn a_notification_is_for_its_events_prefix_and_suffix() {
        let notification = |events: &str, prefix: &str, suffix: &str| BucketNotification {
            id: "N".to_owned(),
            events: vec![events.to_owned()],
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            target: Target::Function("F".to_owned()),
        };
        let change = change("PUT", "/b/images/a%20b.png").unwrap();
        assert!(wants(&notification("s3:ObjectCreated:*", "images/", ".png"), &change));
        assert!(wants(&notification("s3:ObjectCreated:Put", "", ""), &change));
        assert!(!wants(&notification("s3:ObjectRemoved:*", "", ""), &change));
        assert!(!wants(&notification("s3:ObjectCreated:*", "images/", ".jpg"), &change));
        let record = change.record("N", "tag", Timestamp::UNIX_EPOCH);
        assert_eq!(record["s3"]["object"]["key"], "images/a+b.png");
        assert_eq!(
            (&record["eventTime"], &record["s3"]["object"]["size"]),
            (&json!("1970-01-01T00:00:00.000Z"), &json!(5))
        );
        assert!(serde_json::from_value::<Value>(record).is_ok());
    }
}
