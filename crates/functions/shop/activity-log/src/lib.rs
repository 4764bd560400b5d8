//! Records the activities of users: each activity once, in order of time, under its user and under
//! its product. Shows how often products were viewed and bought.

mod body;
mod config;
mod lists;
mod statistics;

use domain::shop::Activity;
use domain::{Moment, UserId};
use futures::future::join_all;
use jiff::Timestamp;
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{self, INTERNAL, NOT_FOUND, Problem};
use rollup::DeclarationError;
use secrecy::SecretString;
use serde_json::{Value, json};
use shop_store::{Activities, ActivityStatistics, RecordOutcome};
use store_base::StoreError;
use store_base::Table;
use uuid::Uuid;

pub use body::{ACTIVITIES_MAX, BODY_BYTES_MAX};
pub use config::Config;
pub use lists::{LIMIT_DEFAULT, LIMIT_MAX};

use body::{ActivityView, Body};

const ACTIVITY_ID_REUSED: Problem =
    Problem::new(409, "activity-id-reused", "The id and the time belong to another activity");

/// The function's dependencies. The id generator is passed in, so that a test can control it.
#[derive(Debug, Clone)]
pub struct ActivityLog {
    store: Activities,
    statistics: ActivityStatistics,
    cursors: Cursors,
    staff: AccessToken,
    new_id: fn() -> Uuid,
}

impl ActivityLog {
    /// A log whose cursors are signed with `cursor_key`.
    pub fn new(
        table: &Table,
        config: &Config,
        cursor_key: SecretString,
        staff_token: SecretString,
    ) -> Result<Self, DeclarationError> {
        Ok(Self {
            store: Activities::new(table, config.suffixes).expiring_after(config.retention),
            statistics: ActivityStatistics::new(table)?,
            cursors: Cursors::new(cursor_key),
            staff: AccessToken::new(staff_token),
            new_id: lambda_kit::id::new_id,
        })
    }
}

/// Answers one request.
pub async fn handle(log: &ActivityLog, request: Request, now: Timestamp) -> Result<Reply, Problem> {
    request.allow_query_parameters(match request.route() {
        "GET /users/{userId}/activities" => &["from", "to", "action", "order", "limit", "cursor"],
        "GET /products/{productId}/activities" => &["from", "to", "order", "limit", "cursor"],
        "GET /products/{productId}/statistics" => &["from", "to"],
        "GET /activities/top" => &["date"],
        _ => &[],
    })?;
    match request.route() {
        "POST /users/{userId}/activities" => record(log, &request, now).await,
        "GET /users/{userId}/activities" => lists::of_user(log, &request, now).await,
        "GET /products/{productId}/activities" => lists::of_product(log, &request, now).await,
        "GET /products/{productId}/statistics" => statistics::of_product(log, &request, now).await,
        "GET /activities/top" => statistics::top(log, &request, now).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}

async fn record(log: &ActivityLog, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let user_id = request.parse_path("userId", |text| UserId::new(text))?;
    let now = moment(now)?;
    let read = |activity: Value| body::activity(activity, &user_id, now, log.new_id);
    match Body::new(request.json(BODY_BYTES_MAX)?)? {
        Body::One(activity) => {
            let activity = read(activity)?;
            Ok(Reply::json(store(log, &activity, now).await?, &ActivityView::from(&activity)))
        }
        Body::Many(activities) => {
            // Ids are generated in the order of the request, so that they also order activities of
            // one moment.
            let activities: Vec<_> = activities.into_iter().map(read).collect();
            let outcomes = join_all(activities.into_iter().map(async |activity| {
                let activity = activity?;
                Ok((store(log, &activity, now).await?, activity))
            }));
            let outcomes = outcomes.await.into_iter().map(|outcome: Result<_, Problem>| match outcome {
                Ok((status, activity)) => json!({ "status": status, "activity": ActivityView::from(&activity) }),
                Err(problem) => json!({ "status": problem.status(), "problem": problem.to_json() }),
            });
            Ok(Reply::json(207, &json!({ "items": outcomes.collect::<Vec<_>>() })))
        }
    }
}

/// Stores one activity: 201, or 200 if it was stored before.
async fn store(log: &ActivityLog, activity: &Activity, now: Moment) -> Result<u16, Problem> {
    if !log.store.keeps(activity, now.timestamp()) {
        return Err(body::TIME_TOO_OLD.detail("is older than the retention of activities"));
    }
    match log.store.record(activity).await.map_err(store_problem)? {
        RecordOutcome::New => Ok(201),
        RecordOutcome::Known => Ok(200),
        RecordOutcome::Reused => Err(ACTIVITY_ID_REUSED.detail("choose a new id for it")),
    }
}

fn moment(now: Timestamp) -> Result<Moment, Problem> {
    Moment::new(now).map_err(|_| INTERNAL)
}

/// The problem for a failed request to DynamoDB.
fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}
