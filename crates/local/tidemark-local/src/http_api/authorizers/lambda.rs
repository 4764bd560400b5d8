//! An authorizer that is a function.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::policy::{Effect, Policy};
use super::{AuthorizerRequest, Grant, Refusal, identity, lambda_event};
use crate::functions::{Invocation, Pool};
use crate::http_api::INTEGRATION_TIMEOUT;
use crate::stack::LambdaAuthorizer;

/// Maximum number of identities whose answers are kept.
const CACHE_MAX: usize = 10_000;

/// A function that decides, with its answers.
#[derive(Debug)]
pub(crate) struct LambdaDecider {
    settings: LambdaAuthorizer,
    validation: Option<Regex>,
    pool: Arc<Pool>,
    cache: Mutex<HashMap<Vec<String>, (Instant, Decision)>>,
}

/// The answer of a function. A policy can allow some requests and deny others.
#[derive(Debug, Clone)]
enum Decision {
    Policy { policy: Policy, principal: String, context: Map<String, Value> },
    Simple { is_authorized: bool, context: Map<String, Value> },
}

impl LambdaDecider {
    pub(crate) fn new(settings: LambdaAuthorizer, pool: Arc<Pool>) -> Self {
        // The template's reader has checked the expression.
        let validation = settings.validation.as_ref().and_then(|expression| Regex::new(expression).ok());
        Self { settings, validation, pool, cache: Mutex::default() }
    }

    pub(crate) async fn decide(&self, request: AuthorizerRequest<'_>) -> Result<Grant, Refusal> {
        let sources = self.settings.identity.iter().map(|source| identity(source, &request));
        let Some(identity) = sources.collect::<Option<Vec<_>>>() else { return Err(Refusal::Unauthorized) };
        if let (Some(validation), Some(token)) = (&self.validation, identity.first())
            && validation.find(token).is_none_or(|found| found.len() != token.len())
        {
            return Err(Refusal::Unauthorized);
        }
        let caches = !self.settings.ttl.is_zero() && !identity.is_empty();
        if let Some(decision) = caches.then(|| self.cached(&identity)).flatten() {
            return decision.grant(request.arn);
        }
        let event = lambda_event(self.settings.event, &identity, &request);
        let decision = self.ask(&event).await?;
        if caches {
            self.keep(identity, decision.clone(), self.settings.ttl);
        }
        decision.grant(request.arn)
    }

    async fn ask(&self, event: &Value) -> Result<Decision, Refusal> {
        let invocation = self.pool.invoke(event.to_string().into());
        let limit = self.pool.function().time_limit(INTEGRATION_TIMEOUT);
        let outcome = match tokio::time::timeout(limit, invocation).await {
            Ok(Ok(Invocation { outcome, .. })) => outcome,
            Ok(Err(error)) => return self.failed(&error.to_string()),
            Err(_) => return self.failed("it took too long"),
        };
        let answer = match outcome {
            Ok(answer) => serde_json::from_slice::<Value>(&answer).unwrap_or_default(),
            Err(error) => {
                let error = serde_json::from_slice::<Value>(&error.body).unwrap_or_default();
                // With this message a function says that a token is invalid.
                return match error.get("errorMessage").and_then(Value::as_str) {
                    Some("Unauthorized") => Err(Refusal::Unauthorized),
                    message => self.failed(message.unwrap_or("it failed")),
                };
            }
        };
        let context = answer.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
        if self.settings.simple_responses {
            let Some(is_authorized) = answer.get("isAuthorized").and_then(Value::as_bool) else {
                return self.failed("its answer has no isAuthorized");
            };
            return Ok(Decision::Simple { is_authorized, context });
        }
        let Some(principal) = answer.get("principalId").and_then(Value::as_str).map(str::to_owned) else {
            return self.failed("its answer has no principalId");
        };
        match answer.get("policyDocument").and_then(Policy::read) {
            Some(policy) => Ok(Decision::Policy { policy, principal, context }),
            None => self.failed("its answer has no valid policyDocument"),
        }
    }

    fn failed(&self, reason: &str) -> Result<Decision, Refusal> {
        tracing::warn!("the authorizer {} does not work: {reason}", self.pool.function().logical_id);
        Err(Refusal::Failed)
    }

    fn cached(&self, identity: &[String]) -> Option<Decision> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(identity).filter(|(until, _)| Instant::now() < *until).map(|(_, decision)| decision.clone())
    }

    fn keep(&self, identity: Vec<String>, decision: Decision, ttl: Duration) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if cache.len() >= CACHE_MAX {
            cache.retain(|_, (until, _)| now < *until);
        }
        if cache.len() < CACHE_MAX {
            cache.insert(identity, (now + ttl, decision));
        }
    }
}

impl Decision {
    /// The decision about the request for this ARN.
    fn grant(self, arn: &str) -> Result<Grant, Refusal> {
        match self {
            Self::Simple { is_authorized: true, context } => Ok(Grant::Lambda { principal: None, context }),
            Self::Simple { .. } => Err(Refusal::Forbidden { explicit: false }),
            Self::Policy { policy, principal, context } => match policy.effect_on(arn) {
                Some(Effect::Allow) => Ok(Grant::Lambda { principal: Some(principal), context }),
                denied => Err(Refusal::Forbidden { explicit: denied.is_some() }),
            },
        }
    }
}
