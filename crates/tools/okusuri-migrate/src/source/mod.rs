//! The PostgreSQL side: an application with better-auth's tables and its own tables.

mod connect;
mod rows;
mod schema;

pub use connect::{Server, connect, database_identity, source_failure};
pub use rows::{Account, MedicationLog, NotificationSetting, Row, Session, Time, TimeError, User, Verification};
pub use schema::{Column, Columns, check_schema};

use std::fmt;

use serde::{Deserialize, Serialize};

/// A table of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// `"user"`
    User,
    /// `session`
    Session,
    /// `account`
    Account,
    /// `verification`
    Verification,
    /// `medication_logs`
    MedicationLogs,
    /// `notification_settings`
    NotificationSettings,
}

impl Table {
    /// All tables. Users come first, because the other rows depend on their users.
    pub const ALL: [Self; 6] = [
        Self::User,
        Self::Session,
        Self::Account,
        Self::Verification,
        Self::MedicationLogs,
        Self::NotificationSettings,
    ];

    /// The table's name in PostgreSQL, without quotes.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Session => "session",
            Self::Account => "account",
            Self::Verification => "verification",
            Self::MedicationLogs => "medication_logs",
            Self::NotificationSettings => "notification_settings",
        }
    }

    /// Its columns.
    pub fn columns(self) -> &'static [Column] {
        use schema::{BOOL, INTEGER, TEXT, TIME};
        match self {
            Self::User => &[
                Column("id", TEXT),
                Column("name", TEXT),
                Column("email", TEXT),
                Column("emailVerified", BOOL),
                Column("image", TEXT),
                Column("createdAt", TIME),
                Column("updatedAt", TIME),
                Column("deletedAt", TIME),
            ],
            Self::Session => &[
                Column("id", TEXT),
                Column("expiresAt", TIME),
                Column("token", TEXT),
                Column("createdAt", TIME),
                Column("updatedAt", TIME),
                Column("ipAddress", TEXT),
                Column("userAgent", TEXT),
                Column("userId", TEXT),
            ],
            Self::Account => &[
                Column("id", TEXT),
                Column("accountId", TEXT),
                Column("providerId", TEXT),
                Column("userId", TEXT),
                Column("accessToken", TEXT),
                Column("refreshToken", TEXT),
                Column("idToken", TEXT),
                Column("accessTokenExpiresAt", TIME),
                Column("refreshTokenExpiresAt", TIME),
                Column("scope", TEXT),
                Column("password", TEXT),
                Column("createdAt", TIME),
                Column("updatedAt", TIME),
            ],
            Self::Verification => &[
                Column("id", TEXT),
                Column("identifier", TEXT),
                Column("value", TEXT),
                Column("expiresAt", TIME),
                Column("createdAt", TIME),
                Column("updatedAt", TIME),
            ],
            Self::MedicationLogs => &[
                Column("id", INTEGER),
                Column("user_id", TEXT),
                Column("has_bleeding", BOOL),
                Column("created_at", TIME),
                Column("updated_at", TIME),
                Column("deleted_at", TIME),
            ],
            Self::NotificationSettings => &[
                Column("id", INTEGER),
                Column("user_id", TEXT),
                Column("platform", TEXT),
                Column("is_enabled", BOOL),
                Column("subscription", TEXT),
                Column("created_at", TIME),
                Column("updated_at", TIME),
                Column("deleted_at", TIME),
            ],
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
