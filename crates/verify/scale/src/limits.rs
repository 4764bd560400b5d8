//! The limits of AWS, and assumptions about quantities that cannot be measured here.

/// Of one partition: [partition
/// limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html).
pub const PARTITION_WRITE_UNITS_PER_S: f64 = 1_000.0;

/// What a new table, and a new index, on demand takes at once: [warm
/// throughput](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput-scenarios.html).
/// It doubles with each peak, within half an hour.
pub const NEW_TABLE_WRITE_UNITS_PER_S: f64 = 4_000.0;

/// Of one table, and of each index, by default:
/// [quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html).
pub const TABLE_WRITE_UNITS_PER_S: f64 = 40_000.0;

/// Requests and messages a second of an account, over HTTP APIs, WebSocket APIs and their
/// callbacks: [API
/// Gateway](https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html).
pub const API_REQUESTS_PER_S: f64 = 10_000.0;

/// New WebSocket connections a second of an account: [WebSocket
/// quotas](https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html).
pub const NEW_CONNECTIONS_PER_S: f64 = 500.0;

/// Functions that run at once in an account, by default:
/// [Lambda](https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
pub const CONCURRENCY: u32 = 1_000;

/// How often Lambda looks into a shard, at least:
/// [polling](https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html#dynamodb-polling-and-batching).
pub const POLL_MS: u64 = 250;

/// The template's defaults.
pub const TEMPLATE_API_RATE: f64 = 2_000.0;
/// The same: clicks of one shard in a batch.
pub const TEMPLATE_BATCH: u64 = 1_000;
/// The store's: the most partitions of a day.
pub const DATE_SHARDS_MAX: u32 = 100;
/// The function's: first-seen records that are written at once.
pub const FIRST_SEEN_WRITES_AT_ONCE: u64 = 32;

/// Assumed: one request to DynamoDB and its answer, within a region.
pub const REQUEST_MS: u64 = 5;
/// Assumed: a transaction, for as long as which its items are closed to others.
pub const TRANSACTION_MS: u64 = 10;
/// Assumed: `click-writer` for one click, and for a list of 25, which it stores one after the
/// other.
pub const WRITER_MS: u64 = 10;
/// The same.
pub const WRITER_LIST_MS: u64 = 130;
/// Assumed, as the bench does: `ws-message` for one message, with its posts.
pub const MESSAGE_MS: u64 = 30;
/// Assumed: of a hundred clicks, so many are their visitor's first on that day.
pub const NEW_PER_HUNDRED: u64 = 3;
/// Assumed: the table's and the index's bytes for each click.
pub const CLICK_BYTES: f64 = 400.0;
/// Assumed: what an invocation writes into its log, with Lambda's own line.
pub const LOG_BYTES: f64 = 600.0;
/// A month of 730 hours, in seconds.
pub const MONTH_S: f64 = 730.0 * 3_600.0;
