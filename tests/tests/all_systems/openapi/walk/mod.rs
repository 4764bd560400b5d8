//! A walk through the running stack that asks for whatever the document promises.

mod okusuri;
mod writes;

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::{Answer, Database, HEALTH_TOKEN, OPERATOR_TOKEN, STAFF_TOKEN, Stack, games, shop};

use crate::all_systems::openapi::document::{Answered, Document, JSON, PROBLEM};
use crate::all_systems::openapi::recorded::{recorded, template_routes};

/// Documented answers that are neither recorded nor met on the walk, and why. `*` is any route.
const NOT_SHOWN: [(&str, u16, &str, &str); 7] = [
    ("*", 500, PROBLEM, "a fault of ours: those that are known are mended"),
    ("POST /games", 429, PROBLEM, "this machine's address has no limit; the tests of the function come from others"),
    ("POST /games/{gameId}/players", 429, PROBLEM, "the same"),
    ("*", 503, JSON, "Lambda throttles the function, or it takes longer than 29 seconds"),
    (DEPART, 503, PROBLEM, "only who links a login to a session has the table read, and needs a provider that answers"),
    (ARRIVE, 503, PROBLEM, "only an attempt that came back has the table read, and needs a provider that answers"),
    (
        DELETE_ME,
        202,
        JSON,
        "takes more items than are deleted in 7 seconds; the store's tests have them die on the way",
    ),
];

const ARRIVE: &str = "GET /okusuri/api/sign-in/oauth/{provider}/callback";
const DELETE_ME: &str = "DELETE /okusuri/api/me";
const DEPART: &str = "GET /okusuri/api/sign-in/oauth/{provider}";
const MAIL_CODE: &str = "POST /okusuri/api/sign-in/email";

/// Any second, more requests than an API of this rate takes.
const RATE_OF_ONE: [&str; 5] =
    ["--in-memory", "--parameter", "ApiThrottlingRate=1", "--parameter", "ApiThrottlingBurst=1"];

/// The answers that were met, each as it is documented.
struct Walk {
    document: Document,
    shown: BTreeSet<Answered>,
}

impl Walk {
    /// Takes an answer down, and gives its status.
    fn show(&mut self, route: &str, answer: Answer) -> u16 {
        let body = serde_json::from_str(&answer.body).unwrap_or_else(|_| json!(answer.body));
        self.shown.insert(self.document.check(route, answer.status.as_u16(), &answer.content_type, &body));
        answer.status.as_u16()
    }

    /// The route keys.
    fn routes(&self) -> Vec<String> {
        self.document.operations().into_keys().collect()
    }

    /// Sends what the document gives as examples, with some query besides.
    async fn send(&self, stack: &Stack, route: &str, headers: &[(&str, &str)], query: &str) -> Answer {
        let operation = self.document.operations()[route];
        let (method, path) = route.split_once(' ').unwrap_or(("GET", "/unknown"));
        let method = method.parse().unwrap();
        let body = &operation["requestBody"]["content"][JSON]["examples"]["one"]["value"];
        let body = (!body.is_null()).then(|| body.to_string());
        let needed = self
            .document
            .parameters(operation)
            .filter(|parameter| parameter["in"] == "header" && parameter["required"] == true);
        let needed = needed.filter_map(|parameter| Some((parameter["name"].as_str()?, parameter["example"].as_str()?)));
        // Without it, what changes something of Okusuri's counts as another site's form.
        let needed = needed.chain([("content-type", JSON)]);
        let headers = &needed.chain(headers.iter().copied()).collect::<Vec<_>>()[..];
        stack.request(method, &self.target(path, operation, query), headers, body).await.unwrap()
    }

    /// A path with the examples of its parameters; what `query` says wins.
    fn target(&self, path: &str, operation: &Value, query: &str) -> String {
        let mut target = path.to_owned();
        let mut query = vec![query.to_owned()];
        for parameter in self.document.parameters(operation) {
            let (name, example) = (parameter["name"].as_str().unwrap(), &parameter["example"]);
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str().unwrap() {
                "path" => target = target.replace(&format!("{{{name}}}"), &example),
                "query" if example != "null" && !query[0].starts_with(name) => query.push(format!("{name}={example}")),
                _ => {}
            }
        }
        format!("{target}?{}", query.join("&"))
    }

    /// The header with the token that opens a route: the staff's, the operator's, the health
    /// administration's, a player's, or a user's.
    fn token(&self, route: &str) -> String {
        let needed = &self.document.operations()[route]["security"][0];
        let is = |scheme: &str| !needed[scheme].is_null();
        let token = match () {
            () if is("playerToken") => Stack::player_token(),
            () if is("session") => "token-of-ann".to_owned(),
            () if is("operatorToken") => OPERATOR_TOKEN.to_owned(),
            () if is("healthToken") => HEALTH_TOKEN.to_owned(),
            () => STAFF_TOKEN.to_owned(),
        };
        format!("Bearer {token}")
    }

    /// Takes down what a route answers to somebody with a token, or to nobody, and insists on its
    /// status.
    async fn tell(&mut self, stack: &Stack, [route, target, token]: [&str; 3], body: Option<&str>, status: u16) {
        let (method, _) = route.split_once(' ').unwrap();
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", JSON), ("authorization", &*bearer)];
        let headers = if token.is_empty() { &headers[..1] } else { &headers };
        let request = stack.request(method.parse().unwrap(), target, headers, body.map(str::to_owned));
        assert_eq!(self.show(route, request.await.unwrap()), status, "{route}: {body:?}");
    }

