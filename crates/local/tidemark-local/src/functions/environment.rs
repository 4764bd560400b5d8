//! The environment of a function's process: Lambda's variables, the template's variables, and the
//! SDK's endpoints.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>.

use std::collections::BTreeMap;
use std::path::Path;

use crate::arn;
use crate::dynamodb::Identity;
use crate::stack::Function;

/// Variables of this process that are passed on to the functions.
const PASSED_ON: [&str; 3] = ["RUST_LOG", "RUST_BACKTRACE", "PATH"];

/// The variable that `lambda_kit::outbound` reads. The stack does not depend on the functions'
/// code, so the name is repeated here.
const OUTBOUND_ALLOW: &str = "TIDEMARK_OUTBOUND_ALLOW";

/// The addresses of the services, and the credentials for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// `AWS_ENDPOINT_URL_DYNAMODB` and `AWS_ENDPOINT_URL_DYNAMODB_STREAMS`.
    pub dynamodb: String,
    /// `AWS_ENDPOINT_URL_SECRETS_MANAGER`.
    pub secrets_manager: String,
    /// `AWS_ENDPOINT_URL_LAMBDA`.
    pub lambda: String,
    /// `AWS_ENDPOINT_URL_SQS`.
    pub sqs: String,
    /// `AWS_ENDPOINT_URL_SESV2`.
    pub ses: String,
    /// `AWS_ENDPOINT_URL_EVENTBRIDGE`.
    pub eventbridge: String,
    /// `AWS_ENDPOINT_URL_SNS`.
    pub sns: String,
    /// `AWS_ENDPOINT_URL_S3`, if the template has buckets.
    pub s3: Option<String>,
    /// `AWS_ENDPOINT_URL_KINESIS`, if the template has streams.
    pub kinesis: Option<String>,
    /// `AWS_ENDPOINT_URL_SSM`.
    pub ssm: String,
    /// `AWS_ENDPOINT_URL`: all other services.
    pub others: String,
    /// `TIDEMARK_OUTBOUND_ALLOW`: non-public addresses that functions may call.
    pub outbound_allow: Option<String>,
    /// `AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI`, if there is a WebSocket API. It replaces the
    /// template's value, which is the address on AWS.
    pub connections: Option<String>,
    /// The variables with which a process reaches AWS's domain names on this machine. They are not
    /// [`portable`].
    pub aws_domains: BTreeMap<String, String>,
    /// Region and credentials for the services. With the embedded engine, each function has its own
    /// access key instead.
    pub identity: Identity,
}

impl Endpoints {
    /// The endpoints of a stack's services at `http`, with its DynamoDB at `dynamodb`.
    pub fn of_stack(http: &str, dynamodb: &str, identity: Identity) -> Self {
        let at = |path: &str| format!("{http}{path}");
        Self {
            dynamodb: dynamodb.to_owned(),
            secrets_manager: at(crate::secrets::PATH),
            lambda: http.to_owned(),
            sqs: at(crate::queues::PATH),
            ses: at(crate::mail::PATH),
            eventbridge: at(crate::eventbridge::api::PATH),
            sns: at(crate::sns::api::PATH),
            ssm: at(crate::ssm::PATH),
            others: at(crate::other_services::PATH),
            s3: None,
            kinesis: None,
            outbound_allow: None,
            connections: None,
            aws_domains: BTreeMap::new(),
            identity,
        }
    }
}

/// The variables that a function needs when another program starts it, such as `cargo lambda
/// watch`: the template's variables, and the addresses and credentials of the services. All
/// functions share them, so the access key belongs to no function, and no role is enforced.
pub fn portable(function: &Function, endpoints: &Endpoints) -> BTreeMap<String, String> {
    let is_portable = |name: &str| {
        let is_lambdas = name.starts_with("AWS_LAMBDA_") || name == "AWS_EXECUTION_ENV";
        function.environment.contains_key(name) || (name.starts_with("AWS_") && !is_lambdas) || name == OUTBOUND_ALLOW
    };
    let mut all = variables(function, endpoints, Path::new(""), 0);
    all.insert("AWS_ACCESS_KEY_ID".to_owned(), endpoints.identity.access_key_id.clone());
    all.into_iter().filter(|(name, _)| is_portable(name)).collect()
}

