//! Okusuri's users, sessions, codes and logins on a real engine: who comes in, who does not, and what is left of whom.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::Email;
use domain::okusuri::sign_in::{Code, GuessError, SendError};
use engine::{Chance, EngineFaults};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use store::okusuri::rows::{MedicationLog, UserSession};
use store::okusuri::vault::{TokenKind, Vault};
use store::okusuri::{
    CheckError, Codes, Deleted, Entered, Everything, IssueError, Linked, Login, LoginError, NewSession, NewUser,
    SESSION_LIFETIME, Sessions, SignInError, SignIns, Unlinked, Users, item, sha256_hex,
};
use tidemark_tests::Database;

/// A table with what the service does in it.
struct Service {
    db: Database,
    vault: Vault,
    codes: Codes,
    sign_ins: SignIns,
    sessions: Sessions,
    users: Users,
    everything: Everything,
    tokens: AtomicUsize,
}

fn now() -> Timestamp {
    "2026-11-22T10:00:00Z".parse().unwrap()
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

fn email(name: &str) -> Email {
    Email::new(&format!("{name}@example.com")).unwrap()
}

fn code(text: &str) -> Code {
    Code::new(text).unwrap()
}

fn new_user(id: &str) -> NewUser {
    NewUser { id: UserId::new(id).unwrap(), name: None, time_zone: "Asia/Tokyo".to_owned() }
}

fn login(subject: &str, verified_email: Option<Email>) -> Login {
    Login {
        provider: "example".to_owned(),
        subject: subject.to_owned(),
        verified_email,
        access_token: Some(SecretString::from("an access token")),
        refresh_token: None,
        id_token: Some(SecretString::from("an id token")),
        access_token_expires_at: None,
        scope: Some("openid".to_owned()),
    }
}

impl Service {
    async fn start() -> Self {
        let db = Database::start().await.unwrap();
        let vault = Vault::new(&SecretString::from("a secret of thirty-two characters")).unwrap();
        let client = || db.client.clone();
        Self {
            codes: Codes::new(client(), Database::OKUSURI, vault.clone()),
            sign_ins: SignIns::new(client(), Database::OKUSURI),
            sessions: Sessions::new(client(), Database::OKUSURI),
            users: Users::new(client(), Database::OKUSURI),
            everything: Everything::new(client(), Database::OKUSURI),
            tokens: AtomicUsize::new(0),
            vault,
            db,
        }
    }

    /// A session with a token that is returned beside it.
    fn new_session(&self) -> (String, NewSession) {
        let token = format!("token {}", self.tokens.fetch_add(1, Ordering::Relaxed));
        let session = NewSession {
            token_hash: sha256_hex(token.as_bytes()),
            session_id: token.replace(' ', "-"),
            ip_address: Some("192.0.2.1".to_owned()),
            user_agent: None,
        };
        (token, session)
    }

    /// Somebody who comes in with a code, and the session's token.
    async fn enter(&self, name: &str, at: Timestamp) -> (String, Entered) {
        let (email, code) = (email(name), code("123456"));
        self.codes.issue(&email, &code, at).await.unwrap();
        let right = self.codes.check(&email, &code, at).await.unwrap();
        let (token, session) = self.new_session();
        let id = format!("{name}-{}", self.tokens.load(Ordering::Relaxed));
        (token, self.sign_ins.with_code(&right, &new_user(&id), &session, at).await.unwrap())
    }

    async fn is_signed_in(&self, token: &str, at: Timestamp) -> bool {
        self.sessions.of_token(token, at).await.unwrap().is_some()
    }

    /// Lets the next requests of an operation fail.
    fn fail(&self, operation: &str, next: u32) {
        let chance = Chance { next, probability: 0.0 };
        let fail_before = BTreeMap::from([(operation.to_owned(), chance)]);
        self.db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
    }

    /// Every item of the table as `PK SK`.
    async fn items(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut start = None;
        loop {
            let page = self.db.client.scan().table_name(Database::OKUSURI).set_exclusive_start_key(start);
            let page = page.consistent_read(true).send().await.unwrap();
            found.extend(page.items().iter().map(|item| {
                let [partition, sort] = ["PK", "SK"].map(|name| item[name].as_s().unwrap().clone());
                format!("{partition} {sort}")
            }));
            start = page.last_evaluated_key;
            if start.is_none() {
                return found;
            }
        }
    }
}

#[tokio::test]
async fn a_code_opens_once_and_the_second_time_is_like_no_code_at_all() {
    let service = Service::start().await;
    let (email, code) = (email("ann"), code("123456"));
    service.codes.issue(&email, &code, now()).await.unwrap();
    // Twice at once: both are right, and one comes in.
    let right = join_all([0, 1].map(|_| service.codes.check(&email, &code, now()))).await;
    let ids = ["ann-1", "ann-2"].map(new_user);
    let sessions = [service.new_session(), service.new_session()];
    let entered = right.into_iter().zip(&ids).zip(&sessions).map(|((right, id), (_, session))| {
        let (sign_ins, right) = (&service.sign_ins, right.unwrap());
        async move { sign_ins.with_code(&right, id, session, now()).await }
    });
    let entered = join_all(entered).await;
    assert_eq!(entered.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{entered:?}");
    assert!(entered.iter().any(|outcome| matches!(outcome, Err(SignInError::Used))), "{entered:?}");
    let again = service.codes.check(&email, &code, now()).await;
    assert!(matches!(again, Err(CheckError::Refused(GuessError::Expired))), "{again:?}");
    assert_eq!(service.items().await.len(), 4, "profile, marker, and two of the session");
}

#[tokio::test]
async fn of_many_guesses_at_once_five_are_looked_at() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("000000"), now()).await.unwrap();
    let guesses: Vec<_> = (1..=40).map(Code::of_random).collect();
    let outcomes = join_all(guesses.iter().map(|guess| service.codes.check(&email, guess, now()))).await;
    let wrong = outcomes.iter().filter(|outcome| matches!(outcome, Err(CheckError::Wrong { .. }))).count();
    assert!((1..=5).contains(&wrong), "{outcomes:?}");
    // Whatever is left of the five.
    for _ in wrong..5 {
        let outcome = service.codes.check(&email, &guesses[0], now()).await;
        assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
    }
    // Now not even the right one, and no other is sent.
    let until = now() + seconds(3_600);
    let right = service.codes.check(&email, &code("000000"), now()).await;
    assert!(matches!(right, Err(CheckError::Refused(GuessError::Locked(at))) if at == until), "{right:?}");
    let sent = service.codes.issue(&email, &code("111111"), now() + seconds(120)).await;
    assert!(matches!(sent, Err(IssueError::Refused(SendError::Locked(at))) if at == until), "{sent:?}");
    service.codes.issue(&email, &code("111111"), until).await.unwrap();
    service.codes.check(&email, &code("111111"), until).await.unwrap();
}

