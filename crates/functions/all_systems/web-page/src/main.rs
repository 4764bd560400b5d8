//! `web-page`: every path that no other function has.

use lambda_kit::{http, telemetry};
use web_page::{Pages, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let pages = &Pages::from_env();
    http::run(async |request| handle(pages, &request)).await
}
