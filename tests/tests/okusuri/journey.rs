//! Okusuri on the running stack: a user signs in with a mailed code, uses the service, and deletes
//! everything.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::Log;
use jiff::{SignedDuration, Timestamp};
use okusuri_store::rows::{MedicationLog, Session, User, UserSession};
use okusuri_store::{Row, item, sha256_hex};
use reqwest::Method;
use serde_json::{Value, json};
use tests::browser::Browser;
use tests::{Database, Stack};

async fn put(stack: &Stack, row: &impl Row) {
    let put = stack.dynamodb().put_item().table_name(Database::OKUSURI).set_item(Some(item(row).unwrap()));
    put.send().await.unwrap();
}

/// Makes an address's last code older.
async fn age_code(stack: &Stack, email: &str, by: SignedDuration) {
    let at = (Timestamp::now() - by).to_string();
    let update = stack.dynamodb().update_item().table_name(Database::OKUSURI);
    let update = update.key("PK", AttributeValue::S(format!("VERIFICATION#{email}")));
    let update = update.key("SK", AttributeValue::S("CODE".to_owned())).condition_expression("attribute_exists(PK)");
    let update = update.update_expression("SET SentAt = :at").expression_attribute_values(":at", AttributeValue::S(at));
    update.send().await.unwrap();
}

fn browser(stack: &Stack) -> Browser {
    Browser::new(stack.url()).unwrap()
}

/// The table's content as text.
async fn table(stack: &Stack) -> Vec<String> {
    let scan = stack.dynamodb().scan().table_name(Database::OKUSURI).consistent_read(true).send().await.unwrap();
    assert!(scan.last_evaluated_key().is_none());
    scan.items().iter().map(|item| format!("{item:?}")).collect()
}

