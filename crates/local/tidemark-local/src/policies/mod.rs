//! Enforces the functions' IAM roles from the template, and records the use of their grants.
//!
//! A function calls services with its own name as access key. A call that its role does not allow,
//! or that it denies, is refused with AWS's message. A caller with another key, such as an `aws`
//! command line, may do everything. The action, the resource and the conditions of `Allow`
//! statements are evaluated. A grant counts as needed if the call would have been refused without
//! it.
//!
//! Source:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>.

mod statement;
mod suggestion;
mod usage;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use axum::http::{HeaderMap, header};
use tidemark_engine::{Access, Authorizer};

pub(crate) use self::statement::is_like;
use self::statement::{Matched, Mismatch};
pub(crate) use self::suggestion::Suggestion;
use self::suggestion::{Calls, References};
pub(crate) use self::usage::FunctionPolicyUsage;
use self::usage::PolicyUsage;
use crate::arn;
use crate::stack::{Effect, Role, Stack};

/// `dynamodb:LeadingKeys`: the partition keys in a request.
pub(crate) const LEADING_KEYS: &str = "dynamodb:LeadingKeys";

/// `ses:FromAddress`: the sender of a mail.
pub(crate) const FROM_ADDRESS: &str = "ses:FromAddress";

/// A call that needs a permission.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// `dynamodb:PutItem`.
    pub action: String,
    /// An ARN.
    pub resource: String,
    /// The values of condition keys; a key without values is absent.
    pub context: BTreeMap<&'static str, Vec<String>>,
}

/// The access key that signed a request with these headers.
pub(crate) fn caller(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    authorization.split_once("Credential=").and_then(|(_, scope)| scope.split('/').next())
}

/// The roles of a stack's functions.
#[derive(Debug, Default)]
pub struct Policies {
    functions: BTreeMap<String, Held>,
    references: References,
}

/// A function whose role is enforced.
#[derive(Debug)]
struct Held {
    role: Role,
    /// The function's name for people.
    function: String,
    usage: Mutex<PolicyUsage>,
    calls: Mutex<Calls>,
}

impl Policies {
    /// The roles of a stack. A function whose role is not in the template may do everything.
    pub fn new(stack: &Stack) -> Self {
        let held = stack.functions.iter().filter_map(|function| {
            let role = stack.roles.iter().find(|role| Some(&role.arn) == function.role.as_ref())?.clone();
            let usage = Mutex::new(PolicyUsage::of(&role));
            let function_name = function.short_name().to_owned();
            Some((function.name.clone(), Held { role, function: function_name, usage, calls: Mutex::default() }))
        });
        Self { functions: held.collect(), references: References::of(stack) }
    }

    /// Whether `caller` may do `request`. A caller that is not a function with a role may do
    /// everything.
    ///
    /// # Errors
    /// AWS's message for an `AccessDeniedException`. The log says which grant is missing.
    pub fn allow(&self, caller: &str, request: &Request) -> Result<(), String> {
        let Some(held) = self.functions.get(caller) else { return Ok(()) };
        held.calls.lock().unwrap_or_else(PoisonError::into_inner).record(&request.action, &request.resource);
        let mut matched = Vec::new();
        let mut denied_by = None;
        let mut nearest: Option<(Mismatch, usize)> = None;
        for (index, statement) in held.role.statements.iter().enumerate() {
            match statement::matches(statement, request) {
                Ok(_) if statement.effect == Effect::Deny => denied_by = Some(statement),
                Ok(found) => matched.push((index, found)),
                Err(_) if statement.effect == Effect::Deny => {}
                Err(lacks) => nearest = nearest.max(Some((lacks, index))),
            }
        }
        let mut usage = held.usage.lock().unwrap_or_else(PoisonError::into_inner);
        if !matched.is_empty() && denied_by.is_none() {
            usage.allowed(&matched);
            return Ok(());
        }
        usage.denied(request);
        drop(usage);
        let Request { action, resource, context } = request;
        let why = match nearest {
            _ if denied_by.is_some() => "a statement denies it".to_owned(),
            Some((lacks @ (Mismatch::Resource | Mismatch::Condition), index)) => {
                let statement = &held.role.statements[index];
                format!("the statement of {} at line {} {lacks}", statement.policy, statement.line)
            }
            _ => format!("no statement of {} has the action", held.role.logical_id),
        };
        tracing::warn!("{caller} lacks the permission {action} on {resource} {context:?}: {why}");
        let session = format!("{}:assumed-role/{}/{}", arn::of_account("sts"), held.role.name, caller);
        let because = match denied_by {
            Some(_) => "with an explicit deny in an identity-based policy".to_owned(),
            None => format!("because no identity-based policy allows the {action} action"),
        };
        Err(format!("User: {session} is not authorized to perform: {action} on resource: {resource} {because}"))
    }

    /// Whether `caller` may do `request`. The question leaves no trace in the log and the suggestions.
    #[cfg_attr(not(feature = "buckets"), expect(dead_code, reason = "only S3 asks"))]
    pub(crate) fn may(&self, caller: &str, request: &Request) -> bool {
        let Some(held) = self.functions.get(caller) else { return true };
        let matched = held.role.statements.iter().filter(|statement| statement::matches(statement, request).is_ok());
        let effects: Vec<_> = matched.map(|statement| statement.effect).collect();
        !effects.is_empty() && !effects.contains(&Effect::Deny)
    }

