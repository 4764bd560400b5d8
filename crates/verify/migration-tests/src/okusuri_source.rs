//! The PostgreSQL database that Okusuri comes from: its schema, and as many awkward rows as one
//! wants.

use std::fmt::Write;
use std::pin::pin;

use anyhow::Result;
use bytes::Bytes;
use fastrand::Rng;
use futures::SinkExt;
use tokio_postgres::Client;

/// better-auth's tables as its generator makes them, and the application's own.
pub const SCHEMA: &str = include_str!("okusuri_source.sql");

/// Makes the tables and fills them with so many users and what belongs to them, some forty rows
/// each: the same of the same seed. Gives the number of rows.
///
/// # Errors
/// When PostgreSQL refuses.
pub async fn fill(client: &Client, seed: u64, users: usize) -> Result<u64> {
    client.batch_execute(SCHEMA).await?;
    let rows = Rows::new(seed, users);
    let mut count = 0;
    for (copy, text) in [
        (r#""user" (id, name, email, "emailVerified", image, "createdAt", "updatedAt", "deletedAt")"#, &rows.users),
        (
            r#"session (id, "expiresAt", token, "createdAt", "updatedAt", "ipAddress", "userAgent", "userId")"#,
            &rows.sessions,
        ),
        (
            r#"account (id, "accountId", "providerId", "userId", "accessToken", "refreshToken", "idToken", "accessTokenExpiresAt", "refreshTokenExpiresAt", scope, password, "createdAt", "updatedAt")"#,
            &rows.accounts,
        ),
        (r#"verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")"#, &rows.verifications),
        ("medication_logs (user_id, has_bleeding, created_at, updated_at, deleted_at)", &rows.logs),
        (
            "notification_settings (user_id, platform, is_enabled, subscription, created_at, updated_at, deleted_at)",
            &rows.settings,
        ),
    ] {
        let mut sink = pin!(client.copy_in(&format!("COPY {copy} FROM STDIN")).await?);
        for part in text.as_bytes().chunks(1 << 20) {
            sink.send(Bytes::copy_from_slice(part)).await?;
        }
        count += sink.finish().await?;
    }
    Ok(count)
}

/// The days of the logs: around 2024's leap day, a year before that, 1900, and before 1970.
const FIRST_DAYS: [&str; 4] = ["2024-01-20", "2023-02-10", "1900-01-01", "1969-12-01"];

/// The rows of each table in COPY's text format.
#[derive(Debug, Default)]
struct Rows {
    users: String,
    sessions: String,
    accounts: String,
    verifications: String,
    logs: String,
    settings: String,
}

impl Rows {
    fn new(seed: u64, users: usize) -> Self {
        let mut rng = Rng::with_seed(seed);
        let mut rows = Self::default();
        let ids: Vec<_> = (0..users).map(|n| id(n, &mut rng)).collect();
        for (n, user) in ids.iter().enumerate() {
            rows.user(n, user, &mut rng);
            rows.sessions_of(n, user, &mut rng);
            rows.accounts_of(n, user, &mut rng);
            rows.logs_of(n, user, &mut rng);
            rows.settings_of(n, user, &mut rng);
        }
        rows.verifications(users, &mut rng);
        rows.orphans(&mut rng);
        rows
    }

    fn user(&mut self, n: usize, id: &str, rng: &mut Rng) {
        let name = match n % 9 {
            0 => None,
            1 => Some("🌊💊👩🏽‍⚕️ はなこ".to_owned()),
            2 => Some("tab\tline\nback\\slash \"quotes\" 'and' \u{200f}שלום".to_owned()),
            3 => Some(String::new()),
            4 => Some("e\u{301} and é".to_owned()),
            _ => Some(format!("User {n}")),
        };
        let email = match n % 20 {
            0 => None,
            // The same address as the user's before, in another case.
            1..=2 => Some(format!("User{}@Example.COM", n - n % 20).to_uppercase().replacen(
                "USER",
                ["", "user", "USER"][n % 20],
                1,
            )),
            3 => Some(format!("user{n}@bücher.example")),
            4 => Some("  ".repeat(n % 3) + &format!("user{n}@example.com ")),
            5 if n % 200 == 5 => Some(format!("no address {n}")),
            _ => Some(format!("user{n}@example.com")),
        };
        let image = match n % 50 {
            1 => Some("https://example.com/".to_owned() + &"p".repeat(3_000)),
            2 => Some("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==".to_owned()),
            3 if n % 500 == 3 => Some("data:image/jpeg;base64,".to_owned() + &"QUJD".repeat(65_000)),
            4 if n % 500 == 4 => Some("data:image/png;base64,".to_owned() + &"QUJD".repeat(97_000)),
            _ if n.is_multiple_of(3) => Some(format!("https://example.com/{n}.png")),
            _ => None,
        };
        let created = match n % 100 {
            7 => "1900-01-01 00:00:00",
            8 => "1969-07-20 20:17:40.123456",
            9 if n == 9 => "infinity",
            10 if n == 10 => "0044-03-15 00:00:00 BC",
            11 if n == 11 => "12026-01-01 00:00:00",
            _ => "2023-11-05 01:30:00.5",
        };
        let deleted = (n % 33 == 32).then_some("2025-01-01 00:00:00");
        let verified = ["t", "f", "\\N"][rng.usize(..3)];
        let updated = moment(rng);
        line(
            &mut self.users,
            &[
                Some(id),
                name.as_deref(),
                email.as_deref(),
                None,
                image.as_deref(),
                Some(created),
                Some(&updated),
                deleted,
            ],
        );
        set(&mut self.users, 3, verified);
    }

    fn sessions_of(&mut self, n: usize, user: &str, rng: &mut Rng) {
        for m in 0..rng.usize(..4) {
            let expires = match rng.u8(..10) {
                0..=4 => "2099-12-31 23:59:59.999",
                5 => "1969-12-31 00:00:00",
                6 if m == 0 => "infinity",
                _ => "2020-02-29 12:00:00",
            };
            let agent = match rng.u8(..20) {
                0 => None,
                1 => Some("Mozilla ".repeat(400)),
                _ => Some("Mozilla/5.0 (iPhone; ねこ) 🐈".to_owned()),
            };
            let ip = ["192.168.1.1", "2001:db8::1", ""][rng.usize(..3)];
            let (id, token, at) = (random(24, rng), random(32, rng), moment(rng));
            let ip = Some(ip).filter(|ip| !ip.is_empty());
            let token = (n % 300 != 299).then_some(&*token);
            let row = [Some(&*id), Some(expires), token, Some(&at), Some(&at), ip, agent.as_deref(), Some(user)];
            line(&mut self.sessions, &row);
        }
    }

    fn accounts_of(&mut self, n: usize, user: &str, rng: &mut Rng) {
        for provider in ["google", "apple", "credential"].iter().take(rng.usize(..4)) {
            // Every now and then two users share a login.
            let subject = match n % 60 {
                59 => format!("{provider}-{}", n - 1),
                58 if *provider == "apple" => format!("with#hash-{n}"),
                _ => format!("{provider}-{n}"),
            };
            let (id, at) = (random(24, rng), moment(rng));
            let token = (rng.bool()).then(|| "ya29.".to_owned() + &random(180, rng));
            let expires = ["2099-01-01 00:00:00", "2001-01-01 00:00:00", "infinity"][rng.usize(..3)];
            let expires = token.as_ref().map(|_| if n.is_multiple_of(40) { expires } else { "2099-01-01 00:00:00" });
            let password = (*provider == "credential").then_some("5a1t:6a5h");
            line(
                &mut self.accounts,
                &[
                    Some(&id),
                    Some(&subject),
                    Some(provider),
                    Some(user),
                    token.as_deref(),
                    token.as_deref(),
                    None,
                    expires,
                    None,
                    Some("openid profile email"),
                    password,
                    Some(&at),
                    Some(&at),
                ],
            );
        }
    }

    fn logs_of(&mut self, n: usize, user: &str, rng: &mut Rng) {
        let first: jiff::civil::Date =
            FIRST_DAYS[if n.is_multiple_of(25) { rng.usize(..4) } else { n % 2 }].parse().unwrap_or_default();
        let bleeding_from = rng.i32(5..30);
        for day in 0..38 {
            if rng.u8(..12) == 0 {
                continue;
            }
            let date = first.saturating_add(jiff::Span::new().days(day));
            // Both sides of midnight in UTC and in Tokyo.
            let time =
                ["21:00:00+09", "23:59:59.999999+09", "00:00:00+09", "08:59:59+09", "09:00:00+09"][rng.usize(..5)];
            let (created, updated) = (format!("{date} {time}"), format!("{date} 23:59:59.9999{:02}+09", rng.u8(..99)));
            let bleeding = (rng.u8(..50) != 0).then_some(if (bleeding_from..bleeding_from + 4).contains(&day) {
                "t"
            } else {
                "f"
            });
            let deleted = (rng.u8(..60) == 0).then_some(&*updated);
            line(&mut self.logs, &[Some(user), bleeding, Some(&created), Some(&updated), deleted]);
            if rng.u8(..20) == 0 {
                // The day once more: newer, older, or of the very same moment.
                let again = [&*updated, &created, "2026-01-01 00:00:00+00"][rng.usize(..3)];
                line(&mut self.logs, &[Some(user), Some("t"), Some(&created), Some(again), None]);
            }
        }
        if n.is_multiple_of(97) {
            for time in ["infinity", "-infinity", "1899-12-31 12:00:00+00", "0001-01-01 00:00:00+00 BC"] {
                line(&mut self.logs, &[Some(user), Some("f"), Some(time), Some(time), None]);
            }
        }
    }

    fn settings_of(&mut self, n: usize, user: &str, rng: &mut Rng) {
        let platforms = [Some("web"), Some("ios"), Some("android"), Some("web"), Some("smart#fridge"), None];
        for platform in platforms.iter().skip(n % 5).take(rng.usize(..3)) {
            let key = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM";
            let good = format!(
                r#"{{"endpoint":"https://push.example.com/{}","expirationTime":null,"keys":{{"p256dh":"{key}","auth":"tBHItJI5svbpez7KI4CCXg"}}}}"#,
                random(20, rng)
            );
            let subscription = match rng.u8(..10) {
                0 => None,
                1 => Some(good[..40].to_owned()),
                2 => Some("\"\"".to_owned()),
                3 => Some(r#"{"endpoint":"http://192.168.0.1/","keys":{}}"#.to_owned()),
                4 if n % 400 < 3 => Some("x".repeat(390 * 1024)),
                _ => Some(good),
            };
            let (at, enabled) = (moment(rng) + "+00", ["t", "f", "\\N"][rng.usize(..3)]);
            let deleted = (rng.u8(..15) == 0).then_some(&*at);
            line(
                &mut self.settings,
                &[Some(user), *platform, None, subscription.as_deref(), Some(&at), Some(&at), deleted],
            );
            set(&mut self.settings, 2, enabled);
        }
    }

    fn verifications(&mut self, users: usize, rng: &mut Rng) {
        for n in 0..users / 5 {
            let (id, at) = (random(24, rng), moment(rng));
            let expires = ["2099-01-01 00:00:00", "2024-01-01 00:00:00"][n % 2];
            let (identifier, value) =
                (format!("sign-in-otp-user{n}@example.com"), format!("{:06}:0", rng.u32(..1_000_000)));
            line(
                &mut self.verifications,
                &[Some(&id), Some(&identifier), Some(&value), Some(expires), Some(&at), None],
            );
        }
    }

    fn orphans(&mut self, rng: &mut Rng) {
        for user in [Some("nobody"), None] {
            let (id, token) = (random(24, rng), random(32, rng));
            line(
                &mut self.sessions,
                &[Some(&id), Some("2099-01-01 00:00:00"), Some(&token), None, None, None, None, user],
            );
            line(
                &mut self.logs,
                &[user, Some("t"), Some("2024-05-05 12:00:00+00"), Some("2024-05-05 12:00:00+00"), None],
            );
            line(&mut self.settings, &[user, Some("web"), Some("t"), None, None, None, None]);
            let mut row = [None; 13];
            row[..4].copy_from_slice(&[Some(&*id), Some("orphan"), Some("google"), user]);
            line(&mut self.accounts, &row);
        }
    }
}

/// better-auth's ids are 32 letters and digits; a few are not.
fn id(n: usize, rng: &mut Rng) -> String {
    match n {
        13 => "with#hash".to_owned(),
        14 => "利用者 14 🙂".to_owned(),
        15 => "x".repeat(200),
        _ => random(32, rng),
    }
}

fn random(length: usize, rng: &mut Rng) -> String {
    (0..length).map(|_| rng.alphanumeric()).collect()
}

fn moment(rng: &mut Rng) -> String {
    let (month, day, hour) = (rng.u8(1..=12), rng.u8(1..=28), rng.u8(..24));
    let fraction = ["", ".1", ".123", ".123456", ".000001"][rng.usize(..5)];
    format!("{}-{month:02}-{day:02} {hour:02}:{:02}:{:02}{fraction}", rng.u16(2019..=2025), rng.u8(..60), rng.u8(..60))
}

/// Appends a line in COPY's text format.
fn line(text: &mut String, fields: &[Option<&str>]) {
    for (n, field) in fields.iter().enumerate() {
        if n > 0 {
            text.push('\t');
        }
        match field {
            None => text.push_str("\\N"),
            Some(field) => {
                for character in field.chars() {
                    match character {
                        '\\' => text.push_str("\\\\"),
                        '\t' => text.push_str("\\t"),
                        '\n' => text.push_str("\\n"),
                        '\r' => text.push_str("\\r"),
                        other => text.push(other),
                    }
                }
            }
        }
    }
    text.push('\n');
}

/// Replaces a field of the last line by what COPY is to read literally.
fn set(text: &mut String, field: usize, literal: &str) {
    let start = text.trim_end_matches('\n').rfind('\n').map_or(0, |end| end + 1);
    let mut fields: Vec<_> = text[start..].trim_end_matches('\n').split('\t').map(str::to_owned).collect();
    if let Some(field) = fields.get_mut(field) {
        literal.clone_into(field);
    }
    text.truncate(start);
    let _ = writeln!(text, "{}", fields.join("\t"));
}
