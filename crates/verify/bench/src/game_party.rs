//! Parties at the sockets of a running stack: one draws, nine watch. Beside it the least that could
//! relay a stroke.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

/// Who watches.
const WATCHERS: usize = 9;

/// How long anything may take before a run fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a batch may take before it counts as lost: longer than the two seconds after which a
/// function gives a post up.
const BATCH_PATIENCE: Duration = Duration::from_secs(5);

/// As many messages as may wait for one of the bare relay's connections.
const RELAY_BACKLOG: usize = 1_024;

/// One who draws, and nine who watch.
pub(crate) struct Party {
    drawer: SplitSink<Socket, Message>,
    /// The number of a batch, as often as it arrives.
    arrivals: mpsc::UnboundedReceiver<u32>,
    seq: u32,
    readers: Vec<AbortHandle>,
}

type Socket = WebSocketStream<TcpStream>;

impl Party {
    /// A game on the stack, in its first drawing, which lasts five minutes.
    pub(crate) async fn in_game(stack: &RunningStack) -> Result<Self> {
        let http = reqwest::Client::new();
        let post = async |path: &str, body: Value| -> Result<Value> {
            let url = format!("{}{path}", stack.admin.addresses.http);
            let answer = http.post(url).timeout(PATIENCE).body(body.to_string()).send().await?;
            let (status, body) = (answer.status(), answer.text().await?);
            ensure!(status == 201, "{path} was answered {status}: {body}");
            Ok(serde_json::from_str(&body)?)
        };
        let settings = json!({"timeLimit": 300, "roundCount": 1, "playerCount": 1 + WATCHERS, "hints": false});
        let game = post("/games", json!({"name": "あんず", "settings": settings})).await?;
        let id = game["gameId"].as_str().context("no game")?.to_owned();
        let mut host = enter(stack, &game).await?;
        let mut watchers = Vec::with_capacity(WATCHERS);
        for number in 0..WATCHERS {
            let seat = post(&format!("/games/{id}/players"), json!({"name": format!("ぼたん{number}")})).await?;
            let mut watcher = enter(stack, &seat).await?;
            say(&mut watcher, json!({"action": "ready", "ready": true})).await?;
            watchers.push(watcher);
        }
        let is_ready = |player: &&Value| player["connected"] == true && player["ready"] == true;
        until(&mut host, |room| {
            let players = room["players"].as_array().map(Vec::as_slice).unwrap_or_default();
            players.iter().filter(is_ready).count() >= WATCHERS
        })
        .await?;
        say(&mut host, json!({"action": "start"})).await?;
        until(&mut host, |room| room["turn"]["phase"] == "choosing").await?;
        say(&mut host, json!({"action": "choose", "turnId": "01.01", "option": 0})).await?;
        until(&mut host, |room| room["turn"]["phase"] == "drawing").await?;
        for watcher in &mut watchers {
            until(watcher, |room| room["turn"]["phase"] == "drawing").await?;
        }
        Ok(Self::of(host, watchers))
    }

    /// The same number of connections at a bare relay.
    pub(crate) async fn at_bare_relay() -> Result<Self> {
        let url = bare_relay().await?;
        let drawer = connect(&url).await?;
        let mut watchers = Vec::with_capacity(WATCHERS);
        for _ in 0..WATCHERS {
            watchers.push(connect(&url).await?);
        }
        Ok(Self::of(drawer, watchers))
    }

    fn of(drawer: Socket, watchers: Vec<Socket>) -> Self {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let (drawer, drawer_hears) = drawer.split();
        let watchers = watchers.into_iter().map(|watcher| watcher.split().1);
        let mut readers: Vec<_> =
            watchers.map(|watcher| tokio::spawn(read(watcher, Some(arrived.clone()))).abort_handle()).collect();
        readers.push(tokio::spawn(read(drawer_hears, None)).abort_handle());
        Self { drawer, arrivals, seq: 0, readers }
    }

