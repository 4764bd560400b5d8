//! Resource types: the supported ones, and the values of references to them.

use std::collections::BTreeMap;

use super::intrinsics::Resolver;
use super::yaml::Node;
use crate::arn;
use crate::eventbridge::{DEFAULT_BUS, bus_arn, bus_name};

pub(super) const TABLE: &str = "AWS::DynamoDB::Table";
pub(super) const GLOBAL_TABLE: &str = "AWS::DynamoDB::GlobalTable";
pub(super) const SIMPLE_TABLE: &str = "AWS::Serverless::SimpleTable";
pub(super) const FUNCTION: &str = "AWS::Serverless::Function";
/// CloudFormation's function, which is read as SAM's.
pub(super) const CLOUD_FUNCTION: &str = "AWS::Lambda::Function";
pub(super) const HTTP_API: &str = "AWS::Serverless::HttpApi";
pub(super) const REST_API: &str = "AWS::Serverless::Api";
pub(super) const EVENT_SOURCE_MAPPING: &str = "AWS::Lambda::EventSourceMapping";
pub(super) const LAMBDA_URL: &str = "AWS::Lambda::Url";
pub(super) const SCHEDULE: &str = "AWS::Scheduler::Schedule";
pub(super) const SSM_PARAMETER: &str = "AWS::SSM::Parameter";
pub(super) const LISTENER: &str = "AWS::ElasticLoadBalancingV2::Listener";
pub(super) const LISTENER_RULE: &str = "AWS::ElasticLoadBalancingV2::ListenerRule";
pub(super) const TARGET_GROUP: &str = "AWS::ElasticLoadBalancingV2::TargetGroup";
pub(super) const SECRET: &str = "AWS::SecretsManager::Secret";
pub(super) const QUEUE: &str = "AWS::SQS::Queue";
pub(super) const KINESIS_STREAM: &str = "AWS::Kinesis::Stream";
pub(super) const BUCKET: &str = "AWS::S3::Bucket";
pub(super) const ROLE: &str = "AWS::IAM::Role";
pub(super) const POLICY: &str = "AWS::IAM::Policy";
pub(super) const MANAGED_POLICY: &str = "AWS::IAM::ManagedPolicy";
pub(super) const EVENT_BUS: &str = "AWS::Events::EventBus";
pub(super) const EVENT_RULE: &str = "AWS::Events::Rule";
pub(super) const TOPIC: &str = "AWS::SNS::Topic";
pub(super) const SUBSCRIPTION: &str = "AWS::SNS::Subscription";
pub(super) const NESTED_STACK: &str = "AWS::CloudFormation::Stack";
pub(super) const APPLICATION: &str = "AWS::Serverless::Application";
pub(super) const GATEWAY_REST: &str = "AWS::ApiGateway::RestApi";
pub(super) const REST_RESOURCE: &str = "AWS::ApiGateway::Resource";
pub(super) const REST_METHOD: &str = "AWS::ApiGateway::Method";
pub(super) const REST_DEPLOYMENT: &str = "AWS::ApiGateway::Deployment";
pub(super) const REST_STAGE: &str = "AWS::ApiGateway::Stage";
pub(super) const REST_AUTHORIZER: &str = "AWS::ApiGateway::Authorizer";
pub(super) const REST_VALIDATOR: &str = "AWS::ApiGateway::RequestValidator";
pub(super) const REST_MODEL: &str = "AWS::ApiGateway::Model";
pub(super) const REST_RESPONSE: &str = "AWS::ApiGateway::GatewayResponse";
pub(super) const GATEWAY_API: &str = "AWS::ApiGatewayV2::Api";
pub(super) const GATEWAY_AUTHORIZER: &str = "AWS::ApiGatewayV2::Authorizer";
pub(super) const GATEWAY_INTEGRATION: &str = "AWS::ApiGatewayV2::Integration";
pub(super) const GATEWAY_RESPONSE: &str = "AWS::ApiGatewayV2::RouteResponse";
pub(super) const GATEWAY_ROUTE: &str = "AWS::ApiGatewayV2::Route";
pub(super) const GATEWAY_STAGE: &str = "AWS::ApiGatewayV2::Stage";

/// The metadata in which the CDK names the file or folder of an asset.
pub(super) const ASSET_PATH: &str = "aws:asset:path";

/// The id of the resource `/` of each REST API.
pub(super) const ROOT_RESOURCE: &str = "root";

