//! Okusuri's sign-in with OpenID providers on the running stack: a real provider, and one that
//! gives wrong answers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use reqwest::Url;
use serde_json::{Value, json};
use tests::browser::{Browser, Page};
use tests::oidc::OidcProvider;
use tests::{Database, Stack};

/// The public address of these stacks. No server answers there: the tests send its paths to the
/// stack itself.
const PUBLIC: &str = "http://okusuri.example";

const CALLBACK: &str = "/okusuri/api/sign-in/oauth/example/callback";

/// A stack with one provider.
async fn stack_with(issuer: &str, secret: Option<&str>) -> Stack {
    let provider = json!([{ "id": "example", "name": "Example", "issuer": issuer, "clientId": "okusuri", "clientSecret": secret }]);
    let providers = format!("OkusuriProviders={provider}");
    let public = format!("OkusuriPublicUrl={PUBLIC}");
    let allow = issuer.trim_start_matches("http://");
    let flags = ["--in-memory", "--outbound-allow", allow, "--parameter", &providers, "--parameter", &public];
    Stack::with(&flags).await.unwrap()
}

/// The path of an address of this site.
fn path(url: &str) -> &str {
    url.strip_prefix(PUBLIC).unwrap_or_else(|| panic!("{url} is not ours"))
}

fn query(url: &str) -> BTreeMap<String, String> {
    Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

/// Goes to the provider, signs in there, and returns.
async fn sign_in(provider: &OidcProvider, browser: &mut Browser, from: &str, user: &str) -> Page {
    let redirect = browser.get(from).await.unwrap();
    assert_eq!(redirect.status.as_u16(), 302, "{redirect:?}");
    let back = provider.sign_in(browser, &redirect.location, user).await.unwrap();
    browser.get(path(&back)).await.unwrap()
}

#[tokio::test]
async fn a_real_provider_signs_in_is_linked_and_unlinked() {
    let provider = OidcProvider::start(&[format!("{PUBLIC}{CALLBACK}")]).await.unwrap();
    let stack = stack_with(provider.issuer(), Some("a secret of the test")).await;
    let browser = || Browser::new(stack.url()).unwrap();
    const FROM: &str = "/okusuri/api/sign-in/oauth/example";

    let mut ann = browser();
    let offered = ann.get("/okusuri/api/sign-in/providers").await.unwrap().json();
    assert_eq!(offered, json!({ "items": [{ "id": "example", "name": "Example" }] }));

    // A new user, with an address that the provider has verified.
    let entered =
        sign_in(&provider, &mut ann, &format!("{FROM}?timeZone=Asia/Tokyo&returnTo=/okusuri/%23settings"), "ann").await;
    assert_eq!(
        (entered.status.as_u16(), &*entered.location),
        (302, "http://okusuri.example/okusuri/#settings"),
        "{entered:?}"
    );
    let me = ann.get("/okusuri/api/me").await.unwrap().json();
    assert_eq!(
        (&me["email"], &me["emailVerified"], &me["name"], &me["timeZone"]),
        (&json!("ann@example.com"), &json!(true), &json!("ann"), &json!("Asia/Tokyo"))
    );
    let accounts = ann.get("/okusuri/api/me/accounts").await.unwrap().json();
    assert_eq!(
        (&accounts["items"][0]["provider"], &accounts["items"][0]["subject"]),
        (&json!("example"), &json!("ann"))
    );

    // The same user from another browser, and with a code sent to the address.
    let mut laptop = browser();
    sign_in(&provider, &mut laptop, FROM, "ann").await;
    assert_eq!(laptop.get("/okusuri/api/me").await.unwrap().json()["id"], me["id"]);
    assert_eq!(browser().sign_in(&stack, "ann@example.com").await.unwrap()["id"], me["id"]);

    // An address that already belongs to a user is not taken over.
    let mut bob = browser();
    let bobs = bob.sign_in(&stack, "bob@example.com").await.unwrap();
    let mut other = browser();
    let refused = sign_in(&provider, &mut other, FROM, "bob").await;
    assert_eq!(refused.location, "http://okusuri.example/okusuri/#error=account-not-linked");
    assert_eq!(other.get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);
    // A signed-in user may link the login, and can then sign in with it.
    let linked = sign_in(&provider, &mut bob, &format!("{FROM}?link=1"), "bob").await;
    assert_eq!(linked.location, "http://okusuri.example/okusuri/");
    sign_in(&provider, &mut other, FROM, "bob").await;
    assert_eq!(other.get("/okusuri/api/me").await.unwrap().json()["id"], bobs["id"]);
    // Ann's login cannot be linked to Bob.
    let taken = sign_in(&provider, &mut bob.clone().without_provider(), &format!("{FROM}?link=1"), "ann").await;
    assert_eq!(taken.location, "http://okusuri.example/okusuri/#error=account-taken");
    let mut nobody = browser();
    let refused = nobody.get(&format!("{FROM}?link=1")).await.unwrap();
    assert_eq!(refused.location, "http://okusuri.example/okusuri/#error=not-signed-in");
    // A link in a mail or on another site cannot start linking in Bob's name.
    let elsewhere = format!("{}{FROM}?link=1", stack.url());
    let refused = bob.get(&elsewhere).await.unwrap();
    assert_eq!(refused.location, "http://okusuri.example/okusuri/#error=not-signed-in");

    // Bob has an address, so he may remove the login; a user without another sign-in method keeps
    // it.
    assert_eq!(bob.delete("/okusuri/api/me/accounts/example").await.unwrap().status.as_u16(), 204);
    assert_eq!(bob.delete("/okusuri/api/me/accounts/example").await.unwrap().problem().1, "account-not-found");
    let mut eve = browser();
    sign_in(&provider, &mut eve, FROM, "unverified-eve").await;
    let me = eve.get("/okusuri/api/me").await.unwrap().json();
    assert_eq!((&me["email"], &me["emailVerified"]), (&Value::Null, &json!(false)), "nobody vouches for the address");
    assert_eq!(
        eve.delete("/okusuri/api/me/accounts/example").await.unwrap().problem(),
        (409, "last-sign-in-method".to_owned())
    );

    // The provider's tokens are not stored in readable form.
    let scan = stack.dynamodb().scan().table_name(Database::OKUSURI).send().await.unwrap();
    let accounts: Vec<_> = scan.items().iter().filter(|item| item["Type"].as_s().unwrap() == "account").collect();
    assert!(!accounts.is_empty() && accounts.iter().all(|item| item["IdToken"].is_b() && item["AccessToken"].is_b()));
    assert!(scan.items().iter().all(|item| item["Type"].as_s().unwrap() != "oauth_state"), "attempts are used up");

    // Unknown providers, and return pages on other sites.
    assert_eq!(
        eve.get("/okusuri/api/sign-in/oauth/other").await.unwrap().problem(),
        (404, "provider-not-found".to_owned())
    );
    let refused = eve.get(&format!("{FROM}?returnTo=//evil.example")).await.unwrap();
    assert_eq!(refused.problem(), (400, "invalid-parameter".to_owned()));
}

#[tokio::test]
async fn an_attempt_is_bound_to_its_browser_and_used_once() {
    let provider = OidcProvider::start(&[format!("{PUBLIC}{CALLBACK}")]).await.unwrap();
    let stack = stack_with(provider.issuer(), Some("a secret of the test")).await;
    let browser = || Browser::new(stack.url()).unwrap();
    const FROM: &str = "/okusuri/api/sign-in/oauth/example";
    const EXPIRED: &str = "http://okusuri.example/okusuri/#error=sign-in-expired";

    let mut eve = browser();
    let redirect = eve.get(FROM).await.unwrap();
    let back = provider.sign_in(&mut eve, &redirect.location, "eve").await.unwrap();
    // Eve sends Ann the callback address of Eve's attempt: Ann is not signed in as Eve.
    let mut ann = browser();
    let refused = ann.get(path(&back)).await.unwrap();
    assert_eq!(refused.location, EXPIRED);
    assert_eq!(ann.get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);
    // Not even while Ann has her own attempt.
    ann.get(FROM).await.unwrap();
    assert_eq!(ann.get(path(&back)).await.unwrap().location, EXPIRED);
    assert_eq!(ann.get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);

    let before = eve.clone();
    assert_eq!(eve.get(path(&back)).await.unwrap().location, "http://okusuri.example/okusuri/");
    // A replay with the same cookies is refused.
    let mut replayed = before;
    assert_eq!(replayed.get(path(&back)).await.unwrap().location, EXPIRED);
    assert_eq!(replayed.get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);

    // A user who declines, and an unknown state.
    let redirect = ann.get(FROM).await.unwrap();
    let state = query(&redirect.location)["state"].clone();
    let declined = ann.get(&format!("{CALLBACK}?error=access_denied&state={state}")).await.unwrap();
    assert_eq!(declined.location, "http://okusuri.example/okusuri/#error=sign-in-declined");
    for query in ["", "?state=", "?state=x&code=y", "?code=y", &format!("?state={}&code=y", "x".repeat(3_000))] {
        assert_eq!(ann.get(&format!("{CALLBACK}{query}")).await.unwrap().location, EXPIRED, "{query}");
    }
    // A code that the provider did not issue.
    let redirect = ann.get(FROM).await.unwrap();
    let state = query(&redirect.location)["state"].clone();
    let forged = ann.get(&format!("{CALLBACK}?code=forged&state={state}")).await.unwrap();
    assert_eq!(forged.location, "http://okusuri.example/okusuri/#error=provider-answer-invalid");
}

/// A provider whose answers the test controls.
#[derive(Clone)]
struct Liar {
    issuer: String,
    key: SigningKey,
    answer: Arc<Mutex<Value>>,
}

impl Liar {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let liar = Self { issuer, key, answer: Arc::default() };
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(Self::configuration))
            .route("/jwks", get(Self::keys))
            .route("/token", post(async |State(liar): State<Self>| Json(liar.answer.lock().unwrap().clone())))
            .with_state(liar.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        liar
    }

    async fn configuration(State(Self { issuer, .. }): State<Self>) -> Json<Value> {
        Json(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/auth"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
        }))
    }

    async fn keys(State(liar): State<Self>) -> Json<Value> {
        let point = liar.key.verifying_key().to_sec1_point(false);
        let [x, y] = [point.x(), point.y()].map(|part| URL_SAFE_NO_PAD.encode(part.unwrap()));
        Json(
            json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "one", "use": "sig", "alg": "ES256" }] }),
        )
    }

    fn sign(&self, key: &SigningKey, header: &Value, claims: &Value) -> String {
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let signature: Signature = key.sign(format!("{header}.{claims}").as_bytes());
        format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }

    /// Returns from an authorization request with this ID token.
    async fn answer(&self, browser: &mut Browser, state: &str, id_token: &str) -> Page {
        *self.answer.lock().unwrap() =
            json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": id_token });
        browser.get(&format!("{CALLBACK}?code=c&state={state}")).await.unwrap()
    }
}

