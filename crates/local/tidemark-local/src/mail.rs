//! The part of SES v2 that functions use. Mails are not sent: they are shown in the log and on a
//! page.
//!
//! Only the newest mails are kept, in memory; a restart removes them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use crate::actions;
use crate::arn;
use crate::policies::{FROM_ADDRESS, Policies, Request};
use crate::rest_protocol;

/// The path of the endpoint on the stack's port.
pub const PATH: &str = "/_local/ses";

/// The path of the page that shows the mails.
pub const PAGE: &str = "/_local/mail";

/// Maximum number of mails that are kept.
const KEPT_MAX: usize = 200;

/// SES takes at most 50 recipients. Source:
/// <https://docs.aws.amazon.com/ses/latest/dg/quotas.html>.
const RECIPIENTS_MAX: usize = 50;

/// All kept mails of a stack, the newest last.
#[derive(Debug, Default)]
pub struct Mails(Mutex<VecDeque<Mail>>);

/// A sent mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mail {
    /// The id that the sender received.
    pub message_id: String,
    /// The time of sending.
    pub sent_at: Timestamp,
    /// `FromEmailAddress`.
    pub from: String,
    /// All recipients of `Destination`.
    pub to: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The text part.
    pub text: Option<String>,
    /// The HTML part.
    pub html: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendEmail {
    from_email_address: Option<String>,
    #[serde(default)]
    destination: Destination,
    content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Destination {
    to_addresses: Vec<String>,
    cc_addresses: Vec<String>,
    bcc_addresses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Content {
    simple: Option<Simple>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Simple {
    subject: Part,
    body: Body,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Body {
    text: Option<Part>,
    html: Option<Part>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    data: String,
}

impl SendEmail {
    /// Converts the request to a mail, or returns SES's error message.
    fn mail(self, message_id: String, sent_at: Timestamp) -> Result<Mail, &'static str> {
        let Destination { to_addresses, cc_addresses, bcc_addresses } = self.destination;
        let to = [to_addresses, cc_addresses, bcc_addresses].concat();
        let from = self.from_email_address.unwrap_or_default();
        let Some(Simple { subject, body }) = self.content.simple else {
            return Err("the local stack supports only Content.Simple");
        };
        if to.is_empty() {
            return Err("Missing destination.");
        }
        if to.len() > RECIPIENTS_MAX {
            return Err("Recipient count exceeds 50.");
        }
        if to.iter().chain([&from]).any(|address| !address.contains('@') || address.contains(['\r', '\n'])) {
            return Err("Invalid email address.");
        }
        let (text, html) = (body.text.map(|part| part.data), body.html.map(|part| part.data));
        Ok(Mail { message_id, sent_at, from, to, subject: subject.data, text, html })
    }
}

impl Mails {
    fn keep(&self, mail: Mail) {
        let mut mails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if mails.len() == KEPT_MAX {
            mails.pop_front();
        }
        mails.push_back(mail);
    }

    /// The number of kept mails, and the id of the newest one.
    pub(crate) fn summary(&self) -> (usize, Option<String>) {
        let mails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (mails.len(), mails.back().map(|mail| mail.message_id.clone()))
    }

    /// All kept mails, the newest first.
    pub fn newest_first(&self) -> Vec<Mail> {
        let mails = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mails.iter().rev().cloned().collect()
    }
}

/// The endpoint and the page.
pub fn router(mails: Arc<Mails>, policies: Arc<Policies>) -> Router {
    let sending = post(send).with_state((Arc::clone(&mails), policies));
    let showing = get(show).with_state(mails);
    Router::new()
        .route(&format!("{PATH}/v2/email/outbound-emails"), sending.fallback(refuse))
        .route(&format!("{PATH}/{{*path}}"), any(refuse))
        .route(PAGE, showing)
}

async fn refuse(method: Method, uri: Uri) -> Response {
    rest_protocol::refusal(&actions::SES, &method, &uri, PATH)
}

async fn send(
    State((mails, policies)): State<(Arc<Mails>, Arc<Policies>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let mail = serde_json::from_slice::<SendEmail>(&body).map_err(|error| error.to_string());
    let mail = mail.and_then(|mail| mail.mail(Uuid::now_v7().to_string(), Timestamp::now()).map_err(str::to_owned));
    match mail {
        Ok(mail) => {
            // On AWS the identity is the verified address or its domain; here it is always the
            // address.
            let resource = format!("{}:identity/{}", arn::of_region("ses"), mail.from);
            let context = BTreeMap::from([(FROM_ADDRESS, vec![mail.from.clone()])]);
            let asked = Request { action: "ses:SendEmail".to_owned(), resource, context };
            if let Err(sentence) = policies.allow_signed(&headers, &asked) {
                let kind = [("x-amzn-errortype", "AccessDeniedException")];
                return (StatusCode::FORBIDDEN, kind, Json(json!({ "message": sentence }))).into_response();
            }
            let answer = Json(json!({ "MessageId": mail.message_id }));
            let text = mail.text.as_deref().unwrap_or("(no text part)");
            tracing::info!("mail to {}: {}\n{text}", mail.to.join(", "), mail.subject);
            mails.keep(mail);
            answer.into_response()
        }
        Err(message) => {
            let kind = [("x-amzn-errortype", "BadRequestException")];
            (StatusCode::BAD_REQUEST, kind, Json(json!({ "message": message }))).into_response()
        }
    }
}

async fn show(State(mails): State<Arc<Mails>>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let mails = mails.newest_first();
    if accept.contains("application/json") {
        return Json(json!({ "items": mails })).into_response();
    }
    // Content of a mail must neither run scripts nor load anything, as in a mail program.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-src 'self'; sandbox allow-same-origin";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(page(&mails))).into_response()
}

fn page(mails: &[Mail]) -> String {
    let shown: String = match mails {
        [] => "<p>No mail yet. Mails that functions send appear here; they are not delivered.</p>".to_owned(),
        mails => mails.iter().map(article).collect(),
    };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Mail · local stack</title><style>{STYLE}</style><main><h1>Mail</h1>{shown}</main></html>"
    )
}

const STYLE: &str = "\
    :root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}main{max-width:44rem;margin:auto;padding:1rem}\
    article{border-top:1px solid #8888;padding:.5rem 0}h2{font-size:1.1rem;margin:.25rem 0}p{margin:.25rem 0;color:#777}\
    pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:1rem}iframe{width:100%;height:20rem;border:1px solid #8888;background:#fff}";

fn article(mail: &Mail) -> String {
    let Mail { sent_at, from, to, subject, text, html, .. } = mail;
    let text = text.as_deref().map(|text| format!("<pre>{}</pre>", escaped(text))).unwrap_or_default();
    let html = html.as_deref().map(|html| {
        format!(
            "<details><summary>HTML</summary><iframe sandbox title=\"HTML\" srcdoc=\"{}\"></iframe></details>",
            escaped(html)
        )
    });
    format!(
        "<article><h2>{}</h2><p>{} → {} · <time>{sent_at}</time></p>{text}{}</article>",
        escaped(subject),
        escaped(from),
        escaped(&to.join(", ")),
        html.unwrap_or_default()
    )
}

/// Escapes text for HTML content or an attribute's value.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(request: serde_json::Value) -> Result<Mail, &'static str> {
        let request: SendEmail = serde_json::from_value(request).expect("a request");
        request.mail("m".to_owned(), Timestamp::UNIX_EPOCH)
    }

    fn request(from: &str, to: &[&str]) -> serde_json::Value {
        json!({
            "FromEmailAddress": from,
            "Destination": { "ToAddresses": to },
            "Content": { "Simple": { "Subject": { "Data": "Your code" }, "Body": { "Text": { "Data": "123456" } } } },
        })
    }

    #[test]
    fn mail_needs_a_sender_and_1_to_50_valid_recipients() {
        let mail = read(request("okusuri@example.com", &["a@example.com"])).expect("a mail");
        assert_eq!((mail.subject.as_str(), mail.text.as_deref(), mail.html), ("Your code", Some("123456"), None));
        assert_eq!(read(request("okusuri@example.com", &[])), Err("Missing destination."));
        assert_eq!(read(request("okusuri@example.com", &["a@b.c"; 51])), Err("Recipient count exceeds 50."));
        for (from, to) in [("", "a@b.c"), ("a@b.c", "nobody"), ("a@b.c", "a@b.c\r\nBcc: d@e.f")] {
            assert_eq!(read(request(from, &[to])), Err("Invalid email address."), "{from} {to}");
        }
    }

    #[test]
    fn a_mail_in_another_form_is_rejected() {
        let mut raw = request("a@b.c", &["a@b.c"]);
        raw["Content"] = json!({ "Raw": { "Data": "" } });
        assert_eq!(read(raw), Err("the local stack supports only Content.Simple"));
    }

    #[test]
    fn the_newest_200_are_kept_newest_first() {
        let mails = Mails::default();
        for number in 0..=KEPT_MAX {
            let mut mail = read(request("a@b.c", &["a@b.c"])).expect("a mail");
            mail.subject = number.to_string();
            mails.keep(mail);
        }
        let kept = mails.newest_first();
        assert_eq!((kept.len(), &*kept[0].subject, &*kept[KEPT_MAX - 1].subject), (KEPT_MAX, "200", "1"));
    }

    #[test]
    fn the_content_of_a_mail_is_escaped_on_the_page() {
        let mut mail = read(request("a@b.c", &["a@b.c"])).expect("a mail");
        (mail.subject, mail.text) = ("<script>1</script>".to_owned(), Some("</pre><b>&".to_owned()));
        mail.html = Some("<p title=\"x\">hello</p>\"><script>2</script>".to_owned());
        let page = page(&[mail]);
        assert!(
            page.contains("&lt;script&gt;1&lt;/script&gt;") && page.contains("&lt;/pre&gt;&lt;b&gt;&amp;"),
            "{page}"
        );
        assert!(page.contains("srcdoc=\"&lt;p title=&quot;x&quot;&gt;hello"), "{page}");
        assert!(!page.contains("<script"), "{page}");
    }
}
