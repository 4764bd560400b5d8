//! Rows in PostgreSQL's JSON (`row_to_json`): the lines of an export, and the rows that a trigger
//! records.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Table;

/// A time in PostgreSQL's JSON: with or without an offset, or `infinity`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time(pub String);

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// `infinity` and `-infinity`.
    #[error("{0} is not a moment")]
    Infinite(String),
    /// Years before 0 and after 9999, among others.
    #[error("{0:?} is not a readable time")]
    Unreadable(String),
}

impl Time {
    /// The time as an instant. A time without an offset is a local time in `zone`: of two possible
    /// instants the first, and in a gap moved forward by the length of the gap.
    ///
    /// # Errors
    /// If the text is not a time.
    pub fn at(&self, zone: &TimeZone) -> Result<Timestamp, TimeError> {
        let text = self.0.as_str();
        if text.trim_start_matches('-') == "infinity" {
            return Err(TimeError::Infinite(text.to_owned()));
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(at);
        }
        let unreadable = || TimeError::Unreadable(text.to_owned());
        let local: DateTime = text.parse().map_err(|_| unreadable())?;
        zone.to_timestamp(local).map_err(|_| unreadable())
    }
}

/// `"user"`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct User {
    pub id: String,
    pub name: Option<String>,
    pub email: Option<String>,
    pub email_verified: Option<bool>,
    pub image: Option<String>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub deleted_at: Option<Time>,
}

/// `session`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct Session {
    pub id: String,
    pub expires_at: Option<Time>,
    pub token: Option<String>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub ip_address: Option<String>,
    pub user_agent: Option<String>,
    pub user_id: Option<String>,
}

/// `account`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct Account {
    pub id: String,
    pub account_id: Option<String>,
    pub provider_id: Option<String>,
    pub user_id: Option<String>,
    pub access_token: Option<String>,
    pub refresh_token: Option<String>,
    pub id_token: Option<String>,
    pub access_token_expires_at: Option<Time>,
    pub refresh_token_expires_at: Option<Time>,
    pub scope: Option<String>,
    pub password: Option<String>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
}

/// `verification`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct Verification {
    pub id: String,
    pub identifier: Option<String>,
    pub value: Option<String>,
    pub expires_at: Option<Time>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
}

/// `medication_logs`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct MedicationLog {
    pub id: i64,
    pub user_id: Option<String>,
    pub has_bleeding: Option<bool>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub deleted_at: Option<Time>,
}

/// `notification_settings`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns of the source, by their names")]
pub struct NotificationSetting {
    pub id: i64,
    pub user_id: Option<String>,
    pub platform: Option<String>,
    pub is_enabled: Option<bool>,
    /// JSON as text, or a column of type JSON in some versions. Kept in its original form, so that
    /// it can be written back to the same column.
    pub subscription: Option<Value>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub deleted_at: Option<Time>,
}

impl NotificationSetting {
    /// The subscription's JSON as text, for both types of column.
    pub fn subscription_text(&self) -> Option<String> {
        self.subscription.as_ref().map(|json| match json {
            Value::String(text) => text.clone(),
            json => json.to_string(),
        })
    }
}

/// A row of any table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names explain the variants")]
pub enum Row {
    User(User),
    Session(Session),
    Account(Account),
    Verification(Verification),
    MedicationLog(MedicationLog),
    NotificationSetting(NotificationSetting),
}

impl Row {
    /// Reads a row from the output of `row_to_json`; unknown columns are ignored.
    ///
    /// # Errors
    /// If the JSON is not a row of the table.
    pub fn read(table: Table, json: &str) -> Result<Self, serde_json::Error> {
        Ok(match table {
            Table::User => Self::User(serde_json::from_str(json)?),
            Table::Session => Self::Session(serde_json::from_str(json)?),
            Table::Account => Self::Account(serde_json::from_str(json)?),
            Table::Verification => Self::Verification(serde_json::from_str(json)?),
            Table::MedicationLogs => Self::MedicationLog(serde_json::from_str(json)?),
            Table::NotificationSettings => Self::NotificationSetting(serde_json::from_str(json)?),
        })
    }

