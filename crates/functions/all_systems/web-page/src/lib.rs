//! Serves the pages from the files in the deployment package, and answers every path that no other
//! function has.
//!
//! Without the CDN this function serves all pages. With the CDN, it answers only for paths that the
//! bucket does not have. The local stack serves the files itself and uses only the page for unknown
//! addresses.

use std::io::Write;
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{NOT_FOUND, Problem};
use percent_encoding::percent_decode_str;

/// The pages' content security policy; the template repeats it for the CDN. Without the CDN, the
/// WebSockets have another origin, which is added.
const POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";

/// The largest file. Lambda's limit for a reply is 6 MB, and base64 makes a body a third longer.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The pages' files, and the address of the game's WebSockets.
#[derive(Debug, Clone)]
pub struct Pages {
    folder: PathBuf,
    sockets: String,
}

impl Pages {
    /// The files in `folder`. `sockets` is the address of the game's WebSockets, or empty if it is
    /// `/ws` of the same origin.
    pub fn new(folder: PathBuf, sockets: String) -> Self {
        Self { folder, sockets }
    }

    /// The files in the folder `page` of the deployment package.
    pub fn from_env() -> Self {
        let package = std::env::var("LAMBDA_TASK_ROOT").unwrap_or_default();
        Self::new(Path::new(&package).join("page"), std::env::var("GAME_SOCKETS_URL").unwrap_or_default())
    }

    /// The file of a URL path, if the path stays within the folder.
    fn file(&self, path: &str) -> Option<PathBuf> {
        let path = percent_decode_str(path).decode_utf8().ok()?;
        let relative = Path::new(path.trim_start_matches('/'));
        let is_within = relative.components().all(|part| matches!(part, Component::Normal(_)));
        (is_within && !path.contains('\0')).then(|| self.folder.join(relative))
    }

    /// The pages' content security policy. Without the CDN the WebSockets have another origin.
    fn policy(&self) -> String {
        match self.sockets.split('/').nth(2) {
            Some(host) => format!("{POLICY}; connect-src 'self' wss://{host}"),
            None => POLICY.to_owned(),
        }
    }

    fn serve(&self, request: &Request, file: &Path) -> Option<Reply> {
        let metadata = std::fs::metadata(file).ok().filter(|metadata| metadata.is_file())?;
        if metadata.len() > FILE_BYTES_MAX {
            return None;
        }
        let mut body = std::fs::read(file).ok()?;
        let (content_type, is_text) = content_type(file);
        if content_type.starts_with("text/html") && !self.sockets.is_empty() {
            let page = String::from_utf8(body).ok()?;
            let meta = format!("<meta name=\"game-sockets\" content=\"{}\" />", self.sockets);
            body = page.replacen("</head>", &format!("{meta}</head>"), 1).into_bytes();
        }
        // Files under `assets` have a hash in their name and never change; browsers must revalidate
        // all others.
        let is_fixed = file.starts_with(self.folder.join("assets"));
        let caching = if is_fixed { "public, max-age=31536000, immutable" } else { "no-cache" };
        let gzip = is_text && request.header("accept-encoding").is_some_and(|accepted| accepted.contains("gzip"));
        let reply = if gzip {
            Reply::bytes(200, content_type, &gzipped(&body)).header("content-encoding", "gzip")
        } else {
            Reply::bytes(200, content_type, &body)
        };
        Some(self.secured(reply.header("cache-control", caching).header("vary", "accept-encoding")))
    }

    fn secured(&self, reply: Reply) -> Reply {
        reply
            .header("content-security-policy", &self.policy())
            .header("x-content-type-options", "nosniff")
            .header("x-frame-options", "DENY")
            .header("referrer-policy", "same-origin")
            .header("strict-transport-security", "max-age=31536000")
    }
}

/// Answers one request: a file, a folder's index, or the page for unknown addresses.
pub fn handle(pages: &Pages, request: &Request) -> Result<Reply, Problem> {
    if !matches!(request.method(), "GET" | "HEAD") {
        return Err(NOT_FOUND.detail(request.target()));
    }
    // API Gateway may or may not keep the slash at the end of a folder's path. A redirect to the
    // slash could therefore loop, so the index is served in both cases.
    let found = pages.file(request.path()).and_then(|file| {
        let folder = || pages.serve(request, &file.join("index.html"));
        pages.serve(request, &file).or_else(folder)
    });
    if let Some(reply) = found {
        return Ok(reply);
    }
    if !is_browser(request) {
        return Err(NOT_FOUND.detail(request.target()));
    }
    Ok(pages.secured(Reply::new(404, "text/html; charset=utf-8", include_str!("404.html").to_owned())))
}

/// Whether a person reads the answer. A browser that follows a link asks for HTML. The CDN does not
/// forward what the browser asked for.
fn is_browser(request: &Request) -> bool {
    match request.header("accept") {
        Some(accepted) => accepted.contains("html"),
        None => request.header("user-agent") == Some("Amazon CloudFront"),
    }
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}

