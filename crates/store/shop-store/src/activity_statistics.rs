//! The statistics of the activities with products: one for each product and UTC day. The crate
//! `rollup` keeps them as they are declared here.

use std::fmt;
use std::sync::Arc;

use domain::UserId;
use domain::calendar::{DateRange, parse_date};
use domain::shop::{Action, ProductId};
use jiff::civil::Date;
use rollup::{Aggregator, DeclarationError, DecodeError, Group, Layout, Policy, Rollup, Stat, Window, distinct, sum};
use serde_json::value::RawValue;

use super::activities::activity_with_product;
use super::keys::{PARTITION_KEY, SORT_KEY, STATISTICS_PREFIX, TTL, key, n};
use store_base::{StoreError, Table, unless_condition_failed};

/// Part of the keys of the checkpoints and of the recorded visitors. Another name would count all
/// activities again.
const NAME: &str = "activities";
const PRODUCT_DAY: &str = "day";

const VIEWS: &str = "Views";
const PURCHASES: &str = "Purchases";
const VISITORS: &str = "Visitors";

/// The index of the statistics of a day, sorted by [`VIEWS`].
const TOP_INDEX: &str = "top-products";
const TOP_OF: &str = "TopOf";

/// An activity as the statistics see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedActivity {
    /// The product.
    pub product_id: ProductId,
    /// The user.
    pub user_id: UserId,
    /// The kind of activity.
    pub action: Action,
    /// The UTC day.
    pub date: Date,
}

/// The declaration. An edited or deleted activity is taken back. One that TTL deletes has happened,
/// so it stays counted.
///
/// # Errors
/// Never: a test builds it.
pub fn activity_statistics() -> Result<Rollup<CountedActivity>, DeclarationError> {
    Rollup::builder(NAME)
        .measure(VIEWS, sum(|activity: &CountedActivity| activity.action.is_view().then_some(1)))
        .measure(PURCHASES, sum(|activity: &CountedActivity| activity.action.is_purchase().then_some(1)))
        .measure(VISITORS, distinct(|activity: &CountedActivity| activity.user_id.to_string()))
        .group(
            Group::new(PRODUCT_DAY)
                .attribute("product", |activity: &CountedActivity| activity.product_id.to_string())
                .civil_window("day", Window::Day, |activity: &CountedActivity| activity.date.at(0, 0, 0, 0))
                .key(format!("{STATISTICS_PREFIX}{{product}}"), "{day}")
                .set(TOP_OF, "{day}"),
        )
        .on_modify(Policy::Retract)
        .on_remove(Policy::Retract)
        .on_ttl(Policy::Keep)
        .build()
}

/// The aggregator of the activities in a table.
///
/// Buffers, because a hot product's activities come from several shards. Each of them would change
/// the product's statistic with each batch.
pub fn activity_aggregator(table: rollup::Table) -> Result<Aggregator<CountedActivity>, DeclarationError> {
    Ok(Aggregator::decoding(activity_statistics()?, table, read_counted_activity).layout(Layout::Buffers))
}

/// The shop's table as the aggregator takes it.
pub fn rollup_table(table: &Table) -> rollup::Table {
    rollup::Table::new(table.client().clone(), table.name(), PARTITION_KEY, SORT_KEY).ttl_attribute(TTL)
}

/// Reads the image of an item; `None` if the item is not an activity in a partition of a product. A
/// user's row of the same activity is not counted.
pub fn read_counted_activity(image: &RawValue) -> Result<Option<CountedActivity>, DecodeError> {
    let item: serde_dynamo::Item =
        serde_json::from_str(image.get()).map_err(|error| DecodeError::new("image", error))?;
    let found = activity_with_product(item.into()).map_err(|error| DecodeError::new("activity", error))?;
    Ok(found.map(|(product_id, activity)| CountedActivity {
        product_id,
        user_id: activity.user_id,
        action: activity.action,
        date: activity.at.date(),
    }))
}

