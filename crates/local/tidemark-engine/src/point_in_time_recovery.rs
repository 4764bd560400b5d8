//! Point-in-time recovery: stores and shows the setting. The engine makes no backups.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::ApiError;
use crate::arn;

/// The engine's own table: the tables with recovery switched on. A recreated table has a new id,
/// and therefore starts with recovery off.
pub(crate) const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS _tidemark_recovery (
    table_id TEXT PRIMARY KEY,
    enabled_at INTEGER NOT NULL,
    period_days INTEGER NOT NULL
)";

/// The retention of backups, days: AWS's default and maximum.
const PERIOD_DAYS_MAX: i64 = 35;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Request {
    table_name: String,
    point_in_time_recovery_specification: Option<Specification>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Specification {
    point_in_time_recovery_enabled: bool,
    recovery_period_in_days: Option<i64>,
}

/// Whether this module answers the operation.
pub(crate) fn answers(operation: &str) -> bool {
    matches!(operation, "DescribeContinuousBackups" | "UpdateContinuousBackups")
}

/// Answers either operation; `UpdateContinuousBackups` carries a specification. Blocks on SQLite.
pub(crate) fn answer(connection: &Connection, operation: &str, body: &[u8]) -> Result<String, ApiError> {
    let request: Request =
        serde_json::from_slice(body).map_err(|error| ApiError::new("SerializationException", error.to_string()))?;
    let table = arn::table_name(&request.table_name);
    let table_id = connection
        .query_row("SELECT table_id FROM _tables WHERE table_name = ?1", [table], |row| row.get::<_, String>(0))
        .optional()?
        .ok_or_else(|| ApiError::new("TableNotFoundException", format!("Table not found: {table}")))?;
    if operation == "UpdateContinuousBackups" {
        let specification = request
            .point_in_time_recovery_specification
            .ok_or_else(|| ApiError::validation("PointInTimeRecoverySpecification is required"))?;
        update(connection, &table_id, &specification)?;
    }
    Ok(json!({ "ContinuousBackupsDescription": describe(connection, &table_id)? }).to_string())
}

fn update(connection: &Connection, table_id: &str, specification: &Specification) -> Result<(), ApiError> {
    let days = specification.recovery_period_in_days.unwrap_or(PERIOD_DAYS_MAX);
    if !(1..=PERIOD_DAYS_MAX).contains(&days) {
        return Err(ApiError::validation(format!("RecoveryPeriodInDays must be 1 to {PERIOD_DAYS_MAX}")));
    }
    if specification.point_in_time_recovery_enabled {
        connection.execute(
            "INSERT INTO _tidemark_recovery (table_id, enabled_at, period_days) VALUES (?1, ?2, ?3)
             ON CONFLICT (table_id) DO UPDATE SET period_days = excluded.period_days",
            params![table_id, Timestamp::now().as_second(), days],
        )?;
    } else {
        connection.execute("DELETE FROM _tidemark_recovery WHERE table_id = ?1", [table_id])?;
    }
    Ok(())
}

fn describe(connection: &Connection, table_id: &str) -> Result<Value, ApiError> {
    let setting = connection
        .query_row("SELECT enabled_at, period_days FROM _tidemark_recovery WHERE table_id = ?1", [table_id], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    let recovery = match setting {
        Some((enabled_at, days)) => json!({
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": days,
            "EarliestRestorableDateTime": enabled_at,
            "LatestRestorableDateTime": Timestamp::now().as_second(),
        }),
        None => json!({ "PointInTimeRecoveryStatus": "DISABLED" }),
    };
    Ok(json!({ "ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery }))
}
