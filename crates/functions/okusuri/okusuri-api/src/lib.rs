//! The API of the medication log: sign-in, a log for each day, status and calendar, reminders,
//! import and export.
//!
//! All routes need a signed-in user, except those that sign in.

mod admin;
mod config;
mod doses;
mod import;
mod logs;
mod me;
mod medicines;
mod problems;
mod push;
mod reminder;
mod session;
mod sign_in;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::okusuri::sign_in::Code;
use jiff::Timestamp;
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::mail::Mailer;
use lambda_kit::outbound::Outbound;
use lambda_kit::problem::{NOT_FOUND, Problem};
use lambda_kit::push::{VapidKey, VapidKeyError};
use okusuri_store::vault::Vault;
use okusuri_store::{
    AccessLog, CodeLimits, Codes, Doses, Listings, Logs, Medicines, OauthStates, Sessions, SignIns, UserData, Users,
};
use secrecy::SecretString;
use store_base::Table;
use store_base::seal::SealError;
use uuid::Uuid;

use push::NotificationServices;
use sign_in::Providers;

pub use config::Config;
#[doc(hidden)]
pub use import::rows as import_rows;
pub use sign_in::Provider;

/// The largest body of routes that take a few short texts.
const BODY_BYTES_MAX: usize = 4 * 1024;

/// The number of items on a page without `limit`.
const LIMIT_DEFAULT: u16 = 50;

/// The most items of a page.
const LIMIT_MAX: u16 = 1_000;

/// The secrets that the function reads when it starts.
#[derive(Debug)]
pub struct Secrets {
    /// Signs cursors.
    pub cursor_key: SecretString,
    /// The token of the health administration.
    pub health_token: SecretString,
    /// The secret from which further keys are derived.
    pub key: SecretString,
    /// The private key by which push services recognise this service.
    pub vapid_key: SecretString,
}

/// A secret from which no key can be made.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The secret is not good enough to encrypt tokens and to hash codes.
    #[error(transparent)]
    Vault(#[from] SealError),
    /// The secret gives no VAPID key.
    #[error(transparent)]
    Vapid(#[from] VapidKeyError),
}

/// The function's dependencies. The clock and the id generator are passed in, so that a test can
/// control them.
#[derive(Debug, Clone)]
pub struct Okusuri {
    sessions: Sessions,
    logs: Logs,
    notification_services: NotificationServices,
    medicines: Medicines,
    doses: Doses,
    listings: Listings,
    accesses: AccessLog,
    sign_ins: SignIns,
    codes: Codes,
    code_limits: CodeLimits,
    attempts: OauthStates,
    providers: Providers,
    vault: Vault,
    users: Users,
    user_data: UserData,
    mailer: Mailer,
    public_url: Option<String>,
    cursors: Cursors,
    health: AccessToken,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Okusuri {
    /// The service on the table of `config`, with the system's clock and randomness.
    pub fn new(
        table: &Table,
        mails: aws_sdk_sesv2::Client,
        outbound: Outbound,
        config: &Config,
        secrets: Secrets,
    ) -> Result<Self, KeyError> {
        let vault = Vault::new(&secrets.key)?;
        let vapid_key = VapidKey::new(&secrets.vapid_key, config.vapid_subject.as_str())?;
        Ok(Self {
            sessions: Sessions::new(table),
            logs: Logs::new(table),
            notification_services: NotificationServices::new(table, outbound.clone(), vapid_key),
            medicines: Medicines::new(table),
            doses: Doses::new(table),
            listings: Listings::new(table),
            accesses: AccessLog::new(table),
            sign_ins: SignIns::new(table),
            codes: Codes::new(table, vault.clone()),
            code_limits: CodeLimits::new(table),
            attempts: OauthStates::new(table, vault.clone()),
            providers: Providers::new(config.providers.clone(), outbound),
            vault,
            users: Users::new(table),
            user_data: UserData::new(table),
            mailer: Mailer::new(mails, &config.mail_from),
            public_url: config.public_url.clone(),
            cursors: Cursors::new(secrets.cursor_key),
            health: AccessToken::new(secrets.health_token),
            now: Timestamp::now,
            new_id: lambda_kit::id::new_id,
        })
    }

    /// The same with another clock and id generator.
    pub fn with(self, now: fn() -> Timestamp, new_id: fn() -> Uuid) -> Self {
        Self { now, new_id, ..self }
    }

    /// 256 random bits as a text of 43 characters, for tokens that must not be guessed.
    fn random_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(random::<32>())
    }

    fn random_code(&self) -> Code {
        Code::of_random(u64::from_ne_bytes(random()))
    }
}

/// Random bytes of the operating system. Panics without them, because no token would be safe.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap_or_else(|error| panic!("no randomness: {error}"));
    bytes
}