#[tokio::test]
async fn a_forged_answer_signs_nobody_in() {
    let liar = Liar::start().await;
    let stack = stack_with(&liar.issuer, Some("a secret of the test")).await;
    let now = Timestamp::now().as_second();
    let header = json!({ "alg": "ES256", "kid": "one" });
    let other_key = SigningKey::from_slice(&[8; 32]).unwrap();
    let claims = |nonce: &str| {
        json!({
            "iss": liar.issuer, "sub": "ann", "aud": "okusuri", "exp": now + 600, "iat": now, "nonce": nonce,
            "email": "ann@example.com", "email_verified": true, "name": format!("Ann\u{7}{}", "n".repeat(200)),
        })
    };
    let with = |name: &'static str, value: Value| {
        let (liar, header) = (&liar, &header);
        move |nonce: &str| {
            let mut claims = claims(nonce);
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name);
            } else {
                claims[name] = value.clone();
            }
            liar.sign(&liar.key, header, &claims)
        }
    };
    type Forgery<'a> = Box<dyn Fn(&str) -> String + 'a>;
    let mac = |claims: &Value| {
        use hmac::{Hmac, KeyInit, Mac};
        let [header, claims] =
            [&json!({ "alg": "HS256" }), claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let mac = Hmac::<sha2::Sha256>::new_from_slice(b"a secret of the test").unwrap();
        let tag = mac.chain_update(format!("{header}.{claims}")).finalize().into_bytes();
        format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let forgeries: Vec<(&str, Forgery<'_>)> = vec![
        ("the nonce of another attempt", Box::new(with("nonce", json!("another")))),
        ("no nonce", Box::new(with("nonce", Value::Null))),
        ("another issuer", Box::new(with("iss", json!("https://accounts.example.com")))),
        ("for another client", Box::new(with("aud", json!("another")))),
        ("for another client too", Box::new(with("aud", json!(["okusuri", "another"])))),
        ("expired", Box::new(with("exp", json!(now - 60)))),
        ("no end", Box::new(with("exp", Value::Null))),
        ("nobody", Box::new(with("sub", Value::Null))),
        ("an empty subject", Box::new(with("sub", json!("")))),
        ("somebody whose subject has no end", Box::new(with("sub", json!("x".repeat(256))))),
        ("another access token", Box::new(with("at_hash", json!("AAAAAAAAAAAAAAAAAAAAAA")))),
        ("another key", Box::new(|nonce| liar.sign(&other_key, &header, &claims(nonce)))),
        (
            "a key that nobody knows",
            Box::new(|nonce| liar.sign(&other_key, &json!({ "alg": "ES256", "kid": "two" }), &claims(nonce))),
        ),
        ("signed with the secret that both have", Box::new(|nonce| mac(&claims(nonce)))),
        (
            "unsigned",
            Box::new(|nonce| {
                let token = liar.sign(&liar.key, &json!({ "alg": "none" }), &claims(nonce));
                token.rsplit_once('.').map(|(signed, _)| format!("{signed}.")).unwrap()
            }),
        ),
        (
            "altered",
            Box::new(|nonce| {
                let token = liar.sign(&liar.key, &header, &claims(nonce));
                let parts: Vec<_> = token.split('.').collect();
                let mut claims = claims(nonce);
                claims["sub"] = json!("bob");
                format!("{}.{}.{}", parts[0], URL_SAFE_NO_PAD.encode(claims.to_string()), parts[2])
            }),
        ),
        ("no token at all", Box::new(|_| String::new())),
    ];
    for (what, forge) in &forgeries {
        let mut browser = Browser::new(stack.url()).unwrap();
        let redirect = browser.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
        let parameters = query(&redirect.location);
        let page = liar.answer(&mut browser, &parameters["state"], &forge(&parameters["nonce"])).await;
        assert_eq!(page.location, "http://okusuri.example/okusuri/#error=provider-answer-invalid", "{what}");
        assert!(!browser.cookies.contains_key("tidemark-session"), "{what}");
    }
    let scan = stack.dynamodb().scan().table_name(Database::OKUSURI).send().await.unwrap();
    assert_eq!(scan.items().len(), 0, "nothing is left of any of them");

    // A correct answer of the same provider is accepted, so the forgeries themselves caused the
    // refusals.
    let mut browser = Browser::new(stack.url()).unwrap();
    let redirect = browser.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    let parameters = query(&redirect.location);
    for (name, value) in [("code_challenge_method", "S256"), ("response_type", "code"), ("client_id", "okusuri")] {
        assert_eq!(parameters[name], value);
    }
    assert!(parameters["scope"].contains("openid") && parameters["code_challenge"].len() == 43, "{parameters:?}");
    let honest = liar.sign(&liar.key, &header, &claims(&parameters["nonce"]));
    // An answer that names another issuer is refused.
    let mut other = browser.clone();
    let page =
        other.get(&format!("{CALLBACK}?code=c&state={}&iss=https://other.example", parameters["state"])).await.unwrap();
    assert_eq!(page.location, "http://okusuri.example/okusuri/#error=provider-answer-invalid");
    let redirect = browser.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    let parameters = query(&redirect.location);
    let page = liar.answer(&mut browser, &parameters["state"], &honest).await;
    assert_eq!(page.location, "http://okusuri.example/okusuri/#error=provider-answer-invalid", "of an older attempt");
    let redirect = browser.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    let parameters = query(&redirect.location);
    // Some providers send this flag as text.
    let mut told = claims(&parameters["nonce"]);
    told["email_verified"] = json!("true");
    let honest = liar.sign(&liar.key, &header, &told);
    let page = liar.answer(&mut browser, &parameters["state"], &honest).await;
    assert_eq!(page.location, "http://okusuri.example/okusuri/", "{page:?}");
    let me = browser.get("/okusuri/api/me").await.unwrap().json();
    assert_eq!((&me["email"], &me["name"]), (&json!("ann@example.com"), &json!(format!("Ann{}", "n".repeat(97)))));
}

#[tokio::test]
async fn unreachable_or_mismatched_oidc_provider_is_unavailable() {
    // A port without a listener.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let stack = stack_with(&issuer, None).await;
    let away = Browser::new(stack.url()).unwrap().get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    assert_eq!(
        (away.status.as_u16(), &*away.location),
        (302, "http://okusuri.example/okusuri/#error=provider-unavailable")
    );

    // A provider whose metadata names another issuer.
    let liar = Liar::start().await;
    let address = liar.issuer.trim_start_matches("http://").to_owned();
    let stack = {
        let provider = json!([{ "id": "example", "name": "Example", "issuer": format!("{}/", liar.issuer), "clientId": "okusuri" }]);
        let flags = [
            "--in-memory".to_owned(),
            "--outbound-allow".to_owned(),
            address,
            "--parameter".to_owned(),
            format!("OkusuriProviders={provider}"),
            "--parameter".to_owned(),
            format!("OkusuriPublicUrl={PUBLIC}"),
        ];
        Stack::with(&flags.each_ref().map(String::as_str)).await.unwrap()
    };
    let away = Browser::new(stack.url()).unwrap().get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    assert_eq!(away.location, "http://okusuri.example/okusuri/#error=provider-unavailable");
}

#[tokio::test]
async fn an_expired_attempt_is_refused_before_ttl_deletes_it() {
    let liar = Liar::start().await;
    let stack = stack_with(&liar.issuer, None).await;
    let mut browser = Browser::new(stack.url()).unwrap();
    let redirect = browser.get("/okusuri/api/sign-in/oauth/example").await.unwrap();
    let parameters = query(&redirect.location);
    let scan = stack.dynamodb().scan().table_name(Database::OKUSURI).send().await.unwrap();
    let [item] = scan.items() else { panic!("one attempt: {scan:?}") };
    assert!(!format!("{item:?}").contains(&parameters["state"]), "the state is stored as a hash");
    let past = (Timestamp::now() - SignedDuration::from_secs(1)).to_string();
    let update = stack.dynamodb().update_item().table_name(Database::OKUSURI);
    let update = update.key("PK", item["PK"].clone()).key("SK", item["SK"].clone());
    let update = update.update_expression("SET ExpiresAt = :past");
    let past = aws_sdk_dynamodb::types::AttributeValue::S(past);
    update.expression_attribute_values(":past", past).send().await.unwrap();
    let page = liar.answer(&mut browser, &parameters["state"], "any").await;
    assert_eq!(page.location, "http://okusuri.example/okusuri/#error=sign-in-expired");
}
