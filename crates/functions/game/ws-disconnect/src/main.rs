//! `ws-disconnect`: the end of a connection, `$disconnect`.

use aws_sdk_dynamodb::Client;
use game_room::{ApiGateway, GameRoom, random_u64};
use lambda_kit::{aws, env, socket, telemetry};
use store_base::Table;
use ws_disconnect::handle;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("GAME_TABLE")?;
    let sdk = aws::config().await;
    let (table, sockets) = (Table::new(Client::new(&sdk), table), ApiGateway::new(&sdk));
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    game_store::connect(&table).await?;
    sockets.connect().await;
    let room = GameRoom::new(&table, sockets, random_u64);
    socket::run(|event| handle(&room, event, socket::now_ms())).await
}
