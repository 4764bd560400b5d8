//! Collects a declaration, and checks it as a whole.

use std::collections::HashSet;

use crate::check::{DeclarationError, check_group, check_name};
use crate::chunk::TRANSACTION_STATS_MAX;
use crate::declaration::{Policy, Rollup};
use crate::group::Group;
use crate::measure::{Measure, MeasureKind};

/// Collects a declaration; see [`Rollup::builder`].
pub struct RollupBuilder<T> {
    name: String,
    measures: Vec<(String, Measure<T>)>,
    groups: Vec<Group<T>>,
    on_modify: Policy,
    on_remove: Policy,
    on_ttl: Policy,
    version: u32,
    changed_declaration: Policy,
    removes_empty: bool,
}

impl<T> RollupBuilder<T> {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            measures: Vec::new(),
            groups: Vec::new(),
            on_modify: Policy::Retract,
            on_remove: Policy::Retract,
            on_ttl: Policy::Keep,
            version: 0,
            changed_declaration: Policy::Retract,
            removes_empty: false,
        }
    }

    /// Keeps a measure in the attribute `name` of each statistic.
    pub fn measure(mut self, name: impl Into<String>, measure: Measure<T>) -> Self {
        self.measures.push((name.into(), measure));
        self
    }

    /// Keeps statistics for a group.
    pub fn group(mut self, group: Group<T>) -> Self {
        self.groups.push(group);
        self
    }

    /// What a modification does. [`Policy::Keep`] counts an item as it was inserted.
    pub fn on_modify(self, on_modify: Policy) -> Self {
        Self { on_modify, ..self }
    }

    /// What a deletion does.
    pub fn on_remove(self, on_remove: Policy) -> Self {
        Self { on_remove, ..self }
    }

    /// What a deletion by TTL does.
    pub fn on_ttl(self, on_ttl: Policy) -> Self {
        Self { on_ttl, ..self }
    }

    /// The version of what the crate cannot see: the closures, the reader, and the type of the
    /// items. Raise it when one of them changes so that an item counts for other statistics, or is
    /// read where it was not. 0 without it.
    pub fn version(self, version: u32) -> Self {
        Self { version, ..self }
    }

    /// What happens when this declaration differs from the one that the statistics were counted
    /// with. [`Policy::Retract`] counts nothing until a recount with a repair has taken back what
    /// the earlier declaration has added; it is the default. [`Policy::Keep`] counts on at once:
    /// until such a recount, the statistics that the change concerns are wrong, and may be
    /// negative.
    pub fn changed_declaration(self, changed_declaration: Policy) -> Self {
        Self { changed_declaration, ..self }
    }

    /// Removes a statistic from the table when its last item is gone. Otherwise it stays, with
    /// zeros. Each group needs a [`crate::count`], and the function needs `dynamodb:DeleteItem`. A
    /// crash between a commit and the removal leaves the zeros until the group empties again.
    pub fn remove_empty(self) -> Self {
        Self { removes_empty: true, ..self }
    }

    /// Checks the declaration as a whole.
    ///
    /// # Errors
    /// The first mistake, which names the measure or the group.
    pub fn build(self) -> Result<Rollup<T>, DeclarationError> {
        let Self { name, mut measures, groups, on_modify, on_remove, on_ttl, version, changed_declaration, .. } = self;
        check_name("the rollup", &name)?;
        if measures.is_empty() {
            return Err(DeclarationError::Nothing("measure"));
        }
        if groups.is_empty() {
            return Err(DeclarationError::Nothing("group"));
        }
        // A modification takes from one statistic of each group and adds to another. Without
        // modifications there are redrives: their transaction also settles a quarantined record.
        let groups_max = match on_modify {
            Policy::Retract => TRANSACTION_STATS_MAX / 2,
            Policy::Keep => TRANSACTION_STATS_MAX - 1,
        };
        if groups.len() > groups_max {
            return Err(DeclarationError::TooManyGroups(groups.len(), groups_max));
        }
        let deletions = [("on_remove", on_remove), ("on_ttl", on_ttl)];
        let retracting = deletions.into_iter().find(|(_, policy)| *policy == Policy::Retract);
        if let Some((policy, _)) = retracting.filter(|_| on_modify == Policy::Keep) {
            return Err(DeclarationError::KeptModifications(policy));
        }
        let mut known = HashSet::new();
        let retracts = [on_modify, on_remove, on_ttl].contains(&Policy::Retract);
        for (name, measure) in &mut measures {
            check_name(&format!("measure `{name}`"), name)?;
            if !known.insert(name.clone()) {
                return Err(DeclarationError::Twice(format!("measure `{name}`")));
            }
            let (decimals, max) = (measure.scale, measure.decimals_max());
            if decimals > max {
                return Err(DeclarationError::Decimals { measure: name.clone(), decimals, max });
            }
            measure.is_ranked |= retracts && measure.is_extreme();
        }
        let groups = groups.into_iter().map(|group| check_group(group, &measures)).collect::<Result<Vec<_>, _>>()?;
        // With a date alone as its key, every item with a date would be taken for a statistic.
        if let Some(group) = groups.iter().find(|group| !group.partition.has_text() && !group.sort.has_text()) {
            return Err(DeclarationError::NoText(group.group.name.clone()));
        }
        let counts = |of: &&usize| measures.get(**of).is_some_and(|(_, of)| matches!(of.kind, MeasureKind::Count));
        let without_count = groups.iter().find(|group| !group.measures.iter().any(|of| counts(&of)));
        if let Some(group) = without_count.filter(|_| self.removes_empty) {
            return Err(DeclarationError::NoCount(group.group.name.clone()));
        }
        for (index, group) in groups.iter().enumerate() {
            for other in &groups[..index] {
                let names = || (other.group.name.clone(), group.group.name.clone());
                if group.group.name == other.group.name {
                    return Err(DeclarationError::Twice(format!("group `{}`", group.group.name)));
                }
                if group.key_forms().may_equal(&other.key_forms()) {
                    let (other, group) = names();
                    return Err(DeclarationError::SameKeys(other, group));
                }
            }
        }
        let removes_empty = self.removes_empty;
        Ok(Rollup { name, measures, groups, on_modify, on_remove, on_ttl, version, changed_declaration, removes_empty })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::votes::{Vote, builder, keeping};
    use crate::{Window, count, distinct, minimum, sum};

    fn daily(name: &str) -> Group<Vote> {
        Group::new(name).window("day", Window::Day, |vote: &Vote| vote.at)
    }

    fn refusal(builder: RollupBuilder<Vote>) -> String {
        builder.build().expect_err("a mistake").to_string()
    }

    fn of_group(group: Group<Vote>) -> String {
        refusal(builder().group(group))
    }

    #[test]
    fn a_declaration_without_mistakes_is_built() {
        let rollup = builder().build().expect("a declaration");
        assert_eq!(rollup.name(), "votes");
        assert!(rollup.retracts() && !keeping().build().expect("a declaration").retracts());
    }

    #[test]
    fn each_mistake_names_its_measure_or_group() {
        let empty = || Rollup::<Vote>::builder("votes");
        assert_eq!(refusal(empty()), "the rollup has no measure");
        assert_eq!(refusal(empty().measure("votes", count())), "the rollup has no group");
        assert_eq!(refusal(Rollup::builder("vo tes")), "the rollup: a name has 1 to 64 letters, digits, `-` or `_`");
        assert_eq!(refusal(builder().measure("votes", count())), "measure `votes` is declared twice");
        assert_eq!(
            of_group(daily("d").key("A", "B")),
            "group `d`: the key does not contain `{day}`, so different statistics would share it"
        );
        assert_eq!(
            of_group(daily("d").key("A#{dya}", "B")),
            "group `d`, partition key: `{dya}` is not a dimension of the group; it has day"
        );
        assert_eq!(of_group(daily("d")), "group `d` has no key");
        assert_eq!(
            of_group(daily("d").key("ROLLUP#A", "{day}")),
            "group `d`: a partition key must not begin with `ROLLUP#`"
        );
        assert_eq!(
            of_group(daily("d").key("A", "{day}").measures(["vote"])),
            "group `d`: there is no measure `vote`; there are votes, score, mean, voters"
        );
        assert_eq!(
            of_group(daily("d").key("A", "{day}").set("meanSum", "x")),
            "group `d`: two values would be stored in the attribute `meanSum`"
        );
        assert_eq!(of_group(daily("daily").key("A", "{day}")), "group `daily` is declared twice");
        let alone = Group::new("d").attribute("product", |vote: &Vote| vote.product.clone());
        let alone = alone.window("day", Window::Day, |vote: &Vote| vote.at).key("{product}", "{day}");
        let text = "group `d`: the key needs a fixed text, so that a statistic differs from other items";
        assert_eq!(of_group(alone), text);
        let product = daily("d").attribute("product", |vote: &Vote| vote.product.clone());
        assert_eq!(
            of_group(product.key("A", "{day}{product}")),
            "group `d`: two dimensions of the key need a `#` between them"
        );
        assert_eq!(
            of_group(daily("d").window("hour", Window::Hour, |vote: &Vote| vote.at).key("A", "{day}#{hour}")),
            "group `d` has two windows"
        );
    }

    #[test]
    fn two_groups_that_may_share_a_key_are_refused() {
        let monthly =
            |key: &str| Group::new("monthly").window("month", Window::Month, |vote: &Vote| vote.at).key(key, "{month}");
        assert!(builder().group(monthly("STAT#DAILY")).build().is_ok(), "a month never looks like a day");
        let same = daily("again").key("STAT#DAILY", "{day}");
        assert_eq!(of_group(same), "groups `daily` and `again` may have the same keys: put different texts into them");
        let user =
            Group::new("users").attribute("user", |vote: &Vote| vote.user.clone()).key("STAT#{user}", "METADATA");
        assert_eq!(of_group(user), "groups `total` and `users` may have the same keys: put different texts into them");
    }

    #[test]
    fn extremes_of_a_retracting_rollup_are_ranked() {
        let lowest = |builder: RollupBuilder<Vote>| builder.measure("lowest", minimum(|vote: &Vote| vote.score));
        let is_ranked = |builder| lowest(builder).build().expect("a declaration").measures[4].1.is_ranked;
        assert_eq!([is_ranked(builder()), is_ranked(keeping())], [true, false]);
    }

    #[test]
    fn decimals_that_no_number_can_have_are_refused() {
        let price = |decimals| builder().measure("price", sum(|vote: &Vote| vote.score).decimals(decimals));
        assert!(price(18).build().is_ok());
        assert_eq!(refusal(price(19)), "measure `price`: 19 decimals; at most 18 are possible");
        let users = builder().measure("users", distinct(|vote: &Vote| vote.user.clone()).decimals(1));
        assert_eq!(refusal(users), "measure `users`: 1 decimals; at most 0 are possible");
    }

    #[test]
    fn empty_statistics_are_removed_only_with_a_count() {
        assert!(builder().remove_empty().build().is_ok());
        let text = "group `d`: an empty statistic can be removed only if the group counts its items";
        assert_eq!(refusal(builder().remove_empty().group(daily("d").key("A", "{day}").measures(["score"]))), text);
    }

    #[test]
    fn a_deletion_takes_back_only_values_that_were_counted() {
        let text = "on_modify(Keep) needs on_ttl(Keep): a deletion would take back values that were never counted";
        assert_eq!(refusal(keeping().on_ttl(Policy::Retract)), text);
        assert!(builder().on_remove(Policy::Keep).build().is_ok());
    }

    #[test]
    fn a_record_always_fits_one_transaction() {
        let many = |count: usize, builder: RollupBuilder<Vote>| {
            (3..count).fold(builder, |builder, n| builder.group(daily(&format!("g{n}")).key(format!("G{n}"), "{day}")))
        };
        assert!(many(49, builder()).build().is_ok() && many(98, keeping()).build().is_ok());
        assert_eq!(refusal(many(50, builder())), "the rollup has 50 groups; at most 49 are possible");
        assert_eq!(refusal(many(99, keeping())), "the rollup has 99 groups; at most 98 are possible");
    }

    #[test]
    fn a_measure_may_have_no_value() {
        assert!(builder().measure("products", distinct(|vote: &Vote| vote.product.clone())).build().is_ok());
    }
}
