//! A CSV file that a user imports into the medication log.

#![no_main]

use std::collections::BTreeSet;

use domain::okusuri::FIRST_DATE;
use jiff::civil::{Date, date};
use libfuzzer_sys::fuzz_target;
use okusuri_api::import_rows;

const TODAY: Date = date(2026, 11, 22);

fuzz_target!(|file: &[u8]| {
    let Ok(rows) = import_rows(file, TODAY) else { return };
    let lines = file.iter().filter(|byte| **byte == b'\n').count() + 1;
    let mut days = BTreeSet::new();
    let mut last = 1;
    assert!(rows.len() <= 1_000);
    for (line, day, log) in rows {
        assert!(last <= line && line <= lines, "row of line {line} after {last} of {lines}");
        last = line;
        let Ok(log) = log else { continue };
        assert_eq!(Some(log.date), day);
        assert!((FIRST_DATE..=TODAY).contains(&log.date));
        assert!(days.insert(log.date), "{} twice", log.date);
    }
});
