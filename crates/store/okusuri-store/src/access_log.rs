//! Who of the health administration has read what of a user, and why. The user sees it; nothing is
//! shown before it is written.

use std::collections::BTreeSet;

use domain::{ShortText, UserId};
use futures::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::keys::{self, ACCESS_PREFIX, s, sortable};
use super::rows::{of_user, read, row};
use super::transaction::{Transaction, WriteError};
use store_base::{StoreError, Table};

/// How long a record is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(2 * 365 * 24);

/// Records that are written at a time: a page of a hundred users takes a moment.
const AT_ONCE: usize = 10;

/// The newest records that the user is shown; an export has all.
const SHOWN_MAX: i32 = 100;

/// Something of a user was read: `USER#<user id>` `ACCESS#<time>#<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AccessRecord {
    /// Whose.
    pub user_id: String,
    /// Tells records of one moment apart.
    pub access_id: String,
    /// The kind of data that was read: `user`, or the type of the items.
    pub kind: String,
    /// As the reader gave it.
    pub reason: String,
    /// When.
    pub created_at: Timestamp,
}

row! {
    AccessRecord as "access", owner user_id,
    key |row| of_user(&row.user_id, format!("{ACCESS_PREFIX}{}#{}", sortable(row.created_at), row.access_id)),
    expires |row| row.created_at.checked_add(KEPT).ok()
}

/// One reading of the health administration's.
#[derive(Debug, Clone)]
pub struct Access {
    /// Tells it from others.
    pub id: String,
    /// The kind of data to read.
    pub kind: String,
    /// Why.
    pub reason: ShortText,
    /// When.
    pub at: Timestamp,
}

/// The records of a table. Writing is `TransactWriteItems` of a condition check and a put, reading
/// is `Query`.
#[derive(Debug, Clone)]
pub struct AccessLog {
    table: Table,
}

impl AccessLog {
    /// The records in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Records an access for each user concerned. Returns the users who still exist; the data of
    /// the others must not be shown.
    pub async fn record(&self, access: &Access, users: BTreeSet<String>) -> Result<BTreeSet<String>, StoreError> {
        let noted = stream::iter(users).map(|user| async move {
            let user_id = UserId::new(&user).map_err(StoreError::unreadable)?;
            let row = AccessRecord {
                user_id: user.clone(),
                access_id: access.id.clone(),
                kind: access.kind.clone(),
                reason: access.reason.to_string(),
                created_at: access.at,
            };
            // Stops a record for a user who was deleted meanwhile.
            let written = Transaction::of_user(&self.table, &user_id)?.put_new(&row)?.write_of_user().await;
            match written {
                Ok(true) => Ok(Some(user)),
                Ok(false) => Err(StoreError::Busy("an access has the id of another".to_owned())),
                Err(WriteError::NoUser) => Ok(None),
                Err(WriteError::Conflict) => Err(StoreError::Busy("TransactionConflict".to_owned())),
                Err(WriteError::Store(error)) => Err(error),
            }
        });
        noted.buffer_unordered(AT_ONCE).try_filter_map(async |user| Ok(user)).try_collect().await
    }

    /// The accesses to a user's data, newest first.
    pub async fn of(&self, user: &UserId) -> Result<Vec<AccessRecord>, StoreError> {
        let request = self.table.query().consistent_read(true);
        let request = request.key_condition_expression("PK = :user AND begins_with(SK, :prefix)");
        let request = request.expression_attribute_values(":user", s(keys::user(user)));
        let request = request.expression_attribute_values(":prefix", s(ACCESS_PREFIX));
        let page = request.scan_index_forward(false).limit(SHOWN_MAX).send().await?;
        page.items.unwrap_or_default().into_iter().map(read).collect()
    }
}
