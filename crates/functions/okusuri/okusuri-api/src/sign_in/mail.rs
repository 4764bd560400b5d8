//! The mail with a code.

use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::error::ProvideErrorMetadata;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message};
use domain::okusuri::Email;
use domain::okusuri::sign_in::{CODE_LIFETIME, Code};
use serde::Deserialize;

/// The languages of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locale {
    Ja,
    En,
}

impl Locale {
    /// Japanese for `ja` and `ja-JP`, English for all other tags.
    pub(crate) fn of(tag: Option<&str>) -> Self {
        let language = tag.and_then(|tag| tag.split(['-', '_']).next()).unwrap_or_default();
        if language.eq_ignore_ascii_case("ja") { Self::Ja } else { Self::En }
    }
}

/// The purpose that the mail states. The codes themselves are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Purpose {
    #[default]
    SignIn,
    Delete,
}

/// Sends mails with `SendEmail` of SES v2.
#[derive(Debug, Clone)]
pub(crate) struct Mailer {
    client: Client,
    from: String,
}

impl Mailer {
    pub(crate) fn new(client: Client, from: String) -> Self {
        Self { client, from }
    }

    /// Mails a code. The error is for the log.
    pub(crate) async fn send_code(
        &self,
        email: &Email,
        code: &Code,
        purpose: Purpose,
        locale: Locale,
    ) -> Result<(), String> {
        let MailText { subject, text, html } = write(code, purpose, locale);
        let content = |data: String| Content::builder().data(data).charset("UTF-8").build().map_err(|e| e.to_string());
        let body = Body::builder().text(content(text)?).html(content(html)?).build();
        let message = Message::builder().subject(content(subject)?).body(body).build();
        let request = self.client.send_email().from_email_address(&self.from);
        let request = request.destination(Destination::builder().to_addresses(email.as_str()).build());
        let sent = request.content(EmailContent::builder().simple(message).build()).send().await;
        // SES quotes addresses in its messages, so only its error code may go to the log.
        sent.map(drop).map_err(|error| error.code().map_or_else(|| error.to_string(), str::to_owned))
    }
}

struct MailText {
    subject: String,
    text: String,
    html: String,
}

/// The subject contains the code, so that it can be read from a notification. The mail has no link,
/// so that users do not get used to following links in such mails.
fn write(code: &Code, purpose: Purpose, locale: Locale) -> MailText {
    let (code, minutes) = (code.as_str(), CODE_LIFETIME.as_mins());
    let (subject, lead, note) = match locale {
        Locale::Ja => (
            format!("おくすりログの確認コード：{code}"),
            match purpose {
                Purpose::SignIn => "ログインするには、次のコードを入力してください。".to_owned(),
                Purpose::Delete => "記録とアカウントをすべて削除するには、次のコードを入力してください。".to_owned(),
            },
            format!(
                "コードは{minutes}分間有効で、一度だけ使えます。誰にも教えないでください。心当たりがない場合は、このメールを無視してください。"
            ),
        ),
        Locale::En => (
            format!("{code} is your Okusuri code"),
            match purpose {
                Purpose::SignIn => "Enter this code to sign in:".to_owned(),
                Purpose::Delete => "Enter this code to delete your account and everything in it:".to_owned(),
            },
            format!(
                "The code is valid for {minutes} minutes and can be used once. Do not share it. If you did not request it, ignore this mail."
            ),
        ),
    };
    let language = if locale == Locale::Ja { "ja" } else { "en" };
    let text = format!("{lead}\n\n    {code}\n\n{note}\n");
    let html = format!(
        "<!doctype html><html lang=\"{language}\"><body style=\"font-family:sans-serif;line-height:1.6;color:#222\">\
         <p>{lead}</p><p style=\"font-size:2em;letter-spacing:.2em;font-weight:bold\">{code}</p><p>{note}</p></body></html>"
    );
    MailText { subject, text, html }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_has_its_code_in_every_part_and_language() {
        for locale in [Locale::Ja, Locale::En] {
            let [sign_in, delete] = [Purpose::SignIn, Purpose::Delete].map(|purpose| {
                let MailText { subject, text, html } = write(&Code::of_random(1_234), purpose, locale);
                for part in [subject, text.clone(), html] {
                    assert!(part.contains("001234"), "{part}");
                }
                text
            });
            let (word, other) =
                if locale == Locale::Ja { ("削除", "ログインする") } else { ("delete", "sign in") };
            assert!(delete.contains(word) && !delete.contains(other) && sign_in.contains(other), "{delete}");
        }
        for (tag, locale) in
            [(Some("ja-JP"), Locale::Ja), (Some("JA"), Locale::Ja), (Some("jav"), Locale::En), (None, Locale::En)]
        {
            assert_eq!(Locale::of(tag), locale, "{tag:?}");
        }
    }
}
