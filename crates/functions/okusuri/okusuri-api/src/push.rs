//! Push subscriptions of browsers, and the platforms that may notify.

use std::pin::pin;
use std::time::Duration;

use domain::okusuri::Platform;
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::outbound::{Outbound, Refusal};
use lambda_kit::problem::{INVALID_BODY, Problem};
use lambda_kit::push::{Message, Push, SendOutcome, Subscriber, SubscriberError, VapidKey};
use okusuri_store::rows::PushSubscription;
use okusuri_store::{Notifications, Reminders, UserNotifications};
use serde::Deserialize;
use serde_json::{Value, json};
use store_base::Table;

use crate::Okusuri;
use crate::problems::{INVALID_ENDPOINT, NO_SUBSCRIPTION, TOO_MANY_TESTS, store_problem, write_problem};

/// The largest body: an endpoint of 2 KB, and two keys.
const BODY_BYTES_MAX: usize = 8 * 1024;

/// A test message is useless after a minute.
const TEST_TIME_TO_LIVE: Duration = Duration::from_secs(60);

/// The number of browsers that receive a test at once. All of them fit in, so a slow push service
/// cannot delay the reply beyond the function's ten seconds.
const AT_ONCE: usize = 20;

/// Reminders, push subscriptions and the push client.
#[derive(Debug, Clone)]
pub(crate) struct NotificationServices {
    pub(crate) reminders: Reminders,
    pub(crate) notifications: Notifications,
    pub(crate) push: Push,
}

impl NotificationServices {
    pub(crate) fn new(table: &Table, outbound: Outbound, key: VapidKey) -> Self {
        Self {
            reminders: Reminders::new(table),
            notifications: Notifications::new(table),
            push: Push::new(outbound, key),
        }
    }
}

