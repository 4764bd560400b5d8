//! The part of Secrets Manager that functions use. Generated values are stored in the data folder.
//!
//! No value is printed, except a token at the start that generates it, for the person who starts
//! the stack.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::actions;
use crate::json_protocol::{self, ApiError};
use crate::policies::{Policies, Request};
use crate::private_files;
use crate::secret_value::SecretValue;
use crate::stack::Secret;

/// The path of the endpoint on the stack's port.
pub const PATH: &str = "/_local/secretsmanager";

/// Minimum length of a secret that functions accept: `SECRET_CHARS_MIN` of `lambda-kit`, on which
/// this crate does not depend.
const SECRET_CHARS_MIN: usize = 20;

/// The secrets that people need: each with the name of the flag that sets it.
pub const TOKENS: [(&str, &str); 3] = [
    ("StaffTokenSecret", "staff-token"),
    ("OperatorTokenSecret", "operator-token"),
    ("HealthTokenSecret", "health-token"),
];

/// All secrets of a stack, with their values.
#[derive(Debug)]
pub struct Secrets {
    by_id: BTreeMap<String, Arc<Stored>>,
    tokens: Vec<(&'static str, TokenSource)>,
}

/// The origin of a token in this start.
#[derive(Clone, PartialEq, Eq)]
pub enum TokenSource {
    /// The command line or the environment.
    Given,
    /// Generated in this start, the only one that shows it.
    Generated(String),
    /// This file, written by an earlier start.
    FromFile(PathBuf),
}

impl std::fmt::Debug for TokenSource {
    /// Omits the value, so that it never appears in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Given => "Given",
            Self::Generated(_) => "Generated",
            Self::FromFile(_) => "FromFile",
        })
    }
}

struct Stored {
    secret: Secret,
    /// `None` for a secret without a value.
    value: Option<String>,
    created: Timestamp,
}

impl std::fmt::Debug for Stored {
    /// Omits the value, so that it never appears in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored").field("secret", &self.secret).finish_non_exhaustive()
    }
}

/// Why the secrets cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// A value cannot be read or written.
    #[error("secret at {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The value is too short; its functions would not start.
    #[error("{0} has fewer than {SECRET_CHARS_MIN} characters")]
    TooShort(String),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers: {0}")]
    Random(getrandom::Error),
}

impl Secrets {
    /// Reads the values from `data`, and generates missing ones. A token in `given`, by the name of
    /// its flag, replaces the stored value and is not stored. Without `data`, no value is stored.
    ///
    /// # Errors
    /// [`SecretsError`].
    pub fn open(secrets: &[Secret], data: Option<&Path>, given: &[(&str, &str)]) -> Result<Self, SecretsError> {
        let folder = data.map(|data| data.join("secrets"));
        let (mut by_id, mut tokens) = (BTreeMap::new(), Vec::new());
        for secret in secrets {
            let token = TOKENS.iter().find(|(logical_id, _)| *logical_id == secret.logical_id);
            let given = token.and_then(|(_, flag)| given.iter().find(|(name, _)| name == flag));
            let (value, from) = match given {
                Some((_, value)) => (Some((*value).to_owned()), TokenSource::Given),
                None => read_or_generate(secret, folder.as_deref())?,
            };
            let is_short = |value: &String| value.chars().nth(SECRET_CHARS_MIN - 1).is_none();
            let is_key = matches!(&secret.value, SecretValue::Generated(of) if of.length >= SECRET_CHARS_MIN);
            if (token.is_some() || is_key) && value.as_ref().is_some_and(is_short) {
                return Err(SecretsError::TooShort(setting(secret, token.map(|(_, flag)| *flag), &from)));
            }
            tokens.extend(token.map(|(_, flag)| (*flag, from)));
            let stored = Arc::new(Stored { secret: secret.clone(), value, created: Timestamp::now() });
            for id in [&secret.name, &secret.arn] {
                by_id.insert(id.clone(), Arc::clone(&stored));
            }
        }
        Ok(Self { by_id, tokens })
    }

