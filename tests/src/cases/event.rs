//! The events of the cases: what AWS puts around a request, a message or a record.

use reqwest::Url;
use serde_json::{Map, Value, json};

use super::fields;

/// The tokens of the test data, and what a table calls them. `none` takes the file's token away.
const TOKENS: [(&str, &str); 6] = [
    ("staff", "token-of-the-sample-events"),
    ("operator", "operator-token-of-the-sample-events"),
    ("health", "health-token-of-the-sample-events"),
    ("ann", "token-of-ann"),
    (
        "player-0",
        "AAAAAPSGVwAwMTk5YzBkZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMGEwMDDYLaACzEKYaWNsMvgWWfPwGzV-8Qezn4sBsanIx1HwVQ",
    ),
    (
        "player-2",
        "AAAAAPSGVwAwMTk5YzBkZS0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMGEwMDIXyGTPi7MhWlMMw9O4vA8GlYdNep1hI2xSV4e2-JsscA",
    ),
];

type Fields<'a> = [(&'a str, String)];

/// The event of a request as a table has it, with what its file says of all of them.
pub(super) fn build(common: &Fields<'_>, request: &str) -> Value {
    let (head, body) = match request.strip_prefix('\n') {
        Some(body) => ("", body),
        None => request.split_once("\n\n").unwrap_or((request, "")),
    };
    let lines: Vec<_> = head.lines().filter(|line| !line.starts_with('#')).collect();
    let Some((first, rest)) = lines.split_first() else { return batch(common, body) };
    let rest = rest.join("\n");
    let own = fields(&rest);
    match first.split_once(' ').unwrap_or((first, "")) {
        ("CONNECT", target) => connect(target),
        ("MESSAGE", name) => message(name, body),
        ("DISCONNECT", end) => disconnect(end),
        (method, target) => http(common, &own, method, target, body),
    }
}

/// A request of the HTTP API, payload format 2.0. A case that has a content type has a body, if
/// only an empty one.
fn http(common: &Fields<'_>, own: &Fields<'_>, method: &str, target: &str, body: &str) -> Value {
    let url = Url::parse(&format!("https://api.example.com{target}")).unwrap();
    let raw_query = url.query().unwrap_or_default();
    let path = target.split('?').next().unwrap();
    let routes = common.iter().filter(|(name, _)| *name == "route");
    let (route, path_parameters) = routes
        .filter_map(|(_, route)| Some((route, path_parameters(route, method, path)?)))
        .next()
        .unwrap_or_else(|| panic!("no route of the file takes {method} {path}"));
    let mut headers = Map::new();
    for (name, value) in [
        ("accept", "application/json"),
        ("host", "api.example.com"),
        ("x-forwarded-for", "203.0.113.7"),
        ("x-forwarded-proto", "https"),
    ] {
        headers.insert(name.to_owned(), json!(value));
    }
    if !body.is_empty() {
        headers.insert("content-type".to_owned(), json!("application/json"));
    }
    for (name, value) in common.iter().chain(own).filter(|(name, _)| !["route", "encoding"].contains(name)) {
        match (*name, value.as_str()) {
            ("token", "none") => drop(headers.remove("authorization")),
            ("token", name) => {
                let token = TOKENS.iter().find(|token| token.0 == name).unwrap_or_else(|| panic!("no token {name}")).1;
                headers.insert("authorization".to_owned(), json!(format!("Bearer {token}")));
            }
            (name, value) => drop(headers.insert(name.to_owned(), json!(value))),
        }
    }
    let mut event = json!({
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": raw_query,
        "headers": headers,
        "requestContext": {
            "accountId": "000000000000",
            "apiId": "local",
            "domainName": "api.example.com",
            "domainPrefix": "api",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "203.0.113.7",
                "userAgent": "curl/8.5.0",
            },
            "requestId": "JKJaXmPLvHcESHA=",
            "routeKey": route,
            "stage": "$default",
            "time": "02/Oct/2025:10:30:00 +0000",
            "timeEpoch": 1_759_401_000_000_u64,
        },
        "isBase64Encoded": own.iter().any(|(name, _)| *name == "encoding"),
    });
    if !raw_query.is_empty() {
        event["queryStringParameters"] = query(&url);
    }
    if !path_parameters.is_empty() {
        event["pathParameters"] = Value::Object(path_parameters);
    }
    if let Some(content_type) = headers.get("content-type") {
        event["body"] = json!(text(body, content_type == "text/csv"));
    }
    event
}

