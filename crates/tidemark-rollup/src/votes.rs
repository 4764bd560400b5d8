//! The items of the crate's own tests: votes on products.

use jiff::Timestamp;

use crate::{Group, Policy, Rollup, RollupBuilder, Window, average, count, distinct, sum};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Vote {
    pub(crate) user: String,
    pub(crate) product: Option<String>,
    pub(crate) score: i64,
    pub(crate) at: Timestamp,
}

pub(crate) fn vote(user: &str, product: &str, score: i64, hour: i64) -> Vote {
    let at = Timestamp::from_second(1_759_363_200 + hour * 3_600).expect("a time");
    Vote { user: user.to_owned(), product: (!product.is_empty()).then(|| product.to_owned()), score, at }
}

pub(crate) fn builder() -> RollupBuilder<Vote> {
    Rollup::builder("votes")
        .measure("votes", count())
        .measure("score", sum(|vote: &Vote| vote.score))
        .measure("mean", average(|vote: &Vote| (vote.score != 0).then_some(vote.score)))
        .measure("voters", distinct(|vote: &Vote| vote.user.clone()))
        .group(Group::new("total").key("STAT#TOTAL", "METADATA"))
        .group(Group::new("daily").window("day", Window::Day, |vote: &Vote| vote.at).key("STAT#DAILY", "{day}"))
        .group(
            Group::new("products")
                .window("day", Window::Day, |vote: &Vote| vote.at)
                .attribute("product", |vote: &Vote| vote.product.clone())
                .key("PRODUCT#{product}", "STAT#{day}")
                .measures(["votes", "voters"]),
        )
}

pub(crate) fn keeping() -> RollupBuilder<Vote> {
    builder().on_modify(Policy::Keep).on_remove(Policy::Keep).on_ttl(Policy::Keep)
}