    /// The origin of each token, by the name of its flag.
    pub fn tokens(&self) -> &[(&'static str, TokenSource)] {
        &self.tokens
    }

    /// The value of a secret, by the ids that `GetSecretValue` accepts.
    pub(crate) fn value(&self, id: &str) -> Option<&str> {
        self.get(id)?.value.as_deref()
    }

    /// Finds a secret by name, by ARN, or by an ARN without its random suffix.
    fn get(&self, id: &str) -> Option<&Stored> {
        let partial =
            || self.by_id.values().find(|stored| stored.secret.arn.rsplit_once('-').is_some_and(|(arn, _)| arn == id));
        self.by_id.get(id).or_else(partial).map(Arc::as_ref)
    }
}

/// The endpoint: `POST` with `X-Amz-Target`, as all clients of the service send it.
pub fn router(secrets: Arc<Secrets>, policies: Arc<Policies>) -> Router {
    Router::new().route(PATH, post(call)).route(&format!("{PATH}/"), post(call)).with_state((secrets, policies))
}

async fn call(
    State((secrets, policies)): State<(Arc<Secrets>, Arc<Policies>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    json_protocol::response(answer(&secrets, &policies, &headers, &body))
}

fn answer(secrets: &Secrets, policies: &Policies, headers: &HeaderMap, body: &[u8]) -> Result<Value, ApiError> {
    let operation = json_protocol::operation(headers);
    json_protocol::check(&actions::SECRETS_MANAGER, operation)?;
    if !["GetSecretValue", "DescribeSecret"].contains(&operation) {
        return Err(json_protocol::unknown(&actions::SECRETS_MANAGER, operation));
    }
    let request = json_protocol::request(body)?;
    let missing = |what: &str| {
        ApiError("ResourceNotFoundException", format!("Secrets Manager can't find the specified secret{what}"))
    };
    let id = request.get("SecretId").and_then(Value::as_str).unwrap_or_default();
    let stored = secrets.get(id).ok_or_else(|| missing("."))?;
    let (arn, name, created) = (&stored.secret.arn, &stored.secret.name, stored.created.as_second());
    let asked = Request { action: format!("secretsmanager:{operation}"), resource: arn.clone(), ..Request::default() };
    policies.allow_signed(headers, &asked).map_err(|sentence| ApiError("AccessDeniedException", sentence))?;
    if operation == "DescribeSecret" {
        return Ok(json!({
            "ARN": arn,
            "Name": name,
            "CreatedDate": created,
            "VersionIdsToStages": { VERSION_ID: ["AWSCURRENT"] },
        }));
    }
    let value = stored.value.as_ref().ok_or_else(|| missing(" value for staging label: AWSCURRENT"))?;
    Ok(json!({
        "ARN": arn,
        "Name": name,
        "SecretString": value,
        "VersionId": VERSION_ID,
        "VersionStages": ["AWSCURRENT"],
        "CreatedDate": created,
    }))
}

/// The version id of every local secret.
const VERSION_ID: &str = "00000000-0000-4000-8000-000000000001";

fn read_or_generate(secret: &Secret, folder: Option<&Path>) -> Result<(Option<String>, TokenSource), SecretsError> {
    let password = match &secret.value {
        SecretValue::Given(text) => return Ok((Some(text.clone()), TokenSource::Given)),
        SecretValue::Missing => return Ok((None, TokenSource::Given)),
        SecretValue::Generated(password) => password,
    };
    let value = || {
        let value = password.generate().map_err(SecretsError::Random)?;
        Ok((Some(value.clone()), TokenSource::Generated(value)))
    };
    let Some(folder) = folder else { return value() };
    let path = folder.join(&secret.logical_id);
    let failed = |source| SecretsError::Io { path: path.clone(), source };
    match std::fs::read_to_string(&path) {
        Ok(value) if !value.is_empty() && password.fits(&value) => {
            return Ok((Some(value), TokenSource::FromFile(path)));
        }
        Ok(_) => {}
        Err(missing) if missing.kind() == std::io::ErrorKind::NotFound => {}
        Err(other) => return Err(failed(other)),
    }
    let (value, made) = value()?;
    private_files::folder(folder).map_err(failed)?;
    let mut file = private_files::empty_file(&path).map_err(failed)?;
    file.write_all(value.as_deref().unwrap_or_default().as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok((value, made))
}

/// The setting or file in which the value can be changed.
fn setting(secret: &Secret, flag: Option<&str>, from: &TokenSource) -> String {
    match (from, flag) {
        (TokenSource::Given, Some(flag)) => {
            format!("the token of --{flag} / TIDEMARK_{}", flag.replace('-', "_").to_uppercase())
        }
        (TokenSource::FromFile(path), _) => format!("the secret in {}", path.display()),
        _ => format!("the secret {}", secret.name),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::secret_value::Password;

    fn secret(logical_id: &str) -> Secret {
        let name = format!("tidemark/local/{logical_id}");
        let arn = format!("arn:aws:secretsmanager:us-east-1:000000000000:secret:{name}-AbCdEf");
        let kinds = Password::kinds(|property| property == "ExcludePunctuation", false, "");
        let password = Password { length: 40, kinds, has_each_kind: true, template: None };
        Secret { logical_id: logical_id.to_owned(), name, arn, value: SecretValue::Generated(password) }
    }

    #[test]
    fn secret_is_generated_once_and_readable_by_its_owner_only() {
        let data = tempfile::tempdir().expect("a folder");
        let secrets = [secret("StaffTokenSecret"), secret("CursorKeySecret")];
        let first = Secrets::open(&secrets, Some(data.path()), &[]).expect("opened");
        let [("staff-token", TokenSource::Generated(token))] = first.tokens() else { panic!("not made") };
        assert_eq!(token.len(), 40);
        assert!(token.chars().all(|c| c.is_ascii_alphanumeric()));
        let again = Secrets::open(&secrets, Some(data.path()), &[]).expect("opened");
        assert_eq!(
            again.tokens(),
            [("staff-token", TokenSource::FromFile(data.path().join("secrets/StaffTokenSecret")))]
        );
        assert_eq!(again.get("tidemark/local/StaffTokenSecret").expect("there").value.as_ref(), Some(token));
        assert_ne!(again.get("tidemark/local/CursorKeySecret").expect("there").value.as_ref(), Some(token));
        let mode =
            std::fs::metadata(data.path().join("secrets/StaffTokenSecret")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn given_token_replaces_the_stored_one_and_is_not_stored() {
        let data = tempfile::tempdir().expect("a folder");
        let token = "the token that was given";
        let given = [("health-token", "another one of that length"), ("staff-token", token)];
        let secrets = Secrets::open(&[secret("StaffTokenSecret")], Some(data.path()), &given).expect("opened");
        assert_eq!(secrets.get("tidemark/local/StaffTokenSecret").expect("there").value.as_deref(), Some(token));
        assert_eq!(secrets.tokens(), [("staff-token", TokenSource::Given)]);
        assert!(!data.path().join("secrets").exists());
    }

    #[test]
    fn short_token_is_rejected_with_the_name_of_its_setting() {
        let data = tempfile::tempdir().expect("a folder");
        let secrets = [secret("HealthTokenSecret")];
        let refused = |data: Option<&Path>, given: &[(&str, &str)]| {
            Secrets::open(&secrets, data, given).expect_err("too short").to_string()
        };
        let said = refused(None, &[("health-token", "nineteen characters")]);
        assert_eq!(said, "the token of --health-token / TIDEMARK_HEALTH_TOKEN has fewer than 20 characters");
        let kept = data.path().join("secrets/HealthTokenSecret");
        std::fs::create_dir(data.path().join("secrets")).and_then(|()| std::fs::write(&kept, "short")).expect("kept");
        let said = refused(Some(data.path()), &[]);
        assert_eq!(said, format!("the secret in {} has fewer than 20 characters", kept.display()));
        assert!(Secrets::open(&secrets, None, &[("health-token", "this one has twenty.")]).is_ok());
    }

    #[test]
    fn secret_is_found_by_name_arn_or_partial_arn() {
        let secrets = Secrets::open(&[secret("A")], None, &[]).expect("opened");
        let arn = secret("A").arn;
        for id in ["tidemark/local/A", &arn, arn.strip_suffix("-AbCdEf").expect("a suffix")] {
            assert!(secrets.get(id).is_some(), "{id}");
        }
        assert!(secrets.get("tidemark/local/B").is_none());
        assert!(secrets.get("").is_none());
    }

    #[test]
    fn no_value_appears_in_debug_output() {
        let secrets = Secrets::open(&[secret("StaffTokenSecret")], None, &[]).expect("opened");
        let value =
            secrets.get("tidemark/local/StaffTokenSecret").and_then(|stored| stored.value.as_ref()).expect("there");
        assert!(!format!("{secrets:?}").contains(value.as_str()));
    }
}
