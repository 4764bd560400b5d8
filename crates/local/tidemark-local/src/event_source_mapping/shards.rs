//! Chooses the shards that may be read.

use std::collections::BTreeSet;

use super::source::Shard;

/// The shards that can start now: neither drained nor being read, and their parents are drained or
/// no longer listed.
pub(super) fn readable<'a>(
    shards: &'a [Shard],
    drained: &BTreeSet<String>,
    reading: &BTreeSet<String>,
) -> Vec<&'a Shard> {
    let is_listed = |id: &String| shards.iter().any(|shard| shard.id == *id);
    let waits_for = |parent: &String| reading.contains(parent) || (is_listed(parent) && !drained.contains(parent));
    let is_new = |shard: &&Shard| !drained.contains(&shard.id) && !reading.contains(&shard.id);
    shards.iter().filter(is_new).filter(|shard| !shard.parents.iter().any(waits_for)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Vec<Shard> {
        let shard = |id: &str, parent: Option<&str>, closed| Shard {
            id: id.to_owned(),
            parents: parent.map(str::to_owned).into_iter().collect(),
            closed,
            before: None,
        };
        vec![
            shard("parent", Some("trimmed"), true),
            shard("left", Some("parent"), false),
            shard("right", Some("parent"), false),
            shard("other", None, false),
        ]
    }

    fn ids(shards: &[Shard], drained: &[&str], reading: &[&str]) -> Vec<String> {
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        readable(shards, &set(drained), &set(reading)).into_iter().map(|shard| shard.id.clone()).collect()
    }

    #[test]
    fn a_shard_is_read_after_its_parent() {
        assert_eq!(ids(&family(), &[], &[]), ["parent", "other"]);
        assert_eq!(ids(&family(), &[], &["parent", "other"]), [""; 0]);
        assert_eq!(ids(&family(), &["parent"], &["other"]), ["left", "right"]);
    }

    #[test]
    fn a_trimmed_parent_that_is_still_being_read_comes_first() {
        let children = &family()[1..];
        assert_eq!(ids(children, &[], &["parent", "other"]), [""; 0]);
        assert_eq!(ids(children, &[], &["other"]), ["left", "right"]);
    }
}
