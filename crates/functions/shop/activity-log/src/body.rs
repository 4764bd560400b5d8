//! The body of `POST /users/{userId}/activities`.

use std::collections::BTreeMap;

use domain::EntryId;
use domain::shop::{Action, Activity, ActivityTimeError, ProductId};
use domain::{Attributes, Moment, UserId};
use lambda_kit::fields::{required_text, text};
use lambda_kit::problem::{INTERNAL, INVALID_BODY, Problem};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The largest body: 25 of the largest activities, with room for escaped characters.
pub const BODY_BYTES_MAX: usize = 128 * 1024;

/// The most activities of one request.
pub const ACTIVITIES_MAX: usize = 25;

const TOO_MANY_ACTIVITIES: Problem = Problem::new(400, "too-many-activities", "Too many activities at once");
const INVALID_ACTION: Problem = Problem::new(400, "invalid-action", "The action is not valid");
const INVALID_PRODUCT_ID: Problem = Problem::new(400, "invalid-product-id", "The product id is not valid");
const INVALID_ATTRIBUTES: Problem = Problem::new(400, "invalid-attributes", "The attributes are not valid");
const INVALID_TIME: Problem = Problem::new(400, "invalid-time", "The time is not valid");
const INVALID_ACTIVITY_ID: Problem = Problem::new(400, "invalid-activity-id", "The activity's id is not valid");
const TIME_IN_THE_FUTURE: Problem = Problem::new(400, "time-in-the-future", "The time lies in the future");
pub(crate) const TIME_TOO_OLD: Problem = Problem::new(400, "time-too-old", "The time lies too far in the past");

/// One activity or several. Each is read by itself, so that a bad activity in a batch has its own
/// problem.
#[derive(Debug, PartialEq)]
pub(crate) enum Body {
    One(Value),
    Many(Vec<Value>),
}

impl Body {
    pub(crate) fn new(body: Value) -> Result<Self, Problem> {
        let Value::Array(activities) = body else { return Ok(Self::One(body)) };
        match activities.len() {
            0 => Err(INVALID_BODY.detail("an array must contain at least one activity")),
            1..=ACTIVITIES_MAX => Ok(Self::Many(activities)),
            count => {
                Err(TOO_MANY_ACTIVITIES.detail(format!("{count} activities, and at most {ACTIVITIES_MAX} are allowed")))
            }
        }
    }
}

/// An activity as the client sends it. Members are checked one by one, so that each has its own
/// problem.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewActivity {
    action: Option<Value>,
    product_id: Option<Value>,
    attributes: Option<Value>,
    occurred_at: Option<Value>,
    id: Option<Value>,
}

/// Reads an activity received at `now`; generates an id if the client sent none.
pub(crate) fn activity(body: Value, user_id: &UserId, now: Moment, new_id: fn() -> Uuid) -> Result<Activity, Problem> {
    if !body.is_object() {
        return Err(INVALID_BODY.detail("an activity must be an object"));
    }
    let new: NewActivity = serde_json::from_value(body).map_err(|error| INVALID_BODY.detail(error))?;
    let action = required_text("action", new.action, &INVALID_ACTION, Action::new)?;
    let product_id = text("productId", new.product_id, &INVALID_PRODUCT_ID, ProductId::new)?;
    let pairs = new.attributes.map(serde_json::from_value::<BTreeMap<String, String>>).transpose();
    let pairs = pairs.map_err(|_| INVALID_ATTRIBUTES.detail("must be an object of strings"))?.unwrap_or_default();
    let occurred_at = text("occurredAt", new.occurred_at, &INVALID_TIME, Moment::parse)?;
    let id = text("id", new.id, &INVALID_ACTIVITY_ID, str::parse::<EntryId>)?;

    let made_at = id.map(|id| Moment::new(id.at())).transpose().map_err(|error| INVALID_ACTIVITY_ID.detail(error))?;
    let at = occurred_at.or(made_at).unwrap_or(now);
    Activity::check_time(at, now).map_err(|error| match error {
        ActivityTimeError::InTheFuture => TIME_IN_THE_FUTURE.detail(error),
        ActivityTimeError::TooOld => TIME_TOO_OLD.detail(error),
    })?;
    let activity = Activity {
        user_id: user_id.clone(),
        action,
        product_id,
        attributes: Attributes::new(pairs).map_err(|error| INVALID_ATTRIBUTES.detail(error))?,
        at,
        id: match id {
            Some(id) => id,
            None => EntryId::new(new_id()).map_err(|_| INTERNAL)?,
        },
    };
    if activity.texts_bytes() > Activity::TEXTS_BYTES_MAX {
        let max = Activity::TEXTS_BYTES_MAX;
        let why = format!("with the ids of user and product and the action, they must have at most {max} bytes");
        return Err(INVALID_ATTRIBUTES.detail(why));
    }
    Ok(activity)
}

/// An activity as clients see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityView<'a> {
    id: String,
    user_id: &'a str,
    action: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_id: Option<&'a str>,
    attributes: &'a BTreeMap<String, String>,
    occurred_at: String,
}

