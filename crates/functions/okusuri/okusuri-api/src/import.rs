//! Imports logs from a CSV file.

use std::collections::BTreeSet;

use csv::{ReaderBuilder, StringRecord};
use domain::calendar::parse_date;
use domain::okusuri::{DateRefusal, Flow, Log, Note, Symptom, check_loggable};
use jiff::civil::Date;
use lambda_kit::csv_cell;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::problem::{INVALID_BODY, Problem};
use okusuri_store::{LogEntry, LogWriteOutcome};
use serde_json::{Value, json};

use crate::Okusuri;
use crate::logs::current_status;
use crate::problems::{TOO_MANY_ROWS, store_problem, write_problem};

/// The largest file: a thousand notes of 300 characters of three bytes each.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// The most rows of one file.
const ROWS_MAX: usize = 1_000;

/// The columns, in any order. Other columns are ignored.
const COLUMNS: [&str; 6] = ["date", "has_bleeding", "is_taken", "note", "flow", "symptoms"];

/// A row of the file: its line, its day if that can be read, and its log or the problem with it.
struct Row {
    line: usize,
    date: Option<Date>,
    read: Result<LogEntry, (&'static str, String)>,
}

/// Imports every valid row; with `allOrNothing=1` all rows or none, with `dryRun=1` none. The reply
/// has the result of each row, or the result that it would have.
pub(crate) async fn logs(okusuri: &Okusuri, request: &Request) -> Result<Reply, Problem> {
    let signed_in = okusuri.user(request).await?;
    let [is_dry, is_all] = ["dryRun", "allOrNothing"].map(|name| match request.query(name) {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(_) => Err(invalid_parameter(name, "expected 0 or 1")),
    });
    let (is_dry, is_all) = (is_dry?, is_all?);
    let now = (okusuri.now)();
    let rows = read(&request.bytes(BODY_BYTES_MAX)?, signed_in.today(now), okusuri.new_id)?;
    let entries: Vec<_> = rows.iter().filter_map(|row| row.read.as_ref().ok()).cloned().collect();
    let holds_back = is_all && entries.len() < rows.len();
    let writes = !is_dry && !holds_back;
    let mut body = json!({ "isWritten": writes });
    let written = if writes {
        let (written, summary) =
            okusuri.logs_of(&signed_in).put_all(&signed_in.id, &entries, now).await.map_err(write_problem)?;
        // Without any valid row, the summary was not read.
        if !entries.is_empty() {
            body["status"] = current_status(okusuri, &signed_in, summary.as_ref()).await?;
        }
        written
    } else {
        okusuri.logs_of(&signed_in).would_put(&signed_in.id, &entries, now).await.map_err(store_problem)?
    };
    let mut written = written.iter();
    let items = rows.iter().map(|row| {
        let mut item = json!({ "line": row.line });
        if let Some(date) = row.date {
            item["date"] = date.to_string().into();
        }
        match &row.read {
            Ok(_) => item["result"] = written.next().map_or("unchanged", result).into(),
            Err((problem, detail)) => {
                item["problem"] = (*problem).into();
                item["detail"] = detail.as_str().into();
            }
        }
        item
    });
    let items: Vec<Value> = items.collect();
    let count = |name: &str| items.iter().filter(|item| item["result"] == name).count();
    body["created"] = count("created").into();
    body["replaced"] = count("replaced").into();
    body["unchanged"] = count("unchanged").into();
    body["refused"] = (rows.len() - entries.len()).into();
    body["items"] = items.into();
    Ok(Reply::json(200, &body))
}

fn result(written: &LogWriteOutcome) -> &'static str {
    match written {
        LogWriteOutcome::New(_) => "created",
        LogWriteOutcome::Changed(_) => "replaced",
        LogWriteOutcome::Same(_) | LogWriteOutcome::Deleted(_) | LogWriteOutcome::Nothing => "unchanged",
    }
}

