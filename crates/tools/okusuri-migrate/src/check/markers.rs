//! Checks that each marker and the item that it marks both exist: an address and its user, a
//! provider login and its owner, a session by its token and in its user's partition.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::okusuri::Email;

use super::number;
use crate::transform::key_hash;

/// Which half of a pair an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairHalf {
    /// The item that has a marker.
    Owner,
    /// The marker itself.
    Marker,
}

/// The halves whose other half was not found yet.
#[derive(Debug)]
pub(super) struct MarkerPairs {
    now: i64,
    pairs: u64,
    waiting: HashMap<u128, (&'static str, PairHalf, String)>,
    /// All addresses that have a marker, of any user.
    addresses: HashSet<u128>,
}

impl MarkerPairs {
    /// `now` is in epoch seconds. Expired items are skipped, because TTL may have deleted one half
    /// already.
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
                // An invalid address has no marker.
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

    /// The number of pairs, and the halves without their other half.
    pub(super) fn finish(self) -> (u64, Vec<(&'static str, String)>) {
        let addresses = self.addresses;
        let alone = self.waiting.into_values().filter_map(|(kind, side, name)| match (kind, side) {
            // Two users have this address, and the marker belongs to the other one.
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