#[tokio::test]
async fn a_code_is_good_until_it_expires_or_another_is_sent() {
    let service = Service::start().await;
    let email = email("ann");
    service.codes.issue(&email, &code("111111"), now()).await.unwrap();
    let again = service.codes.issue(&email, &code("222222"), now() + seconds(59)).await;
    assert!(matches!(again, Err(IssueError::Refused(SendError::TooMany(_)))), "{again:?}");
    service.codes.issue(&email, &code("222222"), now() + seconds(60)).await.unwrap();
    let old = service.codes.check(&email, &code("111111"), now() + seconds(61)).await;
    assert!(matches!(old, Err(CheckError::Wrong { attempts_left: 4 })), "{old:?}");
    let late = service.codes.check(&email, &code("222222"), now() + seconds(660)).await;
    assert!(matches!(late, Err(CheckError::Refused(GuessError::Expired))), "{late:?}");
    service.codes.check(&email, &code("222222"), now() + seconds(659)).await.unwrap();
    // Of two that are asked for at once, one is sent.
    let bob = self::email("bob");
    let codes = ["333333", "444444"].map(code);
    let sent = join_all(codes.each_ref().map(|code| service.codes.issue(&bob, code, now()))).await;
    assert_eq!(sent.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{sent:?}");
}

#[tokio::test]
async fn a_code_of_one_address_is_none_of_another() {
    let service = Service::start().await;
    service.codes.issue(&email("ann"), &code("123456"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Refused(GuessError::Expired))), "{outcome:?}");
    service.codes.issue(&email("bob"), &code("654321"), now()).await.unwrap();
    let outcome = service.codes.check(&email("bob"), &code("123456"), now()).await;
    assert!(matches!(outcome, Err(CheckError::Wrong { .. })), "{outcome:?}");
}

