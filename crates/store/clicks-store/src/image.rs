//! A click, read from the image in a stream record.
//!
//! The stream is the hot path. Images are read in place, without an allocation for each attribute,
//! so they have a type of their own beside the row that queries read. A test below checks that both
//! read the same item in the same way.

use std::borrow::Cow;

use domain::calendar::parse_date;
use domain::clicks::ClickTarget;
use serde::Deserialize;

use super::keys::{CLICK_PREFIX, RESERVED_PREFIXES, is_date_key_of};
use super::statistics::CountedClick;

/// The attributes of a click in DynamoDB's JSON. The image of any item can be deserialized;
/// [`ClickImage::click`] tells whether it is a click.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClickImage<'a> {
    #[serde(borrow)]
    user_id: Option<Attribute<'a>>,
    #[serde(borrow)]
    create_date_time: Option<Attribute<'a>>,
    #[serde(borrow)]
    click_count: Option<Attribute<'a>>,
    #[serde(borrow)]
    date_key: Option<Attribute<'a>>,
    #[serde(borrow)]
    record_sort: Option<Attribute<'a>>,
    #[serde(borrow)]
    target: Option<Attribute<'a>>,
}

/// A string or a number. Both fields are empty for other types.
#[derive(Debug, Deserialize)]
struct Attribute<'a> {
    #[serde(borrow, rename = "S")]
    string: Option<Text<'a>>,
    #[serde(borrow, rename = "N")]
    number: Option<Text<'a>>,
}

/// Borrowed unless the JSON text has escapes. Serde borrows a `Cow` only in a struct of its own.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Why an item with the sort key of a click cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnreadableClick {
    /// `userId` is not a string, or is the key of one of the table's own partitions.
    #[error("userId is missing, not a string, or reserved")]
    UserId,
    /// `createDateTime` does not begin with an existing date and a `T`.
    #[error("createDateTime does not begin with a date that exists and a T")]
    CreateDateTime,
    /// `clickCount` exists but is not a whole number from 1 to 4,294,967,295.
    #[error("clickCount is not a whole number from 1 to 4294967295")]
    ClickCount,
    /// `dateKey` is not a key of the day in `createDateTime`, so a query for the day would not find
    /// the click.
    #[error("dateKey is not that of the day in createDateTime")]
    DateKey,
    /// `recordSort` is not `CLICK#<createDateTime>#<userId>`. The pages of a day need it, and it
    /// must be unique.
    #[error("recordSort is not CLICK#<createDateTime>#<userId>")]
    RecordSort,
}

impl UnreadableClick {
    /// A stable name for metrics and quarantined records.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::UserId => "user-id",
            Self::CreateDateTime => "create-date-time",
            Self::ClickCount => "click-count",
            Self::DateKey => "date-key",
            Self::RecordSort => "record-sort",
        }
    }
}

