//! Who asks.

use domain::UserId;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lambda_kit::http::Request;
use lambda_kit::problem::{INTERNAL, Problem};
use store::okusuri::rows::{Session, User};

use crate::Okusuri;
use crate::problems::{NOT_SIGNED_IN, failed};

/// The user who is signed in.
#[derive(Debug, Clone)]
pub(crate) struct SignedIn {
    pub(crate) id: UserId,
    pub(crate) user: User,
    pub(crate) session: Session,
    pub(crate) time_zone: TimeZone,
}

impl SignedIn {
    /// The user's day of today.
    pub(crate) fn today(&self, now: jiff::Timestamp) -> Date {
        now.to_zoned(self.time_zone.clone()).date()
    }
}

impl Okusuri {
    /// The user who is signed in, by the token that the request carries.
    pub(crate) async fn user(&self, request: &Request) -> Result<SignedIn, Problem> {
        let token = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let token = token.ok_or(NOT_SIGNED_IN)?;
        let found = self.sessions.of_token(token, (self.now)()).await.map_err(failed)?;
        let (session, user) = found.ok_or(NOT_SIGNED_IN)?;
        let id = UserId::new(user.user_id.as_str()).map_err(|_| INTERNAL)?;
        let time_zone = TimeZone::get(&user.time_zone).unwrap_or(TimeZone::UTC);
        Ok(SignedIn { id, user, session, time_zone })
    }
}
