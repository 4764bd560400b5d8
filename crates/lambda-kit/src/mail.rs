//! Mails through SES v2.

use aws_sdk_sesv2::config::retry::RetryConfig;
use aws_sdk_sesv2::error::ProvideErrorMetadata;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message};
use aws_sdk_sesv2::{Client, Config};

/// The texts of a mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// The subject.
    pub subject: String,
    /// The body as plain text.
    pub text: String,
    /// The body as HTML.
    pub html: String,
}

/// Sends mails with `SendEmail`.
#[derive(Debug, Clone)]
pub struct Mailer {
    client: Client,
    from: String,
}

impl Mailer {
    /// Mails from an address that is verified in SES.
    pub fn new(client: Client, from: impl Into<String>) -> Self {
        Self { client, from: from.into() }
    }

    /// Sends a mail. Without an answer it is sent again, so it may arrive twice.
    ///
    /// # Errors
    /// A text for the log.
    pub async fn send(&self, to: &str, mail: Mail) -> Result<(), String> {
        self.send_as(to, mail, Config::builder()).await
    }

    /// Sends a mail in one attempt, so it arrives at most once.
    ///
    /// # Errors
    /// The same. The mail may have arrived.
    pub async fn send_once(&self, to: &str, mail: Mail) -> Result<(), String> {
        self.send_as(to, mail, Config::builder().retry_config(RetryConfig::disabled())).await
    }

    async fn send_as(
        &self,
        to: &str,
        Mail { subject, text, html }: Mail,
        config: aws_sdk_sesv2::config::Builder,
    ) -> Result<(), String> {
        let content = |data: String| Content::builder().data(data).charset("UTF-8").build().map_err(|e| e.to_string());
        let body = Body::builder().text(content(text)?).html(content(html)?).build();
        let message = Message::builder().subject(content(subject)?).body(body).build();
        let request = self.client.send_email().from_email_address(&self.from);
        let request = request.destination(Destination::builder().to_addresses(to).build());
        let request = request.content(EmailContent::builder().simple(message).build());
        let sent = request.customize().config_override(config).send().await;
        // SES quotes addresses in its messages, so only its error code may go to the log.
        sent.map(drop).map_err(|error| error.code().map_or_else(|| error.to_string(), str::to_owned))
    }
}
