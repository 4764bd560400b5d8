//! The body of `POST /clicks`.

use std::fmt;

use domain::UserId;
use domain::clicks::{ClickCount, ClickTarget};
use lambda_kit::fields::{required_text, text};
use lambda_kit::json_object::JsonObject;
use lambda_kit::problem::Problem;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

/// The largest body: 25 clicks with the longest user ids take about 20 KB.
pub const BODY_BYTES_MAX: usize = 64 * 1024;

/// The most clicks of one request.
pub const CLICKS_MAX: usize = 25;

const INVALID_USER_ID: Problem = Problem::new(400, "invalid-user-id", "The user id is not valid");
const INVALID_TARGET: Problem = Problem::new(400, "invalid-target", "The target is not valid");
const INVALID_CLICK_COUNT: Problem = Problem::new(400, "invalid-click-count", "The click count is not valid");

/// One click or several.
#[derive(Debug)]
pub(crate) enum Body {
    One(NewClick),
    Many(Vec<NewClick>),
}

/// A click as the client sends it. Its members are checked one by one, so that a bad click in a
/// batch has its own problem.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewClick {
    user_id: Option<serde_json::Value>,
    click_count: Option<serde_json::Value>,
    target: Option<serde_json::Value>,
    idempotency_key: Option<String>,
}

/// A click whose members are valid.
#[derive(Debug)]
pub(crate) struct CheckedClick {
    pub(crate) user_id: UserId,
    pub(crate) count: ClickCount,
    pub(crate) target: Option<ClickTarget>,
    pub(crate) idempotency_key: Option<String>,
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Many {
            clicks: Vec<JsonObject<NewClick>>,
        }
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.get("clicks").is_none() {
            return JsonObject::<NewClick>::deserialize(value).map(|click| Self::One(click.0)).map_err(Error::custom);
        }
        let JsonObject(Many { clicks }) = JsonObject::deserialize(value).map_err(Error::custom)?;
        if clicks.is_empty() || clicks.len() > CLICKS_MAX {
            return Err(Error::custom(fmt::from_fn(|f| write!(f, "`clicks` takes 1 to {CLICKS_MAX} clicks"))));
        }
        Ok(Self::Many(clicks.into_iter().map(|click| click.0).collect()))
    }
}

impl NewClick {
    pub(crate) fn check(self) -> Result<CheckedClick, Problem> {
        let user_id = required_text("userId", self.user_id, &INVALID_USER_ID, |text| UserId::new(text))?;
        let count = match self.click_count {
            None => ClickCount::default(),
            Some(value) => {
                let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or_default();
                ClickCount::new(count).map_err(|why| INVALID_CLICK_COUNT.detail(why))?
            }
        };
        let target = text("target", self.target, &INVALID_TARGET, ClickTarget::new)?;
        Ok(CheckedClick { user_id, count, target, idempotency_key: self.idempotency_key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(body: &str) -> Result<(String, u32), String> {
        match serde_json::from_str(body).map_err(|error| error.to_string())? {
            Body::One(click) => click
                .check()
                .map(|click| (click.user_id.to_string(), click.count.get()))
                .map_err(|problem| problem.name().to_owned()),
            Body::Many(clicks) => Err(format!("{} clicks", clicks.len())),
        }
    }

    #[test]
    fn the_default_click_count_is_one() {
        assert_eq!(outcome(r#"{"userId":"ann"}"#), Ok(("ann".into(), 1)));
        assert_eq!(outcome(r#"{"userId":"ann","clickCount":null}"#), Ok(("ann".into(), 1)));
        assert_eq!(outcome(r#"{"userId":"ann","clickCount":1000}"#), Ok(("ann".into(), 1_000)));
    }

    #[test]
    fn invalid_click_count_user_id_and_target_have_own_problems() {
        for target in ["7", "[]", "\" \"", "\"a\\nb\"", &format!("\"{}\"", "x".repeat(101))] {
            let body = format!(r#"{{"userId":"ann","target":{target}}}"#);
            assert_eq!(outcome(&body), Err("invalid-target".into()), "{target}");
        }
        for count in ["0", "1001", "-1", "1.5", "\"1\"", "[]", "1e99", "4294967297"] {
            let body = format!(r#"{{"userId":"ann","clickCount":{count}}}"#);
            assert_eq!(outcome(&body), Err("invalid-click-count".into()), "{count}");
        }
        for user in ["\"\"", "\"STAT#DAILY\"", "7", "null", "\"a\\nb\""] {
            assert_eq!(outcome(&format!(r#"{{"userId":{user}}}"#)), Err("invalid-user-id".into()), "{user}");
        }
        assert_eq!(outcome("{}"), Err("invalid-user-id".into()));
    }

    #[test]
    fn a_batch_has_one_to_25_clicks() {
        let clicks = |n| format!(r#"{{"clicks":[{}]}}"#, vec![r#"{"userId":"ann"}"#; n].join(","));
        assert_eq!(outcome(&clicks(25)), Err("25 clicks".into()));
        for n in [0, 26] {
            assert_eq!(outcome(&clicks(n)), Err("`clicks` takes 1 to 25 clicks".into()));
        }
    }

    #[test]
    fn other_shapes_and_misspelled_members_are_refused() {
        for body in [
            "[]",
            "7",
            "null",
            r#"{"userid":"ann"}"#,
            r#"{"clicks":{}}"#,
            r#"{"clicks":[7]}"#,
            r#"["ann",1,null]"#,
            r#"{"clicks":[["ann",1,null]]}"#,
            r#"{"clicks":[],"x":1}"#,
        ] {
            assert!(outcome(body).is_err(), "{body}");
        }
    }
}