    /// Draws one batch, and waits until all nine have it.
    pub(crate) async fn draw(&mut self) -> Result<()> {
        self.seq += 1;
        let points = [400, 300, 50, 12, 4, 0, 11, 3, 0, 9, -2, 0, 8, -5, 0, 8, -7, 0, 6, -9, 0, 3, -9, 0];
        let ops = json!([{"op": "stroke", "id": 1, "points": points, "color": 1, "width": 8, "tool": "pen"}]);
        let batch = json!({"action": "draw", "turnId": "01.01", "seq": self.seq, "ops": ops});
        self.drawer.send(Message::text(batch.to_string())).await?;
        let mut missing = WATCHERS;
        while missing > 0 {
            let arrived = timeout(BATCH_PATIENCE, self.arrivals.recv()).await;
            let seq = arrived.with_context(|| format!("{missing} do not get batch {}", self.seq))?;
            missing -= usize::from(seq.context("everybody is gone")? == self.seq);
        }
        Ok(())
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.readers.iter().for_each(AbortHandle::abort);
    }
}

/// Opens a socket with a seat's ticket and says hello.
async fn enter(stack: &RunningStack, seat: &Value) -> Result<Socket> {
    let url = stack.admin.addresses.sockets.as_deref().context("the stack has no sockets")?;
    let ticket = seat["ticket"].as_str().context("no ticket")?;
    let mut socket = connect(&format!("{url}?ticket={ticket}")).await?;
    say(&mut socket, json!({"action": "hello", "protocol": 1})).await?;
    until(&mut socket, |_| true).await?;
    Ok(socket)
}

async fn connect(url: &str) -> Result<Socket> {
    let address = url.trim_start_matches("ws://").split('/').next().unwrap_or_default();
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(timeout(PATIENCE, client_async(url.into_client_request()?, stream)).await??.0)
}

async fn say(socket: &mut Socket, message: Value) -> Result<()> {
    Ok(socket.send(Message::text(message.to_string())).await?)
}

/// Reads until a room comes that is as it should be.
async fn until(socket: &mut Socket, is_so: impl Fn(&Value) -> bool) -> Result<()> {
    let reading = async {
        while let Some(message) = socket.next().await {
            let message: Value = serde_json::from_str(message?.to_text()?)?;
            ensure!(message["type"] != "error", "{message}");
            if message["room"].is_object() && is_so(&message["room"]) {
                return Ok(());
            }
        }
        bail!("the connection has ended")
    };
    timeout(PATIENCE, reading).await.context("a room does not become what it should")?
}

/// Reads for ever, and tells of batches. Only they have a `seq`, and it is their first.
async fn read(mut socket: SplitStream<Socket>, arrived: Option<mpsc::UnboundedSender<u32>>) {
    while let Some(Ok(message)) = socket.next().await {
        let Some((arrived, text)) = arrived.as_ref().zip(message.to_text().ok()) else { continue };
        let Some((_, rest)) = text.split_once("\"seq\":") else { continue };
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        if let Ok(seq) = rest[..digits].parse() {
            // Nobody listens any more when the party is over.
            let _ = arrived.send(seq);
        }
    }
}

/// The floor: one process that passes each message on to all others, and knows nothing.
async fn bare_relay() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("ws://{}/", listener.local_addr()?);
    let (all, _) = broadcast::channel::<(usize, Message)>(RELAY_BACKLOG);
    tokio::spawn(async move {
        for number in 0..=WATCHERS {
            let Ok((stream, _)) = listener.accept().await else { return };
            let _ = stream.set_nodelay(true);
            let (all, mut heard) = (all.clone(), all.subscribe());
            tokio::spawn(async move {
                let (mut out, mut inward) = accept_async(stream).await?.split();
                loop {
                    tokio::select! {
                        message = inward.next() => match message {
                            Some(message) => drop(all.send((number, message?))),
                            None => return anyhow::Ok(()),
                        },
                        message = heard.recv() => match message? {
                            (from, _) if from == number => {}
                            (_, message) => out.send(message).await?,
                        },
                    }
                }
            });
        }
    });
    Ok(url)
}

/// Lets a party draw so many batches, one each `interval`, and gives how long each took until all
/// nine had it, milliseconds. Timed from when the batch was due: one that is held up by the one
/// before is late as well.
pub(crate) async fn draws(party: &mut Party, count: u32, interval: Duration) -> Result<Vec<f64>> {
    let begin = Instant::now();
    let mut latencies_ms = Vec::new();
    for number in 0..count {
        let due = begin + interval * number;
        tokio::time::sleep_until(due.into()).await;
        // A timer wakes a millisecond late; that is not the relay's.
        let start = if due.elapsed() < TIMER { Instant::now() } else { due };
        party.draw().await?;
        latencies_ms.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(latencies_ms)
}

/// How late a timer may be.
const TIMER: Duration = Duration::from_millis(3);