#[tokio::test]
async fn an_address_is_one_user_however_it_is_spelled() {
    let service = Service::start().await;
    let (_, first) = service.enter("ann", now()).await;
    let (_, second) = service.enter("ANN", now() + seconds(60)).await;
    assert_eq!((first.is_new, second.is_new), (true, false));
    assert_eq!(first.user.user_id, second.user.user_id);
    assert_eq!(second.user.email.as_deref(), Some("ann@example.com"));
}

#[tokio::test]
async fn a_session_ends_when_its_time_is_up_though_its_item_is_still_there() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let end = now() + SESSION_LIFETIME;
    assert_eq!(entered.session.expires_at, end);
    assert!(service.is_signed_in(&token, end - seconds(1)).await);
    assert!(!service.is_signed_in(&token, end).await);
    assert!(!service.is_signed_in("another token", now()).await);
    // Neither the hash nor the session's id is a token.
    assert!(!service.is_signed_in(&entered.session.token_hash, now()).await);
    assert!(!service.is_signed_in(&entered.session.session_id, now()).await);
    assert!(service.items().await.iter().all(|key| !key.contains(&token)));
}

#[tokio::test]
async fn a_session_that_is_used_goes_on_and_that_is_noted_once_a_day() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    let day = seconds(24 * 60 * 60);
    let (session, is_changed) = service.sessions.extend(entered.session, now() + day - seconds(1)).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + SESSION_LIFETIME, false));
    let (session, is_changed) = service.sessions.extend(session, now() + day).await.unwrap();
    assert_eq!((session.expires_at, is_changed), (now() + day + SESSION_LIFETIME, true));
    assert!(service.is_signed_in(&token, now() + day + SESSION_LIFETIME - seconds(1)).await);
    // One that was ended meanwhile stays so.
    let id = UserId::new(&entered.user.user_id).unwrap();
    assert!(service.sessions.end(&id, &session.session_id).await.unwrap());
    assert!(!service.sessions.extend(session, now() + day * 3).await.unwrap().1);
    assert!(!service.is_signed_in(&token, now() + day).await);
    assert_eq!(service.items().await.len(), 2, "the profile and the marker");
}

#[tokio::test]
async fn one_device_is_signed_out_and_the_others_are_not() {
    let service = Service::start().await;
    let (here, entered) = service.enter("ann", now()).await;
    let (there, other) = service.enter("ann", now() + seconds(60)).await;
    let (_, bob) = service.enter("bob", now()).await;
    let later = now() + seconds(90);
    let listed = service.sessions.list(&entered.user, later).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|row: &UserSession| row.session_id.clone()).collect();
    assert_eq!(ids, [other.session.session_id.clone(), entered.session.session_id.clone()]);
    let id = UserId::new(&entered.user.user_id).unwrap();
    assert!(!service.sessions.end(&id, &bob.session.session_id).await.unwrap(), "another user's session is not there");
    assert!(service.sessions.end(&id, &other.session.session_id).await.unwrap());
    assert!(!service.sessions.end(&id, &other.session.session_id).await.unwrap());
    assert!(service.is_signed_in(&here, later).await);
    assert!(!service.is_signed_in(&there, later).await);
}

#[tokio::test]
async fn signing_out_everywhere_counts_from_its_first_write() {
    let service = Service::start().await;
    let (here, entered) = service.enter("ann", now()).await;
    let (there, _) = service.enter("ann", now() + seconds(60)).await;
    let (bob, _) = service.enter("bob", now()).await;
    let id = UserId::new(&entered.user.user_id).unwrap();
    let at = now() + seconds(120);
    // The cleaning up behind the first write fails.
    service.fail("BatchWriteItem", 50);
    let outcome = service.sessions.end_all(&id, at).await;
    assert!(outcome.is_err(), "the fault was not met");
    service.fail("BatchWriteItem", 0);
    for token in [&here, &there] {
        assert!(!service.is_signed_in(token, at).await);
    }
    assert!(service.is_signed_in(&bob, at).await);
    let (new, entered) = service.enter("ann", at + seconds(60)).await;
    assert!(service.is_signed_in(&new, at + seconds(60)).await);
    assert_eq!(service.sessions.list(&entered.user, at + seconds(60)).await.unwrap().len(), 1);
}

