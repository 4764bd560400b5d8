//! The part of the SNS API that functions use.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/api/API_Publish.html>.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use uuid::Uuid;

use super::request::{Fields, MESSAGE_BYTES_MAX, RequestError, wrong};
use super::{PublishError, Published, Topics};
use crate::actions;
use crate::policies::{Policies, Request};
use crate::query_protocol::{self, element};

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/sns";

/// Maximum size of a request: a form may need three characters for each byte.
const BODY_BYTES_MAX: usize = 4 * MESSAGE_BYTES_MAX;

const NAMESPACE: &str = "http://sns.amazonaws.com/doc/2010-03-31/";

type Shared = (Arc<Topics>, Arc<Policies>);

/// The endpoint: a form with `Action`, as all clients of the service send it.
pub(crate) fn router(topics: Arc<Topics>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route(PATH, post(call))
        .route(&format!("{PATH}/"), post(call))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state((topics, policies))
}

async fn call(State((topics, policies)): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let fields = Fields::parse(&body);
    let allow = |action: &str, resource: &str| {
        let asked = Request { action: action.to_owned(), resource: resource.to_owned(), ..Request::default() };
        policies.allow_signed(&headers, &asked).map_err(|message| RequestError {
            status: 403,
            code: "AuthorizationError",
            message,
        })
    };
    let action = fields.get("Action").unwrap_or_default();
    if let Some(sentence) = actions::SNS.refusal(action) {
        return query_protocol::failure(StatusCode::NOT_IMPLEMENTED, NAMESPACE, actions::REFUSED, &sentence);
    }
    let answer = match action {
        "Publish" => topic(&fields).and_then(|topic| {
            allow("sns:Publish", topic)?;
            publish(&topics, topic, &fields, "")
        }),
        "PublishBatch" => topic(&fields).and_then(|topic| {
            allow("sns:Publish", topic)?;
            publish_batch(&topics, topic, &fields)
        }),
        "ListTopics" => allow("sns:ListTopics", "*").map(|()| list(&topics)),
        _ => Err(wrong("InvalidAction", actions::SNS.unknown(action))),
    };
    match answer {
        Ok(result) => ([("content-type", "text/xml")], success(action, &result)).into_response(),
        Err(RequestError { status, code, message }) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            query_protocol::failure(status, NAMESPACE, code, &message)
        }
    }
}

fn topic(fields: &Fields) -> Result<&str, RequestError> {
    if fields.get("PhoneNumber").is_some() {
        return Err(wrong("OptedOut", "the local stack sends no text messages: publish to a topic"));
    }
    let topic = fields.get("TopicArn").or_else(|| fields.get("TargetArn"));
    topic.ok_or_else(|| {
        wrong("InvalidParameter", "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter")
    })
}

impl From<PublishError> for RequestError {
    fn from(error: PublishError) -> Self {
        let message = error.to_string();
        match error {
            PublishError::NoTopic => Self { status: 404, code: "NotFound", message },
            _ => wrong("InvalidParameter", message),
        }
    }
}

fn publish(topics: &Topics, topic: &str, fields: &Fields, prefix: &str) -> Result<String, RequestError> {
    let Published { id, sequence } = topics.publish(topic, fields.message(prefix)?)?;
    let sequence = sequence.map(|sequence| element("SequenceNumber", &sequence)).unwrap_or_default();
    Ok(element("MessageId", &id) + &sequence)
}

fn publish_batch(topics: &Topics, topic: &str, fields: &Fields) -> Result<String, RequestError> {
    let (mut successful, mut failed) = (String::new(), String::new());
    if !topics.arns().any(|arn| arn == topic) {
        return Err(PublishError::NoTopic.into());
    }
    for (id, prefix) in fields.batch()? {
        let id = element("Id", &id);
        match publish(topics, topic, fields, &prefix) {
            Ok(published) => append(&mut successful, &[id, published]),
            Err(error) => {
                let sender = element("SenderFault", "true");
                append(&mut failed, &[id, element("Code", error.code), element("Message", &error.message), sender]);
            }
        }
    }
    Ok(format!("<Successful>{successful}</Successful><Failed>{failed}</Failed>"))
}

fn list(topics: &Topics) -> String {
    let mut members = String::new();
    topics.arns().for_each(|arn| append(&mut members, &[element("TopicArn", arn)]));
    format!("<Topics>{members}</Topics>")
}

fn append(list: &mut String, parts: &[String]) {
    list.extend(["<member>", &parts.concat(), "</member>"]);
}

fn success(action: &str, result: &str) -> String {
    let id = element("RequestId", &Uuid::now_v7().to_string());
    format!(
        "<{action}Response xmlns=\"{NAMESPACE}\"><{action}Result>{result}</{action}Result>\
         <ResponseMetadata>{id}</ResponseMetadata></{action}Response>"
    )
}
