//! Everything of a user: to take along, and to delete.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::UserId;
use domain::okusuri::Email;
use jiff::Timestamp;
use serde_json::Value;

use super::keys::{
    self, ACCOUNT_PREFIX, Item, Key, PARTITION_KEY, PROFILE, SESSION_PREFIX, SORT_KEY, TTL, TYPE_PARTITION, TYPE_SORT,
    s,
};
use super::rows::{Account, EmailOwner, Row, User, UserSession, read};
use super::sign_ins::profile;
use super::transaction::Transaction;
use crate::series::Page;
use crate::{StoreError, Table};

/// Attributes that are the table's own, and secrets that open something: nobody takes those along.
const NOT_EXPORTED: [&str; 15] = [
    PARTITION_KEY,
    SORT_KEY,
    TTL,
    TYPE_PARTITION,
    TYPE_SORT,
    keys::DUE_PARTITION,
    "TokenHash",
    "AccessToken",
    "RefreshToken",
    "IdToken",
    "Auth",
    "P256dh",
    "SessionsFrom",
    "SignInGrantsAdded",
    "Version",
];

/// Items that are read before some are deleted: at 25 in a request, ten requests.
const DELETED_AT_ONCE: i32 = 250;

/// Sessions that go with the profile: two items each, in a transaction of at most 100.
const LAST_SESSIONS: usize = 40;

/// The export and the deletion of a user's data.
#[derive(Debug, Clone)]
pub struct UserData {
    table: Table,
}

/// A part of what a user has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The logs of the days.
    Logs,
    /// The doses.
    Doses,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Logs => keys::MEDICATION_PREFIX,
            Self::Doses => keys::DOSE_PREFIX,
        }
    }
}

/// How a deletion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteProgress {
    /// Nothing of the user is left.
    Done,
    /// Time was up. It is to be asked for again, and goes on where it is.
    Unfinished,
}

impl UserData {
    /// What users have in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// A page of a user's items, of one kind or all, as JSON with attribute names in camel case.
    /// The position is a sort key. Bytes are base64.
    pub async fn page(
        &self,
        user_id: &UserId,
        kind: Option<Kind>,
        after: Option<&str>,
        limit: u16,
    ) -> Result<Page<Value, String>, StoreError> {
        let start = after.map(|sort| Key::new(keys::user(user_id), sort).item());
        let (items, next) = self.some(user_id, kind, start, i32::from(limit)).await?;
        let next = next.and_then(|key| key.get(SORT_KEY)?.as_s().ok().cloned());
        Ok(Page { items: items.into_iter().map(exported).collect(), next, skipped: 0 })
    }

    /// Deletes everything of a user, for as long as `is_time` says so.
    ///
    /// From the first write on nobody is signed in as the user. What leads to an item from
    /// elsewhere goes before it, and the last write takes the profile and the sessions: wherever
    /// this ends by accident, the session that asked for it can ask again, or a code sent to the
    /// address, and it is complete once it has come to its end.
    pub async fn delete(
        &self,
        user_id: &UserId,
        now: Timestamp,
        is_time: impl Fn() -> bool,
    ) -> Result<DeleteProgress, StoreError> {
        let key = profile(user_id.as_str());
        let item = self.table.get_item(key.item()).consistent_read(true);
        let Some(item) = item.send().await?.item else { return Ok(DeleteProgress::Done) };
        let user: User = read(item)?;
        if user.deleting.is_none() {
            let begin = Transaction::new(&self.table).update(
                &key,
                "SET Deleting = :now, UpdatedAt = :now",
                // Stops the update from recreating a user whom another request deleted.
                "attribute_exists(PK)",
                vec![("now", s(now.to_string()))],
            )?;
            if begin.write().await?.is_some() {
                return Ok(DeleteProgress::Done);
            }
        }
        if !self.delete_items(user_id, &is_time).await? {
            return Ok(DeleteProgress::Unfinished);
        }
        if let Some(email) = user.email.as_deref().and_then(|email| Email::new(email).ok()) {
            self.delete_email(user_id, &email).await?;
        }
        self.delete_ways_back(user_id).await?;
        // A request that had been let in before the first write may have written behind the last
        // read.
        Ok(if self.delete_items(user_id, is_time).await? { DeleteProgress::Done } else { DeleteProgress::Unfinished })
    }