/// The media type of a file by its extension, and whether compressing it is worthwhile.
fn content_type(file: &Path) -> (&'static str, bool) {
    match file.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => ("text/html; charset=utf-8", true),
        "js" => ("text/javascript; charset=utf-8", true),
        "css" => ("text/css; charset=utf-8", true),
        "svg" => ("image/svg+xml", true),
        "json" => ("application/json", true),
        "webmanifest" => ("application/manifest+json", true),
        "txt" => ("text/plain; charset=utf-8", true),
        "png" => ("image/png", false),
        "ico" => ("image/x-icon", false),
        "woff2" => ("font/woff2", false),
        _ => ("application/octet-stream", false),
    }
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::apigw::ApiGatewayV2httpRequest;

    use super::*;

    fn request(method: &str, path: &str, headers: &[(&'static str, &'static str)]) -> Request {
        let headers: serde_json::Map<String, serde_json::Value> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let event = serde_json::json!({
            "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": "", "headers": headers,
            "requestContext": { "http": { "method": method, "path": path } }, "isBase64Encoded": false,
        });
        Request::new(serde_json::from_value::<ApiGatewayV2httpRequest>(event).expect("an event"))
    }

    fn answer(pages: &Pages, request: &Request) -> serde_json::Value {
        let reply = handle(pages, request).unwrap_or_else(Reply::from);
        serde_json::to_value(reply.into_event()).expect("JSON")
    }

    fn pages(sockets: &str) -> (tempfile::TempDir, Pages) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let file = folder.path().join("page").join(name);
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("written");
            std::fs::write(file, text).expect("written");
        };
        write("index.html", "<head></head>");
        write("game/index.html", "<head></head>");
        write("assets/a-1.js", "let a;");
        std::fs::write(folder.path().join("bootstrap"), "a secret").expect("written");
        let pages = Pages::new(folder.path().join("page"), sockets.to_owned());
        (folder, pages)
    }

    #[test]
    fn files_are_served_with_their_types_and_lifetimes() {
        let (_folder, pages) = pages("");
        for (path, content_type, caching) in [
            ("/", "text/html; charset=utf-8", "no-cache"),
            ("/game", "text/html; charset=utf-8", "no-cache"),
            ("/game/", "text/html; charset=utf-8", "no-cache"),
            ("/assets/a-1.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"),
        ] {
            let event = answer(&pages, &request("GET", path, &[("accept", "*/*")]));
            assert_eq!((&event["statusCode"], &event["isBase64Encoded"]), (&200.into(), &true.into()), "{path}");
            assert_eq!(event["headers"]["content-type"], content_type, "{path}");
            assert_eq!(event["headers"]["cache-control"], caching, "{path}");
            assert_eq!(event["headers"]["content-security-policy"], POLICY, "{path}");
        }
        let event = answer(&pages, &request("GET", "/", &[("accept-encoding", "gzip, br")]));
        assert_eq!(event["headers"]["content-encoding"], "gzip");
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let (_folder, pages) = pages("");
        for path in [
            "/../bootstrap",
            "/%2e%2e/bootstrap",
            "//../bootstrap",
            "/game/../../bootstrap",
            "/%00",
            "/assets",
            "/nothing",
        ] {
            let event = answer(&pages, &request("GET", path, &[("user-agent", "Amazon CloudFront")]));
            assert_eq!(event["statusCode"], 404, "{path}");
            assert!(event["body"].as_str().is_some_and(|body| body.contains("no page at this address")), "{path}");
        }
    }

    #[test]
    fn a_client_of_the_api_gets_a_problem() {
        let (_folder, pages) = pages("");
        for (method, accept) in [("POST", "text/html"), ("GET", "*/*"), ("GET", "application/json")] {
            let event = answer(&pages, &request(method, "/nothing", &[("accept", accept)]));
            assert_eq!(
                (&event["statusCode"], &event["headers"]["content-type"]),
                (&404.into(), &"application/problem+json".into())
            );
        }
    }

    #[test]
    fn pages_contain_the_sockets_address_without_a_cdn() {
        let (_folder, pages) = pages("wss://abc.example.com/dev");
        let event = answer(&pages, &request("GET", "/game/", &[]));
        let body = pages.file("/game/index.html").map(|file| std::fs::read_to_string(file).expect("a file"));
        assert_eq!(body.as_deref(), Some("<head></head>"));
        let policy = event["headers"]["content-security-policy"].as_str().expect("a policy");
        assert!(policy.ends_with("; connect-src 'self' wss://abc.example.com"), "{policy}");
        use base64::Engine;
        let body =
            base64::engine::general_purpose::STANDARD.decode(event["body"].as_str().expect("a body")).expect("base64");
        assert_eq!(
            String::from_utf8_lossy(&body),
            "<head><meta name=\"game-sockets\" content=\"wss://abc.example.com/dev\" /></head>"
        );
    }
}