impl<'a> From<&'a Activity> for ActivityView<'a> {
    fn from(activity: &'a Activity) -> Self {
        Self {
            id: activity.id.to_string(),
            user_id: activity.user_id.as_str(),
            action: activity.action.as_str(),
            product_id: activity.product_id.as_ref().map(ProductId::as_str),
            attributes: activity.attributes.pairs(),
            occurred_at: activity.at.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "0199a478-bc40-7abc-8def-000000000001";

    fn outcome(body: Value) -> Result<Value, &'static str> {
        let now = Moment::parse("2025-10-02T10:30:01.5Z").expect("a moment");
        let new_id = || Uuid::try_parse("0199a478-bc40-7abc-8def-0000000000ff").expect("an id");
        let activity =
            activity(body, &UserId::new("ann").expect("a user"), now, new_id).map_err(|problem| problem.name())?;
        Ok(json!(ActivityView::from(&activity)))
    }

    fn time(body: Value) -> Result<String, &'static str> {
        Ok(outcome(body)?["occurredAt"].as_str().unwrap_or_default().to_owned())
    }

    #[test]
    fn an_activity_is_returned_as_it_was_sent() {
        let full = json!({"id": ID, "action": "view", "productId": "p-1", "attributes": {"page": "2"}, "occurredAt": "2025-10-02T10:30:00.000000001Z"});
        let mut expected = full.clone();
        expected["userId"] = json!("ann");
        assert_eq!(outcome(full), Ok(expected));
        let least = outcome(json!({"action": "view", "productId": null, "attributes": null}));
        let expected = json!({"id": "0199a478-bc40-7abc-8def-0000000000ff", "userId": "ann", "action": "view", "attributes": {}, "occurredAt": "2025-10-02T10:30:01.500000000Z"});
        assert_eq!(least, Ok(expected));
    }

    #[test]
    fn activity_time_comes_from_body_id_or_clock() {
        let at = "2025-10-02T12:00:00.5+09:00";
        assert_eq!(
            time(json!({"action": "view", "id": ID, "occurredAt": at})),
            Ok("2025-10-02T03:00:00.500000000Z".into())
        );
        assert_eq!(time(json!({"action": "view", "id": ID})), Ok("2025-10-02T10:30:00.000000000Z".into()));
        assert_eq!(time(json!({"action": "view"})), Ok("2025-10-02T10:30:01.500000000Z".into()));
    }

    #[test]
    fn each_member_has_its_own_problem() {
        let with = |name: &str, value: Value| {
            let mut body = json!({"action": "view"});
            body[name] = value;
            outcome(body)
        };
        for value in [json!(""), json!(7), json!("a b"), json!(null)] {
            assert_eq!(with("action", value.clone()), Err("invalid-action"), "{value}");
        }
        for value in [json!(""), json!(7), json!("p#1")] {
            assert_eq!(with("productId", value.clone()), Err("invalid-product-id"), "{value}");
        }
        for value in [json!([]), json!({"a": 1}), json!({"": "x"}), json!("a")] {
            assert_eq!(with("attributes", value.clone()), Err("invalid-attributes"), "{value}");
        }
        for value in [json!("2025-10-02T10:30:00"), json!("2025-10-02"), json!(1_759_401_000), json!("")] {
            assert_eq!(with("occurredAt", value.clone()), Err("invalid-time"), "{value}");
        }
        for value in [json!(""), json!(1), json!("0199a478-bc40-4abc-8def-000000000001")] {
            assert_eq!(with("id", value.clone()), Err("invalid-activity-id"), "{value}");
        }
        for (bytes, expected) in [(255, Ok(())), (256, Err("invalid-attributes"))] {
            // With `ann`, `view` and the names, 384 bytes fit.
            let attributes = json!({"a": "x".repeat(bytes), "b": "値".repeat(40)});
            assert_eq!(with("attributes", attributes).map(drop), expected, "{bytes}");
        }
        assert_eq!(with("occurredAt", json!("2025-10-02T10:35:01.500000001Z")), Err("time-in-the-future"));
        assert_eq!(with("id", json!("0199a47e-d6c0-7abc-8def-000000000001")), Err("time-in-the-future"));
        assert_eq!(with("occurredAt", json!("2024-08-28T00:00:00Z")), Err("time-too-old"));
        assert_eq!(with("ocurredAt", json!("2025-10-02T10:30:00Z")), Err("invalid-body"));
        assert_eq!(outcome(json!(7)), Err("invalid-body"));
        assert_eq!(outcome(json!({})), Err("invalid-action"));
    }

    #[test]
    fn a_request_has_one_to_25_activities() {
        let body = |count| Body::new(Value::Array(vec![json!({"action": "view"}); count]));
        assert!(matches!(body(25), Ok(Body::Many(many)) if many.len() == 25));
        assert_eq!(body(26).map_err(|problem| problem.name()), Err("too-many-activities"));
        assert_eq!(body(0).map_err(|problem| problem.name()), Err("invalid-body"));
        assert!(matches!(Body::new(json!({})), Ok(Body::One(_))));
    }
}