#[tokio::test]
async fn whoever_proves_to_have_the_mailbox_puts_out_who_only_claimed_it() {
    let service = Service::start().await;
    let (token, entered) = service.enter("ann", now()).await;
    // As a user comes from the migration whose address nobody has confirmed.
    let unverified = service.db.client.update_item().table_name(Database::OKUSURI);
    let unverified = unverified.key("PK", AttributeValue::S(format!("USER#{}", entered.user.user_id)));
    let unverified = unverified.key("SK", AttributeValue::S("PROFILE".to_owned()));
    let unverified = unverified.update_expression("SET EmailVerified = :no, AddedLater = :no");
    unverified.expression_attribute_values(":no", AttributeValue::Bool(false)).send().await.unwrap();
    let at = now() + seconds(60);
    let (new, entered) = service.enter("ann", at).await;
    assert!(entered.user.email_verified && !entered.is_new);
    assert!(service.is_signed_in(&new, at).await);
    assert!(!service.is_signed_in(&token, at).await);
    // Once it is proved, it is proved.
    let (newest, _) = service.enter("ann", at + seconds(60)).await;
    assert!(
        service.is_signed_in(&new, at + seconds(60)).await && service.is_signed_in(&newest, at + seconds(60)).await
    );
}

#[tokio::test]
async fn an_unknown_login_is_a_new_user_and_a_known_one_the_same() {
    let service = Service::start().await;
    let enter = async |id: &str, login: &Login| {
        let (token, session) = service.new_session();
        let entered = service.sign_ins.with_login(login, &service.vault, &new_user(id), &session, now()).await;
        entered.map(|entered| (token, entered))
    };
    let with_email = login("subject-1", Some(email("ann")));
    let (token, first) = enter("ann", &with_email).await.unwrap();
    let (_, second) = enter("other", &with_email).await.unwrap();
    assert_eq!((first.is_new, second.is_new, &*second.user.user_id), (true, false, "ann"));
    assert!(service.is_signed_in(&token, now()).await);
    // The address counts: the same person comes in by code.
    assert_eq!(service.enter("ann", now()).await.1.user.user_id, "ann");
    // But not the other way round: whoever has the address at a provider need not have it here.
    let other = enter("bob", &login("subject-2", Some(email("ann")))).await;
    assert!(matches!(other, Err(LoginError::NotLinked)), "{other:?}");
    let (_, nobody) = enter("bob", &login("subject-2", None)).await.unwrap();
    assert_eq!((nobody.user.user_id.as_str(), nobody.user.email), ("bob", None));

    let id = UserId::new("ann").unwrap();
    let accounts = service.sign_ins.logins(&id).await.unwrap();
    let sealed = accounts[0].access_token.as_ref().unwrap();
    let open = |user| service.vault.open_token(user, "example", TokenKind::Access, sealed);
    assert_eq!(open("ann").unwrap().expose_secret(), "an access token");
    assert!(open("bob").is_err());
}

#[tokio::test]
async fn two_who_come_with_one_new_login_at_once_are_one_user() {
    let service = Service::start().await;
    // Some of them come between another one's two reads, of the login and of the address.
    const ROUNDS: usize = 12;
    for round in 0..ROUNDS {
        let login = login(&format!("subject-{round}"), Some(email(&format!("ann-{round}"))));
        let ids = ["one", "two", "three"].map(|id| new_user(&format!("{id}-{round}")));
        let sessions = [(); 3].map(|()| service.new_session().1);
        let entered = ids.iter().zip(&sessions);
        let entered =
            entered.map(|(id, session)| service.sign_ins.with_login(&login, &service.vault, id, session, now()));
        let entered = join_all(entered).await;
        let users: BTreeSet<_> = entered.into_iter().map(|entered| entered.unwrap().user.user_id).collect();
        assert_eq!(users.len(), 1, "{users:?}");
    }
    // Profile, two markers, the account, and three sessions of two items each.
    assert_eq!(service.items().await.len(), 10 * ROUNDS);
}