    /// The row's table.
    pub fn table(&self) -> Table {
        match self {
            Self::User(_) => Table::User,
            Self::Session(_) => Table::Session,
            Self::Account(_) => Table::Account,
            Self::Verification(_) => Table::Verification,
            Self::MedicationLog(_) => Table::MedicationLogs,
            Self::NotificationSetting(_) => Table::NotificationSettings,
        }
    }

    /// The row's primary key.
    pub fn id(&self) -> String {
        match self {
            Self::User(row) => row.id.clone(),
            Self::Session(row) => row.id.clone(),
            Self::Account(row) => row.id.clone(),
            Self::Verification(row) => row.id.clone(),
            Self::MedicationLog(row) => row.id.to_string(),
            Self::NotificationSetting(row) => row.id.to_string(),
        }
    }

    /// The row's user. A user's row belongs to that user, and a verification to no user.
    pub fn user_id(&self) -> Option<&str> {
        match self {
            Self::User(row) => Some(&row.id),
            Self::Session(row) => row.user_id.as_deref(),
            Self::Account(row) => row.user_id.as_deref(),
            Self::Verification(_) => None,
            Self::MedicationLog(row) => row.user_id.as_deref(),
            Self::NotificationSetting(row) => row.user_id.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(text: &str, zone: &str) -> Result<String, TimeError> {
        Time(text.to_owned()).at(&TimeZone::get(zone).unwrap()).map(|at| at.to_string())
    }

    #[test]
    fn a_time_is_read_with_its_offset_or_in_the_given_zone() {
        assert_eq!(at("2025-08-30T10:00:00.123456+00:00", "Asia/Tokyo").unwrap(), "2025-08-30T10:00:00.123456Z");
        assert_eq!(at("2025-08-30T10:00:00", "UTC").unwrap(), "2025-08-30T10:00:00Z");
        assert_eq!(at("2025-08-30T10:00:00", "Asia/Tokyo").unwrap(), "2025-08-30T01:00:00Z");
        assert_eq!(at("1900-01-01T00:00:00", "UTC").unwrap(), "1900-01-01T00:00:00Z");
        // The gap in spring, and the repeated hour in autumn.
        assert_eq!(at("2025-03-30T02:30:00", "Europe/Berlin").unwrap(), "2025-03-30T01:30:00Z");
        assert_eq!(at("2025-10-26T02:30:00", "Europe/Berlin").unwrap(), "2025-10-26T00:30:00Z");
    }

    #[test]
    fn an_unreadable_time_is_reported() {
        assert_eq!(at("-infinity", "UTC"), Err(TimeError::Infinite("-infinity".to_owned())));
        for text in ["0044-03-15T00:00:00 BC", "12026-01-01T00:00:00", "", "2025-02-30T00:00:00", "soon"] {
            assert_eq!(at(text, "UTC"), Err(TimeError::Unreadable(text.to_owned())));
        }
    }

    #[test]
    fn a_subscription_may_be_text_or_json_and_keeps_its_form() {
        let of = |subscription: &str| {
            let json = format!(r#"{{"id":7,"subscription":{subscription}}}"#);
            match Row::read(Table::NotificationSettings, &json).unwrap() {
                Row::NotificationSetting(row) => {
                    (row.subscription_text(), serde_json::to_value(&row).unwrap()["subscription"].to_string())
                }
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of("null"), (None, "null".to_owned()));
        let text = r#""{\"endpoint\": 1""#;
        assert_eq!(of(text), (Some(r#"{"endpoint": 1"#.to_owned()), text.to_owned()));
        let json = r#"{"endpoint":1}"#.to_owned();
        assert_eq!(of(r#"{"endpoint": 1}"#), (Some(json.clone()), json));
    }
}
