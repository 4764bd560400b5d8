//! The page `/_local/` for people who look at the running stack, and its data.
//!
//! Its files are part of the binary and load nothing from elsewhere. It only reads; "invoke again" is a call of the Invoke API.

mod items;
mod state;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::admin_routes::AdminState;
use crate::functions::RecentInvocations;
use crate::problem::problem;
use crate::schedules::Due;
use crate::stack::Stack;

/// The page's path.
pub(crate) const PATH: &str = "/_local/";

/// Maximum number of invocations of all functions together in one answer.
const INVOCATIONS_MAX: usize = 100;

/// The files of the page: the path below [`PATH`], the type and the text.
const FILES: [(&str, &str, &str); 7] = [
    ("", "text/html; charset=utf-8", include_str!("page.html")),
    ("page.css", "text/css; charset=utf-8", include_str!("page.css")),
    ("page.js", JAVASCRIPT, include_str!("page.js")),
    ("dom.js", JAVASCRIPT, include_str!("dom.js")),
    ("functions.js", JAVASCRIPT, include_str!("functions.js")),
    ("parts.js", JAVASCRIPT, include_str!("parts.js")),
    ("requests.js", JAVASCRIPT, include_str!("requests.js")),
];
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Lets only the page's own files run: events and messages may contain anything.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the page shows.
#[derive(Debug)]
pub(crate) struct Shown {
    admin: Arc<AdminState>,
    stack: Arc<Stack>,
    client: Client,
    due: Due,
}

impl Shown {
    pub(crate) fn new(admin: &Arc<AdminState>, stack: &Arc<Stack>, client: Client, due: &Due) -> Arc<Self> {
        Arc::new(Self { admin: Arc::clone(admin), stack: Arc::clone(stack), client, due: Arc::clone(due) })
    }
}

/// The page and its data.
pub(crate) fn router(shown: Arc<Shown>) -> Router {
    let file = |router: Router<_>, (name, kind, text): (&str, &'static str, &'static str)| {
        let headers = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY), (CACHE_CONTROL, "no-cache")];
        router.route(&format!("{PATH}{name}"), get(move || async move { (headers, text) }))
    };
    let files = FILES.into_iter().fold(Router::new(), file);
    files
        .route("/_local", get(|| async { Redirect::temporary(PATH) }))
        .route("/_local/state", get(state))
        .route("/_local/invocations", get(invocations))
        .route("/_local/messages", get(messages))
        .route("/_local/items", get(items::browse))
        .with_state(shown)
}

async fn state(State(shown): State<Arc<Shown>>) -> Json<Value> {
    Json(state::of(&shown))
}

/// Which invocations are shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InvocationsOf {
    /// One function; without it, all of them.
    function: Option<String>,
    /// One invocation of the function, with its event, answer and log.
    id: Option<String>,
}

async fn invocations(State(shown): State<Arc<Shown>>, Query(of): Query<InvocationsOf>) -> Response {
    let functions = &shown.admin.functions;
    let pools = match of.function.as_deref().map(|name| functions.get(name)) {
        None => functions.all(),
        Some(Some(pool)) => std::slice::from_ref(pool),
        Some(None) => return missing("no function has this name"),
    };
    if let Some(id) = of.id {
        let found = pools.iter().find_map(|pool| pool.recent().get(&id));
        return found.map_or_else(|| missing("this invocation is not kept any more"), |one| Json(one).into_response());
    }
    let mut items = Vec::new();
    for pool in pools {
        items.extend(pool.recent().newest_first().into_iter().map(|(started, mut item)| {
            item["function"] = pool.function().logical_id.as_str().into();
            (started, item)
        }));
    }
    items.sort_by_key(|(started, _)| std::cmp::Reverse(*started));
    let items: Vec<_> = items.into_iter().take(INVOCATIONS_MAX).map(|(_, item)| item).collect();
    Json(json!({ "items": items, "kept": RecentInvocations::limits() })).into_response()
}

/// Whose messages are shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessagesOf {
    queue: String,
}

async fn messages(State(shown): State<Arc<Shown>>, Query(of): Query<MessagesOf>) -> Response {
    let found = shown.admin.queues.peek(&of.queue);
    found.map_or_else(|| missing("no queue has this name"), |found| Json(found).into_response())
}

fn missing(message: &str) -> Response {
    problem(StatusCode::NOT_FOUND, message)
}
