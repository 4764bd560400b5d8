//! Parses a line into the request that loads it.

use std::collections::{HashMap, HashSet};

use domain::EntryId;
use domain::ShortText;
use domain::journal::{Entry, JournalStream, Message};
use domain::shop::{
    Action, Activity, Amount, ChangeType, Currency, IdempotencyKey, Money, OrderId, ProductForm, ProductId, StockCount,
    StockMovement,
};
use domain::{Moment, UserId};
use jiff::{Span, Timestamp};
use shop_store::{PriceRequest, PutProduct, StockRequest};

use super::columns::{Fields, SeriesKind};

/// A line that can be loaded.
#[derive(Debug, Clone)]
pub(crate) enum ImportRow {
    Product(PutProduct),
    Price(PriceRequest),
    Stock(StockRequest),
    Activity(Activity),
    Journal(Entry),
}

/// How far a line's time may be ahead of this machine's clock.
const SKEW_MAX: jiff::SignedDuration = jiff::SignedDuration::from_mins(5);

impl ImportRow {
    /// Reads a line.
    pub(super) fn read(kind: SeriesKind, fields: Fields<'_>, now: Moment) -> Result<Self, String> {
        match kind {
            SeriesKind::Products => product(fields, now).map(Self::Product),
            SeriesKind::Prices => price(fields, now).map(Self::Price),
            SeriesKind::Stock => stock(fields, now).map(Self::Stock),
            SeriesKind::Activities => activity(fields, now).map(Self::Activity),
            SeriesKind::Journal => entry(fields, now).map(Self::Journal),
        }
    }

    /// Lines with the same key are loaded one after the other, in the order of the file. Lines of
    /// one product need this, because its rows build on each other. Activities and entries depend
    /// on no other line, so only repetitions of a line share a key.
    pub(crate) fn ordering_key(&self) -> String {
        match self {
            Self::Product(put) => put.id.to_string(),
            Self::Price(request) => request.product_id.to_string(),
            Self::Stock(request) => request.product_id.to_string(),
            Self::Activity(activity) => activity.id.to_string(),
            Self::Journal(entry) => entry.id.to_string(),
        }
    }
}

/// A text that identifies a line's content: equal for equal lines. No field contains the separator,
/// which is a control character.
fn name(parts: &[&str]) -> String {
    parts.join("\0")
}

fn time(fields: Fields<'_>, now: Moment) -> Result<Option<Moment>, String> {
    let at = fields.read("time", |text| match days_ago(text, now) {
        Some(text) => Moment::parse_or_day(&text),
        None => Moment::parse_or_day(text),
    })?;
    if at.is_some_and(|at| at.timestamp().duration_since(now.timestamp()) > SKEW_MAX) {
        return Err("`time` is in the future".to_owned());
    }
    Ok(at)
}

/// Converts `-3d` and `-3d 10:00:00.5` to a UTC day before today and a time on it. So examples have
/// the same age on every day.
fn days_ago(text: &str, now: Moment) -> Option<String> {
    let (days, time) = text.strip_prefix('-')?.split_once('d')?;
    let span = Span::new().try_days(days.parse::<u16>().ok()?).ok()?;
    let day = now.date().checked_sub(span).ok()?;
    Some(if time.is_empty() { day.to_string() } else { format!("{day}T{}Z", time.strip_prefix(' ')?) })
}

fn needed_time(fields: Fields<'_>, now: Moment) -> Result<Moment, String> {
    time(fields, now)?.ok_or_else(|| "`time` is empty".to_owned())
}

fn whole<T: std::str::FromStr>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

fn counted(text: &str) -> Result<StockCount, String> {
    StockCount::new(whole(text)?).map_err(|error| error.to_string())
}

fn money(fields: Fields<'_>) -> Result<Money, String> {
    let amount = |text: &str| {
        let units =
            text.parse().map_err(|_| "expected a whole number of minor units: 1999 for EUR 19.99".to_owned())?;
        Amount::new(units).map_err(|error| error.to_string())
    };
    Ok(Money { amount: fields.needed("price", amount)?, currency: fields.needed("currency", Currency::new)? })
}

fn product(fields: Fields<'_>, now: Moment) -> Result<PutProduct, String> {
    let id = fields.needed("productId", ProductId::new)?;
    let at = time(fields, now)?.unwrap_or(now);
    Ok(PutProduct {
        row_id: EntryId::derived(at.timestamp(), &name(&["product", id.as_str()])).uuid(),
        id,
        form: ProductForm {
            name: fields.needed("name", ShortText::new)?,
            price: Some(money(fields)?),
            stock: fields.read("stock", counted)?,
            low_stock_threshold: fields.read("lowStockThreshold", counted)?,
            archived: None,
        },
        changed_by: fields.read("changedBy", ShortText::new)?,
        now: at,
    })
}

/// The idempotency key and row id of a change: derived from the line's own key if it has one, and
/// from its content.
fn key(fields: Fields<'_>, at: Moment, says: &[&str]) -> Result<(IdempotencyKey, EntryId), String> {
    let own = fields.read("key", IdempotencyKey::new)?;
    let own_name = own.as_ref().map_or("", IdempotencyKey::as_str);
    let at_text = at.to_string();
    let said = [says, &[at_text.as_str(), own_name]].concat();
    let id = EntryId::derived(at.timestamp(), &name(&said));
    let key =
        own.map_or_else(|| IdempotencyKey::new(&format!("import-{id}")).map_err(|error| error.to_string()), Ok)?;
    Ok((key, id))
}

