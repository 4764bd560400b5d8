//! A PostgreSQL for one test or measurement: a server on a temporary data directory, reached over a
//! unix socket, gone when dropped.

use std::fs::{File, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Gid, Pid, Uid, User, chown};
use tempfile::TempDir;
use tokio::sync::Mutex;
use tokio_postgres::{Client, NoTls};

/// How long the server may take to start or stop, on the slowest machine that should still pass.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where Debian puts the server's programs, the newest last.
const DEBIAN: &str = "/usr/lib/postgresql";

/// A data directory with one empty database, `okusuri`, as long as a server runs that began as its
/// copy. Another copy takes a tenth of the time of `initdb`.
static EMPTY: Mutex<Weak<TempDir>> = Mutex::const_new(Weak::new());

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    process: Child,
    folder: TempDir,
    _empty: Option<Arc<TempDir>>,
    programs: PathBuf,
    owner: Option<(Uid, Gid)>,
    settings: Vec<String>,
    /// Also names the socket.
    port: u16,
}

/// The port of a server that listens on no address.
const PORT: u16 = 5432;

/// The data directory in the folder of a server.
const DATA: &str = "data";

impl Postgres {
    /// Whether the server's programs are on this machine.
    pub fn is_installed() -> bool {
        programs().is_ok()
    }

    /// Starts a server with one empty database, `okusuri`.
    pub async fn start() -> Result<Self> {
        let (programs, owner) = (programs()?, owner()?);
        let empty = empty_database(&programs, owner).await?;
        let folder = folder_of(owner)?;
        let output = Command::new("cp").arg("-a").arg(empty.path().join(DATA)).arg(folder.path()).output()?;
        ensure!(output.status.success(), "cp: {}", String::from_utf8_lossy(&output.stderr));
        let process = serve(&programs, folder.path(), owner, &[])?;
        let settings = Vec::new();
        let mut postgres = Self { process, folder, _empty: Some(empty), programs, owner, settings, port: PORT };
        postgres.client().await?;
        Ok(postgres)
    }

    /// The address of the database `okusuri`.
    pub fn url(&self) -> String {
        format!("host={} port={} user=okusuri dbname=okusuri", self.folder.path().display(), self.port)
    }

    /// A connection to it.
    pub async fn client(&mut self) -> Result<Client> {
        self.client_of("okusuri").await
    }

    async fn client_of(&mut self, database: &str) -> Result<Client> {
        connect(&mut self.process, self.folder.path(), self.port, database).await
    }

    /// A standby that follows this server. It reads, and never writes.
    pub async fn replica(&self) -> Result<Self> {
        let folder = folder_of(self.owner)?;
        let mut copy = of_owner(&self.programs.join("pg_basebackup"), self.owner);
        copy.args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--username=okusuri", "--host"]);
        let output = copy.arg(self.folder.path()).arg("-D").arg(folder.path().join(DATA)).output()?;
        ensure!(output.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&output.stderr));
        let process = serve(&self.programs, folder.path(), self.owner, &[])?;
        let (programs, settings) = (self.programs.clone(), Vec::new());
        let mut replica = Self { process, folder, _empty: None, programs, owner: self.owner, settings, port: PORT };
        replica.client().await?;
        Ok(replica)
    }

    /// A copy of the database in the same server, and its address. Ends all other connections.
    pub async fn copy(&mut self, name: &str) -> Result<String> {
        let client = self.client_of("postgres").await?;
        let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = 'okusuri'";
        client.execute(end, &[]).await?;
        client.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE okusuri")).await?;
        Ok(self.url().replace("dbname=okusuri", &format!("dbname={name}")))
    }

    /// Ends the server at once, as a power cut would.
    pub fn crash(&self) -> Result<()> {
        // The postmaster's children end with it.
        Ok(kill(Pid::from_raw(self.process.id().try_into()?), Signal::SIGQUIT)?)
    }

    /// Starts it again on the same data, after a crash.
    pub async fn restart(&mut self) -> Result<()> {
        self.process.wait()?;
        self.process = serve(&self.programs, self.folder.path(), self.owner, &self.settings)?;
        self.client().await.map(drop)
    }

    /// Starts it again with one more setting.
    pub async fn set(&mut self, setting: &str) -> Result<()> {
        self.settings.push(setting.to_owned());
        // With synchronous_commit=off, a crash would lose the last transactions.
        self.client().await?.batch_execute("CHECKPOINT").await?;
        self.crash()?;
        self.restart().await
    }

    /// Starts it again, so that it also listens on `localhost`, with TLS and this certificate. The
    /// role `guarded` needs a certificate of the authority in this file. Gives the port.
    pub async fn use_tls(&mut self, certificate: &str, key: &str, authority: &Path) -> Result<u16> {
        let authority = std::fs::read_to_string(authority)?;
        let rules = "local all all trust\nhostssl all guarded localhost trust clientcert=verify-full\nhost all all localhost trust\n";
        for (name, text) in
            [("server.crt", certificate), ("server.key", key), ("ca.crt", &authority), ("data/pg_hba.conf", rules)]
        {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            if let Some((uid, gid)) = self.owner {
                chown(&path, Some(uid), Some(gid))?;
            }
        }
        // Below the ports that the system gives to other programs once this one is free again.
        let listen = || TcpListener::bind(("127.0.0.1", fastrand::u16(20_000..32_000)));
        let free = std::iter::repeat_with(listen).take(1_000).find_map(Result::ok);
        let port = free.context("no port is free")?.local_addr()?.port();
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        self.settings = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file("server.crt")),
            format!("ssl_key_file={}", file("server.key")),
            format!("ssl_ca_file={}", file("ca.crt")),
        ];
        self.port = port;
        self.crash()?;
        self.restart().await?;
        Ok(port)
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let lines: Vec<_> = log.lines().collect();
            println!("The end of PostgreSQL's log:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
        // Neither can be helped here, and the folder goes either way.
        let _ = self.crash();
        let _ = self.process.wait();
    }
}

