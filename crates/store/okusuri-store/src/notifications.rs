//! Where a user is notified: a setting for each platform, and a subscription for each browser.

use std::cmp::Reverse;

use domain::UserId;
use domain::okusuri::{PUSH_FAILURE_PAUSE, PUSH_FAILURES_MAX, Platform, SUBSCRIPTIONS_MAX};
use jiff::{SignedDuration, Timestamp};

use super::keys::{self, NOTIFICATION_PREFIX, PARTITION_KEY, SORT_KEY, s};
use super::rows::{NotificationSetting, PushSubscription, Row, User, read};
use super::transaction::{Transaction, WriteError};
use super::upsert::Upsert;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// Pages of a user's notifications: one holds far more than a user can have.
const PAGES_MAX: usize = 4;

/// Between two tests of one browser.
const TEST_PAUSE: SignedDuration = SignedDuration::from_secs(10);

/// All of a user's notifications.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserNotifications {
    /// The platforms that the user has ever set.
    pub settings: Vec<NotificationSetting>,
    /// Every subscription, those that are switched off too.
    pub subscriptions: Vec<PushSubscription>,
}

impl UserNotifications {
    /// Whether the user wants notifications on the platform: yes, where nothing else was said.
    pub fn is_enabled(&self, platform: &str) -> bool {
        self.settings.iter().find(|setting| setting.platform == platform).is_none_or(|setting| setting.is_enabled)
    }

    /// The subscriptions that something is sent to.
    pub fn enabled(&self) -> impl Iterator<Item = &PushSubscription> {
        self.subscriptions.iter().filter(|one| one.is_enabled && self.is_enabled(&one.platform))
    }
}

/// The notifications of a table: `Query`, `GetItem`, `UpdateItem`, `DeleteItem`, all below one
/// user.
#[derive(Debug, Clone)]
pub struct Notifications {
    table: Table,
}

