//! The mail with a code.

use domain::okusuri::Language;
use domain::okusuri::sign_in::{CODE_LIFETIME, Code};
use lambda_kit::mail::Mail;
use serde::Deserialize;

/// The purpose that the mail states. The codes themselves are the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Purpose {
    #[default]
    SignIn,
    Delete,
}

/// The subject contains the code, so that it can be read from a notification. The mail has no link,
/// so that users do not get used to following links in such mails.
pub(crate) fn write(code: &Code, purpose: Purpose, language: Language) -> Mail {
    let (code, minutes) = (code.as_str(), CODE_LIFETIME.as_mins());
    let (subject, lead, note) = match language {
        Language::Ja => (
            format!("おくすりログの確認コード：{code}"),
            match purpose {
                Purpose::SignIn => "ログインするには、次のコードを入力してください。".to_owned(),
                Purpose::Delete => "記録とアカウントをすべて削除するには、次のコードを入力してください。".to_owned(),
            },
            format!(
                "コードは{minutes}分間有効で、一度だけ使えます。誰にも教えないでください。心当たりがない場合は、このメールを無視してください。"
            ),
        ),
        Language::En => (
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
    let language = language.as_str();
    let text = format!("{lead}\n\n    {code}\n\n{note}\n");
    let html = format!(
        "<!doctype html><html lang=\"{language}\"><body style=\"font-family:sans-serif;line-height:1.6;color:#222\">\
         <p>{lead}</p><p style=\"font-size:2em;letter-spacing:.2em;font-weight:bold\">{code}</p><p>{note}</p></body></html>"
    );
    Mail { subject, text, html }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mail_has_its_code_in_every_part_and_language() {
        for language in [Language::Ja, Language::En] {
            let [sign_in, delete] = [Purpose::SignIn, Purpose::Delete].map(|purpose| {
                let Mail { subject, text, html } = write(&Code::of_random(1_234), purpose, language);
                for part in [subject, text.clone(), html] {
                    assert!(part.contains("001234"), "{part}");
                }
                text
            });
            let (word, other) =
                if language == Language::Ja { ("削除", "ログインする") } else { ("delete", "sign in") };
            assert!(delete.contains(word) && !delete.contains(other) && sign_in.contains(other), "{delete}");
        }
        for (tag, language) in [
            (Some("ja-JP"), Language::Ja),
            (Some("JA"), Language::Ja),
            (Some("jav"), Language::En),
            (None, Language::En),
        ] {
            assert_eq!(Language::of(tag), language, "{tag:?}");
        }
    }
}
