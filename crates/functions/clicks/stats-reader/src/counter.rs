//! The clicks of all time as a picture for other pages: of everything, or of one target.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use domain::clicks::ClickTarget;
use jiff::{SignedDuration, Timestamp};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;

use crate::{Reader, store_problem};

/// How long this function keeps a number, and a client the picture. The counter of a target reads
/// all its days, so a popular one would cost as much as all its viewers ask for.
const KEPT: SignedDuration = SignedDuration::from_secs(60);
const CACHE_CONTROL: &str = "public, max-age=60";

/// Raise it with a change of the picture, or clients would keep the old one.
const DESIGN: u8 = 1;

/// The most numbers that are kept. The targets are chosen by strangers.
const KEPT_MAX: usize = 1_000;

/// The numbers that were read lately, by target; `None` is everything.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<HashMap<Option<ClickTarget>, (u64, Timestamp)>>);

impl Kept {
    fn get(&self, target: &Option<ClickTarget>, now: Timestamp) -> Option<u64> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(target).filter(|(_, read)| now.duration_since(*read) < KEPT).map(|(clicks, _)| *clicks)
    }

    fn insert(&self, target: Option<ClickTarget>, clicks: u64, now: Timestamp) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(target, (clicks, now));
    }
}

/// The colours of a picture.
#[derive(Debug, Clone, Copy)]
enum Theme {
    /// Those that the viewer prefers.
    Auto,
    Light,
    Dark,
}

const LIGHT: &str = "rect{fill:#fbf9f4;stroke:#b9b7b0}text{fill:#12212c}";
const DARK: &str = "rect{fill:#12202a;stroke:#4c5b66}text{fill:#eef1f0}";

pub(crate) async fn picture(reader: &Reader, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let target = request.parse_query("target", ClickTarget::new)?;
    let theme = request.parse_query("theme", |name| match name {
        "auto" => Ok(Theme::Auto),
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err("expected `auto`, `light` or `dark`"),
    })?;
    let is_japanese = request.parse_query("lang", |name| match name {
        "en" => Ok(false),
        "ja" => Ok(true),
        _ => Err("expected `en` or `ja`"),
    })?;
    let clicks = match reader.kept.get(&target, now) {
        Some(clicks) => clicks,
        None => {
            let clicks = match &target {
                Some(target) => reader.details.total(target).await,
                None => reader.store.total().await.map(|total| total.total_clicks),
            };
            let clicks = clicks.map_err(store_problem)?;
            reader.kept.insert(target.clone(), clicks, now);
            clicks
        }
    };
    // The address says the rest of what the picture depends on.
    let etag = format!("\"{DESIGN}-{clicks}\"");
    let mut known = request.header("if-none-match").unwrap_or_default().split(',').map(str::trim);
    let (status, body) = match known.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag) {
        true => (304, String::new()),
        false => {
            let unit = match (is_japanese, clicks) {
                (Some(true), _) => "クリック",
                (_, 1) => "click",
                _ => "clicks",
            };
            let name = target.as_ref().map_or("", ClickTarget::as_str);
            (200, svg(name, &grouped(clicks), unit, theme.unwrap_or(Theme::Auto)))
        }
    };
    let reply = Reply::new(status, "image/svg+xml", body);
    let reply = reply.header("cache-control", CACHE_CONTROL).header("etag", &etag);
    Ok(reply
        .header("x-content-type-options", "nosniff")
        // Opened as a page of its own, the picture can load and run nothing.
        .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
        // Pages that isolate themselves may embed it too.
        .header("cross-origin-resource-policy", "cross-origin"))
}

fn svg(name: &str, number: &str, unit: &str, theme: Theme) -> String {
    // Fonts differ: the widest digits are 0.7 em wide.
    let width = (number.len() * 17 + 24).max(96);
    let middle = width / 2;
    let style = match theme {
        Theme::Light => LIGHT.to_owned(),
        Theme::Dark => DARK.to_owned(),
        Theme::Auto => format!("{LIGHT}@media(prefers-color-scheme:dark){{{DARK}}}"),
    };
    let mut title = escaped(name);
    if !title.is_empty() {
        title += ": ";
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"56\" viewBox=\"0 0 {width} 56\" \
         role=\"img\" aria-labelledby=\"title\"><title id=\"title\">{title}{number} {unit}</title>\
         <style>text{{font:12px system-ui,sans-serif;text-anchor:middle}}.number{{font-size:24px;font-weight:600}}\
         {style}</style><rect x=\".5\" y=\".5\" width=\"{}\" height=\"55\" rx=\"6\"/>\
         <text class=\"number\" x=\"{middle}\" y=\"29\">{number}</text><text x=\"{middle}\" y=\"46\">{unit}</text></svg>",
        width - 1
    )
}

/// A text of a stranger as text of XML. XML has no U+FFFE and no U+FFFF, also not escaped.
fn escaped(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' | '>' | '&' | '"' | '\'' => write!(all, "&#{};", u32::from(char)).unwrap_or_default(),
            '\u{fffe}' | '\u{ffff}' => all.push('\u{fffd}'),
            char => all.push(char),
        }
    }
    all
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut all = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            all.push(',');
        }
        all.push(digit);
    }
    all
}
