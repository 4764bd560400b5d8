//! The policy that an authorizer returns.

use serde_json::Value;

pub(super) use crate::stack::Effect;

use crate::policies::is_like;

/// The permission that a request to an API needs.
const INVOKE: &str = "execute-api:invoke";

/// The statements about requests to APIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Policy {
    /// Effects, and patterns of ARNs.
    statements: Vec<(Effect, Vec<String>)>,
}

impl Policy {
    /// Reads a policy; `None` if it is invalid. Statements about other actions have no effect.
    pub(super) fn read(document: &Value) -> Option<Self> {
        let mut statements = Vec::new();
        for statement in one_or_many(document.get("Statement")?) {
            let effect = match statement.get("Effect")?.as_str()? {
                "Allow" => Effect::Allow,
                "Deny" => Effect::Deny,
                _ => return None,
            };
            let actions = texts(statement.get("Action")?)?;
            let resources = texts(statement.get("Resource")?)?;
            if actions.iter().any(|action| is_like(&action.to_ascii_lowercase(), INVOKE)) {
                statements.push((effect, resources));
            }
        }
        Some(Self { statements })
    }

    /// The effect on a request for this ARN; `None` if no statement matches.
    pub(super) fn effect_on(&self, arn: &str) -> Option<Effect> {
        let matching = self.statements.iter().filter(|(_, patterns)| patterns.iter().any(|like| is_like(like, arn)));
        let effects: Vec<Effect> = matching.map(|(effect, _)| *effect).collect();
        effects.iter().find(|effect| **effect == Effect::Deny).or(effects.first()).copied()
    }
}

fn one_or_many(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    one_or_many(value).iter().map(|text| text.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_denial_is_stronger_and_other_actions_have_no_effect() {
        let statement = |effect: &str, action: &str, resource: &str| json!({ "Effect": effect, "Action": action, "Resource": resource });
        let policy = Policy::read(&json!({ "Statement": [
            statement("Allow", "execute-api:Invoke", "arn:api/Prod/*"),
            statement("Deny", "execute-api:*", "arn:api/Prod/DELETE/*"),
            statement("Allow", "s3:*", "*"),
        ] }))
        .unwrap();
        let effects =
            ["arn:api/Prod/GET/a", "arn:api/Prod/DELETE/a", "arn:api/Dev/GET/a"].map(|arn| policy.effect_on(arn));
        assert_eq!(effects, [Some(Effect::Allow), Some(Effect::Deny), None]);
    }

    #[test]
    fn a_policy_with_an_unknown_part_is_invalid() {
        for document in [
            json!({}),
            json!({ "Statement": [{ "Effect": "Maybe", "Action": "*", "Resource": "*" }] }),
            json!({ "Statement": { "Effect": "Allow", "Action": "*" } }),
            json!({ "Statement": { "Effect": "Allow", "Action": 1, "Resource": "*" } }),
        ] {
            assert_eq!(Policy::read(&document), None, "{document}");
        }
    }
}
