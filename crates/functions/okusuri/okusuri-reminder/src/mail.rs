//! The mail of a reminder, for a user whom no browser reaches.

use domain::okusuri::{Language, clock_time};
use jiff::civil::Time;
use lambda_kit::mail::Mail;

/// Names only the times of the doses: a mail may be read by others. It has no link, so that users do
/// not get used to following links in such mails.
pub(crate) fn write(times: &[Time], language: Language) -> Mail {
    let times: Vec<_> = times.iter().map(|time| clock_time(*time)).collect();
    let (subject, lead, note) = match language {
        Language::Ja => {
            let times = times.join("、");
            (
                format!("おくすりの時間です：{times}"),
                format!(
                    "{times}のおくすりがまだ記録されていません。おくすりログを開いて、服用またはスキップを記録してください。"
                ),
                "通知が届かなかったため、メールでお知らせしました。メールは設定の「リマインダー」で止められます。",
            )
        }
        Language::En => {
            let times = times.join(", ");
            (
                format!("Time for your medicine: {times}"),
                format!("Your dose of {times} is not recorded yet. Open Okusuri and record it as taken or skipped."),
                "You get this mail because no notification reached you. You can stop these mails under Settings, Reminder.",
            )
        }
    };
    let text = format!("{lead}\n\n{note}\n");
    let html = format!(
        "<!doctype html><html lang=\"{}\"><body style=\"font-family:sans-serif;line-height:1.6;color:#222\">\
         <p>{lead}</p><p>{note}</p></body></html>",
        language.as_str()
    );
    Mail { subject, text, html }
}