/// The statistic of a product and a day. A number below zero is shown as zero: it means that
/// activities from before the statistics were deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductDay {
    /// The product.
    pub product_id: ProductId,
    /// The UTC day.
    pub date: Date,
    /// Activities with the action [`Action::VIEW`].
    pub views: u64,
    /// Activities with the action [`Action::PURCHASE`].
    pub purchases: u64,
    /// Different users with an activity of any action.
    pub visitors: u64,
}

/// Reads the statistics of activities. Its request is `Query`, of the table and of its index.
#[derive(Clone)]
pub struct ActivityStatistics {
    rollup: Arc<Rollup<CountedActivity>>,
    table: rollup::Table,
}

impl ActivityStatistics {
    /// The most products of [`Self::top`].
    pub const TOP_MAX: u16 = 10;

    /// The statistics in `table`.
    ///
    /// # Errors
    /// Never; see [`activity_statistics`].
    pub fn new(table: &Table) -> Result<Self, DeclarationError> {
        Ok(Self { rollup: Arc::new(activity_statistics()?), table: rollup_table(table) })
    }

    /// The statistics of a product for each day of a range, oldest first. A day without activities
    /// has zeros.
    pub async fn product_days(&self, product_id: &ProductId, range: DateRange) -> Result<Vec<ProductDay>, StoreError> {
        let query = self.rollup.query(PRODUCT_DAY).with("product", product_id.as_str());
        let stats = query.between(range.from(), range.to()).series(&self.table).await?;
        stats.iter().map(product_day).collect()
    }

    /// Deletes the statistics of a product and its days that have only zeros.
    pub async fn delete_empty(&self, table: &Table, product_id: &ProductId) -> Result<(), StoreError> {
        let partition = format!("{STATISTICS_PREFIX}{product_id}");
        for day in table.sort_keys([PARTITION_KEY, SORT_KEY], &partition).await? {
            let mut delete = table.delete_item(key(partition.as_str(), day)).expression_attribute_values(":zero", n(0));
            let mut zeros = Vec::new();
            for (name, measure) in [("#views", VIEWS), ("#purchases", PURCHASES), ("#visitors", VISITORS)] {
                delete = delete.expression_attribute_names(name, measure);
                zeros.push(format!("(attribute_not_exists({name}) OR {name} = :zero)"));
            }
            // Stops a statistic from being deleted that has other activities.
            let delete = delete.condition_expression(zeros.join(" AND ")).send().await;
            unless_condition_failed(delete)?;
        }
        Ok(())
    }

    /// The most viewed products of a day, at most [`Self::TOP_MAX`], eventually consistent.
    /// Products with equal views are sorted by id.
    pub async fn top(&self, day: Date) -> Result<Vec<ProductDay>, StoreError> {
        let query = self.rollup.query(PRODUCT_DAY).with("day", day.to_string()).limit(Self::TOP_MAX);
        let stats = query.top(&self.table, TOP_INDEX, TOP_OF, VIEWS).await?;
        let mut top = stats.iter().map(product_day).collect::<Result<Vec<_>, _>>()?;
        // A product whose views were all deleted is still in the index.
        top.retain(|product| product.views > 0);
        top.sort_by(|a, b| b.views.cmp(&a.views).then_with(|| a.product_id.cmp(&b.product_id)));
        Ok(top)
    }
}

impl fmt::Debug for ActivityStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityStatistics").field("table", &self.table).finish_non_exhaustive()
    }
}