fn read(file: &[u8], today: Date, new_id: fn() -> uuid::Uuid) -> Result<Vec<Row>, Problem> {
    let line_of = |at: usize| 1 + file.iter().take(at).filter(|byte| **byte == b'\n').count();
    let refused = |line: usize, why: &str| INVALID_BODY.detail(format!("line {line} {why}; nothing was imported"));
    let file = std::str::from_utf8(file).map_err(|error| refused(line_of(error.valid_up_to()), "is not in UTF-8"))?;
    if let Some(at) = file.find('\0') {
        return Err(refused(line_of(at), "contains a NUL"));
    }
    if let Some(line) = misquoted_line(file) {
        return Err(refused(line, "has a quoted field that does not end where it should"));
    }
    // Spreadsheets begin their files with a byte order mark.
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(file.as_bytes());
    let unreadable = |error: csv::Error| INVALID_BODY.detail(error);
    let heading = reader.headers().map_err(unreadable)?.clone();
    let column = |name: &str| heading.iter().position(|known| known.trim().eq_ignore_ascii_case(name));
    let [date, has_bleeding, is_taken, note, flow, symptoms] = COLUMNS.map(column);
    let (Some(date), Some(has_bleeding)) = (date, has_bleeding) else {
        return Err(INVALID_BODY.detail("the first line has to name the columns `date` and `has_bleeding`"));
    };
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut line, mut counted) = (1, 0);
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        if rows.len() == ROWS_MAX {
            return Err(TOO_MANY_ROWS.detail(format!("at most {ROWS_MAX} rows")));
        }
        // The reader's own line numbers are wrong for CRLF line ends and for empty lines.
        let at = record.position().map_or(0, |position| usize::try_from(position.byte()).unwrap_or(0));
        let begin = file
            .get(at..)
            .unwrap_or_default()
            .find(|char| !['\r', '\n'].contains(&char))
            .map_or(at, |skipped| at + skipped);
        line += file.get(counted..begin).unwrap_or_default().matches('\n').count();
        counted = begin;
        if is_empty(&record) {
            continue;
        }
        if record.len() != heading.len() {
            return Err(refused(line, &format!("has {} fields; the first line has {}", record.len(), heading.len())));
        }
        let field = |column: Option<usize>| column.and_then(|column| record.get(column)).unwrap_or_default().trim();
        let day = parse_date(field(Some(date))).ok();
        let optional = |column: Option<usize>| column.map(|_| field(column));
        let fields = Fields {
            has_bleeding: field(Some(has_bleeding)),
            is_taken: field(is_taken),
            note: optional(note).map(csv_cell::unescape),
            flow: optional(flow),
            symptoms: optional(symptoms),
        };
        let read = day.ok_or_else(|| ("invalid-date", format!("`{}`", field(Some(date)))));
        let read = read.and_then(|date| entry(date, fields, today, new_id)).and_then(|entry| {
            if seen.insert(entry.log.date) {
                Ok(entry)
            } else {
                Err(("duplicate-date", "an earlier row has the same day".to_owned()))
            }
        });
        rows.push(Row { line, date: day, read });
    }
    Ok(rows)
}

/// The line where a quoted field begins that never ends, or is followed by more text. The CSV
/// reader would take the lines up to the next quote as one field, and their days would be lost.
fn misquoted_line(file: &str) -> Option<usize> {
    #[derive(PartialEq)]
    enum At {
        FieldStart,
        Plain,
        Quoted,
        QuoteInQuoted,
    }
    let (mut at, mut line, mut opened) = (At::FieldStart, 1, 1);
    for byte in file.bytes() {
        at = match (at, byte) {
            (At::FieldStart, b'"') => {
                opened = line;
                At::Quoted
            }
            (At::Quoted, b'"') => At::QuoteInQuoted,
            (At::Quoted, _) | (At::QuoteInQuoted, b'"') => At::Quoted,
            (_, b',' | b'\n' | b'\r') => At::FieldStart,
            (At::QuoteInQuoted, _) => return Some(opened),
            (At::FieldStart | At::Plain, _) => At::Plain,
        };
        line += usize::from(byte == b'\n');
    }
    (at == At::Quoted).then_some(opened)
}

/// A row's line, its day, and its log or problem.
type FuzzedRow = (usize, Option<Date>, Result<Log, &'static str>);

/// The rows of a file. For the fuzz target only.
pub fn rows(file: &[u8], today: Date) -> Result<Vec<FuzzedRow>, Problem> {
    let row = |row: Row| (row.line, row.date, row.read.map(|entry| entry.log).map_err(|(problem, _)| problem));
    Ok(read(file, today, uuid::Uuid::nil)?.into_iter().map(row).collect())
}

fn is_empty(record: &StringRecord) -> bool {
    record.iter().all(|field| field.trim().is_empty())
}

/// The fields of a row beside its day; `None` where the file lacks the column.
struct Fields<'a> {
    has_bleeding: &'a str,
    is_taken: &'a str,
    note: Option<String>,
    flow: Option<&'a str>,
    symptoms: Option<&'a str>,
}

fn entry(
    date: Date,
    Fields { has_bleeding, is_taken, note, flow, symptoms }: Fields<'_>,
    today: Date,
    new_id: fn() -> uuid::Uuid,
) -> Result<LogEntry, (&'static str, String)> {
    check_loggable(date, today).map_err(|refusal| match refusal {
        DateRefusal::Future { .. } => ("date-in-the-future", refusal.to_string()),
        DateRefusal::TooEarly(_) => ("date-too-early", refusal.to_string()),
    })?;
    let flag = |text: &str, problem| match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" => Ok(false),
        _ => Err((problem, "expected `true` or `false`".to_owned())),
    };
    let has_bleeding = flag(has_bleeding, "invalid-has-bleeding")?;
    // Older files and files of other applications lack this column; their rows mean days with the
    // medication.
    let is_taken = is_taken.is_empty() || flag(is_taken, "invalid-is-taken")?;
    // A file without one of these columns leaves it unchanged; an empty field deletes it.
    let note = note.as_deref().map(Note::new).transpose().map_err(|why| ("invalid-note", why.to_string()))?;
    let flow = flow.map(|name| (!name.is_empty()).then(|| Flow::of_day(name, has_bleeding)).transpose()).transpose();
    let flow = flow.map_err(|why| ("invalid-flow", why.to_string()))?;
    let symptoms = symptoms.map(|names| Symptom::set(names.split_whitespace())).transpose();
    let symptoms = symptoms.map_err(|why| ("invalid-symptoms", why.to_string()))?;
    Ok(LogEntry { log: Log { date, has_bleeding }, is_taken, note, flow, symptoms, id: new_id() })
}
