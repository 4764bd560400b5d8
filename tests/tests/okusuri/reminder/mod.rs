//! Reminders: the function on the real engine, with a push service that decrypts its messages.

mod delivery;
mod doses;
mod due;
mod run_limits;

use std::collections::HashSet;
use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use domain::UserId;
use domain::okusuri::{Cycle, Log, Platform, Regimen};
use futures::future::join_all;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::outbound::Outbound;
use lambda_kit::push::{Push, VapidKey};
use okusuri_reminder::{ReminderService, Report, RunLimits, handle};
use okusuri_store::rows::{MedicationLog, PushSubscription, Reminder, User};
use okusuri_store::{
    DuePartition, Key, LogEntry, Logs, Notifications, ReminderChange, Reminders, UserNotifications, WriteError, read,
};
use secrecy::SecretString;
use serde_json::json;
use tests::Database;
use tests::okusuri::{put, user};
use tests::push::{Answer, PushService, VAPID_KEY, VAPID_SUBJECT};
use uuid::Uuid;

/// An evening in Tokyo, 22:00.
const EVENING: &str = "2026-11-22T13:00:00Z";

struct Scene {
    db: Database,
    service: PushService,
    reminders: Reminders,
    notifications: Notifications,
    reminding: ReminderService,
}

impl Scene {
    async fn new() -> Self {
        let (db, service) = (Database::start().await.unwrap(), PushService::start().await.unwrap());
        let key = VapidKey::new(&SecretString::from(VAPID_KEY), VAPID_SUBJECT).unwrap();
        let push = Push::new(Outbound::new(&[service.address()]), key);
        Self {
            reminders: Reminders::new(&db.table(Database::OKUSURI)),
            notifications: Notifications::new(&db.table(Database::OKUSURI)),
            reminding: ReminderService::new(&db.table(Database::OKUSURI), push, service.mailer(&db.client)),
            db,
            service,
        }
    }

    /// A user with a browser of the same name, who enabled reminders in the morning of [`EVENING`].
    async fn user(&self, id: &str, zone: &str) -> UserId {
        let user = user(&self.db.client, id, zone).await.unwrap();
        self.switch_on(&user, zone, at("2026-11-22T00:00:00Z")).await;
        put(&self.db.client, &self.service.subscription(id, id, at("2026-01-01T00:00:00Z"))).await.unwrap();
        user
    }

    async fn switch_on(&self, user: &UserId, zone: &str, now: Timestamp) {
        let change = ReminderChange { is_enabled: Some(true), time: None };
        self.reminders.change(user, change, &TimeZone::get(zone).unwrap(), now).await.unwrap();
    }

    async fn run(&self, now: &str) -> Report {
        handle(&self.reminding, at(now)).await.unwrap()
    }

    /// The users who have received a message so far, with the day of the reminder.
    fn reminded(&self) -> Vec<(String, String)> {
        let received = self.service.received().unwrap();
        received.into_iter().map(|one| (one.browser, one.content["date"].as_str().unwrap().to_owned())).collect()
    }

    async fn reminder(&self, user: &UserId) -> Reminder {
        self.reminders.get(user).await.unwrap().unwrap()
    }

    async fn profile(&self, user: &UserId) -> User {
        let key = Key { partition: format!("USER#{user}"), sort: "PROFILE".to_owned() };
        let item = self.db.client.get_item().table_name(Database::OKUSURI).set_key(Some(key.item()));
        read(item.consistent_read(true).send().await.unwrap().item.unwrap()).unwrap()
    }

    async fn device(&self, user: &UserId) -> PushSubscription {
        self.notifications.of(user).await.unwrap().subscriptions.remove(0)
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn log(user: &UserId, date: &str) -> MedicationLog {
    MedicationLog::new(user, Log { date: date.parse().unwrap(), has_bleeding: false }, "1", at(EVENING))
}

fn was(browser: &str, date: &str) -> (String, String) {
    (browser.to_owned(), date.to_owned())
}
