//! How many games and seats a client address has taken.

use domain::game::ClientTag;
use domain::game::rate_limit::{NEW_GAMES, RateLimit, TICKETS};
use serde::Deserialize;

use super::keys::{PARTITION_KEY, TTL, client, expires, key, n};
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// How often a request that meets another one of the same address tries again. One address that is
/// faster than that is too fast.
const TRIES_MAX: usize = 4;

/// What a client address may not take without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// New games.
    Games,
    /// Seats, places to look on, and new tickets for them.
    Tickets,
}

impl Allowance {
    fn sort(self) -> &'static str {
        match self {
            Self::Games => "GAMES",
            Self::Tickets => "SEATS",
        }
    }

    fn rate_limit(self) -> RateLimit {
        match self {
            Self::Games => NEW_GAMES,
            Self::Tickets => TICKETS,
        }
    }
}

#[derive(Debug, Deserialize)]
struct Row {
    until: u64,
}

/// Counts what clients take. Its requests are `GetItem` and `PutItem`.
#[derive(Debug, Clone)]
pub struct ClientLimits {
    table: Table,
}

impl ClientLimits {
    /// The clients in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Takes one. `Some`: so many milliseconds too early.
    pub async fn take(&self, tag: ClientTag, what: Allowance, now_ms: u64) -> Result<Option<u64>, StoreError> {
        for _ in 0..TRIES_MAX {
            let key_of = key(client(tag), what.sort());
            let read = self.table.get_item(key_of).consistent_read(true);
            let row: Option<Row> = match read.send().await?.item {
                Some(item) => Some(serde_dynamo::from_item(item).map_err(StoreError::unreadable)?),
                None => None,
            };
            let until_ms = match what.rate_limit().take(row.as_ref().map_or(0, |row| row.until), 1, now_ms) {
                Ok(until_ms) => until_ms,
                Err(wait_ms) => return Ok(Some(wait_ms)),
            };
            let mut item = key(client(tag), what.sort());
            item.insert("until".to_owned(), n(until_ms));
            item.insert(TTL.to_owned(), n(expires(until_ms, 1)));
            let put = self.table.put_item(item);
            // Stops requests that come at once from all being taken out of one allowance.
            let put = match row {
                None => put
                    .condition_expression("attribute_not_exists(#key)")
                    .expression_attribute_names("#key", PARTITION_KEY),
                Some(row) => put
                    .condition_expression("#until = :read")
                    .expression_attribute_names("#until", "until")
                    .expression_attribute_values(":read", n(row.until)),
            };
            if unless_condition_failed(put.send().await)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(what.rate_limit().every_ms))
    }
}
