//! What leads to a session of Okusuri.

use domain::UserId;
use domain::okusuri::Email;
use domain::okusuri::sign_in::Code;
use jiff::Timestamp;
use okusuri_api::handle;
use okusuri_store::vault::Vault;
use okusuri_store::{Codes, Login, NewSession, NewUser, OauthAttempt, OauthStates, SignIns};
use serde_json::{Value, json};
use tests::Database;
use tests::okusuri::{KEY, service};

use super::{CLIENT, Costs, Gauge, compare, request};

const SEND: &str = "POST /okusuri/api/sign-in/email";
const VERIFY: &str = "POST /okusuri/api/sign-in/email/verify";
const OAUTH: &str = "GET /okusuri/api/sign-in/oauth/{provider}";
const CALLBACK: &str = "GET /okusuri/api/sign-in/oauth/{provider}/callback";

fn now() -> Timestamp {
    "2026-11-22T03:00:00Z".parse().unwrap()
}

#[tokio::test]
async fn sign_in_requests_cost_at_most_their_bounds() {
    compare(&costs().await, |request| request.contains(" /okusuri/"));
}

async fn costs() -> Costs {
    let db = Database::start().await.unwrap();
    let mut gauge = Gauge::new(&db);
    let (table, vault) = (db.table(Database::OKUSURI), Vault::new(&KEY.into()).unwrap());
    let okusuri = service(&db, now).unwrap();
    let address = |n: u32| format!("{n}{}@{}.example.com", "a".repeat(60), "b".repeat(60));
    let none = Value::Null;

    gauge.skip();
    let refused = handle(&okusuri, request(SEND, &[], "", &json!({ "email": address(0) }))).await.unwrap_err();
    assert_eq!(refused.name(), "mail-not-sent", "everything but the mail was done");
    gauge.book(SEND, 0, refused.to_json().to_string().len());

    let (codes, code) = (Codes::new(&table, vault.clone()), Code::new("123456").unwrap());
    codes.issue(&Email::new(&address(1)).unwrap(), &code, now()).await.unwrap();
    let verify =
        |code: &str| request(VERIFY, &[], "", &json!({ "email": address(1), "code": code, "timeZone": "Asia/Tokyo" }));
    gauge.skip();
    let wrong = handle(&okusuri, verify("000000")).await.unwrap_err();
    gauge.book(VERIFY, 0, wrong.to_json().to_string().len());
    gauge.answer(VERIFY, handle(&okusuri, verify("123456")).await);

    for (route, body) in
        [("GET /okusuri/api/sign-in/providers", &none), ("POST /okusuri/api/sign-out", &json!({ "everywhere": true }))]
    {
        gauge.answer(route, handle(&okusuri, request(route, &[], "a-token-of-nobody", body)).await);
    }

    // No provider can be asked here. The function's requests to DynamoDB are these.
    let (states, state) = (OauthStates::new(&table, vault.clone()), "s".repeat(43));
    let attempt = OauthAttempt {
        provider: "example".to_owned(),
        nonce: "n".repeat(22),
        verifier: "v".repeat(43).into(),
        return_to: Some("r".repeat(2_048)),
        time_zone: Some("America/Argentina/ComodRivadavia".to_owned()),
        link_to: None,
    };
    gauge.skip();
    states.begin(&state, attempt, now()).await.unwrap();
    gauge.book(OAUTH, 0, 1_000);
    states.take(&state, now()).await.unwrap().unwrap();
    let login = Login {
        provider: "example".to_owned(),
        subject: "s".repeat(255),
        verified_email: Some(Email::new(&address(2)).unwrap()),
        access_token: Some("t".repeat(1_000).into()),
        refresh_token: Some("t".repeat(1_000).into()),
        id_token: Some("t".repeat(1_000).into()),
        access_token_expires_at: None,
        scope: Some("openid".to_owned()),
    };
    let new = NewUser {
        id: UserId::new("u".repeat(36)).unwrap(),
        name: Some("n".repeat(100)),
        time_zone: "Asia/Tokyo".to_owned(),
    };
    let session = NewSession {
        token_hash: "h".repeat(64),
        session_id: "i".repeat(36),
        ip_address: Some(CLIENT.to_owned()),
        user_agent: Some("𝒳".repeat(200)),
    };
    SignIns::new(&table).with_login(&login, &vault, &new, &session, now()).await.unwrap();
    gauge.book(CALLBACK, 0, 2_500);
    gauge.costs
}