/// Answers one request.
pub async fn handle(okusuri: &Okusuri, request: Request) -> Result<Reply, Problem> {
    session::refuse_other_sites(&request, okusuri.public_url.as_deref())?;
    match request.route() {
        "GET /okusuri/api/logs" => logs::list(okusuri, &request).await,
        "GET /okusuri/api/logs/{date}" => logs::show(okusuri, &request).await,
        "PUT /okusuri/api/logs/{date}" => logs::put(okusuri, &request).await,
        "DELETE /okusuri/api/logs/{date}" => logs::delete(okusuri, &request).await,
        "GET /okusuri/api/status" => logs::status(okusuri, &request).await,
        "GET /okusuri/api/calendar/{month}" => logs::calendar(okusuri, &request).await,
        "GET /okusuri/api/medicines" => medicines::list(okusuri, &request).await,
        "POST /okusuri/api/medicines" => medicines::add(okusuri, &request).await,
        "PUT /okusuri/api/medicines/{medicineId}" => medicines::change(okusuri, &request).await,
        "DELETE /okusuri/api/medicines/{medicineId}" => medicines::delete(okusuri, &request).await,
        "PUT /okusuri/api/medicines/{medicineId}/packs/{number}" => medicines::add_pack(okusuri, &request).await,
        "GET /okusuri/api/doses" => doses::list(okusuri, &request).await,
        "PUT /okusuri/api/doses/{date}/{time}/{medicineId}" => doses::mark(okusuri, &request).await,
        "DELETE /okusuri/api/doses/{date}/{time}/{medicineId}" => doses::unmark(okusuri, &request).await,
        "GET /okusuri/api/adherence" => doses::adherence(okusuri, &request).await,
        "POST /okusuri/api/import" => import::logs(okusuri, &request).await,
        "GET /okusuri/api/admin/users" => admin::users(okusuri, &request).await,
        "GET /okusuri/api/admin/items" => admin::items(okusuri, &request).await,
        "GET /okusuri/api/admin/logs" => admin::logs_of_day(okusuri, &request).await,
        "POST /okusuri/api/sign-in/email" => sign_in::send_code(okusuri, &request).await,
        "POST /okusuri/api/sign-in/email/verify" => sign_in::verify_code(okusuri, &request).await,
        "GET /okusuri/api/sign-in/providers" => Ok(sign_in::providers(okusuri)),
        "GET /okusuri/api/sign-in/oauth/{provider}" => sign_in::start_oauth(okusuri, &request).await,
        "GET /okusuri/api/sign-in/oauth/{provider}/callback" => sign_in::oauth_callback(okusuri, &request).await,
        "POST /okusuri/api/sign-out" => me::sign_out(okusuri, &request).await,
        "GET /okusuri/api/sessions" => me::sessions(okusuri, &request).await,
        "DELETE /okusuri/api/sessions/{sessionId}" => me::end_session(okusuri, &request).await,
        "GET /okusuri/api/me" => me::show(okusuri, &request).await,
        "PUT /okusuri/api/me" => me::change(okusuri, &request).await,
        "DELETE /okusuri/api/me" => me::delete(okusuri, &request).await,
        "GET /okusuri/api/me/image" => me::show_image(okusuri, &request).await,
        "PUT /okusuri/api/me/image" => me::put_image(okusuri, &request).await,
        "DELETE /okusuri/api/me/image" => me::remove_image(okusuri, &request).await,
        "GET /okusuri/api/me/accesses" => me::accesses(okusuri, &request).await,
        "GET /okusuri/api/me/accounts" => me::accounts(okusuri, &request).await,
        "DELETE /okusuri/api/me/accounts/{provider}" => me::unlink(okusuri, &request).await,
        "GET /okusuri/api/export" => me::export(okusuri, &request).await,
        "GET /okusuri/api/reminder" => reminder::show(okusuri, &request).await,
        "PUT /okusuri/api/reminder" => reminder::change(okusuri, &request).await,
        "GET /okusuri/api/push/key" => push::key(okusuri, &request).await,
        "POST /okusuri/api/push/subscriptions" => push::subscribe(okusuri, &request).await,
        "POST /okusuri/api/push/unsubscribe" => push::unsubscribe(okusuri, &request).await,
        "POST /okusuri/api/push/test" => push::test(okusuri, &request).await,
        "GET /okusuri/api/notifications/{platform}" => push::show(okusuri, &request).await,
        "PUT /okusuri/api/notifications/{platform}" => push::set(okusuri, &request).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}