    /// What the routes answer to those who ask well, without a token, and badly.
    async fn ask(&mut self, stack: &Stack) {
        // A sign-in at a provider is a redirect, and a user without a picture gets none: see
        // `sign_in` and `own`.
        let is_asked =
            |route: &&String| route.starts_with("GET ") && !route.contains("/oauth/") && !route.ends_with("/image");
        for route in self.routes().iter().filter(is_asked) {
            let token = ("authorization", &*self.token(route));
            let is_secured = self.document.operations()[route]["responses"]["401"].is_object();
            // Each is asked for CSV, also those that have none.
            for media in [JSON, "text/csv"] {
                let answer = self.send(stack, route, &[token, ("accept", media)], "").await;
                assert_eq!(self.show(route, answer), 200, "{route}");
            }
            if is_secured {
                // Where anybody may come, a token that is sent has to be right all the same.
                let security = self.document.operations()[route]["security"].as_array().cloned().unwrap_or_default();
                let wrong = [("authorization", "Bearer wrong")];
                let headers = if security.contains(&json!({})) { &wrong[..] } else { &[] };
                let answer = self.send(stack, route, headers, "").await;
                assert_eq!(self.show(route, answer), 401, "{route}");
            }
            let operation = self.document.operations()[route];
            if self.document.parameters(operation).any(|parameter| parameter["name"] == "limit") {
                let answer = self.send(stack, route, &[token], "limit=0").await;
                assert_eq!(self.show(route, answer), 400, "{route}");
            }
        }
    }

    /// What each route that reads or writes answers while DynamoDB fails, and then every route
    /// while its function dies: in this order, since a function that starts anew needs DynamoDB.
    async fn hurt(&mut self, stack: &Stack) {
        let always = json!({ "probability": 1 });
        let operations = ["PutItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems"];
        let failing: Value = operations.map(|operation| (operation.to_owned(), always.clone())).into_iter().collect();
        stack.set_faults(&json!({ "engine": { "fail_before": failing } })).await.unwrap();
        let reads =
            |route: &&String| *route != "$default" && !route.contains("/oauth/") && !route.ends_with("/providers");
        // One after the other in the instance that each function has; each waits until its client
        // has tried often enough.
        let functions: Vec<_> = template_routes().into_values().collect();
        let walk = &*self;
        let answers = join_all(functions.iter().map(async |routes| {
            let mut answers = Vec::new();
            for route in routes.iter().filter(reads) {
                let token = ("authorization", &*walk.token(route));
                // A counter that was read a moment ago is answered from memory.
                let query = if route.ends_with("/counter.svg") { "target=unread" } else { "" };
                answers.push((route, walk.send(stack, route, &[token], query).await));
            }
            answers
        }));
        for (route, answer) in answers.await.into_iter().flatten() {
            assert_eq!(self.show(route, answer), 503, "{route}");
        }
        stack.set_faults(&json!({ "functions": { "kill_before": always } })).await.unwrap();
        for route in self.routes() {
            let token = ("authorization", &*self.token(&route));
            let answer = self.send(stack, &route, &[token], "").await;
            assert_eq!(self.show(&route, answer), 500, "{route}");
        }
    }

    /// What every route answers to those who ask too often.
    async fn hurry(&mut self, stack: &Stack) {
        for route in self.routes() {
            // However slow the machine: one of a hundred requests in a row comes too early.
            for _ in 0..100 {
                let answer = self.send(stack, &route, &[], "").await;
                if self.show(&route, answer) == 429 {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn each_answer_is_documented_and_each_documented_answer_is_given() {
    let document = Document::closed();
    let shown = recorded().iter().map(|recorded| recorded.check(&document)).collect();
    let mut walk = Walk { document, shown };
    let provider = r#"[{"id": "google", "name": "Google", "issuer": "https://nobody.invalid", "clientId": "walk"}]"#;
    let stack = Stack::with(&["--parameter", &format!("OkusuriProviders={provider}")]).await.unwrap();
    let now_ms = jiff::Timestamp::now().as_millisecond().unsigned_abs();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();
    shop::stock_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    shop::price_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    tests::okusuri::samples(&stack.dynamodb()).await.unwrap();
    walk.ask(&stack).await;
    walk.sign_in(&stack).await;
    walk.own(&stack).await;
    walk.click(&stack).await;
    walk.append(&stack).await;
    walk.act(&stack).await;
    walk.flood(&stack).await;
    walk.notify(&stack).await;
    walk.intrude(&stack).await;
    walk.meet(&stack).await;
    walk.hurt(&stack).await;
    walk.hurry(&Stack::with(&RATE_OF_ONE).await.unwrap()).await;

    let excused = |(route, status, media): &Answered| {
        NOT_SHOWN.iter().any(|(r, s, m, _)| (*r == "*" || r == route) && s == status && m == media)
    };
    // Both ways: an answer that nothing shows, and an excuse for one that something does.
    let expected: BTreeSet<_> = walk.document.answers().into_keys().filter(|answer| !excused(answer)).collect();
    let differing: Vec<_> = walk.shown.symmetric_difference(&expected).collect();
    assert!(differing.is_empty(), "shown or documented, and not both: {differing:?}");
}
