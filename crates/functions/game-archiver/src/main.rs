//! `game-archiver`: the game table's stream.

use aws_sdk_dynamodb::Client;
use game_archiver::{Archiver, handle};
use lambda_kit::{aws, env, stream, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("GAME_TABLE")?;
    let client = Client::new(&aws::config().await);
    // During init, where Lambda gives full CPU, the TLS handshake is cheap.
    store::game::connect(&client, &table).await?;
    let archiver = Archiver::new(client, &table);
    stream::run(|event, _| handle(&archiver, event)).await
}
