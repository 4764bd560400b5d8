//! Resource types: the supported ones, and the values of references to them.

use std::collections::BTreeSet;

use super::intrinsics::Resolver;
use super::yaml::Node;
use crate::arn::{self, ACCOUNT, REGION};

pub(super) const TABLE: &str = "AWS::DynamoDB::Table";
pub(super) const FUNCTION: &str = "AWS::Serverless::Function";
pub(super) const HTTP_API: &str = "AWS::Serverless::HttpApi";
pub(super) const SECRET: &str = "AWS::SecretsManager::Secret";
pub(super) const QUEUE: &str = "AWS::SQS::Queue";
pub(super) const ROLE: &str = "AWS::IAM::Role";
pub(super) const MANAGED_POLICY: &str = "AWS::IAM::ManagedPolicy";
pub(super) const SOCKET_API: &str = "AWS::ApiGatewayV2::Api";
pub(super) const SOCKET_INTEGRATION: &str = "AWS::ApiGatewayV2::Integration";
pub(super) const SOCKET_RESPONSE: &str = "AWS::ApiGatewayV2::RouteResponse";
pub(super) const SOCKET_ROUTE: &str = "AWS::ApiGatewayV2::Route";
pub(super) const SOCKET_STAGE: &str = "AWS::ApiGatewayV2::Stage";

/// The HTTP API that SAM generates for functions whose HTTP events name none.
pub const IMPLICIT_HTTP_API: &str = "ServerlessHttpApi";

/// Types that exist only on AWS, with the reason why this machine does not need them. A type that
/// ends with colons is a prefix.
const CLOUD_ONLY: [&str; 20] = [
    // Functions log to the terminal.
    "AWS::Logs::LogGroup",
    "AWS::Logs::MetricFilter",
    "AWS::Logs::ResourcePolicy",
    // Nobody is on call for a laptop, and the metrics are on a page of the stack.
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SNS::Subscription",
    // The page is served from its folder, with the API's origin.
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::CloudFront::",
    "AWS::WAFv2::WebACL",
    "AWS::Budgets::Budget",
    "AWS::Route53::RecordSet",
    "AWS::CertificateManager::Certificate",
    // Starting the stack deploys every change of the template.
    "AWS::ApiGatewayV2::Deployment",
    // Roles are enforced for functions only; the stack itself is the caller of functions.
    "AWS::Lambda::Permission",
    "AWS::SQS::QueuePolicy",
    "AWS::KMS::",
];

/// How a resource type is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceSupport {
    /// It runs on this machine.
    Local,
    /// It is only checked for errors.
    Cloud,
    /// It is neither supported nor on the list.
    Unknown,
}

/// How a resource of this type is handled.
pub(super) fn support(kind: &str) -> ResourceSupport {
    match kind {
        TABLE | FUNCTION | HTTP_API | SECRET | QUEUE | ROLE | MANAGED_POLICY => ResourceSupport::Local,
        SOCKET_API | SOCKET_INTEGRATION | SOCKET_RESPONSE | SOCKET_ROUTE | SOCKET_STAGE => ResourceSupport::Local,
        _ if CLOUD_ONLY.iter().any(|known| kind == *known || known.ends_with("::") && kind.starts_with(known)) => {
            ResourceSupport::Cloud
        }
        _ => ResourceSupport::Unknown,
    }
}

/// Logical ids that SAM adds: a role for each function without one, the implicit API and its stage.
pub(super) fn generated(resources: &[(String, Node)]) -> BTreeSet<String> {
    let functions =
        resources.iter().filter(|(_, resource)| resource.get("Type").and_then(Node::as_text) == Some(FUNCTION));
    let mut ids = BTreeSet::new();
    for (id, function) in functions {
        let properties = function.get("Properties");
        if properties.is_none_or(|properties| properties.get("Role").is_none()) {
            ids.insert(format!("{id}Role"));
        }
        if properties.and_then(|properties| properties.get("Events")).is_some_and(uses_implicit_api) {
            ids.insert(IMPLICIT_HTTP_API.to_owned());
            ids.insert(format!("{IMPLICIT_HTTP_API}ApiGatewayDefaultStage"));
        }
    }
    ids
}

fn uses_implicit_api(events: &Node) -> bool {
    events.entries().iter().any(|(_, event)| {
        let own = event.get("Properties").and_then(|properties| properties.get("ApiId"));
        event.get("Type").and_then(Node::as_text) == Some("HttpApi") && own.is_none()
    })
}

/// The physical name of a resource: its name property, or a name derived from its logical id, as in
/// CloudFormation.
pub(super) fn name(resolver: &Resolver<'_>, id: &str, kind: &str, resource: &Node) -> Option<String> {
    let property = match kind {
        TABLE => "TableName",
        FUNCTION => "FunctionName",
        QUEUE => "QueueName",
        SECRET => "Name",
        ROLE => "RoleName",
        MANAGED_POLICY => "ManagedPolicyName",
        _ => return None,
    };
    match resource.get("Properties").and_then(|properties| properties.get(property)) {
        Some(name) => resolver.text(name),
        None => Some(format!("{}-{id}", super::STACK_NAME)),
    }
}

/// The value of `Ref`.
pub(super) fn reference(resolver: &Resolver<'_>, id: &str, kind: &str, resource: &Node) -> Option<String> {
    match kind {
        TABLE | FUNCTION | ROLE => name(resolver, id, kind, resource),
        HTTP_API | SOCKET_API | SOCKET_INTEGRATION | SOCKET_ROUTE => Some(id.to_owned()),
        SOCKET_STAGE => resolver.text(resource.get("Properties")?.get("StageName")?),
        QUEUE => Some(format!("https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{}", name(resolver, id, kind, resource)?)),
        SECRET => attribute(resolver, id, kind, resource, "Id"),
        MANAGED_POLICY => Some(format!("{}:policy/{}", arn::of_account("iam"), name(resolver, id, kind, resource)?)),
        _ => None,
    }
}

/// The value of `GetAtt`.
pub(super) fn attribute(
    resolver: &Resolver<'_>,
    id: &str,
    kind: &str,
    resource: &Node,
    attribute: &str,
) -> Option<String> {
    let name = || name(resolver, id, kind, resource);
    match (kind, attribute) {
        (TABLE, "Arn") => Some(format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{}", name()?)),
        (FUNCTION, "Arn") => Some(arn::function(&name()?)),
        (ROLE, "Arn") => Some(format!("{}:role/{}", arn::of_account("iam"), name()?)),
        (QUEUE, "Arn") => Some(format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{}", name()?)),
        (QUEUE, "QueueName") => name(),
        (SOCKET_API, "ApiId") => Some(id.to_owned()),
        (SOCKET_API, "ApiEndpoint") => Some(format!("wss://{}", arn::socket_domain(id))),
        (QUEUE, "QueueUrl") => reference(resolver, id, kind, resource),
        // Secrets Manager appends six random characters; here they are always the same.
        (SECRET, "Id") => Some(format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{}-local1", name()?)),
        _ => None,
    }
}