/// The HTTP API that SAM generates for functions whose HTTP events name none.
pub(super) const IMPLICIT_HTTP_API: &str = "ServerlessHttpApi";

/// The REST API that SAM generates for functions whose `Api` events name none, and its stage.
pub(super) const IMPLICIT_REST_API: &str = "ServerlessRestApi";
pub(super) const IMPLICIT_STAGE: &str = "Prod";

/// Types that exist only on AWS, with the reason why this machine does not need them. A type that
/// ends with colons is a prefix.
const CLOUD_ONLY: [&str; 22] = [
    // Functions log to the terminal.
    "AWS::Logs::LogGroup",
    "AWS::Logs::MetricFilter",
    "AWS::Logs::ResourcePolicy",
    // Nobody is on call for a laptop, and the metrics are on a page of the stack.
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::SNS::TopicPolicy",
    "AWS::Events::EventBusPolicy",
    // The page is served from its folder, with the API's origin.
    "AWS::S3::BucketPolicy",
    "AWS::CloudFront::",
    "AWS::WAFv2::WebACL",
    "AWS::Budgets::Budget",
    "AWS::Route53::RecordSet",
    "AWS::CertificateManager::Certificate",
    // Starting the stack deploys every change of the template.
    "AWS::ApiGatewayV2::Deployment",
    // Names, keys and documentation of REST APIs; a method that needs a key is a warning.
    "AWS::ApiGateway::",
    "AWS::CDK::Metadata",
    // Roles are enforced for functions only; the stack itself is the caller of functions.
    "AWS::Lambda::Permission",
    "AWS::SQS::QueuePolicy",
    "AWS::KMS::",
    // Listeners are APIs on this machine.
    "AWS::ElasticLoadBalancingV2::",
    // A mapping reads the stream itself.
    "AWS::Kinesis::StreamConsumer",
];

/// Types that invoke functions or decide on their requests, with a way out. Without such a
/// resource, functions would not see what they see on AWS.
const REFUSED: [(&str, &str); 8] = [
    ("AWS::Pipes::Pipe", "write it as an event of the function"),
    (APPLICATION, "its Location must be a template on this machine"),
    (NESTED_STACK, "its TemplateURL must be a template on this machine"),
    ("AWS::Serverless::Connector", "write the permission in Policies of the function"),
    ("AWS::Serverless::StateMachine", "invoke its functions through the Invoke API"),
    ("AWS::StepFunctions::StateMachine", "invoke its functions through the Invoke API"),
    ("AWS::Serverless::GraphQLApi", "invoke its functions through the Invoke API"),
    ("AWS::AppSync::GraphQLApi", "invoke its functions through the Invoke API"),
];

/// How a resource type is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResourceSupport {
    /// It runs on this machine.
    Local,
    /// It is only checked for errors.
    Cloud,
    /// It is left out, with a warning.
    Unknown,
    /// Functions would notice its absence; the text is a way out.
    Refused(&'static str),
}

/// How a resource of this type is handled.
pub(super) fn support(kind: &str) -> ResourceSupport {
    match kind {
        TABLE | SIMPLE_TABLE | FUNCTION | HTTP_API | REST_API | SECRET | QUEUE | ROLE | MANAGED_POLICY | POLICY => {
            ResourceSupport::Local
        }
        GATEWAY_API | GATEWAY_AUTHORIZER | GATEWAY_INTEGRATION | GATEWAY_RESPONSE | GATEWAY_ROUTE | GATEWAY_STAGE => {
            ResourceSupport::Local
        }
        EVENT_SOURCE_MAPPING | LAMBDA_URL | SCHEDULE | SSM_PARAMETER => ResourceSupport::Local,
        GATEWAY_REST | REST_RESOURCE | REST_METHOD | REST_DEPLOYMENT | REST_STAGE | REST_AUTHORIZER
        | REST_VALIDATOR | REST_MODEL | REST_RESPONSE => ResourceSupport::Local,
        BUCKET | KINESIS_STREAM | EVENT_BUS | EVENT_RULE | TOPIC | SUBSCRIPTION => ResourceSupport::Local,
        _ if CLOUD_ONLY.iter().any(|known| kind == *known || known.ends_with("::") && kind.starts_with(known)) => {
            ResourceSupport::Cloud
        }
        _ => match REFUSED.iter().find(|(refused, _)| kind == *refused) {
            Some((_, instead)) => ResourceSupport::Refused(instead),
            None => ResourceSupport::Unknown,
        },
    }
}

