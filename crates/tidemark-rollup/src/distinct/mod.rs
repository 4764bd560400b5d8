//! Where the values of distinct measures are recorded: first-seen records if nothing is taken
//! back, holdings otherwise.
//!
//! A value has one item for each bucket of time and combination of the other dimensions, with an
//! entry for each statistic. So a user's day and month are recorded with one write.

pub(crate) mod first_seen;
pub(crate) mod holding;
pub(crate) mod holdings;

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest, Sha256};

use crate::SequenceNumber;
use crate::additions::ItemKey;
use crate::chunk::{Chunk, DistinctValue};
use crate::contribution::StatKey;
use crate::declaration::{RESERVED_PREFIX, Rollup};
use crate::key::push_escaped;
#[cfg(feature = "recount")]
use crate::key::unescaped;

/// [The longest partition key and sort key](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys),
/// bytes.
const PARTITION_KEY_BYTES_MAX: usize = 2048;
const SORT_KEY_BYTES_MAX: usize = 1024;

/// How many requests of one batch are in flight at once.
pub(crate) const REQUESTS_MAX: usize = 32;

/// How many items an instance caches: about ten megabytes.
const CACHED_ITEMS_MAX: usize = 50_000;

/// The changes of a chunk to the values that one item records.
#[derive(Debug, Default)]
pub(crate) struct ItemChanges {
    /// The statistic and the measure of each entry.
    pub(crate) entries: BTreeMap<String, (StatKey, usize)>,
    /// In the order of the shard: 1 when an item begins to hold the value, -1 when one ends.
    pub(crate) changes: Vec<(SequenceNumber, String, i64)>,
}

/// Changes of distinct counts, by statistic and measure.
pub(crate) type DistinctChanges = BTreeMap<(StatKey, usize), i64>;

/// The items that record the values of a chunk.
pub(crate) fn items<T>(rollup: &Rollup<T>, chunk: &Chunk) -> BTreeMap<ItemKey, ItemChanges> {
    let mut items: BTreeMap<ItemKey, ItemChanges> = BTreeMap::new();
    for (value, changes) in &chunk.values {
        let Some((key, entry)) = place(rollup, value) else { continue };
        let item = items.entry(key).or_default();
        item.entries.insert(entry.clone(), (value.stat.clone(), value.measure));
        item.changes.extend(changes.iter().map(|(record, change)| (*record, entry.clone(), *change)));
    }
    for item in items.values_mut() {
        item.changes.sort_by_key(|(record, ..)| *record);
    }
    items
}

/// The item and the entry that record a value in a statistic.
pub(crate) fn place<T>(rollup: &Rollup<T>, value: &DistinctValue) -> Option<(ItemKey, String)> {
    let group = &rollup.groups.get(value.stat.group)?.group;
    let (name, measure) = rollup.measures.get(value.measure)?;
    if measure.is_ranked {
        return Some((ranks_key(rollup, &value.stat, name, &value.value)?, format!("{}:", group.name)));
    }
    let window = group.window_dimension();
    let label = window.and_then(|(index, window)| Some(window.bucket(value.stat.values.get(index)?)));
    let (bucket, slot) = label.unwrap_or(("-", ""));
    let others = value.stat.values.iter().enumerate().filter(|(index, _)| window.is_none_or(|(of, _)| of != *index));
    let others = with_values(String::new(), others.map(|(_, value)| value));
    let key = (value_partition(rollup, name, &value.value), fit(bucket.to_owned(), &others, SORT_KEY_BYTES_MAX));
    Some((key, format!("{}:{slot}", group.name)))
}

/// The statistic and the measure of an entry, the reverse of [`place`]; `None` if the key contains
/// a hash.
#[cfg(feature = "recount")]
pub(crate) fn stat_of<T>(rollup: &Rollup<T>, (partition, sort): &ItemKey, entry: &str) -> Option<(StatKey, usize)> {
    let rest = partition.strip_prefix(&format!("{RESERVED_PREFIX}{}#", rollup.name))?;
    let rest = rest.strip_prefix("HELD#").or_else(|| rest.strip_prefix("SEEN#"))?;
    let (name, _) = rest.split_once('#')?;
    let measure = rollup.measures.iter().position(|(of, _)| of == name)?;
    let (name, slot) = entry.split_once(':')?;
    let index = rollup.groups.iter().position(|group| group.group.name == name)?;
    let group = &rollup.groups.get(index)?.group;
    if rollup.measures.get(measure)?.1.is_ranked {
        let values = rest.split('#').skip(2).map(unescaped).collect::<Option<Vec<_>>>()?;
        let stat = StatKey { group: index, values };
        return (stat.values.len() == group.dimensions.len()).then_some((stat, measure));
    }
    let mut texts = sort.split('#');
    let bucket = texts.next()?;
    let window = group.window_dimension().map(|(index, _)| index);
    let mut values = Vec::with_capacity(group.dimensions.len());
    for dimension in 0..group.dimensions.len() {
        let is_window = window == Some(dimension);
        values.push(if is_window { format!("{bucket}{slot}") } else { unescaped(texts.next()?)? });
    }
    texts.next().is_none().then_some((StatKey { group: index, values }, measure))
}

