//! How many codes are sent and tried: of a source of requests, and of the whole service. Those of a
//! mailbox are with its code.

use std::net::IpAddr;

use domain::okusuri::sign_in::{Limits as Numbers, Locked, SERVICE_SENDS_MAX, SignInCounters, WINDOW};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::code_counters::{self, CodeCounters, write_counted};
use super::keys::{self, Key, n, s};
use super::rows::{Row, read};
use super::verifications::{CheckError, IssueError};
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// How often a change is tried again because another one was faster.
const DECISIONS_MAX: u32 = 5;

/// Where requests come from: an IPv4 address, or the network that an IPv6 client has as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(String);

impl Source {
    /// The source of a client's address, as `Request::client_address` of `lambda-kit` gives it. A
    /// client on the same machine is none: on Lambda there is no such client, and the stack of a
    /// laptop has no other.
    pub fn of(client: Option<IpAddr>) -> Option<Self> {
        match client {
            // The network of `::1` is `::`.
            Some(client) if client.is_loopback() || client.is_unspecified() => None,
            Some(client) => Some(Self(client.to_string())),
            // Those whose address is not known share one: it must not be a way around.
            None => Some(Self("unknown".to_owned())),
        }
    }
}

/// The counters of a source: `LIMIT#SOURCE#<source>` `CODES`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SourceLimit {
    source: String,
    #[serde(flatten)]
    counted: CodeCounters,
}

impl Row for SourceLimit {
    const TYPE: &'static str = "source_limit";
    const OPTIONAL: &'static [&'static str] = code_counters::OPTIONAL;

    fn key(&self) -> Key {
        keys::source_limit(&self.source)
    }

    fn owner(&self) -> &str {
        &self.source
    }

    fn created_at(&self) -> Timestamp {
        self.counted.created_at
    }

    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.counted.sent().matters_until())
    }
}

/// The kinds of mails. Each has its own limit, so that reminders stop nobody from signing in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailKind {
    /// A sign-in code.
    Code,
    /// A reminder of doses.
    Reminder,
}

impl MailKind {
    fn sort(self) -> &'static str {
        match self {
            Self::Code => "CODES",
            Self::Reminder => "REMINDERS",
        }
    }
}

/// The limits of a table. Its requests are `GetItem` and `UpdateItem`.
#[derive(Debug, Clone)]
pub struct CodeLimits {
    table: Table,
}

impl CodeLimits {
    /// The limits in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Counts a code that a source asks for.
    pub async fn send(&self, source: &Source, now: Timestamp) -> Result<(), IssueError> {
        self.count(source, now, |before| {
            SignInCounters::count_send(before, Numbers::SOURCE, now).map_err(IssueError::from)
        })
        .await
    }

    /// Counts a mail before it is sent. `false` if the service has sent too many of its kind.
    ///
    /// One item takes a thousand writes a second, and only codes come here that their source and
    /// their mailbox had room for.
    pub async fn send_any(&self, kind: MailKind, now: Timestamp) -> Result<bool, StoreError> {
        let window = WINDOW.as_secs();
        let window_from = now.as_second().div_euclid(window) * window;
        let request = self.table.update_item(keys::service_limit(kind.sort(), window_from).item());
        let request = request.update_expression("SET #TTL = :ttl, #Type = :type ADD Sends :one");
        let request = request.expression_attribute_names("#TTL", keys::TTL).expression_attribute_names("#Type", "Type");
        let request = request.expression_attribute_values(":type", s("service_limit"));
        // Stops the service from being made to send more than it may, however many ask at once.
        let request = request.condition_expression("attribute_not_exists(Sends) OR Sends < :max");
        let request = request.expression_attribute_values(":one", n(1));
        let request = request.expression_attribute_values(":max", n(SERVICE_SENDS_MAX));
        let request = request.expression_attribute_values(":ttl", n(window_from + 2 * window));
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }

    /// When [`CodeLimits::send_any`] has room again.
    pub fn next_window(now: Timestamp) -> Timestamp {
        let window = WINDOW.as_secs();
        let next = (now.as_second().div_euclid(window) + 1) * window;
        Timestamp::from_second(next).unwrap_or(Timestamp::MAX)
    }

    /// Whether a source may try a code.
    pub async fn may_guess(&self, source: &Source, now: Timestamp) -> Result<(), CheckError> {
        match self.get(source).await? {
            Some(row) => Ok(row.counted.sent().may_guess(now)?),
            None => Ok(()),
        }
    }

    /// Counts a code that was wrong. It is counted after it was compared, since right ones must not
    /// count: an office has many. Guesses that come at once may be a few too many for the source,
    /// and are never too many for a mailbox.
    pub async fn wrong(&self, source: &Source, now: Timestamp) -> Result<(), StoreError> {
        let counted = self.count(source, now, |before| {
            SignInCounters::count_attempt(before, Numbers::SOURCE, now).map_err(CheckError::from)
        });
        match counted.await {
            // Locked by another guess of the same moment.
            Ok(()) | Err(CheckError::Locked(Locked(_)) | CheckError::Wrong { .. } | CheckError::Expired) => Ok(()),
            Err(CheckError::Store(error)) => Err(error),
        }
    }

    async fn count<E: From<StoreError>>(
        &self,
        source: &Source,
        now: Timestamp,
        next: impl Fn(Option<&SignInCounters>) -> Result<SignInCounters, E>,
    ) -> Result<(), E> {
        for _ in 0..DECISIONS_MAX {
            let before = self.get(source).await?;
            let counted = before.as_ref().map(|before| &before.counted);
            let sent = next(counted.map(CodeCounters::sent).as_ref())?;
            let row = SourceLimit { source: source.0.clone(), counted: CodeCounters::new(sent, counted, now) };
            if write_counted(&self.table, &row, &row.counted, counted).await? {
                return Ok(());
            }
        }
        Err(StoreError::Busy("the same source asks many times at once".to_owned()).into())
    }

    async fn get(&self, source: &Source) -> Result<Option<SourceLimit>, StoreError> {
        let key = keys::source_limit(&source.0).item();
        let request = self.table.get_item(key).consistent_read(true);
        request.send().await?.item.map(read).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_client_is_no_rate_limit_source() {
        let source = |text: &str| Source::of(text.parse().ok()).map(|source| source.0);
        assert_eq!(source("203.0.113.7").as_deref(), Some("203.0.113.7"));
        assert_eq!(source("2001:db8::").as_deref(), Some("2001:db8::"));
        for local in ["127.0.0.1", "::1", "::"] {
            assert_eq!(source(local), None, "{local}");
        }
        assert_eq!(source("what").as_deref(), Some("unknown"));
    }
}
