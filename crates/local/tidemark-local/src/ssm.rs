//! Systems Manager's parameters: those of the template, and those that functions put.
//!
//! Values are in memory; after a restart, the template's values apply again. A `SecureString` is
//! returned decrypted only on demand, and is not encrypted here.
//!
//! Source:
//! <https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html>.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::actions;
use crate::arn;
use crate::json_protocol::{self, ApiError};
use crate::policies::{Policies, Request};
use crate::stack::SsmParameter;

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/ssm";

/// Maximum number of parameters: the quota of an account.
const PARAMETERS_MAX: usize = 10_000;

/// Maximum size of a value in the advanced tier, bytes.
const VALUE_BYTES_MAX: usize = 8 * 1024;

/// Maximum number of names in a request.
const NAMES_MAX: usize = 10;

/// The parameters of a stack, by name.
#[derive(Debug)]
pub(crate) struct SsmParameters(Mutex<BTreeMap<String, Stored>>);

#[derive(Debug, Clone)]
struct Stored {
    kind: String,
    value: String,
    version: u64,
    modified: Timestamp,
}

impl SsmParameters {
    pub(crate) fn new(parameters: &[SsmParameter]) -> Arc<Self> {
        let stored = |parameter: &SsmParameter| {
            let SsmParameter { name, kind, value } = parameter.clone();
            (name, Stored { kind, value, version: 1, modified: Timestamp::now() })
        };
        Arc::new(Self(Mutex::new(parameters.iter().map(stored).collect())))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The endpoint: `POST` with `X-Amz-Target`.
pub(crate) fn router(parameters: Arc<SsmParameters>, policies: Arc<Policies>) -> Router {
    Router::new().route(PATH, post(call)).route(&format!("{PATH}/"), post(call)).with_state((parameters, policies))
}

async fn call(
    State((parameters, policies)): State<(Arc<SsmParameters>, Arc<Policies>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let operation = json_protocol::operation(&headers);
    let allow = |name: &str| {
        let asked = Request { action: format!("ssm:{operation}"), resource: arn_of(name), ..Request::default() };
        policies.allow_signed(&headers, &asked).map_err(|sentence| ApiError("AccessDeniedException", sentence))
    };
    let request = json_protocol::check(&actions::SSM, operation).and_then(|()| json_protocol::request(&body));
    let answer = request.and_then(|request| match operation {
        "GetParameter" => get(&parameters, &request, allow),
        "GetParameters" => get_many(&parameters, &request, allow),
        "GetParametersByPath" => by_path(&parameters, &request, allow),
        "PutParameter" => put(&parameters, &request, allow),
        "DeleteParameter" => delete(&parameters, &request, allow),
        _ => Err(json_protocol::unknown(&actions::SSM, operation)),
    });
    json_protocol::response(answer)
}

fn get(
    parameters: &SsmParameters,
    request: &Value,
    allow: impl Fn(&str) -> Result<(), ApiError>,
) -> Result<Value, ApiError> {
    let name = name_of(request)?;
    allow(name)?;
    let all = parameters.lock();
    let stored = all.get(name).ok_or_else(not_found)?;
    Ok(json!({ "Parameter": shown(name, stored, decrypts(request)) }))
}

fn get_many(
    parameters: &SsmParameters,
    request: &Value,
    allow: impl Fn(&str) -> Result<(), ApiError>,
) -> Result<Value, ApiError> {
    let names: Vec<&str> = request["Names"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() || names.len() > NAMES_MAX {
        return Err(ApiError("ValidationException", format!("Names must have 1 to {NAMES_MAX} names")));
    }
    names.iter().try_for_each(|name| allow(plain(name)))?;
    let all = parameters.lock();
    let (mut found, mut invalid) = (Vec::new(), Vec::new());
    for name in names {
        match all.get(plain(name)) {
            Some(stored) => found.push(shown(plain(name), stored, decrypts(request))),
            None => invalid.push(name),
        }
    }
    Ok(json!({ "Parameters": found, "InvalidParameters": invalid }))
}

fn by_path(
    parameters: &SsmParameters,
    request: &Value,
    allow: impl Fn(&str) -> Result<(), ApiError>,
) -> Result<Value, ApiError> {
    let path = request["Path"].as_str().filter(|path| path.starts_with('/'));
    let Some(path) = path.map(|path| path.trim_end_matches('/')) else {
        return Err(ApiError("ValidationException", "Path must begin with a slash".to_owned()));
    };
    allow(if path.is_empty() { "/" } else { path })?;
    let page = request["MaxResults"].as_u64().and_then(|page| usize::try_from(page).ok()).unwrap_or(NAMES_MAX);
    let (page, recursive) = (page.clamp(1, NAMES_MAX), request["Recursive"] == true);
    let after = request["NextToken"].as_str().unwrap_or_default();
    let below = |name: &str| {
        let rest = name.strip_prefix(path)?.strip_prefix('/')?;
        (recursive || !rest.contains('/')).then_some(())
    };
    let all = parameters.lock();
    let mut found = all.iter().filter(|(name, _)| name.as_str() > after && below(name).is_some());
    let shown: Vec<Value> =
        found.by_ref().take(page).map(|(name, stored)| shown(name, stored, decrypts(request))).collect();
    let next = found.next().and_then(|_| shown.last().map(|last| last["Name"].clone()));
    Ok(json!({ "Parameters": shown, "NextToken": next }))
}

fn put(
    parameters: &SsmParameters,
    request: &Value,
    allow: impl Fn(&str) -> Result<(), ApiError>,
) -> Result<Value, ApiError> {
    let name = name_of(request)?;
    allow(name)?;
    let value = request["Value"].as_str().filter(|value| (1..=VALUE_BYTES_MAX).contains(&value.len()));
    let Some(value) = value.map(str::to_owned) else {
        return Err(ApiError("ValidationException", format!("Value must have 1 to {VALUE_BYTES_MAX} bytes")));
    };
    let mut all = parameters.lock();
    let before = all.get(name);
    if before.is_some() && request["Overwrite"] != true {
        let message =
            "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.";
        return Err(ApiError("ParameterAlreadyExists", message.to_owned()));
    }
    if before.is_none() && all.len() >= PARAMETERS_MAX {
        let message = format!("there are {PARAMETERS_MAX} parameters already");
        return Err(ApiError("ParameterLimitExceeded", message));
    }
    let kind = request["Type"].as_str().map(str::to_owned).or_else(|| before.map(|before| before.kind.clone()));
    let version = before.map_or(1, |before| before.version + 1);
    let kind = kind.unwrap_or_else(|| "String".to_owned());
    all.insert(name.to_owned(), Stored { kind, value, version, modified: Timestamp::now() });
    Ok(json!({ "Version": version, "Tier": "Standard" }))
}

fn delete(
    parameters: &SsmParameters,
    request: &Value,
    allow: impl Fn(&str) -> Result<(), ApiError>,
) -> Result<Value, ApiError> {
    let name = name_of(request)?;
    allow(name)?;
    parameters.lock().remove(name).map(|_| json!({})).ok_or_else(not_found)
}

fn name_of(request: &Value) -> Result<&str, ApiError> {
    let name = request["Name"].as_str().map(plain).filter(|name| !name.is_empty());
    name.ok_or_else(|| ApiError("ValidationException", "Name is missing".to_owned()))
}

/// The name in an ARN, or the name itself.
fn plain(name: &str) -> &str {
    name.split_once(":parameter/").map_or(name, |(arn, _)| &name[arn.len() + ":parameter".len()..])
}

fn not_found() -> ApiError {
    ApiError("ParameterNotFound", "The parameter does not exist.".to_owned())
}

fn decrypts(request: &Value) -> bool {
    request["WithDecryption"] == true
}

fn shown(name: &str, stored: &Stored, decrypts: bool) -> Value {
    let is_hidden = stored.kind == "SecureString" && !decrypts;
    json!({
        "Name": name,
        "Type": stored.kind,
        "Value": if is_hidden { "(encrypted: set WithDecryption)" } else { &stored.value },
        "Version": stored.version,
        "LastModifiedDate": stored.modified.as_second(),
        "ARN": arn_of(name),
        "DataType": "text",
    })
}

/// A parameter's ARN: between `parameter` and the name is exactly one slash.
fn arn_of(name: &str) -> String {
    format!("{}:parameter/{}", arn::of_region("ssm"), name.trim_start_matches('/'))
}
