//! What a transformation needs besides the rows.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use secrecy::SecretString;
use store::okusuri::sha256_hex;
use store::okusuri::vault::{TokenKind, Vault};

use super::Items;
use crate::{Failure, FailureKind};

/// Facts about the rows that the rows themselves do not state.
#[derive(Debug, Clone, Args)]
pub struct TransformArguments {
    /// The zone of times that were written without one, usually the server's: `UTC`.
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    pub source_zone: TimeZone,
    /// The users' time zone. It determines the day of each log, and is the initial time zone of the
    /// profiles.
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    pub log_zone: TimeZone,
    /// A file with the service's secret (`OkusuriKeySecret`), with which the tokens of provider
    /// logins are encrypted.
    #[arg(long, value_name = "FILE", required_unless_present = "without_tokens")]
    pub key_file: Option<PathBuf>,
    /// Does not migrate the tokens of provider logins; the logins themselves are migrated.
    #[arg(long, conflicts_with = "key_file")]
    pub without_tokens: bool,
}

fn zone(name: &str) -> Result<TimeZone, String> {
    let zone = TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some());
    zone.ok_or_else(|| "expected a name of the IANA time zone database, such as UTC or Asia/Tokyo".to_owned())
}

impl TransformArguments {
    /// The options of a run whose rows were read at `as_of`.
    ///
    /// # Errors
    /// `option` if the secret cannot be read, or is not valid.
    pub fn options(&self, run: &str, as_of: Timestamp) -> Result<Options, Failure> {
        let (source_zone, log_zone) = (self.source_zone.clone(), self.log_zone.clone());
        Ok(Options { run: run.to_owned(), source_zone, log_zone, as_of, vault: self.vault()? })
    }

    fn vault(&self) -> Result<Option<Vault>, Failure> {
        let vault = self.key_file.as_ref().map(|path| {
            let secret = std::fs::read_to_string(path).map_err(|error| error.to_string());
            let vault = secret.and_then(|secret| {
                Vault::new(&SecretString::from(secret.trim_end_matches('\n'))).map_err(|error| error.to_string())
            });
            vault.map_err(|error| FailureKind::Options.because(format!("{}: {error}", path.display())))
        });
        vault.transpose()
    }

    /// Checks that items were made with these options.
    ///
    /// # Errors
    /// `option` if they were not.
    pub fn is_of(&self, items: &Items) -> Result<(), Failure> {
        let given = (self.source_zone.iana_name(), self.log_zone.iana_name(), self.key_file.is_some());
        let made = (Some(&*items.source_zone), Some(&*items.log_zone), items.with_tokens);
        if given == made {
            let key_check = self.vault()?.as_ref().map(key_check);
            return match &self.key_file {
                // With another key, the service could not open the tokens.
                Some(path) if items.key_check.is_some() && key_check != items.key_check => Err(FailureKind::Options
                    .because(format!("{} contains another key than that of the run's items", path.display()))),
                _ => Ok(()),
            };
        }
        let tokens = if items.with_tokens { "--key-file" } else { "--without-tokens" };
        let Items { source_zone, log_zone, .. } = items;
        Err(FailureKind::Options.because(format!(
            "the run was transformed with --source-zone {source_zone}, --log-zone {log_zone} and {tokens}; use the same options here"
        )))
    }
}

/// The inputs of a transformation besides the rows.
#[derive(Debug, Clone)]
pub struct Options {
    /// The run's id, which each item carries. [`crate::cutover::Sides::new`] sets it.
    pub run: String,
    /// The zone of times without an offset.
    pub source_zone: TimeZone,
    /// The users' time zone: it determines the date of a log, and the profiles' zone.
    pub log_zone: TimeZone,
    /// When the rows were read. Rows that had expired by then are not migrated.
    pub as_of: Timestamp,
    /// Encrypts the tokens of provider logins; without it they are not migrated.
    pub vault: Option<Vault>,
}

impl Options {
    /// The check value of the key; `None` without a key.
    pub(super) fn key_check(&self) -> Option<String> {
        self.vault.as_ref().map(key_check)
    }
}

/// A hash of a fixed text under the key: equal for equal keys, and useless for opening tokens.
fn key_check(vault: &Vault) -> String {
    let sealed = vault.seal_token("key-check", "key-check", TokenKind::Access, "key-check");
    sha256_hex(&sealed)
}
