//! Medicines with their times of day.

use domain::ShortText;
use domain::calendar::parse_date;
use domain::okusuri::{
    Plan, StockChange, StockError, Supply, UNITS_MAX, WARN_DAYS_DEFAULT, clock_time, parse_clock_time,
};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::rows::{Medicine, Stock};
use okusuri_store::{MedicineDraft, MedicineError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Okusuri;
use crate::problems::{
    MEDICINE_AS_NEEDED, MEDICINE_NOT_FOUND, NO_STOCK, PACK_OUT_OF_ORDER, TOO_MANY_DOSES, TOO_MANY_MEDICINES,
    store_problem, write_problem,
};

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
    stock: Option<StockBody>,
}

/// The stock of a medicine. Without `left`, the number stays.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StockBody {
    left: Option<u32>,
    per_dose: u32,
    pack_size: u32,
    warn_days: Option<u32>,
}

impl MedicineBody {
    fn draft(request: &Request) -> Result<MedicineDraft, Problem> {
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
        let stock = body.stock.map(|StockBody { left, per_dose, pack_size, warn_days }| {
            let warn_days = warn_days.unwrap_or(WARN_DAYS_DEFAULT);
            StockChange { left, per_dose, pack_size, warn_days }
        });
        stock.map(|stock| stock.of(None)).transpose().map_err(|why| INVALID_BODY.detail(why))?;
        Ok(MedicineDraft { name: text("name", &body.name)?, dose: text("dose", &body.dose)?, plan, stock })
    }
}

/// Lists all medicines, with the day on which each stock runs out; a user has few.
pub(crate) async fn list(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let supplies = okusuri.doses.supplies(&signed_in.id, &signed_in.time_zone, (okusuri.now)());
    let supplies = supplies.await.map_err(store_problem)?;
    let items: Vec<_> = supplies.iter().map(|(medicine, supply)| to_json(medicine, *supply)).collect();
    Ok(Reply::json(200, &json!({ "items": items })))
}

/// Adds a medicine.
pub(crate) async fn add(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let draft = MedicineBody::draft(request)?;
    let (id, now) = ((okusuri.new_id)(), (okusuri.now)());
    let medicine = okusuri.medicines.add(&signed_in.id, id, &draft, now).await.map_err(medicine_problem)?;
    okusuri.follow_doses(&signed_in, now).await?;
    Ok(Reply::json(201, &to_json(&medicine, None)))
}

/// Replaces a medicine.
pub(crate) async fn change(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let draft = MedicineBody::draft(request)?;
    let now = (okusuri.now)();
    let changed = okusuri.medicines.change(&signed_in.id, id(request)?, &draft, now).await;
    let changed = changed.map_err(medicine_problem)?;
    okusuri.follow_doses(&signed_in, now).await?;
    Ok(Reply::json(200, &to_json(&changed, None)))
}

/// Adds a new pack to the stock of a medicine. The number of the pack makes a repeated request add
/// nothing.
pub(crate) async fn add_pack(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let number = request.path_parameter("number").parse().ok().filter(|number| (1..=UNITS_MAX).contains(number));
    let number = number.ok_or_else(|| invalid_parameter("number", "expected the number of a pack, such as 1"))?;
    let changed = okusuri.medicines.add_pack(&signed_in.id, id(request)?, number, (okusuri.now)()).await;
    Ok(Reply::json(200, &to_json(&changed.map_err(medicine_problem)?, None)))
}

fn id(request: &Request) -> Result<&str, Problem> {
    let id = request.path_parameter("medicineId");
    if is_id(id) { Ok(id) } else { Err(MEDICINE_NOT_FOUND) }
}

/// Whether a text can be the id of a medicine, and so the end of a key.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && !text.contains('#')
}

/// Deletes a medicine.
pub(crate) async fn delete(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let id = id(request)?;
    let is_gone = okusuri.medicines.delete(&signed_in.id, id).await.map_err(store_problem)?;
    if is_gone { Ok(Reply::json(200, &json!({ "id": id }))) } else { Err(MEDICINE_NOT_FOUND) }
}

/// The problem for a medicine or dose that was not stored.
pub(crate) fn medicine_problem(why: MedicineError) -> Problem {
    match why {
        MedicineError::TooMany => TOO_MANY_MEDICINES.detail(why),
        MedicineError::NotFound => MEDICINE_NOT_FOUND,
        MedicineError::AsNeeded => MEDICINE_AS_NEEDED,
        MedicineError::TooManyDoses => TOO_MANY_DOSES.detail(why),
        MedicineError::NoStock => NO_STOCK,
        MedicineError::Stock(StockError::Bounds) => INVALID_BODY.detail(why),
        MedicineError::Stock(StockError::OtherPack { next }) => PACK_OUT_OF_ORDER.detail(why).member("next", next),
        MedicineError::Write(error) => write_problem(error),
    }
}

fn to_json(medicine: &Medicine, supply: Option<Supply>) -> Value {
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
    if let Some(Stock { left, per_dose, pack_size, warn_days, packs }) = medicine.stock {
        body["stock"] = json!({
            "left": left, "perDose": per_dose, "packSize": pack_size, "warnDays": warn_days, "packs": packs,
        });
    }
    if let Some(Supply { runs_out_on, is_low }) = supply {
        body["stock"]["isLow"] = is_low.into();
        if let Some(day) = runs_out_on {
            body["stock"]["runsOutOn"] = day.to_string().into();
        }
    }
    body
}