/// A browser's `PushSubscription`, and the platform that it runs on.
#[derive(Debug, Deserialize)]
struct SubscriptionBody {
    endpoint: String,
    keys: Keys,
    platform: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Keys {
    p256dh: String,
    auth: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnsubscribeBody {
    endpoint: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SettingBody {
    is_enabled: bool,
}

/// The public key with which browsers subscribe.
pub(crate) async fn key(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    okusuri.user(request).await?;
    Ok(Reply::json(200, &json!({ "publicKey": okusuri.notification_services.push.public_key() })))
}

/// Adds a browser: 201 if it is new, 200 if it is known.
pub(crate) async fn subscribe(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let body: SubscriptionBody = request.json(BODY_BYTES_MAX)?;
    let platform = body.platform.as_deref().map_or(Ok(Platform::Web), str::parse);
    let platform = platform.map_err(|why| INVALID_BODY.detail(format!("`platform`: {why}")))?;
    let subscriber = Subscriber::new(&body.endpoint, &body.keys.p256dh, &body.keys.auth);
    let subscriber = subscriber.map_err(|why| match why {
        SubscriberError::Endpoint => INVALID_ENDPOINT.detail(why),
        SubscriberError::Key | SubscriberError::Auth => INVALID_BODY.detail(why),
    })?;
    let NotificationServices { notifications, push, .. } = &okusuri.notification_services;
    match push.check(&subscriber).await {
        // A name that does not resolve now is checked again with each message.
        Ok(()) | Err(Refusal::Unresolved) => {}
        Err(why) => return Err(INVALID_ENDPOINT.detail(why)),
    }
    let now = (okusuri.now)();
    let row = PushSubscription {
        user_id: signed_in.id.to_string(),
        platform: platform.to_string(),
        endpoint: body.endpoint,
        p256dh: body.keys.p256dh,
        auth: body.keys.auth,
        is_enabled: true,
        disabled_because: None,
        failures: 0,
        last_sent_at: None,
        created_at: now,
        updated_at: now,
    };
    let is_new = notifications.subscribe(&signed_in.user, &row).await.map_err(write_problem)?;
    Ok(Reply::json(if is_new { 201 } else { 200 }, &device(&row)))
}

/// Removes a browser's subscription; an unknown one is no error.
pub(crate) async fn unsubscribe(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let UnsubscribeBody { endpoint } = request.json(BODY_BYTES_MAX)?;
    okusuri.notification_services.notifications.unsubscribe(&signed_in.id, &endpoint).await.map_err(store_problem)?;
    Ok(Reply::json(200, &json!({})))
}

/// A platform: whether it may notify, and its browsers.
pub(crate) async fn show(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let platform = request.parse_path("platform", str::parse)?;
    let of = okusuri.notification_services.notifications.of(&signed_in.id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &setting(platform, &of)))
}

/// Enables or disables a platform.
pub(crate) async fn set(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let platform = request.parse_path("platform", str::parse)?;
    let SettingBody { is_enabled } = request.json(BODY_BYTES_MAX)?;
    let notifications = &okusuri.notification_services.notifications;
    notifications.set(&signed_in.id, platform, is_enabled, (okusuri.now)()).await.map_err(write_problem)?;
    let of = notifications.of(&signed_in.id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &setting(platform, &of)))
}

/// Sends a test message to each browser of the user, and reports each result.
pub(crate) async fn test(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let now = (okusuri.now)();
    let notifications = &okusuri.notification_services.notifications;
    let of = notifications.of(&signed_in.id).await.map_err(store_problem)?;
    let sent = stream::iter(of.enabled()).map(|one| async move {
        // A user chooses the push service's address, and must not flood it through us.
        let is_free = notifications.begin_test(one, now).await.map_err(store_problem)?;
        Ok::<_, Problem>(if is_free { Some(send_test(okusuri, one, now).await) } else { None })
    });
    let mut sent = pin!(sent.buffer_unordered(AT_ONCE));
    let (mut items, mut devices) = (Vec::new(), 0);
    while let Some(outcome) = sent.next().await {
        devices += 1;
        items.extend(outcome?);
    }
    match (devices, items.len()) {
        (0, _) => Err(NO_SUBSCRIPTION),
        (_, 0) => Err(TOO_MANY_TESTS.header("retry-after", "10")),
        _ => Ok(Reply::json(200, &json!({ "items": items }))),
    }
}

async fn send_test(okusuri: &Okusuri, one: &PushSubscription, now: Timestamp) -> Value {
    let NotificationServices { notifications, push, .. } = &okusuri.notification_services;
    let content = json!({ "kind": "test" }).to_string();
    let message = Message { content: content.as_bytes(), time_to_live: TEST_TIME_TO_LIVE, topic: "test" };
    let sent = match Subscriber::new(&one.endpoint, &one.p256dh, &one.auth) {
        Ok(subscriber) => push.send_once(&subscriber, message, now).await,
        Err(why) => SendOutcome::Rejected(why.to_string()),
    };
    let (noted, reason) = match sent {
        SendOutcome::Accepted => (notifications.reached(one, now).await, None),
        SendOutcome::Gone(status) => {
            (notifications.gone(one, &status.to_string(), now).await, Some(status.to_string()))
        }
        // Only reminders count failures of a browser.
        SendOutcome::Rejected(why) | SendOutcome::Failed(why) => (Ok(()), Some(why)),
    };
    if let Err(error) = noted {
        tracing::warn!(%error, "the result of a message could not be recorded");
    }
    let mut device = device(one);
    device["delivered"] = json!(reason.is_none());
    device["reason"] = json!(reason);
    device
}

fn setting(platform: Platform, of: &UserNotifications) -> Value {
    let devices = of.subscriptions.iter().filter(|one| one.platform == platform.as_str());
    json!({
        "platform": platform.as_str(),
        "isEnabled": of.is_enabled(platform.as_str()),
        "subscriptions": devices.map(device).collect::<Vec<_>>(),
    })
}

/// A browser as its user sees it. The endpoint identifies it; only this user may see it.
fn device(one: &PushSubscription) -> Value {
    json!({
        "endpoint": one.endpoint,
        "platform": one.platform,
        "isEnabled": one.is_enabled,
        "disabledBecause": one.disabled_because,
        "lastSentAt": one.last_sent_at.map(|at| at.to_string()),
        "createdAt": one.created_at.to_string(),
    })
}
