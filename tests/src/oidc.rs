//! A real OpenID provider as a process, and somebody who signs in at its pages.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::Method;

use crate::browser::{Browser, Page};

/// How long the provider may take to start on the slowest machine that should still pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// Pages between leaving and coming back: a login, a consent, and what leads from one to the other.
const STEPS_MAX: u32 = 20;

/// The npm package `oidc-provider` on a free port; ended when dropped.
#[derive(Debug)]
pub struct OidcProvider {
    process: Child,
    issuer: String,
}

impl OidcProvider {
    /// Starts one whose client `okusuri` may be sent back to `redirect_uris`.
    pub async fn start(redirect_uris: &[String]) -> Result<Self> {
        let folder = crate::repository().join("tests/oidc-provider");
        ensure!(folder.join("node_modules").is_dir(), "`npm --prefix tests/oidc-provider ci` was not run");
        let mut process = Command::new("node")
            .arg("server.js")
            .current_dir(folder)
            .env("REDIRECT_URIS", redirect_uris.join(" "))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("node starts")?;
        let output = process.stdout.take().context("the provider has no output")?;
        let mut provider = Self { process, issuer: String::new() };
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut ready = Some(ready);
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if let Some((issuer, ready)) = line.strip_prefix("ready ").zip(ready.take()) {
                    let _ = ready.send(issuer.to_owned());
                }
            }
        });
        let issuer = tokio::time::timeout(PATIENCE, is_ready).await.context("the provider is not ready in time")?;
        provider.issuer = issuer.context("the provider has ended")?;
        Ok(provider)
    }

    /// Its issuer: `http://127.0.0.1:<port>`.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The address and port that functions have to be allowed to call.
    pub fn address(&self) -> &str {
        self.issuer.trim_start_matches("http://")
    }

    /// Signs in as `user` at the page that `url` leads to, and consents. Returns the address of the
    /// last redirect, which is not followed.
    pub async fn sign_in(&self, browser: &mut Browser, url: &str, user: &str) -> Result<String> {
        let mut to = url.to_owned();
        for _ in 0..STEPS_MAX {
            let page = browser.get(&to).await?;
            to = match self.next(browser, page, user).await? {
                Ok(next) => next,
                Err(back) => return Ok(back),
            };
        }
        anyhow::bail!("the provider's pages do not end; the last was {to}")
    }

    /// The page after this one; `Err` when it is not the provider's.
    async fn next(&self, browser: &mut Browser, page: Page, user: &str) -> Result<Result<String, String>> {
        let page = match page.location.is_empty() {
            false => page,
            true => {
                // The only form of the page. A hidden field may hold its action.
                let html = String::from_utf8_lossy(&page.body).into_owned();
                let action = part(&html, "action=\"", "\"").with_context(|| format!("no form in {html}"))?;
                let prompt = part(&html, "name=\"prompt\" value=\"", "\"").unwrap_or_default();
                let form = format!("prompt={prompt}&login={user}&password=any");
                let form = Some(("application/x-www-form-urlencoded", form.into_bytes()));
                browser.send(Method::POST, &self.absolute(&action), form).await?
            }
        };
        ensure!(!page.location.is_empty(), "the provider sends nowhere: {page:?}");
        let next = self.absolute(&page.location);
        Ok(if next.starts_with(&self.issuer) { Ok(next) } else { Err(next) })
    }

    fn absolute(&self, url: &str) -> String {
        if url.starts_with('/') { format!("{}{url}", self.issuer) } else { url.to_owned() }
    }
}

fn part(text: &str, before: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0.replace("&amp;", "&"))
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        // One that has ended is no error worth a word.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
