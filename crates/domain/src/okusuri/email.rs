//! E-mail addresses: their normalised spelling and their mailbox.

use std::fmt;

use email_address::{EmailAddress, Options};
use unicode_normalization::UnicodeNormalization;

/// A normalised e-mail address; each address has one spelling.
///
/// It is in lower case and NFC, with its domain in the ASCII form of IDNA. The part before the `@`
/// is in lower case too. RFC 5321 lets a host distinguish `Ann@` from `ann@`, but people do not,
/// and two users of one mailbox would each read the other's codes. Dots and the part after a `+`
/// are kept, because only the host knows whether they matter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Email(String);

/// The text is no e-mail address of the form `name@example.com` with at most [`Email::BYTES_MAX`]
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected an address like name@example.com, of at most {max} bytes", max = Email::BYTES_MAX)]
pub struct EmailError;

impl Email {
    /// The longest address that fits a mail's envelope (RFC 5321, 4.5.3.1.3, without its brackets).
    pub const BYTES_MAX: usize = 254;

    /// Normalises and checks an address.
    pub fn new(text: &str) -> Result<Self, EmailError> {
        // Rejects a huge text before it is normalised. The factor of ten leaves room for every
        // spelling of a valid address.
        if text.len() > Self::BYTES_MAX * 10 {
            return Err(EmailError);
        }
        let lower: String = text.trim().nfc().flat_map(char::to_lowercase).nfc().collect();
        let (local, domain) = lower.rsplit_once('@').ok_or(EmailError)?;
        let domain = idna::domain_to_ascii_strict(domain).map_err(|_| EmailError)?;
        let email = format!("{local}@{domain}");
        let options = Options::default().without_display_text().without_domain_literal().with_required_tld();
        let is_quoted = local.starts_with('"');
        match EmailAddress::parse_with_options(&email, options) {
            Ok(_) if email.len() <= Self::BYTES_MAX && !is_quoted => Ok(Self(email)),
            _ => Err(EmailError),
        }
    }

    /// The mailbox of the address, for limits: without the part after a `+`. Dots are kept. Gmail
    /// ignores them, but other hosts do not; without them, an attacker there could use up the
    /// limits of another person.
    pub fn mailbox(&self) -> String {
        match self.0.rsplit_once('@') {
            Some((local, domain)) => {
                let name = local.split_once('+').map_or(local, |(name, _)| name);
                format!("{name}@{domain}")
            }
            None => self.0.clone(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalised(text: &str) -> Option<String> {
        Email::new(text).ok().map(|email| email.0)
    }

    #[test]
    fn spellings_of_one_address_are_one() {
        for text in ["ann@example.com", " Ann@Example.COM\n", "ANN@EXAMPLE.COM", "\u{3000}ann@ｅxample.com"] {
            assert_eq!(normalised(text).as_deref(), Some("ann@example.com"), "{text:?}");
        }
        // The composed and the decomposed letter, and both spellings of the domain.
        let written =
            ["j\u{f6}rg@b\u{fc}cher.example", "JO\u{308}RG@BU\u{308}CHER.example", "j\u{f6}rg@xn--bcher-kva.example"];
        for text in written {
            assert_eq!(normalised(text).as_deref(), Some("j\u{f6}rg@xn--bcher-kva.example"), "{text:?}");
        }
    }

    #[test]
    fn what_only_the_host_can_tell_apart_stays_apart() {
        let texts = ["a.b@example.com", "ab@example.com", "ab+x@example.com", "ab#1@example.com"];
        for text in texts {
            assert_eq!(normalised(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn addresses_with_a_tag_end_in_one_mailbox() {
        for (text, mailbox) in [
            ("Ann@example.com", "ann@example.com"),
            ("ann+1@example.com", "ann@example.com"),
            ("ann+1+2@example.com", "ann@example.com"),
            ("a.nn+x@example.com", "a.nn@example.com"),
        ] {
            assert_eq!(Email::new(text).map(|email| email.mailbox()).as_deref(), Ok(mailbox));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("{}@example.com", "a".repeat(65));
        let longer = format!("a@{}example.com", "abcdefgh.".repeat(30));
        for text in [
            "",
            "@",
            "ann",
            "ann@",
            "@example.com",
            "ann@localhost",
            "ann@@example.com",
            "a b@example.com",
            "ann@exam ple.com",
            "ann@-example.com",
            "ann@example..com",
            ".ann@example.com",
            "ann@[127.0.0.1]",
            "Ann <ann@example.com>",
            "\"a b\"@example.com",
            "ann\u{0}@example.com",
            "ann@example.com\r\nbcc: x@y.z",
            &long,
            &longer,
        ] {
            assert_eq!(normalised(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing_more(text in "[a-zA-Z0-9.+#\u{c0}-\u{17f}\u{300}-\u{340}İßſΣ]{1,12}@[a-zA-Z\u{c0}-\u{17f}.]{1,12}\\.com") {
            if let Some(once) = normalised(&text) {
                prop_assert_eq!(normalised(&once), Some(once));
            }
        }
    }
}