fn query(url: &Url) -> Value {
    url.query_pairs().map(|(name, value)| (name.into_owned(), json!(value))).collect()
}

/// A body is one line, however many lines a table gives it. In CSV each line ends with a line feed.
fn text(body: &str, is_csv: bool) -> String {
    let lines = body.lines().map(str::trim_start);
    if is_csv { lines.map(|line| format!("{line}\n")).collect() } else { lines.collect::<Vec<_>>().join(" ") }
}

/// The decoded parameters of a path; `None` when the route does not take it.
fn path_parameters(route: &str, method: &str, path: &str) -> Option<Map<String, Value>> {
    if route == "$default" {
        return Some(Map::new());
    }
    let (wanted, pattern) = route.split_once(' ')?;
    let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    if wanted != method || pattern.len() != path.len() {
        return None;
    }
    let mut parameters = Map::new();
    for (pattern, part) in pattern.into_iter().zip(path) {
        match pattern.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                let decoded = percent_encoding::percent_decode_str(part).decode_utf8().unwrap();
                parameters.insert(name.to_owned(), json!(decoded));
            }
            None if pattern == part => {}
            None => return None,
        }
    }
    Some(parameters)
}

/// `CONNECT /?ticket=...`: a handshake.
fn connect(target: &str) -> Value {
    let multiple = |single: &Value| -> Value {
        single.as_object().unwrap().iter().map(|(name, value)| (name.clone(), json!([value]))).collect()
    };
    let headers = json!({
        "Host": "sockets.example.com",
        "Origin": "https://game.example.com",
        "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "User-Agent": "Mozilla/5.0",
        "X-Forwarded-For": "203.0.113.7",
        "X-Forwarded-Port": "443",
        "X-Forwarded-Proto": "https",
    });
    let context = socket_context("$connect", "CONNECT", "New");
    let mut event = json!({
        "headers": headers, "multiValueHeaders": multiple(&headers), "requestContext": context, "isBase64Encoded": false,
    });
    let url = Url::parse(&format!("https://sockets.example.com{target}")).unwrap();
    if url.query().is_some() {
        event["queryStringParameters"] = query(&url);
        event["multiValueQueryStringParameters"] = multiple(&query(&url));
    }
    event
}

/// `MESSAGE Ann` and a body: a message over the connection of that name.
fn message(name: &str, body: &str) -> Value {
    let mut context = socket_context("$default", "MESSAGE", name);
    context["messageId"] = json!("L0SNXdsHvHcCEfA=");
    json!({ "requestContext": context, "body": text(body, false), "isBase64Encoded": false })
}

/// `DISCONNECT Ann 1001 Going away`: the end of the connection of that name, its code and the
/// reason.
fn disconnect(end: &str) -> Value {
    let mut parts = end.splitn(3, ' ');
    let mut context = socket_context("$disconnect", "DISCONNECT", parts.next().unwrap());
    context["disconnectStatusCode"] = json!(parts.next().unwrap().parse::<u16>().unwrap());
    context["disconnectReason"] = json!(parts.next().unwrap_or_default());
    json!({
        "headers": { "Host": "sockets.example.com", "x-api-key": "", "X-Forwarded-For": "", "x-restapi": "" },
        "multiValueHeaders": { "Host": ["sockets.example.com"], "x-api-key": [""], "X-Forwarded-For": [""], "x-restapi": [""] },
        "requestContext": context,
        "isBase64Encoded": false,
    })
}