#[tokio::test]
async fn a_login_is_one_users_and_the_last_way_in_stays() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let (_, bob) = service.enter("bob", now()).await;
    let ids = [&ann, &bob].map(|entered| UserId::new(&entered.user.user_id).unwrap());
    let (nobody, eves) = (UserId::new("nobody").unwrap(), UserId::new("eve").unwrap());
    let link =
        async |id: &UserId, login: &Login| service.sign_ins.link(id, login, &service.vault, now()).await.unwrap();
    let first = login("subject-1", None);
    assert_eq!(link(&ids[0], &first).await, Linked::Yes);
    assert_eq!(link(&ids[0], &first).await, Linked::Yes);
    assert_eq!(link(&ids[1], &first).await, Linked::Taken);
    // Of two at once, one.
    let second = login("subject-2", None);
    let both = join_all(ids.iter().map(|id| link(id, &second))).await;
    assert_eq!(both.iter().filter(|linked| **linked == Linked::Yes).count(), 1, "{both:?}");
    assert_eq!(link(&nobody, &login("subject-3", None)).await, Linked::NoUser);

    // With an address, logins may go.
    assert_eq!(service.sign_ins.unlink(&ann.user, "another").await.unwrap(), Unlinked::NotThere);
    assert_eq!(service.sign_ins.unlink(&ann.user, "example").await.unwrap(), Unlinked::Yes);
    assert_eq!(service.sign_ins.of_login("example", "subject-1").await.unwrap(), None);
    assert_eq!(link(&ids[1], &first).await, Linked::Yes);

    // Without one, the last stays, also when two go at once.
    let (_, session) = service.new_session();
    let eve = login("subject-9", None);
    let eve = service.sign_ins.with_login(&eve, &service.vault, &new_user("eve"), &session, now()).await.unwrap().user;
    assert_eq!(service.sign_ins.unlink(&eve, "example").await.unwrap(), Unlinked::LastWayIn);
    let second = Login { provider: "second".to_owned(), ..login("subject-9", None) };
    assert_eq!(link(&eves, &second).await, Linked::Yes);
    let both = join_all(["example", "second"].map(|provider| service.sign_ins.unlink(&eve, provider))).await;
    let gone = both.iter().filter(|unlinked| matches!(unlinked, Ok(Unlinked::Yes))).count();
    assert_eq!((gone, service.sign_ins.logins(&eves).await.unwrap().len()), (1, 1), "{both:?}");
}

/// Gives a user what there is of everything, and so many logs.
async fn fill(service: &Service, id: &UserId, days: i64) {
    let begin: jiff::civil::Date = "2015-01-01".parse().unwrap();
    let put = |day: i64| {
        let date = begin + jiff::Span::new().days(day);
        let (user_id, log_id) = (id.to_string(), day.to_string());
        let note = Some("a note".to_owned());
        let log =
            MedicationLog { user_id, date, has_bleeding: false, log_id, note, created_at: now(), updated_at: now() };
        service.db.client.put_item().table_name(Database::OKUSURI).set_item(Some(item(&log).unwrap())).send()
    };
    for days in (0..days).collect::<Vec<_>>().chunks(50) {
        join_all(days.iter().map(|day| put(*day))).await.into_iter().for_each(|put| drop(put.unwrap()));
    }
    service.users.set_image(id, "image/png", b"a picture", now()).await.unwrap();
    service.sign_ins.link(id, &login("subject-1", None), &service.vault, now()).await.unwrap();
}