#[tokio::test]
async fn a_user_signs_in_uses_the_service_and_deletes_everything() {
    let stack = Stack::start().await.unwrap();
    let mut phone = browser(&stack);
    assert_eq!(phone.get("/okusuri/api/me").await.unwrap().problem(), (401, "not-signed-in".to_owned()));
    let ann = phone.sign_in(&stack, "ann@example.com").await.unwrap();
    assert_eq!(
        (&ann["email"], &ann["emailVerified"], &ann["timeZone"]),
        (&json!("ann@example.com"), &json!(true), &json!("Asia/Tokyo"))
    );
    let me = phone.get("/okusuri/api/me").await.unwrap();
    assert_eq!((me.status.as_u16(), me.json()), (200, ann.clone()));
    assert!(me.set_cookies.is_empty(), "a session of today is not extended: {me:?}");

    // The profile.
    assert_eq!((&me.json()["regimen"]["kind"], &me.json()["asksRegimen"]), (&json!("medicines"), &json!(true)));
    let chosen = phone.put("/okusuri/api/me", &json!({ "regimen": { "kind": "continuous" } })).await.unwrap().json();
    assert_eq!((&chosen["regimen"]["kind"], &chosen["asksRegimen"]), (&json!("continuous"), &json!(false)));
    let changed = phone.put("/okusuri/api/me", &json!({ "name": " あん ", "timeZone": "Europe/Paris" })).await.unwrap();
    assert_eq!((&changed.json()["name"], &changed.json()["timeZone"]), (&json!("あん"), &json!("Europe/Paris")));
    for (change, problem) in [
        (json!({ "timeZone": "Mars/Base" }), "invalid-time-zone"),
        (json!({ "name": "x".repeat(101) }), "invalid-name"),
        (json!({ "name": "a\nb" }), "invalid-name"),
        (json!({ "email": "eve@example.com" }), "invalid-body"),
    ] {
        assert_eq!(
            phone.put("/okusuri/api/me", &change).await.unwrap().problem(),
            (400, problem.to_owned()),
            "{change}"
        );
    }

    // The picture.
    let png = b"\x89PNG\r\n\x1a\n and so on".to_vec();
    let kept = phone.send(Method::PUT, "/okusuri/api/me/image", Some(("image/png", png.clone()))).await.unwrap();
    let address = kept.json()["image"].as_str().unwrap().to_owned();
    assert_eq!(phone.get("/okusuri/api/me").await.unwrap().json()["image"], address.as_str());
    assert_eq!(phone.get(&address).await.unwrap().body, png);
    for (content_type, bytes, problem) in [
        ("image/png", b"<svg onload=alert(1)>".to_vec(), (400, "invalid-image")),
        ("image/png", Vec::new(), (400, "invalid-image")),
        ("image/png", [png.clone(), vec![0; 256 * 1024]].concat(), (413, "body-too-large")),
    ] {
        let answer = phone.send(Method::PUT, "/okusuri/api/me/image", Some((content_type, bytes))).await.unwrap();
        assert_eq!(answer.problem(), (problem.0, problem.1.to_owned()));
    }
    assert_eq!(phone.delete("/okusuri/api/me/image").await.unwrap().status.as_u16(), 204);
    assert_eq!(phone.get(&address).await.unwrap().problem(), (404, "image-not-found".to_owned()));

    // The export.
    let user_id = UserId::new(ann["id"].as_str().unwrap()).unwrap();
    for day in 1..=5 {
        let log = Log { date: format!("2026-11-0{day}").parse().unwrap(), has_bleeding: day > 3 };
        let log = MedicationLog::new(&user_id, log, day.to_string(), Timestamp::now());
        let log = MedicationLog { note: Some(format!("day {day}, \"quoted\"")), ..log };
        put(&stack, &log).await;
    }
    let (mut items, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = phone.get(&format!("/okusuri/api/export?limit=3{cursor}")).await.unwrap().json();
        items.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(items.len(), 7, "profile, session, and five logs: {items:?}");
    let (mut file, mut cursor) = (String::new(), String::new());
    loop {
        let page = phone.get(&format!("/okusuri/api/export?format=csv&limit=2{cursor}")).await.unwrap();
        file.push_str(&String::from_utf8(page.body).unwrap());
        if page.next_cursor.is_empty() {
            break;
        }
        cursor = format!("&cursor={}", page.next_cursor);
    }
    assert_eq!(file.lines().next().unwrap(), "date,has_bleeding,is_taken,note,flow,symptoms");
    assert_eq!(file.lines().last().unwrap(), r#"2026-11-05,true,true,"day 5, ""quoted""",,"#);
    assert_eq!(file.lines().count(), 6);
    // A cursor is bound to its user and its list.
    let mut bob = browser(&stack);
    bob.sign_in(&stack, "bob@example.com").await.unwrap();
    let before = table(&stack).await.len();
    for (is_bobs, list) in [(true, "format=csv"), (false, "format=csv&of=doses"), (false, "format=json")] {
        let who = if is_bobs { &mut bob } else { &mut phone };
        let answer = who.get(&format!("/okusuri/api/export?{list}{cursor}")).await.unwrap();
        assert_eq!(answer.problem(), (400, "invalid-cursor".to_owned()), "{list}");
    }

    // Everything is deleted, and nothing of other users.
    assert_eq!(phone.delete("/okusuri/api/me").await.unwrap().status.as_u16(), 204);
    assert!(phone.cookies.is_empty());
    let left = table(&stack).await;
    assert_eq!(left.len(), before - 9, "profile, marker, two of the session, and five logs");
    assert!(left.iter().all(|item| !item.contains(user_id.as_str()) && !item.contains("ann@example.com")), "{left:?}");
    assert_eq!(bob.get("/okusuri/api/me").await.unwrap().status.as_u16(), 200);
    // The same address becomes a new user.
    let again = phone.sign_in(&stack, "ann@example.com").await.unwrap();
    assert_ne!(again["id"], ann["id"]);
}

#[tokio::test]
async fn code_request_does_not_reveal_a_known_address() {
    let stack = Stack::start().await.unwrap();
    browser(&stack).sign_in(&stack, "ann@example.com").await.unwrap();
    let mut eve = browser(&stack);
    let mut seen = BTreeSet::new();
    for name in ["ann", "eve"] {
        let email = format!("{name}@example.com");
        let mut answers = Vec::new();
        for path in ["/okusuri/api/sign-in/email", "/okusuri/api/sign-in/email", "/okusuri/api/sign-in/email/verify"] {
            let body = if path.ends_with("verify") {
                json!({ "email": email, "code": "000000" })
            } else {
                json!({ "email": email })
            };
            let page = eve.post(path, &body).await.unwrap();
            let mut json = page.json();
            // Times differ between requests.
            for name in ["retryAfterSeconds", "detail"] {
                json[name].take();
            }
            answers.push((page.status, json.to_string().replace(name, "..."), page.set_cookies));
        }
        // The last request guesses a code, which is wrong except once in a million times.
        seen.insert(format!("{answers:?}"));
    }
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen.first().unwrap().contains("wrong-code"), "{seen:?}");
}

#[tokio::test]
async fn wrong_expired_used_or_overguessed_code_is_refused() {
    let stack = Stack::start().await.unwrap();
    let mut ann = browser(&stack);
    let email = "ann@example.com";
    let send = json!({ "email": email, "locale": "ja" });
    let verify = |code: &str| json!({ "email": email, "code": code });
    const VERIFY: &str = "/okusuri/api/sign-in/email/verify";
    let problem = |status, name: &str| (status, name.to_owned());

    // No code is active, and the answer does not reveal that.
    assert_eq!(ann.post(VERIFY, &verify("123456")).await.unwrap().problem(), problem(401, "wrong-code"));
    assert_eq!(ann.post("/okusuri/api/sign-in/email", &send).await.unwrap().status.as_u16(), 202);
    let mail = &stack.mails(email).await.unwrap()[0];
    assert!(mail["subject"].as_str().unwrap().contains("おくすり") && mail["html"].is_string(), "{mail}");
    // Within the minute the answer and its delay are the same, and no second code is sent. So a
    // stranger does not learn that a code is active.
    let first = ann.post("/okusuri/api/sign-in/email", &json!({ "email": "carol@example.com" })).await.unwrap();
    // The minute begins once more, should this machine be slow.
    age_code(&stack, email, SignedDuration::ZERO).await;
    let begun = std::time::Instant::now();
    let again = ann.post("/okusuri/api/sign-in/email", &send).await.unwrap();
    assert!(begun.elapsed() >= std::time::Duration::from_millis(400), "{:?}", begun.elapsed());
    assert_eq!((again.status, again.json()), (first.status, json!({ "email": email })));
    assert_eq!(stack.mails(email).await.unwrap().len(), 1);
    for (code, expected) in [("12345", "invalid-code"), ("abcdef", "invalid-code")] {
        assert_eq!(ann.post(VERIFY, &verify(code)).await.unwrap().problem(), problem(400, expected));
    }

    // An expired code.
    let code = stack.mailed_code(email).await.unwrap();
    age_code(&stack, email, SignedDuration::from_mins(10)).await;
    assert_eq!(ann.post(VERIFY, &verify(&code)).await.unwrap().problem(), problem(401, "code-expired"));

    // A used code.
    assert_eq!(ann.post("/okusuri/api/sign-in/email", &send).await.unwrap().status.as_u16(), 202);
    let code = stack.mailed_code(email).await.unwrap();
    assert_eq!(ann.post(VERIFY, &verify(&code)).await.unwrap().status.as_u16(), 200);
    assert_eq!(ann.post(VERIFY, &verify(&code)).await.unwrap().problem(), problem(401, "wrong-code"));

    // Too many guesses: after five wrong codes, with the one before, even the right code is
    // refused.
    assert_eq!(ann.post("/okusuri/api/sign-in/email", &send).await.unwrap().status.as_u16(), 202);
    let code = stack.mailed_code(email).await.unwrap();
    let wrong = if code == "000000" { "000001" } else { "000000" };
    for left in (0..4).rev() {
        let answer = ann.post(VERIFY, &verify(wrong)).await.unwrap();
        assert_eq!((answer.problem(), &answer.json()["attemptsLeft"]), (problem(401, "wrong-code"), &json!(left)));
    }
    let locked = ann.post(VERIFY, &verify(&code)).await.unwrap();
    assert_eq!(locked.problem(), problem(429, "code-locked"));
    assert!((3_000..=3_601).contains(&locked.json()["retryAfterSeconds"].as_i64().unwrap()), "{locked:?}");
    assert_eq!(ann.post("/okusuri/api/sign-in/email", &send).await.unwrap().problem(), problem(429, "code-locked"));

    for body in [json!({ "email": "nobody" }), json!({ "email": "" })] {
        assert_eq!(
            ann.post("/okusuri/api/sign-in/email", &body).await.unwrap().problem(),
            problem(400, "invalid-email")
        );
    }
    for body in [json!({}), json!([]), json!({ "email": 1 }), json!({ "email": "a@b.cc", "more": 1 })] {
        assert_eq!(
            ann.post("/okusuri/api/sign-in/email", &body).await.unwrap().problem(),
            problem(400, "invalid-body")
        );
    }
}

#[tokio::test]
async fn a_user_signs_out_here_on_another_device_and_everywhere() {
    let stack = Stack::start().await.unwrap();
    let (mut phone, mut laptop, mut tablet) = (browser(&stack), browser(&stack), browser(&stack));
    for device in [&mut phone, &mut laptop, &mut tablet] {
        device.sign_in(&stack, "ann@example.com").await.unwrap();
    }
    let (mut bob, mut eve) = (browser(&stack), browser(&stack));
    bob.sign_in(&stack, "bob@example.com").await.unwrap();
    let sessions = phone.get("/okusuri/api/sessions").await.unwrap().json();
    let items = sessions["items"].as_array().unwrap();
    assert_eq!(items.iter().filter(|item| item["isThis"] == true).count(), 1);
    assert_eq!(items.len(), 3);
    let other = items.iter().find(|item| item["isThis"] == false).unwrap()["id"].as_str().unwrap();
    let path = format!("/okusuri/api/sessions/{other}");
    // Another user's session seems not to exist.
    assert_eq!(bob.delete(&path).await.unwrap().problem(), (404, "session-not-found".to_owned()));
    assert_eq!(eve.delete(&path).await.unwrap().problem(), (401, "not-signed-in".to_owned()));
    assert_eq!(phone.delete(&path).await.unwrap().status.as_u16(), 204);
    assert_eq!(phone.delete(&path).await.unwrap().problem(), (404, "session-not-found".to_owned()));
    let mut signed_in = Vec::new();
    for device in [&mut phone, &mut laptop, &mut tablet] {
        signed_in.push(device.get("/okusuri/api/me").await.unwrap().status.as_u16());
    }
    signed_in.sort();
    assert_eq!(signed_in, [200, 200, 401]);

    // On this device: a copy of the token is no longer valid.
    let kept = phone.clone();
    assert_eq!(phone.post("/okusuri/api/sign-out", &json!({})).await.unwrap().status.as_u16(), 204);
    assert!(phone.cookies.keys().eq(["tidemark-device"]), "{:?}", phone.cookies);
    assert_eq!(kept.clone().get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);
    assert_eq!(phone.post("/okusuri/api/sign-out", &json!({})).await.unwrap().status.as_u16(), 204);

    // On all devices.
    phone.sign_in(&stack, "ann@example.com").await.unwrap();
    assert_eq!(phone.post("/okusuri/api/sign-out", &json!({ "everywhere": true })).await.unwrap().status.as_u16(), 204);
    for device in [&mut laptop, &mut tablet] {
        assert_eq!(device.get("/okusuri/api/me").await.unwrap().status.as_u16(), 401);
    }
    assert_eq!(bob.get("/okusuri/api/me").await.unwrap().status.as_u16(), 200);
}

#[tokio::test]
async fn a_migrated_session_stays_valid_and_gets_the_new_cookie() {
    let stack = Stack::start().await.unwrap();
    let now = Timestamp::now();
    let (user_id, token) = ("3q9zK1mT0aBcDeFgHiJkLmNoPqRsTuVw", "0123456789abcdefghijklmnopqrstuv");
    let user = User {
        user_id: user_id.to_owned(),
        name: Some("Ann".to_owned()),
        email: Some("Ann@Example.com".to_owned()),
        email_verified: true,
        image: None,
        time_zone: "Asia/Tokyo".to_owned(),
        regimen: None,
        asks_regimen: false,
        sessions_from: None,
        sign_in_grants_added: None,
        deleting: None,
        created_at: now,
        updated_at: now,
    };
    put(&stack, &user).await;
    let (token_hash, expires_at) = (sha256_hex(token.as_bytes()), now + SignedDuration::from_hours(24 * 5));
    let session = Session {
        user_id: user_id.to_owned(),
        session_id: "s1".to_owned(),
        token_hash,
        expires_at,
        ip_address: None,
        user_agent: None,
        created_at: now - SignedDuration::from_hours(48),
        updated_at: now,
    };
    put(&stack, &session).await;
    put(&stack, &UserSession(session)).await;

    let mut ann = browser(&stack);
    ann.cookies.insert("better-auth.session_token".to_owned(), format!("{token}.c2lnbmF0dXJl%2B%2F%3D"));
    let me = ann.get("/okusuri/api/me").await.unwrap();
    assert_eq!((me.status.as_u16(), &me.json()["name"]), (200, &json!("Ann")), "{me:?}");
    let [ours, expired @ ..] = me.set_cookies.as_slice() else { panic!("{me:?}") };
    let new = ours.strip_prefix("tidemark-session=").and_then(|ours| ours.split(';').next()).unwrap();
    assert!(new.len() == 43 && ours.ends_with("; Path=/okusuri; Max-Age=2592000; HttpOnly; SameSite=Lax"), "{me:?}");
    assert!(expired.len() == 2 && expired.iter().all(|cookie| cookie.contains("Max-Age=0")), "{me:?}");
    // The old cookie counts once, and our token does not count under its name.
    for planted in [token, new] {
        let mut victim = browser(&stack);
        victim.cookies.insert("better-auth.session_token".to_owned(), format!("{planted}.c2ln"));
        assert_eq!(victim.get("/okusuri/api/me").await.unwrap().problem(), (401, "not-signed-in".to_owned()));
    }
    let extended = ann.get("/okusuri/api/sessions").await.unwrap().json()["items"][0]["expiresAt"].clone();
    let extended: Timestamp = extended.as_str().unwrap().parse().unwrap();
    assert!(extended > now + SignedDuration::from_hours(24 * 29));
    assert!(ann.get("/okusuri/api/me").await.unwrap().set_cookies.is_empty(), "once a day");
    // Deleting everything needs a younger session than this one, or a code.
    assert_eq!(ann.delete("/okusuri/api/me").await.unwrap().problem(), (403, "sign-in-again".to_owned()));
    assert_eq!(
        ann.post("/okusuri/api/sign-in/email", &json!({ "email": "ann@example.com" })).await.unwrap().status.as_u16(),
        202
    );
    let code = stack.mailed_code("ann@example.com").await.unwrap();
    let wrong = if code == "000000" { "000001" } else { "000000" };
    let delete = async |ann: &mut Browser, code: &str| {
        let body = json!({ "code": code }).to_string().into_bytes();
        ann.send(Method::DELETE, "/okusuri/api/me", Some(("application/json", body))).await.unwrap()
    };
    assert_eq!(delete(&mut ann, wrong).await.problem(), (401, "wrong-code".to_owned()));
    assert_eq!(delete(&mut ann, &code).await.status.as_u16(), 204);
    // The address had no marker, so a code for it does not belong to the user, and expires by
    // itself.
    let mut left = table(&stack).await;
    left.retain(|item| !item.contains("LIMIT#SERVICE"));
    assert!(left.len() == 1 && left[0].contains("VERIFICATION#ann@example.com"), "{left:?}");
}

#[tokio::test]
async fn requests_of_another_site_change_nothing() {
    let stack = Stack::start().await.unwrap();
    let mut ann = browser(&stack);
    ann.sign_in(&stack, "ann@example.com").await.unwrap();
    let cookies: Vec<_> = ann.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let cookies = cookies.join("; ");
    for (method, path, headers) in [
        (Method::POST, "/okusuri/api/sign-out", vec![("content-type", "text/plain")]),
        (
            Method::POST,
            "/okusuri/api/sign-out",
            vec![("content-type", "application/json"), ("origin", "https://evil.example")],
        ),
        (Method::DELETE, "/okusuri/api/me", vec![("origin", "null")]),
        (Method::DELETE, "/okusuri/api/me", vec![("sec-fetch-site", "cross-site")]),
    ] {
        let headers = [headers, vec![("cookie", &*cookies)]].concat();
        let answer = stack.request(method, path, &headers, Some("{}".to_owned())).await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (403, "cross-site-request"), "{headers:?}");
    }
    assert_eq!(ann.get("/okusuri/api/me").await.unwrap().status.as_u16(), 200);
    // The page itself is allowed to.
    let headers = [("content-type", "application/json"), ("origin", stack.url()), ("cookie", &*cookies)];
    let answer = stack.request(Method::POST, "/okusuri/api/sign-out", &headers, Some("{}".to_owned())).await.unwrap();
    assert_eq!(answer.status.as_u16(), 204);
}

#[tokio::test]
async fn every_route_refuses_a_request_without_a_session() {
    let stack = Stack::start().await.unwrap();
    let mut eve = browser(&stack);
    let answers: Vec<Value> = vec![
        eve.get("/okusuri/api/me/accounts").await.unwrap().json(),
        eve.get("/okusuri/api/export").await.unwrap().json(),
        eve.get("/okusuri/api/sessions").await.unwrap().json(),
        eve.get("/okusuri/api/me/image").await.unwrap().json(),
        eve.put("/okusuri/api/me", &json!({})).await.unwrap().json(),
        eve.delete("/okusuri/api/me").await.unwrap().json(),
        eve.delete("/okusuri/api/me/accounts/example").await.unwrap().json(),
    ];
    for answer in answers {
        assert_eq!(answer["type"], "urn:tidemark:problem:not-signed-in");
    }
}