/// The beginning of the partition keys of a measure's values.
fn values_prefix<T>(rollup: &Rollup<T>, measure: &str) -> String {
    let kind = if rollup.retracts() { "HELD" } else { "SEEN" };
    format!("{RESERVED_PREFIX}{}#{kind}#{measure}#", rollup.name)
}

/// The partition of what is recorded of one value of a measure.
pub(crate) fn value_partition<T>(rollup: &Rollup<T>, measure: &str, value: &str) -> String {
    let mut escaped = String::new();
    push_escaped(&mut escaped, value);
    fit(values_prefix(rollup, measure), &escaped, PARTITION_KEY_BYTES_MAX)
}

/// The item of one rank of a statistic. All ranks of a statistic have one partition key.
pub(crate) fn ranks_key<T>(rollup: &Rollup<T>, stat: &StatKey, measure: &str, rank: &str) -> Option<ItemKey> {
    let group = &rollup.groups.get(stat.group)?.group;
    let values = with_values(group.name.clone(), stat.values.iter());
    Some((fit(values_prefix(rollup, measure), &values, PARTITION_KEY_BYTES_MAX), rank.to_owned()))
}

/// The beginning of the partition keys of holdings.
#[cfg(feature = "recount")]
pub(crate) fn holding_prefix<T>(rollup: &Rollup<T>) -> String {
    format!("{RESERVED_PREFIX}{}#HELD#", rollup.name)
}

/// The text and the escaped values, each behind a `#`.
fn with_values<'v>(text: String, values: impl Iterator<Item = &'v String>) -> String {
    values.fold(text, |mut text, value| {
        text.push('#');
        push_escaped(&mut text, value);
        text
    })
}

/// Both texts, or the hash of the second if they are too long together. Escaped texts never contain
/// the mark of a hash.
fn fit(first: String, second: &str, bytes_max: usize) -> String {
    if first.len() + second.len() <= bytes_max {
        return first + second;
    }
    let hash = Sha256::digest(second.as_bytes());
    hash.iter().fold(first + "%hash", |text, byte| format!("{text}{byte:02x}"))
}

/// Items that an instance has read or written. Other instances may have changed them since.
#[derive(Debug)]
pub(crate) struct Cache<V>(HashMap<ItemKey, V>);

impl<V> Default for Cache<V> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<V> Cache<V> {
    pub(crate) fn get(&self, key: &ItemKey) -> Option<&V> {
        self.0.get(key)
    }

    pub(crate) fn insert(&mut self, key: ItemKey, value: V) {
        if self.0.len() >= CACHED_ITEMS_MAX {
            self.0.clear();
        }
        self.0.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &ItemKey) {
        self.0.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contribution::Change;
    use crate::votes::{Vote, builder, vote};

    fn places(rollup: &Rollup<Vote>, vote: Vote) -> Vec<(ItemKey, String)> {
        let contributions = rollup.contributions(&Change::Insert(vote));
        let chunks = crate::chunk::chunks(rollup, [(SequenceNumber::ZERO, &contributions)], SequenceNumber::ZERO);
        chunks[0].values.keys().map(|value| place(rollup, value).expect("declared")).collect()
    }

    #[test]
    fn a_value_has_one_item_for_a_bucket_of_time() {
        let rollup = builder()
            .group(
                crate::Group::new("month")
                    .window("month", crate::Window::Month, |vote: &Vote| vote.at)
                    .key("STAT#MONTHLY", "{month}"),
            )
            .build()
            .expect("a declaration");
        let places = places(&rollup, vote("a#b", "", 1, 0));
        let of = |sort: &str, entry: &str| {
            (("ROLLUP#votes#HELD#voters#a%23b".to_owned(), sort.to_owned()), entry.to_owned())
        };
        let expected = [of("-", "total:"), of("2025-10", "daily:-02"), of("2025-10", "month:")];
        assert_eq!(places.iter().collect::<std::collections::BTreeSet<_>>(), expected.iter().collect());
    }

    #[test]
    fn long_values_have_items_of_their_own() {
        let rollup = builder().build().expect("a declaration");
        let [a, b] = ["x", "y"].map(|user| places(&rollup, vote(&user.repeat(3_000), "", 1, 0)));
        assert!(a.iter().chain(&b).all(|((partition, _), _)| partition.len() <= PARTITION_KEY_BYTES_MAX));
        assert_ne!(a, b);
    }
}
