//! Signs users in: with a code by e-mail, or with a login at an OpenID provider.

mod callback;
mod email;
mod mail;
mod oauth;
mod provider;

pub(crate) use email::{send_code, verify_code};
pub(crate) use oauth::{oauth_callback, providers, start_oauth};
pub use provider::Provider;
pub(crate) use provider::Providers;

use domain::UserId;
use jiff::tz::TimeZone;
use lambda_kit::problem::{Problem, busy};
use okusuri_store::{DeleteProgress, NewUser};

use crate::Okusuri;
use crate::me::delete::time_budget;
use crate::problems::store_problem;

/// The time zone of a user whose browser reports none.
const TIME_ZONE_DEFAULT: &str = "UTC";

/// The time zone of a name in any spelling, and the name as the time zone database spells it. The
/// stored names are compared, so they need one spelling.
pub(crate) fn time_zone(name: &str) -> Option<(TimeZone, String)> {
    let zone = TimeZone::get(name).ok()?;
    let name = zone.iana_name()?.to_owned();
    Some((zone, name))
}

impl Okusuri {
    /// A new user, with the browser's time zone if it is known.
    fn new_user(&self, name: Option<String>, time_zone: Option<&str>) -> Result<NewUser, Problem> {
        let known = time_zone.and_then(self::time_zone).map(|(_, name)| name);
        let id = UserId::new((self.new_id)().to_string()).map_err(|_| lambda_kit::problem::INTERNAL)?;
        Ok(NewUser { id, name, time_zone: known.unwrap_or_else(|| TIME_ZONE_DEFAULT.to_owned()) })
    }

    /// Finishes a deletion that the user started before signing in again.
    async fn finish_deleting(&self, user_id: &UserId) -> Result<(), Problem> {
        match self.user_data.delete(user_id, (self.now)(), time_budget()).await.map_err(store_problem)? {
            DeleteProgress::Done => Ok(()),
            DeleteProgress::Unfinished => Err(busy().detail("your previous data is still being deleted")),
        }
    }
}
