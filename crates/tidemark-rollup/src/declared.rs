//! A declaration as text: it tells a changed declaration from the one that statistics were counted
//! with, and finds another rollup with the same keys.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::check::KeyForms;
use crate::declaration::{CheckedGroup, Rollup};
use crate::group::Dimension;
use crate::measure::Measure;

/// What decides the statistics of an item, as far as the crate can see it. Closures and the reader
/// are not part of it: [`crate::RollupBuilder::version`] stands for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Declared {
    /// By what they are about: ``measure `votes` ``.
    parts: BTreeMap<String, String>,
    /// By group: the keys of its statistics.
    keys: BTreeMap<String, KeyForms>,
}

impl Declared {
    pub(crate) fn of<T>(rollup: &Rollup<T>) -> Self {
        let policies = [rollup.on_modify, rollup.on_remove, rollup.on_ttl].map(|policy| format!("{policy:?}"));
        let own = [("version", rollup.version.to_string()), ("policies", policies.join(" "))];
        let own = own.into_iter().map(|(what, text)| (format!("the {what}"), text));
        let measures = rollup.measures.iter();
        let measures = measures.map(|(name, measure)| (format!("measure `{name}`"), of_measure(measure)));
        let groups = rollup.groups.iter();
        let groups = groups.map(|group| (format!("group `{}`", group.group.name), of_group(rollup, group)));
        let keys = rollup.groups.iter().map(|group| (group.group.name.clone(), group.key_forms()));
        Self { parts: own.chain(measures).chain(groups).collect(), keys: keys.collect() }
    }

    /// 16 hexadecimal digits. Two declarations have the same with a probability of 2^-64.
    pub(crate) fn fingerprint(&self) -> String {
        let digest = self.parts.iter().fold(Sha256::new(), |digest, (what, text)| {
            digest.chain_update(what).chain_update("\n").chain_update(text).chain_update("\n")
        });
        digest.finalize().iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }

    /// What differs from an earlier declaration, for people.
    pub(crate) fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let all: BTreeSet<_> = self.parts.keys().chain(earlier.parts.keys()).collect();
        let change = |what: &String| match (earlier.parts.get(what), self.parts.get(what)) {
            (None, _) => Some(format!("{what} is new")),
            (_, None) => Some(format!("{what} is gone")),
            (before, now) => (before != now).then(|| format!("{what} changed")),
        };
        all.into_iter().filter_map(change).collect()
    }

    /// A group of this declaration and one of another rollup that may have the same keys.
    pub(crate) fn shared_keys<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str)> {
        let pairs = self.keys.iter().flat_map(|own| other.keys.iter().map(move |other| (own, other)));
        let mut same = pairs.filter(|((_, own), (_, other))| own.may_equal(other));
        same.next().map(|((own, _), (other, _))| (own.as_str(), other.as_str()))
    }
}

fn of_measure<T>(measure: &Measure<T>) -> String {
    format!("{} {}", measure.kind_name(), measure.scale)
}

fn of_group<T>(rollup: &Rollup<T>, checked: &CheckedGroup<T>) -> String {
    let group = &checked.group;
    let dimensions = group.dimensions.iter().map(|(name, dimension)| match dimension {
        Dimension::Window(window, _) => {
            let zone = group.zone.iana_name().map(ToOwned::to_owned);
            let zone = zone.or_else(|| Some(group.zone.to_fixed_offset().ok()?.to_string()));
            format!("{name}={window:?} {}", zone.unwrap_or_default())
        }
        Dimension::Attribute(_) => name.clone(),
    });
    let dimensions: Vec<_> = dimensions.collect();
    // The order in which measures are declared does not matter.
    let measures = checked.measures.iter().filter_map(|index| rollup.measures.get(*index));
    let measures: BTreeSet<_> = measures.map(|(name, _)| name).collect();
    format!("{dimensions:?} {:?} {:?} {measures:?}", group.key, group.attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::votes::{Vote, builder, keeping};
    use crate::{Group, Policy, RollupBuilder, Window, count, sum};
    use jiff::tz::TimeZone;

    fn of(builder: RollupBuilder<Vote>) -> Declared {
        Declared::of(&builder.build().expect("a declaration"))
    }

    fn changes(builder_now: RollupBuilder<Vote>) -> Vec<String> {
        let (before, now) = (of(builder()), of(builder_now));
        assert_eq!(before.fingerprint() == now.fingerprint(), before == now);
        now.changes_since(&before)
    }

    #[test]
    fn each_change_of_a_declaration_is_named() {
        assert_eq!(changes(builder()), [""; 0]);
        assert_eq!(changes(builder().changed_declaration(Policy::Keep)), [""; 0]);
        assert_eq!(changes(builder().version(1)), ["the version changed"]);
        assert_eq!(changes(keeping()), ["the policies changed"]);
        let new = Group::new("new").key("NEW", "-").measures(["votes"]);
        assert_eq!(changes(builder().group(new)), ["group `new` is new"]);
        let all = changes(builder().measure("price", sum(|vote: &Vote| vote.score).decimals(2)));
        assert_eq!(all, ["group `daily` changed", "group `total` changed", "measure `price` is new"]);
        let weekly = |name, window, zone: &str| {
            let group = Group::new(name).window("w", window, |vote: &Vote| vote.at).key("STAT#W", "{w}");
            let group = group.zone(TimeZone::get(zone).expect("a time zone"));
            of(crate::Rollup::builder("votes").measure("votes", count()).group(group))
        };
        let week = weekly("w", Window::Week, "UTC");
        for other in [weekly("w", Window::Day, "UTC"), weekly("w", Window::Week, "Asia/Tokyo")] {
            assert_eq!(other.changes_since(&week), ["group `w` changed"]);
        }
        assert_eq!(weekly("v", Window::Week, "UTC").changes_since(&week), ["group `v` is new", "group `w` is gone"]);
    }

    #[test]
    fn another_rollup_with_the_same_keys_is_found() {
        let other = |key: &str, sort: &str| {
            let group = Group::new("other").window("day", Window::Day, |vote: &Vote| vote.at).key(key, sort);
            of(crate::Rollup::builder("others").measure("votes", count()).group(group))
        };
        assert_eq!(of(builder()).shared_keys(&other("STAT#DAILY", "{day}")), Some(("daily", "other")));
        assert_eq!(of(builder()).shared_keys(&other("STAT#D", "{day}")), None);
    }
}