impl<'a> Attribute<'a> {
    fn string(attribute: &'a Option<Self>) -> Option<&'a str> {
        attribute.as_ref()?.string.as_ref().map(|text| &*text.0)
    }
}

impl ClickImage<'_> {
    /// The click, or `None` when the item is not a click. The day is the one at the beginning of
    /// `createDateTime`, as for the table's readers. The text after the `T` is not checked: without
    /// a readable hour, the click counts for no hour. A target that is not valid is ignored, since
    /// other clients may use the attribute for something else.
    pub(super) fn click(&self) -> Result<Option<CountedClick>, UnreadableClick> {
        let Some(sort) = Attribute::string(&self.record_sort).and_then(|sort| sort.strip_prefix(CLICK_PREFIX)) else {
            return Ok(None);
        };
        let user_id = Attribute::string(&self.user_id)
            .filter(|user_id| !RESERVED_PREFIXES.iter().any(|prefix| user_id.starts_with(prefix)))
            .ok_or(UnreadableClick::UserId)?;
        let time = Attribute::string(&self.create_date_time).ok_or(UnreadableClick::CreateDateTime)?;
        let day = time.split_once('T').and_then(|(day, rest)| Some((parse_date(day).ok()?, rest)));
        let (date, rest) = day.ok_or(UnreadableClick::CreateDateTime)?;
        let count = match &self.click_count {
            None => 1,
            Some(attribute) => attribute
                .number
                .as_ref()
                .and_then(|number| number.0.parse().ok())
                .filter(|count| *count > 0)
                .ok_or(UnreadableClick::ClickCount)?,
        };
        if !Attribute::string(&self.date_key).is_some_and(|key| is_date_key_of(key, date)) {
            return Err(UnreadableClick::DateKey);
        }
        let sorted_by = sort.strip_prefix(time).and_then(|sort| sort.strip_prefix('#'));
        if sorted_by != Some(user_id) {
            return Err(UnreadableClick::RecordSort);
        }
        let target = Attribute::string(&self.target).and_then(|target| ClickTarget::new(target).ok());
        let digits = rest.get(..2).filter(|hour| hour.bytes().all(|byte| byte.is_ascii_digit()));
        let hour = digits.and_then(|hour| hour.parse().ok()).filter(|hour| *hour < 24);
        Ok(Some(CountedClick { user_id: user_id.to_owned(), date, hour, count, target }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::StoredClick;
    use crate::writer::item;
    use crate::{DateShards, keys::s};
    use aws_sdk_dynamodb::types::AttributeValue;
    use domain::UserId;
    use domain::clicks::{Click, ClickCount, ClickTime};
    use jiff::civil::date;

    fn read(image: &str) -> Result<Option<(String, String, u32)>, UnreadableClick> {
        let image: ClickImage = serde_json::from_str(image).expect("any image is readable");
        let click = image.click()?;
        Ok(click.map(|click| (click.user_id, click.date.to_string(), click.count)))
    }

    #[test]
    fn a_click_put_by_any_client_is_read() {
        let image = r##"{"userId":{"S":"user-123"},"createDateTime":{"S":"2025-10-02T10:30:00.000Z"},"clickCount":{"N":"3"},
            "dateKey":{"S":"DATE#2025-10-02"},"recordSort":{"S":"CLICK#2025-10-02T10:30:00.000Z#user-123"},"extra":{"L":[]}}"##;
        assert_eq!(read(image), Ok(Some(("user-123".into(), "2025-10-02".into(), 3))));
        let without_count = image.replace(r#""clickCount":{"N":"3"},"#, "");
        assert_eq!(read(&without_count), Ok(Some(("user-123".into(), "2025-10-02".into(), 1))));
        let escaped = image.replace("user-123", r#"\u8a2a\"客"#);
        assert_eq!(read(&escaped).map(|click| click.map(|click| click.0)), Ok(Some("訪\"客".into())));
    }

    #[test]
    fn other_items_are_not_clicks() {
        assert_eq!(read(r##"{"userId":{"S":"STAT#DAILY"},"recordSort":{"S":"STAT#DAILY"}}"##), Ok(None));
        assert_eq!(read(r##"{"userId":{"S":"ROLLUP#clicks#SEEN#uniqueUsers#ann"},"m":{"B":"AAA="}}"##), Ok(None));
        assert_eq!(read(r#"{"recordSort":{"N":"1"}}"#), Ok(None));
    }

    #[test]
    fn an_invalid_click_is_refused_with_a_reason() {
        let click = |change: (&str, &str)| {
            let mut image = serde_json::json!({
                "userId": {"S": "ann"}, "createDateTime": {"S": "2025-10-02T10:30:00.000Z"}, "clickCount": {"N": "1"},
                "dateKey": {"S": "DATE#2025-10-02"}, "recordSort": {"S": "CLICK#2025-10-02T10:30:00.000Z#ann"},
            });
            image[change.0] = serde_json::from_str(change.1).expect("JSON");
            read(&image.to_string())
        };
        for count in
            [r#"{"S":"1"}"#, r#"{"N":"0"}"#, r#"{"N":"-1"}"#, r#"{"N":"1.5"}"#, r#"{"N":"1E+9"}"#, r#"{"NULL":true}"#]
        {
            assert_eq!(click(("clickCount", count)), Err(UnreadableClick::ClickCount), "{count}");
        }
        for time in ["2025-02-30T00:00:00Z", "2025-10-02", "yesterday", "T", "+012025-10-02T00:00:00Z"] {
            let time = format!(r#"{{"S":"{time}"}}"#);
            assert_eq!(click(("createDateTime", &time)), Err(UnreadableClick::CreateDateTime), "{time}");
        }
        for user in [r#"{"N":"1"}"#, r##"{"S":"STAT#DAILY"}"##, r##"{"S":"ROLLUP#x"}"##] {
            assert_eq!(click(("userId", user)), Err(UnreadableClick::UserId), "{user}");
        }
        assert_eq!(click(("dateKey", r##"{"S":"DATE#2025-10-03"}"##)), Err(UnreadableClick::DateKey));
        assert_eq!(click(("dateKey", "null")), Err(UnreadableClick::DateKey));
        assert_eq!(
            click(("recordSort", r##"{"S":"CLICK#2025-10-02T10:30:00.000Z#bob"}"##)),
            Err(UnreadableClick::RecordSort)
        );
    }

    #[test]
    fn click_reads_the_same_from_stream_and_query() {
        let written = Click {
            user_id: UserId::new("訪客 7").expect("a user id"),
            time: ClickTime::parse("2024-02-29T23:59:59.999Z").expect("a time"),
            count: ClickCount::new(42).expect("a count"),
            target: Some(ClickTarget::new("購入").expect("a target")),
        };
        let item = item(&written, "0199a000-0000-7000-8000-000000000000", DateShards::new(4).expect("in range"), None);
        let stored = StoredClick::read(item.clone()).expect("readable");
        assert_eq!(item.get("userId"), Some(&s("訪客 7")));

        let wire = item.iter().map(|(name, value)| match value {
            AttributeValue::N(number) => (name.clone(), serde_json::json!({"N": number})),
            AttributeValue::S(string) => (name.clone(), serde_json::json!({"S": string})),
            other => panic!("a click has strings and numbers only, not {other:?}"),
        });
        let wire = serde_json::Value::Object(wire.collect());
        assert_eq!(read(&wire.to_string()), Ok(Some((stored.user_id, date(2024, 2, 29).to_string(), 42))));
        assert_eq!((stored.click_count, stored.target.as_deref()), (Some(42), Some("購入")));
    }

    #[test]
    fn unreadable_hour_or_target_of_a_click_is_left_out() {
        let details = |time: &str, target: &str| {
            let image = serde_json::json!({
                "userId": {"S": "ann"}, "createDateTime": {"S": time}, "dateKey": {"S": "DATE#2025-10-02"},
                "recordSort": {"S": format!("CLICK#{time}#ann")},
                "target": serde_json::from_str::<serde_json::Value>(target).expect("JSON"),
            });
            let image = image.to_string();
            let image: ClickImage = serde_json::from_str(&image).expect("any image is readable");
            let click = image.click().expect("readable").expect("a click");
            (click.hour, click.target.map(|target| target.as_str().to_owned()))
        };
        assert_eq!(details("2025-10-02T23:30:00Z", r#"{"S":"/pricing"}"#), (Some(23), Some("/pricing".into())));
        assert_eq!(details("2025-10-02T24:00", r#"{"S":" "}"#), (None, None));
        assert_eq!(details("2025-10-02T-1", r#"{"L":[]}"#), (None, None));
    }
}
