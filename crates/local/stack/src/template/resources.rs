//! The types of resources: which have a part on this machine, and what a reference to each gives.

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

/// The HTTP API that SAM makes for functions whose HTTP events name none.
pub const IMPLICIT_HTTP_API: &str = "ServerlessHttpApi";

/// Types that exist in the cloud alone, and why nothing is missing here without them. What ends with colons is a prefix.
const CLOUD_ONLY: [&str; 20] = [
    // Functions log to the terminal.
    "AWS::Logs::LogGroup",
    "AWS::Logs::MetricFilter",
    "AWS::Logs::ResourcePolicy",
    // Nobody is on call for a laptop, and no metrics are kept to draw.
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::SNS::Topic",
    "AWS::SNS::TopicPolicy",
    "AWS::SNS::Subscription",
    // The page is served from its folder, on the API's own origin.
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::CloudFront::",
    "AWS::WAFv2::WebACL",
    "AWS::Budgets::Budget",
    "AWS::Route53::RecordSet",
    "AWS::CertificateManager::Certificate",
    // Every change of the template is deployed by starting the stack.
    "AWS::ApiGatewayV2::Deployment",
    // Only functions are held to what they may do, by their roles; what calls them is the stack.
    "AWS::Lambda::Permission",
    "AWS::SQS::QueuePolicy",
    "AWS::KMS::",
];

/// What becomes of a resource of some type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceSupport {
    /// It has a part here.
    Local,
    /// It is looked through for mistakes, no more.
    Cloud,
    /// Nobody has thought about it yet.
    Unknown,
}

/// Where a resource of the type belongs.
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

/// The physical name of a resource: the property that names it, or one made from its logical id, as CloudFormation does.
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

/// What `Ref` gives.
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

/// What `GetAtt` gives.
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
        // The six characters that Secrets Manager appends are random there, and the same every time here.
        (SECRET, "Id") => Some(format!("arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:{}-local1", name()?)),
        _ => None,
    }
}
