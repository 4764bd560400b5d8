//! Removes statistics whose last item is gone.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::additions::{Addition, Additions, ItemKey};
use crate::declaration::Rollup;
use crate::distinct::REQUESTS_MAX;
use crate::error::{StoreError, unless_condition_failed};
use crate::measure::MeasureKind;
use crate::table::Table;

/// The statistics that a commit may leave without items, with their attributes.
pub(crate) fn candidates<T>(rollup: &Rollup<T>, written: &Additions) -> Vec<(ItemKey, Vec<String>)> {
    if !rollup.removes_empty {
        return Vec::new();
    }
    let candidate = |((partition, sort), addition): (&ItemKey, &Addition)| {
        let group = rollup.group_of(partition, sort)?;
        let measures: Vec<_> = group.measures.iter().filter_map(|of| rollup.measures.get(*of)).collect();
        let (count, _) = measures.iter().find(|(_, of)| matches!(of.kind, MeasureKind::Count))?;
        addition.add.get(count).filter(|amount| amount.units < 0)?;
        let attributes = measures.iter().flat_map(|(name, of)| of.attributes(name)).collect();
        Some(((partition.clone(), sort.clone()), attributes))
    };
    written.0.iter().filter_map(candidate).collect()
}

/// Deletes the statistics of a commit that have only zeros: to the next commit, one that is gone is
/// the same. All numbers must be zero, not the count alone: another shard may have to count an item
/// whose value is counted already.
pub(crate) async fn remove<T>(rollup: &Rollup<T>, table: &Table, written: &Additions) -> Result<(), StoreError> {
    let requests = stream::iter(candidates(rollup, written)).map(|((partition, sort), attributes)| async move {
        let key = Some(table.key(partition, sort));
        let mut request = table.client().delete_item().table_name(table.name()).set_key(key);
        let mut zeros = Vec::with_capacity(attributes.len());
        for (index, attribute) in attributes.into_iter().enumerate() {
            zeros.push(format!("(attribute_not_exists(#a{index}) OR #a{index} = :zero)"));
            request = request.expression_attribute_names(format!("#a{index}"), attribute);
        }
        let request = request.expression_attribute_values(":zero", AttributeValue::N("0".to_owned()));
        unless_condition_failed(request.condition_expression(zeros.join(" AND ")).send().await).map(drop)
    });
    requests.buffer_unordered(REQUESTS_MAX).try_collect().await
}