impl Notifications {
    /// The notifications in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// All of a user's, as of the last write.
    pub async fn of(&self, user: &UserId) -> Result<UserNotifications, StoreError> {
        let mut found = UserNotifications::default();
        let mut from = None;
        for _ in 0..PAGES_MAX {
            let page = self.table.query().consistent_read(true);
            let page = page.key_condition_expression("#Pk = :Pk AND begins_with(#Sk, :Prefix)");
            let page =
                page.expression_attribute_names("#Pk", PARTITION_KEY).expression_attribute_names("#Sk", SORT_KEY);
            let page = page.expression_attribute_values(":Pk", s(keys::user(user)));
            let page = page.expression_attribute_values(":Prefix", s(NOTIFICATION_PREFIX));
            let page = page.set_exclusive_start_key(from.take()).send().await?;
            for item in page.items.unwrap_or_default() {
                // The sort key of a subscription goes on behind its platform.
                let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).map(String::as_str).unwrap_or_default();
                if sort.trim_start_matches(NOTIFICATION_PREFIX).contains('#') {
                    found.subscriptions.push(read(item)?);
                } else {
                    found.settings.push(read(item)?);
                }
            }
            from = page.last_evaluated_key;
            if from.is_none() {
                break;
            }
        }
        Ok(found)
    }

    /// Switches a platform on or off.
    ///
    /// # Errors
    /// [`WriteError::NoUser`] when the user was deleted meanwhile: then nothing is kept.
    pub async fn set(
        &self,
        user: &UserId,
        platform: Platform,
        is_enabled: bool,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let platform = platform.as_str().to_owned();
        let user_id = user.to_string();
        let row = NotificationSetting { user_id, platform, is_enabled, created_at: now, updated_at: now };
        Transaction::of_user(&self.table, user)?.set(&row)?.write_of_user().await.map(drop)
    }

    /// Adds a browser, or takes its new keys, and makes room for it: beyond [`SUBSCRIPTIONS_MAX`],
    /// those go that are switched off, then those that have not been renewed for longest. `true`
    /// when the browser was not there before.
    ///
    /// # Errors
    /// [`WriteError::NoUser`] when the user was deleted meanwhile, or has signed out everywhere:
    /// then nothing is kept.
    pub async fn subscribe(&self, user: &User, row: &PushSubscription) -> Result<bool, WriteError> {
        let user_id = UserId::new(&user.user_id).map_err(StoreError::unreadable)?;
        let is_new = !self.of(&user_id).await?.subscriptions.iter().any(|one| one.key() == row.key());
        let actions = Transaction::new(&self.table).add_sign_in_grant(user, row.updated_at)?;
        actions.set(row)?.write_of_user().await?;
        let mut all = self.of(&user_id).await?.subscriptions;
        // The new one stays, whatever clocks say.
        all.sort_by_key(|one| Reverse((one.endpoint == row.endpoint, one.is_enabled, one.updated_at)));
        for surplus in all.iter().skip(SUBSCRIPTIONS_MAX) {
            self.remove(surplus).await?;
        }
        Ok(is_new)
    }

    /// Forgets a browser, on whatever platform it was. One that is not known is forgotten already.
    pub async fn unsubscribe(&self, user: &UserId, endpoint: &str) -> Result<(), StoreError> {
        for one in self.of(user).await?.subscriptions.iter().filter(|one| one.endpoint == endpoint) {
            self.remove(one).await?;
        }
        Ok(())
    }

    async fn remove(&self, one: &PushSubscription) -> Result<(), StoreError> {
        let request = self.table.delete_item(one.key().item());
        request.send().await?;
        Ok(())
    }

    /// Notes that a message has reached it.
    pub async fn reached(&self, one: &PushSubscription, now: Timestamp) -> Result<(), StoreError> {
        self.note(one, PushSubscription { failures: 0, last_sent_at: Some(now), updated_at: now, ..one.clone() }).await
    }

    /// Switches it off: its push service says that it is over, and why.
    pub async fn gone(&self, one: &PushSubscription, why: &str, now: Timestamp) -> Result<(), StoreError> {
        let disabled_because = Some(why.to_owned());
        self.note(one, PushSubscription { is_enabled: false, disabled_because, updated_at: now, ..one.clone() }).await
    }

    /// Notes that it could not be reached, and why; switches it off when it has been so too often
    /// in a row.
    pub async fn failed(&self, one: &PushSubscription, why: &str, now: Timestamp) -> Result<(), StoreError> {
        if one.failures > 0 && now.duration_since(one.updated_at) < PUSH_FAILURE_PAUSE {
            return Ok(());
        }
        let failures = one.failures.saturating_add(1);
        let is_enabled = failures < PUSH_FAILURES_MAX;
        let disabled_because = (!is_enabled).then(|| why.to_owned());
        self.note(one, PushSubscription { failures, is_enabled, disabled_because, updated_at: now, ..one.clone() })
            .await
    }

    /// Whether a browser may be sent a test now: it has had none for `TEST_PAUSE`, and counts this
    /// one.
    pub async fn begin_test(&self, one: &PushSubscription, now: Timestamp) -> Result<bool, StoreError> {
        let request = self.table.update_item(one.key().item());
        let request =
            request.update_expression("SET #TestedAt = :Now").expression_attribute_names("#TestedAt", "TestedAt");
        // Stops many requests at once from each sending one, and a browser that was just forgotten
        // from coming back.
        let is_free = "attribute_exists(#Pk) AND (attribute_not_exists(#TestedAt) OR #TestedAt <= :Ago)";
        let request = request.condition_expression(is_free).expression_attribute_names("#Pk", PARTITION_KEY);
        let ago = now.saturating_sub(TEST_PAUSE).unwrap_or(now);
        let request = request.expression_attribute_values(":Now", s(keys::sortable(now)));
        let request = request.expression_attribute_values(":Ago", s(keys::sortable(ago)));
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }

    async fn note(&self, before: &PushSubscription, row: PushSubscription) -> Result<(), StoreError> {
        // Stops an answer that is about the old keys from switching off a browser that has just
        // subscribed anew, and one that has just been forgotten from coming back.
        let row = Upsert::new(&row)?.when("UpdatedAt = :before", vec![("before", s(before.updated_at.to_string()))]);
        row.send(&self.table).await.map(drop)
    }
}