fn price(fields: Fields<'_>, now: Moment) -> Result<PriceRequest, String> {
    let product_id = fields.needed("productId", ProductId::new)?;
    let price = money(fields)?;
    let at = needed_time(fields, now)?;
    let amount = price.amount.get().to_string();
    let (reason, changed_by) = (fields.read("reason", ShortText::new)?, fields.read("changedBy", ShortText::new)?);
    let texts = [&reason, &changed_by].map(|text| text.as_ref().map_or("", ShortText::as_str));
    let says = ["price", product_id.as_str(), &amount, price.currency.as_str(), texts[0], texts[1]];
    let (key, id) = key(fields, at, &says)?;
    Ok(PriceRequest { product_id, key, price, reason, changed_by, now: at, row_id: id.uuid() })
}

fn stock(fields: Fields<'_>, now: Moment) -> Result<StockRequest, String> {
    let product_id = fields.needed("productId", ProductId::new)?;
    let change_type = fields.needed("type", str::parse::<ChangeType>)?;
    let quantity = |text: &str| StockMovement::new(change_type, whole(text)?).map_err(|error| error.to_string());
    let movement = fields.needed("quantity", quantity)?;
    let at = needed_time(fields, now)?;
    let order_id = fields.read("orderId", OrderId::new)?;
    let (reason, changed_by) = (fields.read("reason", ShortText::new)?, fields.read("changedBy", ShortText::new)?);
    let number = movement.number().to_string();
    let texts = [&reason, &changed_by].map(|text| text.as_ref().map_or("", ShortText::as_str));
    let order = order_id.as_ref().map_or("", OrderId::as_str);
    let says = ["stock", product_id.as_str(), change_type.as_str(), &number, order, texts[0], texts[1]];
    let (key, id) = key(fields, at, &says)?;
    Ok(StockRequest { product_id, key: Some(key), movement, order_id, reason, changed_by, now: at, row_id: id.uuid() })
}

fn activity(fields: Fields<'_>, now: Moment) -> Result<Activity, String> {
    let user_id = fields.needed("userId", UserId::new)?;
    let action = fields.needed("action", Action::new)?;
    let product_id = fields.read("productId", ProductId::new)?;
    let attributes = fields.attributes()?;
    let at = needed_time(fields, now)?;
    let id = match fields.read("id", str::parse::<EntryId>)? {
        Some(id) => id,
        None => {
            let product = product_id.as_ref().map_or("", ProductId::as_str);
            let at_text = at.to_string();
            let mut says = vec!["activity", user_id.as_str(), action.as_str(), product, &at_text];
            says.extend(attributes.pairs().iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
            EntryId::derived(at.timestamp(), &name(&says))
        }
    };
    Ok(Activity { user_id, action, product_id, attributes, at, id })
}

fn entry(fields: Fields<'_>, now: Moment) -> Result<Entry, String> {
    let stream = fields.needed("stream", JournalStream::new)?;
    let message = fields.needed("message", Message::new)?;
    let attributes = fields.attributes()?;
    let at = needed_time(fields, now)?;
    if at.timestamp() < Timestamp::UNIX_EPOCH {
        return Err("`time` is before 1970, which the id of an entry cannot express".to_owned());
    }
    let id = match fields.read("id", str::parse::<EntryId>)? {
        Some(id) if id.at().as_millisecond() != at.timestamp().as_millisecond() => {
            return Err("`id` has another time than `time`".to_owned());
        }
        Some(id) => id,
        None => {
            let at_text = at.to_string();
            let mut says = vec!["entry", message.as_str(), &at_text];
            says.extend(attributes.pairs().iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]));
            EntryId::derived(at.timestamp(), &name(&says))
        }
    };
    Ok(Entry { stream, id, message, attributes })
}

/// Gives lines of one product and one moment different times. A ledger has at most one row per
/// nanosecond, so the second line of a moment gets the next nanosecond, and so on. A repeated line
/// gets none.
#[derive(Debug, Default)]
pub(super) struct UniqueMoments(HashMap<ProductId, LastLine>);

/// The order of a line among those of its product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOrder {
    /// After all earlier lines, or of no product's ledger.
    InOrder,
    /// A repetition of an earlier line of this moment.
    Again,
    /// Before an earlier line.
    OutOfOrder,
}

#[derive(Debug)]
struct LastLine {
    /// The time of the last lines, as the file says it.
    at: Moment,
    /// The time that the last line got.
    given: Moment,
    keys: HashSet<IdempotencyKey>,
}

impl UniqueMoments {
    /// Assigns a line its nanosecond.
    pub(super) fn assign(&mut self, row: &mut ImportRow) -> LineOrder {
        let (product_id, key, at) = match row {
            ImportRow::Price(PriceRequest { product_id, key, now, .. }) => (product_id, Some(&*key), now),
            ImportRow::Stock(StockRequest { product_id, key, now, .. }) => (product_id, key.as_ref(), now),
            _ => return LineOrder::InOrder,
        };
        let Some(key) = key else { return LineOrder::InOrder };
        match self.0.get_mut(product_id) {
            Some(last) if last.at == *at => {
                if !last.keys.insert(key.clone()) {
                    return LineOrder::Again;
                }
                last.given = last.given.next().unwrap_or(last.given);
                *at = last.given;
            }
            Some(last) if last.at > *at => return LineOrder::OutOfOrder,
            known => {
                let given = known.map_or(*at, |last| (*at).max(last.given.next().unwrap_or(*at)));
                let last = LastLine { at: *at, given, keys: HashSet::from([key.clone()]) };
                self.0.insert(product_id.clone(), last);
                *at = given;
            }
        }
        LineOrder::InOrder
    }
}

#[cfg(test)]
mod tests;
