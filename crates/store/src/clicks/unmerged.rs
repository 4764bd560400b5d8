//! The attributes in which a checkpoint buffers sums until they are merged into the statistics.
//!
//! A checkpoint has two numbers for each period, `clicks:<period>` and `users:<period>`. The total
//! has no users. A period without attributes has nothing to merge.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use domain::calendar::parse_date;
use domain::clicks::{Correction, Period, Sums};

use super::keys::{Item, n};
use crate::StoreError;

const CLICKS: &str = "clicks:";
const USERS: &str = "users:";

/// An attribute that a checkpoint has as long as it has sums to merge: the total is merged last.
pub(super) fn total_attribute() -> String {
    clicks_attribute(Period::Total)
}

pub(super) fn clicks_attribute(period: Period) -> String {
    format!("{CLICKS}{period}")
}

pub(super) fn users_attribute(period: Period) -> String {
    format!("{USERS}{period}")
}

/// Adds the sums to the update of a checkpoint.
pub(super) fn add(mut update: UpdateBuilder, additions: impl Iterator<Item = Correction>) -> UpdateBuilder {
    let mut sums = Vec::new();
    for (index, Correction { period, clicks, unique_users }) in additions.enumerate() {
        sums.push(format!("#c{index} :c{index}"));
        update = update
            .expression_attribute_names(format!("#c{index}"), clicks_attribute(period))
            .expression_attribute_values(format!(":c{index}"), n(clicks));
        if period != Period::Total {
            sums.push(format!("#u{index} :u{index}"));
            update = update
                .expression_attribute_names(format!("#u{index}"), users_attribute(period))
                .expression_attribute_values(format!(":u{index}"), n(unique_users));
        }
    }
    if sums.is_empty() {
        return update;
    }
    let set = update.get_update_expression().clone().unwrap_or_default();
    update.update_expression(format!("{set} ADD {}", sums.join(", ")))
}

/// The sums of a checkpoint's item. Days come first and the total last.
pub(super) fn read(item: &Item) -> Result<BTreeMap<Period, Sums>, StoreError> {
    let mut sums: BTreeMap<Period, Sums> = BTreeMap::new();
    for (name, value) in item {
        let is_clicks = name.starts_with(CLICKS);
        let Some(period) = name.strip_prefix(CLICKS).or_else(|| name.strip_prefix(USERS)) else { continue };
        let wrong = || StoreError::unreadable(format_args!("{name} of a checkpoint is not a sum"));
        let period = period_of(period).ok_or_else(wrong)?;
        let number = value.as_n().ok().and_then(|number| number.parse().ok()).ok_or_else(wrong)?;
        let sums = sums.entry(period).or_default();
        *(if is_clicks { &mut sums.clicks } else { &mut sums.unique_users }) = number;
    }
    Ok(sums)
}

/// Parses the printed form of a [`Period`].
fn period_of(text: &str) -> Option<Period> {
    match text {
        "total" => Some(Period::Total),
        text => {
            let day = parse_date(text).ok().map(Period::Day);
            day.or_else(|| text.parse().ok().map(Period::Month))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::s;
    use aws_sdk_dynamodb::types::Update;

    #[test]
    fn sums_that_were_added_are_read_again() {
        let month = "2025-10".parse().map(Period::Month).expect("a month");
        let day = parse_date("2025-10-02").map(Period::Day).expect("a day");
        let additions = [(Period::Total, 5, 0), (day, 5, 2), (month, 5, 1)];
        let additions = additions.map(|(period, clicks, unique_users)| Correction { period, clicks, unique_users });
        let update = add(Update::builder().update_expression("SET a = :a"), additions.into_iter());
        let names = update.get_expression_attribute_names().clone().expect("names");
        let values = update.get_expression_attribute_values().clone().expect("values");
        let mut item: Item =
            names.into_iter().map(|(name, attribute)| (attribute, values[&name.replace('#', ":")].clone())).collect();
        item.insert("sequenceNumber".to_owned(), s("7"));
        let sums = |clicks, unique_users| Sums { clicks, unique_users };
        let expected = BTreeMap::from([(day, sums(5, 2)), (month, sums(5, 1)), (Period::Total, sums(5, 0))]);
        assert_eq!(read(&item).expect("readable"), expected);
        assert_eq!(
            update.get_update_expression().as_deref(),
            Some("SET a = :a ADD #c0 :c0, #c1 :c1, #u1 :u1, #c2 :c2, #u2 :u2")
        );
    }

    #[test]
    fn a_sum_without_a_number_or_a_period_is_unreadable() {
        for (name, value) in [("clicks:total", s("5")), ("clicks:yesterday", n(5)), ("users:2025-13", n(1))] {
            let item = Item::from([(name.to_owned(), value)]);
            assert!(matches!(read(&item), Err(StoreError::Unreadable(_))), "{name}");
        }
    }
}