/// The folder of [`EMPTY`]: what there is, or a new one.
async fn empty_database(programs: &Path, owner: Option<(Uid, Gid)>) -> Result<Arc<TempDir>> {
    let mut place = EMPTY.lock().await;
    if let Some(folder) = place.upgrade() {
        return Ok(folder);
    }
    let folder = folder_of(owner)?;
    let mut initdb = of_owner(&programs.join("initdb"), owner);
    initdb.args(["--no-sync", "--auth=trust", "--username=okusuri", "--encoding=UTF8", "--locale=C.UTF-8", "-D"]);
    let output = initdb.arg(folder.path().join(DATA)).output()?;
    ensure!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
    let mut process = serve(programs, folder.path(), owner, &[])?;
    let client = connect(&mut process, folder.path(), PORT, "postgres").await?;
    client.batch_execute("CREATE DATABASE okusuri").await?;
    // An ordered end: a copy needs no recovery.
    kill(Pid::from_raw(process.id().try_into()?), Signal::SIGINT)?;
    process.wait()?;
    let folder = Arc::new(folder);
    *place = Arc::downgrade(&folder);
    Ok(folder)
}

fn folder_of(owner: Option<(Uid, Gid)>) -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("tidemark-postgres").tempdir()?;
    if let Some((uid, gid)) = owner {
        chown(folder.path(), Some(uid), Some(gid))?;
    }
    Ok(folder)
}

/// A connection, as soon as the server accepts one.
async fn connect(process: &mut Child, folder: &Path, port: u16, database: &str) -> Result<Client> {
    let config = format!("host={} port={port} user=okusuri dbname={database}", folder.display());
    let start = Instant::now();
    loop {
        match tokio_postgres::connect(&config, NoTls).await {
            Ok((client, connection)) => {
                tokio::spawn(connection);
                return Ok(client);
            }
            Err(error) => {
                if let Some(status) = process.try_wait()? {
                    let log = std::fs::read_to_string(folder.join("log"))?;
                    bail!("PostgreSQL ended with {status}: {log}");
                }
                ensure!(start.elapsed() < PATIENCE, "PostgreSQL is not ready in time: {error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
}

fn serve(programs: &Path, folder: &Path, owner: Option<(Uid, Gid)>, settings: &[String]) -> Result<Child> {
    let mut postgres = of_owner(&programs.join("postgres"), owner);
    postgres.arg("-D").arg(folder.join(DATA)).arg("-k").arg(folder);
    for setting in [
        "listen_addresses=",
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "max_connections=60",
        "wal_level=logical",
        // It would compile the SQL that makes a test's rows for longer than it runs it.
        "jit=off",
    ] {
        postgres.args(["-c", setting]);
    }
    // Of two values of one setting, the server takes the last.
    postgres.args(settings.iter().flat_map(|setting| ["-c", setting]));
    let log = File::options().create(true).append(true).open(folder.join("log"))?;
    postgres.stdout(Stdio::null()).stderr(log).spawn().context("postgres does not start")
}

fn of_owner(program: &Path, owner: Option<(Uid, Gid)>) -> Command {
    let mut command = Command::new(program);
    // A developer's own default would move the server's socket.
    command.current_dir("/").env_remove("PGPORT");
    if let Some((uid, gid)) = owner {
        command.uid(uid.as_raw()).gid(gid.as_raw());
    }
    command
}

/// As whom the server runs: it refuses to be root.
fn owner() -> Result<Option<(Uid, Gid)>> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        if let Some(user) = User::from_name(name)? {
            return Ok(Some((user.uid, user.gid)));
        }
    }
    bail!("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody");
}

/// The folder of `initdb` and `postgres`: Debian's newest, or where the PATH finds them.
fn programs() -> Result<PathBuf> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let newest = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut on_path = std::env::split_paths(&paths).filter(|bin| bin.join("initdb").exists());
    newest.or_else(|| on_path.next()).context("PostgreSQL is not installed: apt-get install postgresql")
}
