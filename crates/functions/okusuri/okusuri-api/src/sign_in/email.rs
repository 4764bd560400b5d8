//! `POST /okusuri/api/sign-in/email` and `.../verify`.

use std::time::Duration;

use domain::okusuri::sign_in::{Code, Locked, SendError};
use domain::okusuri::{Email, Language};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use metrics::counter;
use okusuri_store::{CheckError, CodeLimits, IssueError, MailKind, SignInError, Source, VerifiedCode};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::mail::{self, Purpose};
use crate::me::user_json;
use crate::problems::{
    CODE_EXPIRED, CODE_LOCKED, CODES_LIMITED, INVALID_CODE, INVALID_EMAIL, MAIL_NOT_SENT, TOO_MANY_CODES, WRONG_CODE,
    store_problem,
};
use crate::session::{cookie, device_cookie, is_known_device};
use crate::{BODY_BYTES_MAX, Okusuri};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SendCodeBody {
    email: String,
    locale: Option<String>,
    #[serde(default)]
    purpose: Purpose,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct VerifyCodeBody {
    email: String,
    code: String,
    time_zone: Option<String>,
    // Pages send the locale with every request; verifying a code does not need it.
    #[serde(default, rename = "locale")]
    _locale: Option<String>,
}

/// The shortest time to the answer; sending a mail usually takes less. So the time does not reveal
/// whether a mail was sent.
const ANSWER_AFTER: Duration = Duration::from_millis(400);

/// Sends a code, unless one was sent within the last minute; that code is still valid. The answer
/// is the same in both cases, and does not reveal whether the address belongs to a user.
pub(crate) async fn send_code(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let SendCodeBody { email, locale, purpose } = request.json(BODY_BYTES_MAX)?;
    let email = address(&email)?;
    let (now, answer_at) = ((okusuri.now)(), Instant::now() + ANSWER_AFTER);
    let code = okusuri.random_code();
    if let Some(source) = Source::of(request.client_address()) {
        let counted = okusuri.code_limits.send(&source, now).await;
        counted.map_err(|error| send_code_problem(error, CODES_LIMITED, now))?;
    }
    let codes = okusuri.codes.for_device(is_known_device(okusuri, request, &email));
    match codes.issue(&email, &code, now).await {
        Ok(()) => send_mail(okusuri, &email, &code, purpose, Language::of(locale.as_deref()), now).await?,
        // A refusal would reveal to a stranger that somebody is signing in at this address.
        Err(IssueError::Refused(SendError::JustSent(_))) => {}
        Err(error) => return Err(send_code_problem(error, TOO_MANY_CODES, now)),
    }
    sleep_until(answer_at).await;
    Ok(Reply::json(202, &serde_json::json!({ "email": email.as_str() })))
}

async fn send_mail(
    okusuri: &Okusuri,
    email: &Email,
    code: &Code,
    purpose: Purpose,
    language: Language,
    now: Timestamp,
) -> Result<(), Problem> {
    // Checked last of the three limits, so that requests refused for their mailbox do not use up
    // the limit of the whole service.
    if !okusuri.code_limits.send_any(MailKind::Code, now).await.map_err(store_problem)? {
        tracing::error!("the service has reached its hourly limit of codes");
        counter!("CodesLimited").increment(1);
        return Err(until(CODES_LIMITED, CodeLimits::next_window(now), now));
    }
    okusuri.mailer.send(email.as_str(), mail::write(code, purpose, language)).await.map_err(|error| {
        // The log must not contain the address; SES records it in its own log.
        tracing::error!(error, "a code could not be mailed");
        counter!("CodesNotMailed").increment(1);
        MAIL_NOT_SENT.detail("ask for another one in a minute")
    })
}

/// Signs in a user with the latest code that was sent to the address.
pub(crate) async fn verify_code(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let VerifyCodeBody { email, code, time_zone, .. } = request.json(BODY_BYTES_MAX)?;
    let email = address(&email)?;
    let right = okusuri.check_code(request, &email, &code).await?;
    let new = okusuri.new_user(None, time_zone.as_deref())?;
    let (token, session) = okusuri.new_session(request);
    let signed_in = match okusuri.sign_ins.with_code(&right, &new, &session, (okusuri.now)()).await {
        Ok(signed_in) => signed_in,
        Err(SignInError::Deleting(user_id)) => {
            // The code is deleted together with the other data.
            okusuri.finish_deleting(&user_id).await?;
            return Err(CODE_EXPIRED.detail("your data has been deleted; request a new code to start again"));
        }
        Err(error) => return Err(sign_in_problem(error)),
    };
    let reply = Reply::json(200, &user_json(&signed_in.user)).cookie(&cookie(request, &token));
    Ok(reply.cookie(&device_cookie(request, &okusuri.vault.device_mark(&email))))
}

impl Okusuri {
    /// Checks a code against the latest one that was sent to the address.
    pub(crate) async fn check_code(
        &self,
        request: &Request,
        email: &Email,
        code: &str,
    ) -> Result<VerifiedCode, Problem> {
        let code = Code::new(code).map_err(|why| INVALID_CODE.detail(why))?;
        let now = (self.now)();
        let source = Source::of(request.client_address());
        if let Some(source) = &source {
            self.code_limits.may_guess(source, now).await.map_err(|error| check_code_problem(error, now))?;
        }
        let codes = self.codes.for_device(is_known_device(self, request, email));
        let checked = codes.check(email, &code, now).await;
        if let Err(CheckError::Wrong { .. }) = checked {
            counter!("WrongCodes").increment(1);
            if let Some(source) = &source {
                self.code_limits.wrong(source, now).await.map_err(store_problem)?;
            }
        }
        checked.map_err(|error| check_code_problem(error, now))
    }
}

/// The problem for a code that was not sent; `too_many` is the problem of a reached limit.
fn send_code_problem(error: IssueError, too_many: Problem, now: Timestamp) -> Problem {
    match error {
        IssueError::Refused(error @ (SendError::TooMany(at) | SendError::JustSent(at))) => {
            until(too_many, at, now).detail(error)
        }
        IssueError::Refused(error @ SendError::Locked(Locked(at))) => until(CODE_LOCKED, at, now).detail(error),
        IssueError::Store(error) => store_problem(error),
    }
}

/// The problem for a code that was not accepted.
fn check_code_problem(error: CheckError, now: Timestamp) -> Problem {
    match error {
        CheckError::Wrong { attempts_left } => {
            WRONG_CODE.detail(format!("attempts left: {attempts_left}")).member("attemptsLeft", attempts_left)
        }
        CheckError::Expired => CODE_EXPIRED,
        CheckError::Locked(error @ Locked(at)) => until(CODE_LOCKED, at, now).detail(error),
        CheckError::Store(error) => store_problem(error),
    }
}

pub(super) fn sign_in_problem(error: SignInError) -> Problem {
    match error {
        SignInError::Used => CODE_EXPIRED,
        SignInError::Deleting(_) => lambda_kit::problem::busy(),
        SignInError::Store(error) => store_problem(error),
    }
}

fn address(text: &str) -> Result<Email, Problem> {
    Email::new(text).map_err(|why| INVALID_EMAIL.detail(why))
}

/// Adds the number of seconds after which the request may succeed.
fn until(problem: Problem, at: Timestamp, now: Timestamp) -> Problem {
    // Rounded up: a request one moment too early would be refused again.
    problem.member("retryAfterSeconds", at.duration_since(now).as_millis().max(0).div_euclid(1_000) as i64 + 1)
}