#[tokio::test]
async fn of_two_thousand_items_nothing_is_left_wherever_the_deletion_died() {
    let service = Service::start().await;
    let (_, bob) = service.enter("bob", now()).await;
    let before = service.items().await;
    let (token, ann) = service.enter("ann", now()).await;
    service.enter("ann", now() + seconds(60)).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    fill(&service, &id, 2_000).await;
    // A code is under way.
    service.codes.issue(&email("ann"), &code("123456"), now() + seconds(120)).await.unwrap();
    assert_eq!(service.items().await.len(), before.len() + 2_000 + 10);

    let delete = async |at| service.everything.delete(&id, at, || true).await;
    // It dies at different places: among the items, at the markers, and at the end.
    for (operation, failures) in [("BatchWriteItem", 50), ("TransactWriteItems", 50), ("Query", 50)] {
        service.fail(operation, failures);
        assert!(delete(now()).await.is_err(), "{operation}");
        service.fail(operation, 0);
    }
    // And time is up.
    assert_eq!(service.everything.delete(&id, now(), || false).await.unwrap(), Deleted::Some);
    // Nobody is signed in, but whoever asked for it may ask again.
    assert!(!service.is_signed_in(&token, now()).await);
    assert!(service.sessions.of_token_even_deleting(&token, now()).await.unwrap().is_some());
    let again = Sessions::new(service.db.client.clone(), Database::OKUSURI);
    assert!(again.list(&bob.user, now()).await.unwrap().len() == 1);
    // Or comes in by code, and is told that it has to end first.
    let right = service.codes.check(&email("ann"), &code("123456"), now() + seconds(120)).await.unwrap();
    let (_, session) = service.new_session();
    let entered = service.sign_ins.with_code(&right, &new_user("ann-again"), &session, now()).await;
    assert!(matches!(entered, Err(SignInError::Deleting(of)) if of == id));
    assert_eq!(delete(now()).await.unwrap(), Deleted::All);
    assert_eq!(delete(now()).await.unwrap(), Deleted::All);
    assert_eq!(service.items().await, before);
}

#[tokio::test]
async fn nothing_of_others_goes_with_a_user_not_even_the_address_that_has_become_somebody_elses() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    // Another user has the address by now, as after a migration with duplicates.
    let marker = service.db.client.update_item().table_name(Database::OKUSURI);
    let marker = marker.key("PK", AttributeValue::S("EMAIL#ann@example.com".to_owned()));
    let marker = marker.key("SK", AttributeValue::S("EMAIL".to_owned())).update_expression("SET UserId = :other");
    marker.expression_attribute_values(":other", AttributeValue::S("other".to_owned())).send().await.unwrap();
    service.codes.issue(&email("ann"), &code("123456"), now()).await.unwrap();
    assert_eq!(service.everything.delete(&id, now(), || true).await.unwrap(), Deleted::All);
    let left: Vec<_> = service.items().await.into_iter().collect();
    assert_eq!(left, ["EMAIL#ann@example.com EMAIL", "VERIFICATION#ann@example.com CODE"]);
}

#[tokio::test]
async fn everything_of_a_user_is_taken_along_page_by_page_without_what_opens_anything() {
    let service = Service::start().await;
    let (token, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    fill(&service, &id, 30).await;
    let (mut items, mut position) = (Vec::new(), None);
    let mut pages = 0;
    loop {
        let page = service.everything.page(&id, None, position.as_deref(), 7).await.unwrap();
        items.extend(page.items);
        pages += 1;
        position = page.next;
        if position.is_none() {
            break;
        }
    }
    assert_eq!((items.len(), pages), (34, 5), "30 logs, the account, the picture, the profile and the session");
    let text = serde_json::to_string(&items).unwrap();
    for secret in [token.as_str(), &sha256_hex(token.as_bytes()), "USER#", "accessToken", "tokenHash", "typePartition"]
    {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let kinds: BTreeSet<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, BTreeSet::from(["account", "medication_log", "user", "user_image", "user_session"]));
    let log = items.iter().find(|item| item["date"] == "2015-01-30").unwrap();
    assert_eq!((&log["hasBleeding"], &log["note"]), (&false.into(), &"a note".into()));
}

#[tokio::test]
async fn a_picture_is_kept_beside_the_profile_and_goes_again() {
    let service = Service::start().await;
    let (_, ann) = service.enter("ann", now()).await;
    let id = UserId::new(&ann.user.user_id).unwrap();
    let users = &service.users;
    let first = users.set_image(&id, "image/png", b"one", now()).await.unwrap().unwrap();
    let second = users.set_image(&id, "image/jpeg", b"two", now()).await.unwrap().unwrap();
    assert!(first.starts_with("self:") && first != second);
    let image = users.image(&id).await.unwrap().unwrap();
    assert_eq!((&*image.content_type, &image.bytes[..]), ("image/jpeg", &b"two"[..]));
    users.remove_image(&id, now()).await.unwrap();
    assert_eq!(users.image(&id).await.unwrap(), None);
    let nobody = UserId::new("nobody").unwrap();
    assert_eq!(users.set_image(&nobody, "image/png", b"one", now()).await.unwrap(), None);
    assert_eq!(users.image(&nobody).await.unwrap(), None);
}