fn socket_context(route: &str, kind: &str, name: &str) -> Value {
    json!({
        "routeKey": route,
        "eventType": kind,
        "extendedRequestId": "TWgNCHYuPHcFo5w=",
        "requestTime": "02/Oct/2025:10:30:00 +0000",
        "messageDirection": "IN",
        "stage": "local",
        "connectedAt": 1_759_400_990_000_u64,
        "requestTimeEpoch": 1_759_401_000_000_u64,
        "identity": { "userAgent": "Mozilla/5.0", "sourceIp": "203.0.113.7" },
        "requestId": "TWgNCHYuPHcFo5w=",
        "domainName": "sockets.example.com",
        "connectionId": format!("L0SM9coFvHcC{name}="),
        "apiId": "local",
    })
}

/// An event that is spelled out, but for the records of a stream.
///
/// `{"INSERT": 1, "new": {...}, "old": {...}}` is the first record of the stream: its images in
/// plain JSON, put into the file's `record`. The file's `event` holds the rest of such a batch.
fn batch(common: &Fields<'_>, body: &str) -> Value {
    let parse = |text: &str| -> Value { serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")) };
    let usual = |wanted: &str| common.iter().find(|(name, _)| *name == wanted).map(|(_, text)| parse(text));
    let (mut event, own) = (usual("event").unwrap_or_else(|| json!({})), parse(body));
    let Some(records) = own["Records"].as_array() else { return own };
    let template = usual("record").unwrap_or_default();
    let records: Vec<_> =
        records.iter().map(|short| record(&template, short).unwrap_or_else(|| short.clone())).collect();
    merge(&mut event, &own);
    event["Records"] = Value::Array(records);
    event
}

/// A whole record; `None` when it is spelled out already.
fn record(template: &Value, short: &Value) -> Option<Value> {
    let numbered = |name: &str| Some((name.to_owned(), short.get(name)?.as_u64()?));
    let (name, number) = ["INSERT", "MODIFY", "REMOVE"].into_iter().find_map(numbered)?;
    let mut record = template.clone();
    record["eventName"] = json!(name);
    record["eventID"] = json!(format!("{number:032x}"));
    let change = &mut record["dynamodb"];
    let before = change["SequenceNumber"].as_str()?;
    let sequence = before.parse::<u128>().ok()? + u128::from(number);
    change["SequenceNumber"] = json!(format!("{sequence:0width$}", width = before.len()));
    for (image, name) in [("OldImage", "old"), ("NewImage", "new")] {
        if let Some(item) = short.get(name) {
            change[image] = attribute(item)["M"].take();
        }
    }
    let image = change.get("NewImage").or(change.get("OldImage"))?;
    let keys = change["Keys"]
        .as_array()?
        .iter()
        .map(|key| (key.as_str().unwrap().to_owned(), image[key.as_str().unwrap()].clone()));
    change["Keys"] = keys.collect();
    let mut more = short.clone();
    more.as_object_mut()?.retain(|member, _| *member != name && member != "old" && member != "new");
    merge(&mut record, &more);
    Some(record)
}

/// Plain JSON as DynamoDB spells it.
fn attribute(value: &Value) -> Value {
    match value {
        Value::Null => json!({ "NULL": true }),
        Value::Bool(is) => json!({ "BOOL": is }),
        Value::Number(number) => json!({ "N": number.to_string() }),
        Value::String(text) => json!({ "S": text }),
        Value::Array(items) => json!({ "L": items.iter().map(attribute).collect::<Vec<_>>() }),
        Value::Object(members) => {
            json!({ "M": members.iter().map(|(name, value)| (name.clone(), attribute(value))).collect::<Map<_, _>>() })
        }
    }
}

/// Puts members in; `null` takes one out.
fn merge(into: &mut Value, members: &Value) {
    let (Some(object), Some(members)) = (into.as_object_mut(), members.as_object()) else {
        *into = members.clone();
        return;
    };
    for (name, member) in members {
        if member.is_null() {
            object.remove(name);
        } else {
            merge(object.entry(name.clone()).or_insert(Value::Null), member);
        }
    }
}
