//! An application in Node lives through a cutover with two sidecars, which are killed meanwhile.
//! And what the sidecar answers to mistakes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use migration_tests::Migration;
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tests::binary;

use super::cutover::compared;

const TOKEN: &str = "a token of the application";

fn repository() -> PathBuf {
    tests::repository().canonicalize().unwrap()
}

/// Builds the client, as a package of npm would have it.
fn client(folder: &Path) -> PathBuf {
    let compiler = repository().join("web/node_modules/.bin/tsc");
    assert!(compiler.is_file(), "the TypeScript compiler is missing: `make page` installs it");
    let sources = repository().join("crates/tools/tidemark-migrate/client");
    let built = Command::new(compiler).arg("-p").arg(sources).arg("--outDir").arg(folder).status().unwrap();
    assert!(built.success());
    std::fs::write(folder.join("package.json"), r#"{"type":"module"}"#).unwrap();
    folder.join("index.js")
}

/// A sidecar at a port of its own, which it keeps when it is started again.
struct Sidecar {
    arguments: Vec<String>,
    url: String,
    process: Child,
}

impl Sidecar {
    async fn start(migration: &Migration) -> Self {
        let port = tests::free_port();
        let token = migration.folder.path().join("token");
        std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
        let (listen, token) = (format!("127.0.0.1:{port}"), token.display().to_string());
        let mut arguments = migration.arguments("serve", &["--listen", &listen, "--token-file", &token]);
        let run = arguments.iter().position(|argument| argument == "--run").unwrap();
        arguments.drain(run..run + 2);
        let process = Self::spawn(&arguments);
        let sidecar = Self { arguments, url: format!("http://{listen}"), process };
        sidecar.ready().await;
        sidecar
    }

    fn spawn(arguments: &[String]) -> Child {
        let mut program = Command::new(binary("okusuri-migrate").unwrap());
        program.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    async fn ready(&self) {
        for _ in 0..6_000 {
            if Client::new().get(format!("{}/health", self.url)).send().await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the sidecar does not answer");
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = Self::spawn(&self.arguments);
    }

    async fn ask(&self, method: Method, path: &str, body: impl Into<String>) -> (StatusCode, Value) {
        let request = Client::new().request(method, format!("{}{path}", self.url)).bearer_auth(TOKEN);
        let answer = request.body(body.into()).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap_or(Value::Null))
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program in Node, and how many of its writes were answered.
struct Application {
    process: Child,
    answered: Arc<AtomicU64>,
    last: std::thread::JoinHandle<String>,
}

impl Application {
    fn start(client: &Path, user: &str, sidecars: &[Sidecar]) -> Self {
        let script = repository().join("crates/tools/tidemark-migrate/client/tests/traffic.mjs");
        let mut node = Command::new("node");
        node.arg(script).arg(client).args([user, TOKEN]).args(sidecars.iter().map(|sidecar| &sidecar.url));
        let mut process = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answered = Arc::new(AtomicU64::new(0));
        let (count, output) = (Arc::clone(&answered), process.stdout.take().unwrap());
        let last = std::thread::spawn(move || {
            let mut last = String::new();
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                count.fetch_add(u64::from(line == "answered"), Ordering::Relaxed);
                last = line;
            }
            last
        });
        Self { process, answered, last }
    }

    /// Waits for further answers.
    async fn more(&mut self, writes: u64) {
        let goal = self.answered.load(Ordering::Relaxed) + writes;
        while self.answered.load(Ordering::Relaxed) < goal {
            assert!(self.process.try_wait().unwrap().is_none(), "the application has ended");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The possible values of each row.
    fn stop(mut self) -> Vec<(i64, Vec<Option<bool>>)> {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
        serde_json::from_str(&self.last.join().unwrap()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn node_application_survives_a_cutover_with_killed_sidecars() {
    let mut migration = Migration::new(83, 20).await.unwrap();
    let sql = "SELECT user_id FROM medication_logs JOIN \"user\" ON id = user_id WHERE \"deletedAt\" IS NULL AND length(id) = 32 LIMIT 1";
    let postgres = migration.postgres.client().await.unwrap();
    let sql = sql.replace("ON id", "ON \"user\".id").replace("length(id)", "length(\"user\".id)");
    let user: String = postgres.query_one(&sql, &[]).await.unwrap().get(0);
    let built = tempfile::tempdir().unwrap();
    let client = client(built.path());
    let mut sidecars = [Sidecar::start(&migration).await, Sidecar::start(&migration).await];
    let mut application = Application::start(&client, &user, &sidecars);
    application.more(20).await;
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        application.more(5).await;
        migration.phase(name, &[]).await.unwrap();
    }
    for (n, to) in ["dual", "1%", "50%", "100%", "0%", "100%"].into_iter().enumerate() {
        application.more(10).await;
        sidecars[n % 2].kill();
        if n % 3 == 0 {
            // All connections of the sidecars are lost.
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
            postgres.query(cut, &[]).await.unwrap();
        }
        migration.phase("cutover", &["--to", to]).await.unwrap();
        application.more(10).await;
    }
    let known = application.stop();
    compared(&migration, "100%").await;
    for (n, values) in known {
        let sql = "SELECT has_bleeding FROM medication_logs WHERE id = $1::bigint";
        let found = postgres.query_opt(sql, &[&(5_000_000 + n)]).await.unwrap().map(|row| row.get::<_, bool>(0));
        assert!(values.contains(&found), "{n} is {found:?}, and was answered {values:?}");
    }
    migration.phase("cutover", &["--to", "finished"]).await.unwrap();
    sidecars[0].ready().await;
    let log = json!({ "id": 5_000_000, "user_id": user, "has_bleeding": true }).to_string();
    let (status, answer) = sidecars[0].ask(Method::PUT, "/rows/medication_logs", log).await;
    assert_eq!((status, &answer["error"]["type"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("refused")), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn mistakes_get_a_status_and_a_stable_type() {
    let mut migration = Migration::new(84, 4).await.unwrap();
    let sidecar = Sidecar::start(&migration).await;
    let row = json!({ "id": "a", "name": "Ann", "email": null, "emailVerified": true, "createdAt": "2025-01-01", "updatedAt": "2025-01-01" });
    let (status, answer) = sidecar.ask(Method::PUT, "/rows/user", row.to_string()).await;
    assert_eq!((status, answer), (StatusCode::OK, json!({ "side": "postgres" })));
    let (status, answer) = sidecar.ask(Method::GET, "/owners/a/items/user", "").await;
    assert_eq!((status, &answer["items"][0]["Name"]), (StatusCode::OK, &json!({ "S": "Ann" })), "{answer}");
    let session = r#"INSERT INTO session (id, token, "userId", "expiresAt") VALUES ('of a', 'a', 'a', '2099-01-01')"#;
    migration.postgres.client().await.unwrap().batch_execute(session).await.unwrap();
    let large = format!(r#"{{"id":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    for (method, path, body, status, kind) in [
        (Method::PUT, "/rows/user", "{", 400, "bad-row"),
        (Method::PUT, "/rows/user", large.as_str(), 413, "bad-row"),
        (Method::PUT, "/rows/user", r#"{"id": "a", "id": "b"}"#, 400, "bad-row"),
        (Method::PUT, "/rows/user", r#"{"id": "a", "name": {"first": [{"n": 1, "n": 2}]}}"#, 400, "bad-row"),
        (Method::DELETE, "/rows/user?id=a&id=b", "", 400, "bad-row"),
        (Method::DELETE, "/rows/session?id=of+a&userId=b", "", 422, "refused"),
        (Method::PUT, "/rows/nothing", "{}", 404, "unknown-table"),
        (Method::PUT, "/rows/medication_logs", "{}", 422, "refused"),
        (Method::PUT, "/rows/medication_logs", r#"{"user_id": "a"}"#, 422, "refused"),
        (Method::DELETE, "/rows/medication_logs?user_id=a", "", 422, "refused"),
        (Method::PUT, "/rows/user", r#"{"id": "a", "nmae": "Ann"}"#, 422, "refused"),
        (Method::GET, "/nowhere", "", 404, "unknown-route"),
    ] {
        let (found, answer) = sidecar.ask(method, path, body).await;
        assert_eq!((found.as_u16(), &answer["error"]["type"]), (status, &json!(kind)), "{path} {answer}");
    }
    let (status, _) = sidecar.ask(Method::DELETE, "/rows/user?id=a", "").await;
    assert_eq!(status, StatusCode::OK);
    let without = Client::new().get(format!("{}/health", sidecar.url)).send().await.unwrap();
    assert_eq!(without.status(), StatusCode::UNAUTHORIZED);
    // A page of another site, whose name resolves to this machine, does not have the token.
    for method in [Method::GET, Method::DELETE] {
        let rebound = Client::new().request(method, format!("{}/rows/user?id=a", sidecar.url));
        let rebound = rebound.header("host", "evil.example").send().await.unwrap();
        assert_eq!(rebound.status(), StatusCode::UNAUTHORIZED);
    }
    let (status, answer) = sidecar.ask(Method::GET, "/health", "").await;
    assert_eq!((status, answer), (StatusCode::OK, json!({ "phase": null })));

    let without = &sidecar.arguments[..sidecar.arguments.len() - 2];
    let refused = Command::new(binary("okusuri-migrate").unwrap()).args(without).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--token-file"));

    // A role without the rights of `--application-role`.
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    let role = "CREATE ROLE application LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO application";
    migration.postgres.client().await.unwrap().batch_execute(role).await.unwrap();
    let arguments = sidecar.arguments.iter().map(|argument| argument.replace("user=okusuri", "user=application"));
    let refused = Command::new(binary("okusuri-migrate").unwrap()).args(arguments).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("--application-role"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sidecar_refuses_a_table_without_the_cutover() {
    let migration = Migration::new(84, 4).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let sidecar = Sidecar::start(&migration).await;
    let (status, answer) = sidecar.ask(Method::GET, "/health", "").await;
    assert_eq!((status, answer), (StatusCode::OK, json!({ "phase": "dual" })));
    // As the table of another run.
    let flag = format!("MIGRATION#{}#REPLICATION#0", migration.run_id().unwrap());
    migration.delete_item(&flag, "REPLICATION").await.unwrap();
    let (status, answer) = sidecar.ask(Method::GET, "/health", "").await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{answer}");
    assert!(answer["error"]["detail"].as_str().unwrap().contains("--table"), "{answer}");
    // Another sidecar does not start with this table.
    let any_port = |argument: &String| match argument.starts_with("127.0.0.1:") {
        true => "127.0.0.1:0".to_owned(),
        false => argument.clone(),
    };
    let mut other = Sidecar::spawn(&sidecar.arguments.iter().map(any_port).collect::<Vec<_>>());
    let ended = async {
        while other.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), ended).await;
    let _ = other.kill();
    assert!(ended.is_ok() && other.wait().unwrap().code() == Some(2));
}
