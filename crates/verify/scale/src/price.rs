//! List prices in us-east-1, dollars, without any free tier and without the discounts of large
//! volumes; looked up on 21 November 2026.

/// A million HTTP API requests, each of up to 512 KB. [API
/// Gateway](https://aws.amazon.com/api-gateway/pricing/).
pub const HTTP_REQUEST: f64 = 1.00e-6;
/// A WebSocket message, in or out, of up to 32 KB. [API
/// Gateway](https://aws.amazon.com/api-gateway/pricing/).
pub const MESSAGE: f64 = 1.00e-6;
/// A minute of one WebSocket connection.
pub const CONNECTION_MINUTE: f64 = 0.25e-6;
/// [DynamoDB on demand](https://aws.amazon.com/dynamodb/pricing/on-demand/).
pub const WRITE_UNIT: f64 = 0.625e-6;
/// The same.
pub const READ_UNIT: f64 = 0.125e-6;
/// A gigabyte of table or index for a month, and of the backup that point-in-time recovery keeps of
/// a table.
pub const STORED_GB_MONTH: f64 = 0.25;
/// The backup.
pub const RECOVERY_GB_MONTH: f64 = 0.20;
/// [Lambda](https://aws.amazon.com/lambda/pricing/) on arm64.
pub const INVOCATION: f64 = 0.20e-6;
/// The same.
pub const GB_SECOND: f64 = 0.000_013_333_4;
/// Taking in a gigabyte of logs. [CloudWatch](https://aws.amazon.com/cloudwatch/pricing/).
pub const LOG_GB: f64 = 0.50;
/// A gigabyte to the internet. [EC2](https://aws.amazon.com/ec2/pricing/on-demand/#Data_Transfer).
pub const GB_OUT: f64 = 0.09;