    /// Deletes all items in the user's partition but the profile and the sessions, and what each
    /// leads to; false when time was up.
    async fn delete_items(&self, user_id: &UserId, is_time: impl Fn() -> bool) -> Result<bool, StoreError> {
        let mut start = None;
        loop {
            let (items, next) = self.some(user_id, None, start, DELETED_AT_ONCE).await?;
            let mut keys = Vec::new();
            for item in items {
                let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
                if sort == PROFILE || sort.starts_with(SESSION_PREFIX) {
                    continue;
                }
                if sort.starts_with(ACCOUNT_PREFIX) {
                    let account: Account = read(item)?;
                    let owner = keys::account_owner(&account.provider, &account.subject);
                    self.delete_marker(&owner, user_id).await?;
                }
                keys.push(Key::new(keys::user(user_id), sort));
            }
            self.table.batch_delete(keys.iter().map(Key::item)).await?;
            start = next;
            if start.is_none() {
                return Ok(true);
            }
            if !is_time() {
                return Ok(false);
            }
        }
    }

    /// Deletes the sessions, and the last of them together with the profile.
    async fn delete_ways_back(&self, user_id: &UserId) -> Result<(), StoreError> {
        let sessions = self.table.query_prefix([PARTITION_KEY, SORT_KEY], &keys::user(user_id), SESSION_PREFIX).await?;
        let mut keys = Vec::new();
        for session in sessions {
            let session: UserSession = read(session)?;
            keys.extend([keys::session(&session.0.token_hash), session.key()]);
        }
        let last = keys.split_off(keys.len().saturating_sub(LAST_SESSIONS * 2));
        self.table.batch_delete(keys.iter().map(Key::item)).await?;
        let begin = Transaction::new(&self.table).forget(&profile(user_id.as_str()))?;
        let actions = last.iter().try_fold(begin, Transaction::forget)?;
        actions.write().await.map(drop)
    }

    async fn delete_email(&self, user_id: &UserId, email: &Email) -> Result<(), StoreError> {
        let marker = keys::email(email.as_str());
        let request = self.table.get_item(marker.item()).consistent_read(true);
        let owner: Option<EmailOwner> = request.send().await?.item.map(read).transpose()?;
        // Another user may have the address, and a code for it under way.
        if owner.is_some_and(|owner| owner.user_id == user_id.as_str()) {
            self.table.batch_delete([keys::verification(&email.mailbox()).item()]).await?;
            self.delete_marker(&marker, user_id).await?;
        }
        Ok(())
    }

    /// Deletes a marker if it is the user's.
    async fn delete_marker(&self, marker: &Key, user_id: &UserId) -> Result<(), StoreError> {
        let user = vec![("user", s(user_id.as_str()))];
        // Stops a marker from being deleted that has gone to somebody else.
        let transaction = Transaction::new(&self.table).delete(marker, "UserId = :user", user)?;
        transaction.write().await.map(drop)
    }

    /// Some of a user's items, and the key to go on from.
    async fn some(
        &self,
        user_id: &UserId,
        kind: Option<Kind>,
        start: Option<Item>,
        limit: i32,
    ) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let request = self.table.query().consistent_read(true).limit(limit);
        let request = request.set_exclusive_start_key(start);
        let request = request.expression_attribute_values(":user", s(keys::user(user_id)));
        let request = match kind {
            None => request.key_condition_expression("PK = :user"),
            Some(kind) => request
                .key_condition_expression("PK = :user AND begins_with(SK, :kind)")
                .expression_attribute_values(":kind", s(kind.prefix())),
        };
        let page = request.send().await?;
        Ok((page.items.unwrap_or_default(), page.last_evaluated_key))
    }
}

/// An item as the user takes it along.
pub(super) fn exported(item: Item) -> Value {
    let attributes: BTreeMap<_, _> = item.into_iter().collect();
    let kept = attributes.into_iter().filter(|(name, _)| !NOT_EXPORTED.contains(&name.as_str()));
    Value::Object(kept.map(|(name, value)| (camel_case(&name), json(value))).collect())
}

fn camel_case(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn json(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => text.into(),
        AttributeValue::N(number) => serde_json::from_str(&number).unwrap_or_else(|_| number.into()),
        AttributeValue::Bool(value) => value.into(),
        AttributeValue::B(bytes) => STANDARD.encode(bytes).into(),
        AttributeValue::L(values) => values.into_iter().map(json).collect(),
        AttributeValue::M(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, json(value))).collect())
        }
        AttributeValue::Ss(texts) => texts.into(),
        AttributeValue::Ns(numbers) => numbers.into_iter().map(|number| json(AttributeValue::N(number))).collect(),
        AttributeValue::Bs(values) => values.into_iter().map(|bytes| json(AttributeValue::B(bytes))).collect(),
        _ => Value::Null,
    }
}
