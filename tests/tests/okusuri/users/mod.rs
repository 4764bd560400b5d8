//! Okusuri's users, sessions, codes and logins on the real engine.

mod codes;
mod export_and_delete;
mod logins;
mod sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::sign_in::{Code, Locked, SERVICE_SENDS_MAX, SendError};
use domain::okusuri::{Email, Log, Platform};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use okusuri_store::rows::{MedicationLog, PushSubscription, Row, User};
use okusuri_store::vault::{TokenKind, Vault};
use okusuri_store::{
    CheckError, CodeLimits, Codes, DeleteProgress, IssueError, Key, LinkOutcome, Login, LoginError, MailKind,
    NewSession, NewUser, Notifications, ProfileChange, SESSION_LIFETIME, Sessions, SignInError, SignIns, SignedIn,
    Source, UnlinkOutcome, UserData, Users, WriteError, item, read, sha256_hex,
};
use secrecy::{ExposeSecret, SecretString};
use tests::Database;
use tidemark_engine::{Chance, EngineFaults};

/// A table with the stores that the service uses.
struct Service {
    db: Database,
    vault: Vault,
    codes: Codes,
    sign_ins: SignIns,
    sessions: Sessions,
    users: Users,
    everything: UserData,
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
            codes: Codes::new(&store_base::Table::new(client(), Database::OKUSURI), vault.clone()),
            sign_ins: SignIns::new(&store_base::Table::new(client(), Database::OKUSURI)),
            sessions: Sessions::new(&store_base::Table::new(client(), Database::OKUSURI)),
            users: Users::new(&store_base::Table::new(client(), Database::OKUSURI)),
            everything: UserData::new(&store_base::Table::new(client(), Database::OKUSURI)),
            tokens: AtomicUsize::new(0),
            vault,
            db,
        }
    }

    /// A new session, returned after its token.
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

    /// Signs in with a code; returns the session's token and the result.
    async fn enter(&self, name: &str, at: Timestamp) -> (String, SignedIn) {
        let (email, code) = (email(name), code("123456"));
        self.codes.issue(&email, &code, at).await.unwrap();
        let right = self.codes.check(&email, &code, at).await.unwrap();
        let (token, session) = self.new_session();
        let id = format!("{name}-{}", self.tokens.load(Ordering::Relaxed));
        (token, self.sign_ins.with_code(&right, &new_user(&id), &session, at).await.unwrap())
    }

    /// Makes a user like a migrated one who never verified the address.
    async fn unverify(&self, user: &User) {
        let unverified = self.db.client.update_item().table_name(Database::OKUSURI).set_key(Some(user.key().item()));
        let unverified = unverified.update_expression("SET EmailVerified = :no, AddedLater = :no");
        unverified.expression_attribute_values(":no", AttributeValue::Bool(false)).send().await.unwrap();
    }

    /// The current profile.
    async fn user(&self, id: &str) -> User {
        let key = Key { partition: format!("USER#{id}"), sort: "PROFILE".to_owned() };
        let item = self.db.client.get_item().table_name(Database::OKUSURI).set_key(Some(key.item()));
        read(item.consistent_read(true).send().await.unwrap().item.unwrap()).unwrap()
    }

    async fn is_signed_in(&self, token: &str, at: Timestamp) -> bool {
        self.sessions.of_token(token, at).await.unwrap().is_some()
    }

    /// Makes the next requests of an operation fail.
    fn fail(&self, operation: &str, next: u32) {
        let chance = Chance { next, probability: 0.0 };
        let fail_before = BTreeMap::from([(operation.to_owned(), chance)]);
        self.db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
    }

    /// All items of the table as `PK SK`.
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
