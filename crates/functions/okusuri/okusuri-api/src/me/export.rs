//! `GET /okusuri/api/export`: all data of the user as JSON, and the logs and doses as CSV.

use lambda_kit::csv_cell;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::{INTERNAL, Problem};
use serde_json::Value;

use crate::Okusuri;
use crate::problems::store_problem;

/// The number of items on a page without `limit`.
pub(super) const LIMIT_DEFAULT: u16 = 200;

/// The most items of a page. The largest items are a picture and notes of 500 characters, so a page
/// stays well below Lambda's limit of 6 MB.
pub(super) const LIMIT_MAX: u16 = 1_000;

/// The table of a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CsvTable {
    /// The logs, in the format of the import.
    Logs,
    /// The doses.
    Doses,
}

impl CsvTable {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "logs" => Ok(Self::Logs),
            "doses" => Ok(Self::Doses),
            _ => Err("expected `logs` or `doses`"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Logs => "logs",
            Self::Doses => "doses",
        }
    }

    /// The kind of items, which selects their sort keys.
    fn kind(self) -> okusuri_store::UserDataKind {
        match self {
            Self::Logs => okusuri_store::UserDataKind::Logs,
            Self::Doses => okusuri_store::UserDataKind::Doses,
        }
    }

    fn columns(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Logs => &[
                ("date", "date"),
                ("has_bleeding", "hasBleeding"),
                ("is_taken", "isTaken"),
                ("note", "note"),
                ("flow", "flow"),
                ("symptoms", "symptoms"),
            ],
            Self::Doses => &[
                ("date", "date"),
                ("time", "time"),
                ("medicine_id", "medicineId"),
                ("state", "state"),
                ("at", "at"),
                ("snoozed_until", "snoozedUntil"),
            ],
        }
    }
}

/// One page of the export. JSON has the cursor in the body, CSV in the header `x-next-cursor`. The
/// CSV pages joined in order are one valid file.
pub(crate) async fn export(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let format = request.query("format").unwrap_or("json");
    let table = match format {
        "json" => None,
        "csv" => Some(request.parse_query("of", CsvTable::parse)?.unwrap_or(CsvTable::Logs)),
        _ => return Err(invalid_parameter("format", "expected `json` or `csv`")),
    };
    let now = (okusuri.now)();
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    // The number is the version of the cursor's content. Increase it when the content changes, so
    // that old cursors are refused.
    let name = table.map_or("json", CsvTable::name);
    let listing = Listing::new(&okusuri.cursors, format!("okusuri-export 1 {} {name}", signed_in.id), now);
    let position: Option<String> = listing.position(request)?;
    let kind = table.map(CsvTable::kind);
    let page = okusuri.user_data.page(&signed_in.id, kind, position.as_deref(), limit).await.map_err(store_problem)?;
    let Some(table) = table else { return listing.reply(&page.items, page.next.as_ref(), page.skipped) };
    let file = csv(table, &page.items, position.is_none()).ok_or(INTERNAL)?;
    let reply = Reply::new(200, "text/csv; charset=utf-8", file);
    let reply = reply.header("content-disposition", &format!("attachment; filename=\"okusuri-{name}.csv\""));
    Ok(match page.next {
        Some(next) => reply.header("x-next-cursor", &listing.seal(&next)?),
        None => reply,
    })
}

fn csv(table: CsvTable, items: &[Value], is_first: bool) -> Option<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    if is_first {
        writer.write_record(table.columns().iter().map(|(column, _)| column)).ok()?;
    }
    for item in items {
        let cells = table.columns().iter().map(|(_, member)| match &item[member] {
            // The member is stored only if it is `false`.
            Value::Null if *member == "isTaken" => "true".to_owned(),
            Value::Null => String::new(),
            Value::String(text) => csv_cell::escape(text),
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        });
        writer.write_record(cells).ok()?;
    }
    String::from_utf8(writer.into_inner().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn csv_pages_joined_in_order_are_one_file() {
        let items = [
            json!({ "date": "2026-11-21", "hasBleeding": false, "note": "a \"note\", of\ntwo lines" }),
            json!({ "date": "2026-11-22", "hasBleeding": true, "isTaken": false, "flow": "heavy", "symptoms": ["cramps", "mood"] }),
        ];
        let file: String = [csv(CsvTable::Logs, &items[..1], true), csv(CsvTable::Logs, &items[1..], false)]
            .into_iter()
            .flatten()
            .collect();
        let expected = "date,has_bleeding,is_taken,note,flow,symptoms\n2026-11-21,false,true,\"a \"\"note\"\", of\ntwo lines\",,\n2026-11-22,true,false,,heavy,cramps mood\n";
        assert_eq!(file, expected);
        let formula =
            [json!({ "date": "2026-11-22", "hasBleeding": true, "note": "=HYPERLINK(\"https://evil.example\")" })];
        let file = csv(CsvTable::Logs, &formula, false);
        assert_eq!(file.as_deref(), Some("2026-11-22,true,true,\"'=HYPERLINK(\"\"https://evil.example\"\")\",,\n"));
    }
}
