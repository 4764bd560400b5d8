//! Checks lookup items against their targets in both directions: an address and its user, a login
//! and its owner, a session by its token and in its user's partition.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::okusuri::Email;

use super::number;
use crate::transform::key_hash;

/// Which side of a pair an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairHalf {
    /// It says that there is a marker.
    Owner,
    /// It is the marker.
    Marker,
}

/// The halves that have not met yet.
#[derive(Debug)]
pub(super) struct MarkerPairs {
    now: i64,
    pairs: u64,
    waiting: HashMap<u128, (&'static str, PairHalf, String)>,
    /// Addresses that have a marker, whosever it is.
    addresses: HashSet<u128>,
}

impl MarkerPairs {
    /// As of epoch second `now`: items that have expired by then may be partly deleted.
    pub(super) fn new(now: i64) -> Self {
        Self { now, pairs: 0, waiting: HashMap::new(), addresses: HashSet::new() }
    }

    pub(super) fn take(&mut self, item: &HashMap<String, AttributeValue>) {
        let text = |name| item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str);
        if number(item, "TTL").is_some_and(|ttl| ttl <= self.now) {
            return;
        }
        let user = text("UserId");
        match text("Type") {
            "user" => {
                // An address that is none has no marker.
                let Ok(email) = Email::new(text("Email")) else { return };
                self.meet("email", PairHalf::Owner, &[email.as_str(), user]);
            }
            "email" => {
                self.addresses.insert(key_hash("email", text("Email")));
                self.meet("email", PairHalf::Marker, &[text("Email"), user]);
            }
            "account" => self.meet("account", PairHalf::Owner, &[text("Provider"), text("Subject"), user]),
            "account_owner" => self.meet("account", PairHalf::Marker, &[text("Provider"), text("Subject"), user]),
            "user_session" => self.meet("session", PairHalf::Owner, &[text("TokenHash"), text("SessionId"), user]),
            "session" => self.meet("session", PairHalf::Marker, &[text("TokenHash"), text("SessionId"), user]),
            _ => {}
        }
    }

    fn meet(&mut self, kind: &'static str, side: PairHalf, what: &[&str]) {
        let name = what.join(" ");
        let key = key_hash(kind, &what.join("\0"));
        match self.waiting.remove(&key) {
            Some((_, other, _)) if other != side => self.pairs += 1,
            _ => drop(self.waiting.insert(key, (kind, side, name))),
        }
    }

    /// How many pairs there are, and which halves are alone.
    pub(super) fn finish(self) -> (u64, Vec<(&'static str, String)>) {
        let addresses = self.addresses;
        let alone = self.waiting.into_values().filter_map(|(kind, side, name)| match (kind, side) {
            // Two users with one address: it is the other one's.
            ("email", PairHalf::Owner) if addresses.contains(&key_hash("email", name.split(' ').next()?)) => None,
            ("email", PairHalf::Owner) => Some(("email-without-marker", name)),
            ("email", PairHalf::Marker) => Some(("marker-without-email", name)),
            ("account", PairHalf::Owner) => Some(("account-without-marker", name)),
            ("account", PairHalf::Marker) => Some(("marker-without-account", name)),
            (_, PairHalf::Owner) => Some(("session-without-token", name)),
            (_, PairHalf::Marker) => Some(("token-without-session", name)),
        });
        (self.pairs, alone.collect())
    }
}