    /// [`Policies::allow`] for the caller that signed a request with these headers.
    ///
    /// # Errors
    /// As for [`Policies::allow`].
    pub fn allow_signed(&self, headers: &HeaderMap, request: &Request) -> Result<(), String> {
        caller(headers).map_or(Ok(()), |caller| self.allow(caller, request))
    }

    /// The grants that each function has used, and the calls that were refused.
    pub fn usage(&self) -> Vec<FunctionPolicyUsage> {
        let usage =
            |held: &Held| held.usage.lock().unwrap_or_else(PoisonError::into_inner).report(&held.function, &held.role);
        self.functions.values().map(usage).collect()
    }
}

impl Policies {
    /// The least policy of each function for its calls up to now.
    pub(crate) fn suggestions(&self) -> Vec<Suggestion> {
        let suggestion =
            |held: &Held| held.calls.lock().unwrap_or_else(PoisonError::into_inner).suggestion(&held.function);
        self.functions.values().map(suggestion).collect()
    }

    /// [`Policies::suggestions`] as `Policies` of a template.
    pub fn suggested_yaml(&self) -> String {
        self.references.yaml(&self.suggestions())
    }
}

impl Authorizer for Policies {
    fn applies_to(&self, caller: &str) -> bool {
        self.functions.contains_key(caller)
    }

    fn authorize(&self, caller: &str, access: &Access) -> Result<(), String> {
        let Access { action, resource, leading_keys } = access.clone();
        let resource = arn::of_engine(&resource);
        self.allow(caller, &Request { action, resource, context: BTreeMap::from([(LEADING_KEYS, leading_keys)]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "
Resources:
  Function:
    Type: AWS::Serverless::Function
    Metadata: { BuildProperties: { Binary: worker } }
    Properties: { FunctionName: the-worker, Runtime: provided.al2023, Role: !GetAtt Role.Arn }
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {}
      Policies:
        - PolicyName: own
          PolicyDocument:
            Statement:
              - { Effect: Allow, Action: ['dynamodb:GetItem', 'dynamodb:PutItem'], Resource: ['arn:a', 'arn:b'] }
              - { Effect: Allow, Action: 'dynamodb:GetItem', Resource: 'arn:a' }
              - { Effect: Deny, Action: 'dynamodb:Put*', Resource: 'arn:a' }
";

    fn policies() -> Policies {
        Policies::new(&crate::template::read(TEMPLATE, &BTreeMap::new()).unwrap().stack)
    }

    fn request(action: &str, resource: &str) -> Request {
        Request { action: action.to_owned(), resource: resource.to_owned(), ..Request::default() }
    }

    #[test]
    fn call_without_a_grant_is_refused_and_recorded() {
        let policies = policies();
        let refused = policies.allow("the-worker", &request("dynamodb:PutItem", "arn:c")).unwrap_err();
        assert_eq!(
            refused,
            "User: arn:aws:sts::000000000000:assumed-role/tidemark-local-Role/the-worker is not authorized to perform: dynamodb:PutItem on \
             resource: arn:c because no identity-based policy allows the dynamodb:PutItem action"
        );
        let denied = &policies.usage()[0].denied;
        assert_eq!((denied.len(), &*denied[0].resource), (1, "arn:c"));
        assert_eq!(policies.allow("somebody", &request("dynamodb:PutItem", "arn:c")), Ok(()));
    }

    #[test]
    fn explicit_deny_overrides_a_grant_and_calls_are_suggested() {
        let policies = policies();
        let refused = policies.allow("the-worker", &request("dynamodb:PutItem", "arn:a")).unwrap_err();
        assert!(refused.ends_with("resource: arn:a with an explicit deny in an identity-based policy"), "{refused}");
        policies.allow("the-worker", &request("dynamodb:PutItem", "arn:b")).unwrap();
        let suggested = policies.suggestions().remove(0);
        assert_eq!((suggested.function.as_str(), suggested.statements.len()), ("worker", 1));
        assert_eq!(suggested.statements[0].resource, ["arn:a", "arn:b"]);
    }

    #[test]
    fn grant_counts_as_needed_only_without_another_grant() {
        let policies = policies();
        // Both statements allow the first call; only one allows each of the others.
        for (action, resource) in
            [("dynamodb:GetItem", "arn:a"), ("dynamodb:GetItem", "arn:b"), ("dynamodb:PutItem", "arn:b")]
        {
            policies.allow("the-worker", &request(action, resource)).unwrap();
        }
        let statements = policies.usage().remove(0).statements;
        let counts = |counts: &[(&str, u64)]| counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(statements[0].actions, counts(&[("dynamodb:GetItem", 1), ("dynamodb:PutItem", 1)]));
        assert_eq!(statements[0].resources, counts(&[("arn:a", 0), ("arn:b", 2)]));
        assert_eq!(statements[1].actions, counts(&[("dynamodb:GetItem", 0)]));
    }
}