/// A resource that SAM adds to a template.
#[derive(Debug)]
pub(super) struct Generated {
    /// The value of `Ref`.
    pub(super) reference: String,
    /// The values of `GetAtt`.
    pub(super) attributes: Vec<(&'static str, String)>,
}

/// The resources that SAM adds: a role for each function without one, implicit APIs, stages,
/// versions, aliases and URLs.
///
/// Source: <https://github.com/aws/serverless-application-model/blob/develop/docs/internals/generated_resources.rst>.
pub(super) fn generated(resolver: &Resolver<'_>) -> BTreeMap<String, Generated> {
    let mut all = BTreeMap::new();
    let mut add = |id: String, reference: String, attributes: Vec<(&'static str, String)>| {
        all.insert(id, Generated { reference, attributes });
    };
    for (id, resource) in resolver.resources {
        let kind = resource.get("Type").and_then(Node::as_text);
        let property = |name: &str| resource.get("Properties").and_then(|properties| properties.get(name));
        match kind {
            Some(FUNCTION) => {
                let function_arn = || arn::function(&name(resolver, id, FUNCTION, resource).unwrap_or_default());
                if property("Role").is_none() {
                    let name = format!("{}-{id}Role", arn::stack_name());
                    let arn = format!("{}:role/{name}", arn::of_account("iam"));
                    add(format!("{id}Role"), name, vec![("Arn", arn)]);
                }
                if property("FunctionUrlConfig").is_some() {
                    let url = vec![("FunctionUrl", format!("https://{}/", arn::function_url_domain(id)))];
                    add(format!("{id}Url"), function_arn(), url);
                }
                if let Some(alias) = property("AutoPublishAlias").and_then(|alias| resolver.text(alias)) {
                    let version = format!("{}:1", function_arn());
                    let qualified = format!("{}:{alias}", function_arn());
                    add(format!("{id}Version"), version, vec![("Version", "1".to_owned())]);
                    add(format!("{id}Alias{alias}"), qualified.clone(), Vec::new());
                    add(format!("{id}Alias"), qualified, Vec::new());
                }
                for (_, event) in property("Events").map(Node::entries).unwrap_or_default() {
                    let has = |name| event.get("Properties").and_then(|own| own.get(name)).is_some();
                    match event.get("Type").and_then(Node::as_text) {
                        Some("HttpApi") if !has("ApiId") => {
                            let endpoint =
                                vec![("ApiEndpoint", format!("https://{}", arn::api_domain(IMPLICIT_HTTP_API)))];
                            add(IMPLICIT_HTTP_API.to_owned(), IMPLICIT_HTTP_API.to_owned(), endpoint);
                            let stage = format!("{IMPLICIT_HTTP_API}ApiGatewayDefaultStage");
                            add(stage, "$default".to_owned(), Vec::new());
                        }
                        Some("Api") if !has("RestApiId") => {
                            let root = vec![("RootResourceId", ROOT_RESOURCE.to_owned())];
                            add(IMPLICIT_REST_API.to_owned(), IMPLICIT_REST_API.to_owned(), root);
                            for stage in ["ProdStage", "Stage"] {
                                add(format!("{IMPLICIT_REST_API}{stage}"), IMPLICIT_STAGE.to_owned(), Vec::new());
                            }
                        }
                        _ => {}
                    }
                }
            }
            Some(REST_API | HTTP_API) => {
                let stage = property("StageName").and_then(Node::as_text);
                add(format!("{id}Stage"), stage.unwrap_or("$default").to_owned(), Vec::new());
                add(format!("{id}Deployment"), format!("{id}Deployment"), Vec::new());
            }
            _ => {}
        }
    }
    all
}

/// The physical name of a resource: its name property, or a name derived from its logical id, as in
/// CloudFormation.
pub(super) fn name(resolver: &Resolver<'_>, id: &str, kind: &str, resource: &Node) -> Option<String> {
    let property = match kind {
        TABLE | SIMPLE_TABLE => "TableName",
        FUNCTION => "FunctionName",
        QUEUE => "QueueName",
        BUCKET => "BucketName",
        SECRET | EVENT_BUS | EVENT_RULE | KINESIS_STREAM | SSM_PARAMETER | SCHEDULE => "Name",
        TOPIC => "TopicName",
        ROLE => "RoleName",
        MANAGED_POLICY => "ManagedPolicyName",
        _ => return None,
    };
    let own = resource.get("Properties").and_then(|properties| properties.get(property));
    // A name may be `AWS::NoValue`.
    own.and_then(|name| resolver.text(name)).or_else(|| {
        let made_up = format!("{}-{id}", arn::stack_name());
        Some(match kind {
            QUEUE | TOPIC if is_fifo(resolver, kind, resource) => format!("{made_up}.fifo"),
            // A bucket's name is part of a domain name, which has at most 63 characters.
            BUCKET => made_up.to_ascii_lowercase().chars().take(63).collect(),
            _ => made_up,
        })
    })
}

fn is_fifo(resolver: &Resolver<'_>, kind: &str, resource: &Node) -> bool {
    let property = match kind {
        QUEUE => "FifoQueue",
        TOPIC => "FifoTopic",
        _ => return false,
    };
    let fifo = resource.get("Properties").and_then(|properties| properties.get(property));
    fifo.and_then(|fifo| resolver.text(fifo)).as_deref() == Some("true")
}

/// The value of `Ref`.
pub(super) fn reference(resolver: &Resolver<'_>, id: &str, kind: &str, resource: &Node) -> Option<String> {
    match kind {
        TABLE | SIMPLE_TABLE | FUNCTION | ROLE | EVENT_BUS | BUCKET | KINESIS_STREAM | SSM_PARAMETER | SCHEDULE => {
            name(resolver, id, kind, resource)
        }
        EVENT_RULE => {
            let (bus, name) = (event_bus_of(resolver, resource), name(resolver, id, kind, resource)?);
            Some(bus.map_or_else(|| name.clone(), |bus| format!("{bus}|{name}")))
        }
        TOPIC => Some(format!("{}:{}", arn::of_region("sns"), name(resolver, id, kind, resource)?)),
        SUBSCRIPTION => Some(format!("{}:{}-{id}", arn::of_region("sns"), arn::stack_name())),
        HTTP_API | REST_API | GATEWAY_API | GATEWAY_AUTHORIZER | GATEWAY_INTEGRATION | GATEWAY_ROUTE | GATEWAY_REST
        | REST_RESOURCE | REST_METHOD | REST_DEPLOYMENT | REST_AUTHORIZER | REST_VALIDATOR | REST_RESPONSE => {
            Some(id.to_owned())
        }
        REST_MODEL => {
            let name = resource.get("Properties").and_then(|own| own.get("Name"));
            Some(name.and_then(|name| resolver.text(name)).unwrap_or_else(|| id.to_owned()))
        }
        GATEWAY_STAGE | REST_STAGE => resolver.text(resource.get("Properties")?.get("StageName")?),
        QUEUE => Some(crate::queues::url(&name(resolver, id, kind, resource)?)),
        SECRET => attribute(resolver, id, kind, resource, "Id"),
        LAMBDA_URL => resolver.text(resource.get("Properties")?.get("TargetFunctionArn")?),
        EVENT_SOURCE_MAPPING => Some(format!("{}-{id}", arn::stack_name())),
        POLICY => Some(format!("{}-{id}", arn::stack_name())),
        MANAGED_POLICY => Some(format!("{}:policy/{}", arn::of_account("iam"), name(resolver, id, kind, resource)?)),
        // The reference of most types is a name.
        _ if !matches!(support(kind), ResourceSupport::Local) => Some(format!("{}-{id}", arn::stack_name())),
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
        (TABLE | SIMPLE_TABLE, "Arn") => Some(format!("{}:table/{}", arn::of_region("dynamodb"), name()?)),
        (FUNCTION, "Arn") => Some(arn::function(&name()?)),
        (ROLE, "Arn") => Some(format!("{}:role/{}", arn::of_account("iam"), name()?)),
        (BUCKET, "Arn") => Some(format!("arn:aws:s3:::{}", name()?)),
        (BUCKET, "DomainName") => Some(format!("{}.s3.amazonaws.com", name()?)),
        (BUCKET, "RegionalDomainName" | "DualStackDomainName") => {
            Some(format!("{}.s3.{}.amazonaws.com", name()?, arn::region()))
        }
        (BUCKET, "WebsiteURL") => Some(format!("http://{}.s3-website-{}.amazonaws.com", name()?, arn::region())),
        (LAMBDA_URL, "FunctionUrl") => Some(format!("https://{}/", arn::function_url_domain(id))),
        (LAMBDA_URL, "FunctionArn") => reference(resolver, id, kind, resource),
        (EVENT_SOURCE_MAPPING, "Id") => reference(resolver, id, kind, resource),
        (EVENT_SOURCE_MAPPING, "EventSourceMappingArn") => Some(made_up(id, kind, attribute)),
        (SCHEDULE, "Arn") => {
            let group = resource.get("Properties").and_then(|own| own.get("GroupName"));
            let group = group.and_then(|group| resolver.text(group)).unwrap_or_else(|| "default".to_owned());
            Some(format!("{}:schedule/{group}/{}", arn::of_region("scheduler"), name()?))
        }
        (SSM_PARAMETER, "Value" | "Type") => resolver.text(resource.get("Properties")?.get(attribute)?),
        (KINESIS_STREAM, "Arn") => Some(format!("{}:stream/{}", arn::of_region("kinesis"), name()?)),
        ("AWS::Kinesis::StreamConsumer", "ConsumerARN" | "StreamARN") => {
            let stream = resolver.text(resource.get("Properties")?.get("StreamARN")?)?;
            Some(if attribute == "StreamARN" { stream } else { format!("{stream}/consumer/{id}:1") })
        }
        (QUEUE, "Arn") => Some(format!("{}:{}", arn::of_region("sqs"), name()?)),
        (QUEUE, "QueueName") | (TOPIC, "TopicName") | (EVENT_BUS, "Name") => name(),
        (EVENT_BUS, "Arn") => Some(bus_arn(&name()?)),
        (EVENT_RULE, "Arn") => {
            let bus = event_bus_of(resolver, resource).map(|bus| format!("{bus}/")).unwrap_or_default();
            Some(format!("{}:rule/{bus}{}", arn::of_region("events"), name()?))
        }
        (TOPIC, "TopicArn") | (SUBSCRIPTION, "Arn") => reference(resolver, id, kind, resource),
        (GATEWAY_API | HTTP_API, "ApiId") => Some(id.to_owned()),
        (REST_API | GATEWAY_REST, "RootResourceId") => Some(ROOT_RESOURCE.to_owned()),
        (GATEWAY_REST, "RestApiId")
        | (REST_RESOURCE, "ResourceId")
        | (REST_AUTHORIZER, "AuthorizerId")
        | (REST_DEPLOYMENT, "DeploymentId")
        | (REST_VALIDATOR, "RequestValidatorId") => Some(id.to_owned()),
        (HTTP_API, "ApiEndpoint") => Some(format!("https://{}", arn::api_domain(id))),
        (GATEWAY_API, "ApiEndpoint") => {
            let protocol = resource.get("Properties").and_then(|own| own.get("ProtocolType")).and_then(Node::as_text);
            let scheme = if protocol == Some("HTTP") { "https" } else { "wss" };
            Some(format!("{scheme}://{}", arn::api_domain(id)))
        }
        (GATEWAY_AUTHORIZER, "AuthorizerId") => Some(id.to_owned()),
        (QUEUE, "QueueUrl") => reference(resolver, id, kind, resource),
        // Secrets Manager appends six random characters; here they are always the same.
        (SECRET, "Id") => Some(format!("{}:secret:{}-local1", arn::of_region("secretsmanager"), name()?)),
        _ if !matches!(support(kind), ResourceSupport::Local) => Some(made_up(id, kind, attribute)),
        _ => None,
    }
}

/// The name of a rule's bus, unless it is the default bus.
fn event_bus_of(resolver: &Resolver<'_>, rule: &Node) -> Option<String> {
    let bus = resolver.text(rule.get("Properties")?.get("EventBusName")?)?;
    Some(bus_name(&bus).to_owned()).filter(|name| name != DEFAULT_BUS)
}

/// A value for an attribute of a resource that only AWS has: functions get one of the right form.
fn made_up(id: &str, kind: &str, attribute: &str) -> String {
    let name = format!("{}-{id}", arn::stack_name());
    if attribute.ends_with("Arn") {
        let service = kind.split("::").nth(1).unwrap_or_default().to_ascii_lowercase();
        return format!("{}:{name}", arn::of_region(&service));
    }
    if attribute.contains("Domain") || attribute.contains("DNS") || attribute.contains("Endpoint") {
        return format!("{}.invalid", name.to_ascii_lowercase());
    }
    format!("{name}.{attribute}")
}