/// All variables of one instance, except `AWS_LAMBDA_RUNTIME_API`.
///
/// The variables that Lambda reserves override the template's.
pub fn variables(
    function: &Function,
    endpoints: &Endpoints,
    task_root: &Path,
    instance: u64,
) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for name in PASSED_ON {
        if let Ok(value) = std::env::var(name) {
            variables.insert(name.to_owned(), value);
        }
    }
    // Lambda's image has one bundle of root certificates. A system may also have a folder with one
    // file per certificate; reading that folder takes half of a function's start time.
    if let Some(bundle) = openssl_probe::probe().cert_file {
        variables.insert("SSL_CERT_FILE".to_owned(), bundle.to_string_lossy().into_owned());
    }
    // Lambda does not reserve these.
    for (name, value) in [("NO_COLOR", "1"), ("TZ", ":UTC"), ("LANG", "en_US.UTF-8")] {
        variables.insert(name.to_owned(), value.to_owned());
    }
    variables.extend(function.environment.clone());
    let task_root = task_root.to_string_lossy().into_owned();
    variables.extend(of_services(endpoints));
    let own = [
        ("AWS_LAMBDA_FUNCTION_NAME", function.name.clone()),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", function.memory_size_mib.to_string()),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
        ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", function.name)),
        ("AWS_LAMBDA_LOG_STREAM_NAME", format!("local/[$LATEST]{instance:08}")),
        // Text, because people read the stack's output. The template selects JSON for CloudWatch.
        ("AWS_LAMBDA_LOG_FORMAT", "Text".to_owned()),
        ("AWS_EXECUTION_ENV", "AWS_Lambda_provided.al2023".to_owned()),
        ("AWS_ACCESS_KEY_ID", endpoints.identity.of_function(&function.name).access_key_id),
        ("LAMBDA_TASK_ROOT", task_root.clone()),
        ("LAMBDA_RUNTIME_DIR", task_root),
        ("_HANDLER", "bootstrap".to_owned()),
    ];
    variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
    variables.extend(endpoints.outbound_allow.clone().map(|allowed| (OUTBOUND_ALLOW.to_owned(), allowed)));
    variables.extend(endpoints.aws_domains.clone());
    variables
}

/// The addresses of the services, the region, and the credentials of a caller that is no function.
pub(crate) fn of_services(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let identity = &endpoints.identity;
    let known = [
        ("AWS_REGION", &*identity.region),
        ("AWS_DEFAULT_REGION", &identity.region),
        ("AWS_ACCESS_KEY_ID", &identity.access_key_id),
        ("AWS_SECRET_ACCESS_KEY", &identity.secret_access_key),
        ("AWS_ACCOUNT_ID", arn::account()),
        // Otherwise the SDK would look for a credentials service on a link-local address.
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_ENDPOINT_URL_DYNAMODB", &endpoints.dynamodb),
        ("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", &endpoints.dynamodb),
        ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &endpoints.secrets_manager),
        ("AWS_ENDPOINT_URL_LAMBDA", &endpoints.lambda),
        ("AWS_ENDPOINT_URL_SQS", &endpoints.sqs),
        ("AWS_ENDPOINT_URL_SESV2", &endpoints.ses),
        ("AWS_ENDPOINT_URL_EVENTBRIDGE", &endpoints.eventbridge),
        ("AWS_ENDPOINT_URL_SNS", &endpoints.sns),
        ("AWS_ENDPOINT_URL_SSM", &endpoints.ssm),
        ("AWS_ENDPOINT_URL", &endpoints.others),
    ];
    let optional = [
        ("AWS_SESSION_TOKEN", &identity.session_token),
        ("AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI", &endpoints.connections),
        ("AWS_ENDPOINT_URL_S3", &endpoints.s3),
        ("AWS_ENDPOINT_URL_KINESIS", &endpoints.kinesis),
    ];
    let optional = optional.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    known.into_iter().chain(optional).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_time_zone_and_language_replace_lambdas() {
        let of = |own: &str| {
            let yaml = format!(
                "Resources: {{ F: {{ Type: AWS::Serverless::Function, Properties: {{ Runtime: provided.al2023, Environment: {{ Variables: {own} }} }} }} }}"
            );
            let stack = crate::template::read(&yaml, &BTreeMap::new()).expect("a template").stack;
            let endpoints = Endpoints::of_stack("http://stack", "http://engine", Identity::local());
            let all = variables(&stack.functions[0], &endpoints, Path::new("/task"), 0);
            ["TZ", "LANG", "NO_COLOR", "LAMBDA_TASK_ROOT"].map(|name| all[name].clone())
        };
        assert_eq!(of("{ A: b }"), [":UTC", "en_US.UTF-8", "1", "/task"]);
        let own = "{ TZ: Europe/Berlin, LANG: de_DE.UTF-8, NO_COLOR: '', LAMBDA_TASK_ROOT: /other }";
        assert_eq!(of(own), ["Europe/Berlin", "de_DE.UTF-8", "", "/task"]);
    }
}
