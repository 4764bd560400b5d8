//! The answers of AWS's query protocol: XML.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

/// An error in a service's namespace.
pub(crate) fn failure(status: StatusCode, namespace: &str, code: &str, message: &str) -> Response {
    let parts = [element("Type", "Sender"), element("Code", code), element("Message", message)].concat();
    let id = element("RequestId", &Uuid::now_v7().to_string());
    let body = format!("<ErrorResponse xmlns=\"{namespace}\"><Error>{parts}</Error>{id}</ErrorResponse>");
    (status, [("content-type", "text/xml")], body).into_response()
}

/// An element with text.
pub(crate) fn element(name: &str, text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML 1.0 has no other control characters.
            control if control.is_control() && !matches!(control, '\n' | '\t') => escaped.push('?'),
            other => escaped.push(other),
        }
    }
    format!("<{name}>{escaped}</{name}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_an_answer_is_escaped() {
        assert_eq!(element("Id", "a<b>&\u{1}"), "<Id>a&lt;b&gt;&amp;?</Id>");
    }
}