fn product_day(stat: &Stat) -> Result<ProductDay, StoreError> {
    let unreadable = || StoreError::unreadable(format!("the statistic of {:?}", stat.values));
    let [product, day] = stat.values.as_slice() else { return Err(unreadable()) };
    let number = |measure| Ok::<_, StoreError>(u64::try_from(stat.number(measure)?).unwrap_or_default());
    Ok(ProductDay {
        product_id: ProductId::new(product).map_err(|_| unreadable())?,
        date: parse_date(day).map_err(|_| unreadable())?,
        views: number(VIEWS)?,
        purchases: number(PURCHASES)?,
        visitors: number(VISITORS)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rollup::{Change, Cost, Index};
    use serde_json::json;

    fn counted(item: &serde_json::Value) -> Result<Option<CountedActivity>, String> {
        let image = RawValue::from_string(item.to_string()).expect("JSON");
        read_counted_activity(&image).map_err(|error| error.code)
    }

    fn row(partition: &str) -> serde_json::Value {
        json!({
            "PK": {"S": partition},
            "SK": {"S": "ACTIVITY#2025-10-02T10:30:00Z#000000000#0199a478-bc40-7abc-8def-000000000001"},
            "EntityType": {"S": "ACTIVITY"},
            "UserId": {"S": "ann"},
            "Action": {"S": "view"},
            "ProductId": {"S": "cup"},
            "CreatedAt": {"S": "2025-10-02T10:30:00.000000000Z"},
        })
    }

    #[test]
    fn only_the_row_in_a_partition_of_the_product_counts() {
        let activity = counted(&row("PRODUCT#cup#2025-10-02#3")).expect("readable").expect("counted");
        assert_eq!((activity.product_id.as_str(), activity.user_id.as_str()), ("cup", "ann"));
        assert_eq!((activity.action.is_view(), activity.date.to_string().as_str()), (true, "2025-10-02"));
        for partition in ["USER#ann", "STATS#cup", "PRODUCT#cup", "PRODUCTS"] {
            assert_eq!(counted(&row(partition)), Ok(None), "{partition}");
        }
        let mut price = row("PRODUCT#cup");
        price["SK"] = json!({"S": "PRICE#2025-10-02T10:30:00Z#000000000#0199a478-bc40-7abc-8def-000000000001"});
        assert_eq!(counted(&price), Ok(None));
    }

    #[test]
    fn a_row_that_contradicts_its_key_cannot_be_read() {
        for partition in [
            "PRODUCT#tea#2025-10-02#3",
            "PRODUCT#cup#2025-10-03#3",
            "PRODUCT#cup#2025-10-02#x",
            "PRODUCT#cup#2025-10-02",
            "PRODUCT#cup#2025-10-02#3#4",
        ] {
            assert_eq!(counted(&row(partition)), Err("activity".to_owned()), "{partition}");
        }
        for name in ["UserId", "Action", "CreatedAt"] {
            let mut torn = row("PRODUCT#cup#2025-10-02#3");
            torn[name] = json!({"N": "7"});
            assert_eq!(counted(&torn), Err("activity".to_owned()), "{name}");
        }
    }

    /// The cost of a window with these batches of activities of one day. Users and products repeat.
    fn cost(batches: usize, activities: usize, users: usize, products: usize) -> Cost {
        let index = Index { partition_key: TOP_OF.to_owned(), sort_key: VIEWS.to_owned() };
        let mut rng = fastrand::Rng::with_seed(7);
        let batches = (0..batches).map(|_| {
            let activity = |_| {
                Change::Insert(CountedActivity {
                    product_id: ProductId::new(&format!("p-{}", rng.usize(..products))).expect("an id"),
                    user_id: UserId::new(format!("visitor-{}", rng.usize(..users))).expect("an id"),
                    action: Action::new(if rng.u8(..10) == 0 { Action::PURCHASE } else { Action::VIEW })
                        .expect("an action"),
                    date: parse_date("2025-10-02").expect("a day"),
                })
            };
            (0..activities).map(activity).collect()
        });
        let batches: Vec<Vec<_>> = batches.collect();
        let rollup = activity_statistics().expect("a declaration");
        rollup.explain(Layout::Buffers, [PARTITION_KEY, SORT_KEY], &[index], batches)
    }

    #[test]
    fn activity_statistics_cost_few_write_units_per_activity() {
        let one_window = cost(1, 1, 1, 1);
        let quiet = cost(10, 10, 50, 20);
        let hot = cost(10, 1_000, 5_000, 1);
        let figures = [one_window, quiet, hot].map(|cost| cost.writes_per_record());
        println!("{one_window}\n{quiet}\n{hot}");
        assert!(figures[0] <= 8.0 && figures[1] <= 2.2 && figures[2] <= 1.0, "{figures:?}");
    }
}
