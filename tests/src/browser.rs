//! Browsers and mailboxes of Okusuri's tests.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::Stack;

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser: it keeps cookies, by name, and follows no redirect by itself.
#[derive(Debug, Clone)]
pub struct Browser {
    client: reqwest::Client,
    origin: String,
    /// What the sites have set.
    pub cookies: BTreeMap<String, String>,
}

/// What a browser got.
#[derive(Debug, Clone)]
pub struct Page {
    /// HTTP's status.
    pub status: StatusCode,
    /// The header `location`, empty when there is none.
    pub location: String,
    /// Each `Set-Cookie`.
    pub set_cookies: Vec<String>,
    /// The header `x-next-cursor`, empty when there is none.
    pub next_cursor: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Page {
    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Status and the name at the end of a problem's type.
    pub fn problem(&self) -> (u16, String) {
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        let name = kind.strip_prefix("urn:tidemark:problem:").unwrap_or_default();
        (self.status.as_u16(), name.to_owned())
    }
}

impl Browser {
    /// A browser that has been nowhere yet, before the page at `origin` (`http://localhost:3000`).
    pub fn new(origin: &str) -> Result<Self> {
        let client = reqwest::Client::builder().redirect(Policy::none()).timeout(PATIENCE).build()?;
        Ok(Self { client, origin: origin.to_owned(), cookies: BTreeMap::new() })
    }

    /// Any request; a path goes to the page's own origin.
    pub async fn send(&mut self, method: Method, to: &str, body: Option<(&str, Vec<u8>)>) -> Result<Page> {
        let url = if to.starts_with('/') { format!("{}{to}", self.origin) } else { to.to_owned() };
        let mut request = self.client.request(method, url);
        if to.starts_with('/') {
            // The page itself asks.
            request = request.header("sec-fetch-site", "same-origin");
        }
        if !self.cookies.is_empty() {
            let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            request = request.header("cookie", cookies.join("; "));
        }
        if let Some((content_type, body)) = body {
            request = request.header("content-type", content_type).body(body);
        }
        let answer = request.send().await?;
        let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (location, next_cursor) = (header("location").to_owned(), header("x-next-cursor").to_owned());
        let set_cookies = answer.headers().get_all("set-cookie").iter();
        let set_cookies: Vec<_> = set_cookies.filter_map(|cookie| cookie.to_str().ok().map(str::to_owned)).collect();
        for cookie in &set_cookies {
            let mut parts = cookie.split(';').map(str::trim);
            let (name, value) = parts.next().and_then(|pair| pair.split_once('=')).context("a cookie has a name")?;
            let is_gone = parts.any(|part| part.eq_ignore_ascii_case("max-age=0") || part.contains("1970"));
            match is_gone || value.is_empty() {
                true => self.cookies.remove(name),
                false => self.cookies.insert(name.to_owned(), value.to_owned()),
            };
        }
        Ok(Page { status: answer.status(), location, set_cookies, next_cursor, body: answer.bytes().await?.to_vec() })
    }

    /// The same browser after it has forgotten everybody but this system.
    pub fn without_provider(mut self) -> Self {
        self.cookies.retain(|name, _| name.starts_with("tidemark-"));
        self
    }

    /// A `GET`.
    pub async fn get(&mut self, to: &str) -> Result<Page> {
        self.send(Method::GET, to, None).await
    }

    /// A `DELETE`.
    pub async fn delete(&mut self, to: &str) -> Result<Page> {
        self.send(Method::DELETE, to, None).await
    }

    /// A `POST` of some JSON.
    pub async fn post(&mut self, to: &str, body: &Value) -> Result<Page> {
        self.send(Method::POST, to, Some(("application/json", body.to_string().into_bytes()))).await
    }

    /// A `PUT` of some JSON.
    pub async fn put(&mut self, to: &str, body: &Value) -> Result<Page> {
        self.send(Method::PUT, to, Some(("application/json", body.to_string().into_bytes()))).await
    }

    /// Signs in with a mailed code, and returns the user.
    pub async fn sign_in(&mut self, stack: &Stack, email: &str) -> Result<Value> {
        let sent = self.post("/okusuri/api/sign-in/email", &json!({ "email": email })).await?;
        anyhow::ensure!(sent.status == StatusCode::ACCEPTED, "{sent:?}");
        let code = stack.mailed_code(email).await?;
        let body = json!({ "email": email, "code": code, "timeZone": "Asia/Tokyo" });
        let entered = self.post("/okusuri/api/sign-in/email/verify", &body).await?;
        anyhow::ensure!(entered.status.is_success(), "{entered:?}");
        Ok(entered.json())
    }
}

impl Stack {
    /// The mails that the stack has taken for an address, the newest first.
    pub async fn mails(&self, email: &str) -> Result<Vec<Value>> {
        let answer = self.request(Method::GET, "/_local/mail", &[("accept", "application/json")], None).await?;
        let mails = answer.json()["items"].as_array().cloned().unwrap_or_default();
        Ok(mails.into_iter().filter(|mail| mail["to"][0] == email).collect())
    }

    /// The code in the newest mail to an address.
    pub async fn mailed_code(&self, email: &str) -> Result<String> {
        let mails = self.mails(email).await?;
        let text = mails.first().and_then(|mail| mail["text"].as_str()).context("there is no mail")?;
        let code = text.lines().map(str::trim).find(|line| line.len() == 6 && line.bytes().all(|b| b.is_ascii_digit()));
        Ok(code.context("the mail has no code")?.to_owned())
    }

    /// A code that was not sent to an address last.
    pub async fn wrong_code(&self, email: &str) -> Result<&'static str> {
        Ok(if self.mailed_code(email).await? == "000000" { "000001" } else { "000000" })
    }
}
