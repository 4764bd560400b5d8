//! Medicines with their times of day.

use domain::ShortText;
use domain::calendar::parse_date;
use domain::okusuri::{Plan, clock_time, parse_clock_time};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::MedicineError;
use okusuri_store::rows::Medicine;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Okusuri;
use crate::problems::{MEDICINE_NOT_FOUND, TOO_MANY_MEDICINES, store_problem, write_problem};

/// The largest body: two texts of 200 characters take 5 KB, escaped.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// The body of `POST /okusuri/api/medicines`, and of `PUT` to one of them.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MedicineBody {
    name: String,
    dose: String,
    times: Vec<String>,
    from: String,
    until: Option<String>,
}

/// A medicine with valid members.
struct Form {
    name: ShortText,
    dose: ShortText,
    plan: Plan,
}

impl Form {
    fn of(request: &Request) -> Result<Self, Problem> {
        let body: Map<String, Value> = request.json(BODY_BYTES_MAX)?;
        let body: MedicineBody =
            serde_json::from_value(Value::Object(body)).map_err(|error| INVALID_BODY.detail(error))?;
        let text =
            |name: &str, text: &str| ShortText::new(text).map_err(|why| INVALID_BODY.detail(format!("`{name}` {why}")));
        let date =
            |name: &str, text: &str| parse_date(text).map_err(|why| INVALID_BODY.detail(format!("`{name}`: {why}")));
        let times = body.times.iter().map(|time| parse_clock_time(time)).collect::<Result<_, _>>();
        let times = times.map_err(|why| INVALID_BODY.detail(format!("`times`: {why}")))?;
        let until = body.until.map(|until| date("until", &until)).transpose()?;
        let plan = Plan::new(times, date("from", &body.from)?, until).map_err(|why| INVALID_BODY.detail(why))?;
        Ok(Self { name: text("name", &body.name)?, dose: text("dose", &body.dose)?, plan })
    }
}

/// Lists all medicines; a user has few.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let medicines = okusuri.medicines.all(&signed_in.id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &json!({ "items": medicines.iter().map(to_json).collect::<Vec<_>>() })))
}

/// Adds a medicine.
pub(crate) async fn add(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let Form { name, dose, plan } = Form::of(request)?;
    let (id, now) = ((okusuri.new_id)(), (okusuri.now)());
    let medicine =
        okusuri.medicines.add(&signed_in.id, id, (&name, &dose), &plan, now).await.map_err(medicine_problem)?;
    okusuri.follow_doses(&signed_in, now).await?;
    Ok(Reply::json(201, &to_json(&medicine)))
}

/// Replaces a medicine.
pub(crate) async fn change(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let id = request.path_parameter("medicineId");
    let Form { name, dose, plan } = Form::of(request)?;
    let now = (okusuri.now)();
    let changed = okusuri.medicines.change(&signed_in.id, id, (&name, &dose), &plan, now).await;
    let changed = changed.map_err(medicine_problem)?;
    okusuri.follow_doses(&signed_in, now).await?;
    Ok(Reply::json(200, &to_json(&changed)))
}

/// Whether a text can be the id of a medicine, and so the end of a key.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && !text.contains('#')
}

/// Deletes a medicine.
pub(crate) async fn delete(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let id = request.path_parameter("medicineId");
    if !is_id(id) {
        return Err(MEDICINE_NOT_FOUND);
    }
    let is_gone = okusuri.medicines.delete(&signed_in.id, id).await.map_err(store_problem)?;
    if is_gone { Ok(Reply::json(200, &json!({ "id": id }))) } else { Err(MEDICINE_NOT_FOUND) }
}

/// The problem for a medicine or dose that was not stored.
pub(crate) fn medicine_problem(why: MedicineError) -> Problem {
    match why {
        MedicineError::TooMany => TOO_MANY_MEDICINES.detail(why),
        MedicineError::NotFound => MEDICINE_NOT_FOUND,
        MedicineError::Write(error) => write_problem(error),
    }
}

fn to_json(medicine: &Medicine) -> Value {
    let mut body = json!({
        "id": medicine.medicine_id,
        "name": medicine.name,
        "dose": medicine.dose,
        "times": medicine.times.iter().map(|time| clock_time(*time)).collect::<Vec<_>>(),
        "from": medicine.from.to_string(),
        "createdAt": medicine.created_at.to_string(),
        "updatedAt": medicine.updated_at.to_string(),
    });
    if let Some(until) = medicine.until {
        body["until"] = until.to_string().into();
    }
    body
}
