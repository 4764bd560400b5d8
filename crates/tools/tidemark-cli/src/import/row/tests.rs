use super::super::columns::Columns;
use super::*;
use csv::StringRecord;
use domain::journal::Retention;

fn read(kind: SeriesKind, header: &str, line: &str) -> Result<ImportRow, String> {
    let record = |text: &str| StringRecord::from(text.split(',').collect::<Vec<_>>());
    let columns = Columns::new(kind, &record(header), &[]).map_err(|error| error.to_string())?;
    ImportRow::read(kind, columns.of(&record(line)), Moment::parse("2026-11-21T00:00:00Z").map_err(|_| "no time")?)
}

fn price(line: &str) -> Result<PriceRequest, String> {
    match read(SeriesKind::Prices, "productId,price,currency,time,reason,key", line)? {
        ImportRow::Price(request) => Ok(request),
        row => Err(format!("{row:?}")),
    }
}

fn problem(kind: SeriesKind, header: &str, line: &str) -> String {
    read(kind, header, line).map_or_else(|why| why, |row| format!("{row:?}"))
}

#[test]
fn equal_lines_have_equal_keys_and_different_lines_different_ones() {
    let request = price("p-1,1999,EUR,2026-01-01,sale,").expect("a price");
    let again = price("p-1, 1999,EUR,2026-01-01T01:00:00+01:00,sale,").expect("a price");
    assert_eq!((&request.key, request.row_id), (&again.key, again.row_id));
    for other in [
        "p-2,1999,EUR,2026-01-01,sale,",
        "p-1,1998,EUR,2026-01-01,sale,",
        "p-1,1999,USD,2026-01-01,sale,",
        "p-1,1999,EUR,2026-01-01T00:00:00.000000001Z,sale,",
        "p-1,1999,EUR,2026-01-01,,",
        "p-1,1999,EUR,2026-01-01,sale,mine",
    ] {
        let other = price(other).expect("a price");
        assert!(other.key != request.key && other.row_id != request.row_id, "{other:?}");
    }
    assert_eq!(price("p-1,1999,EUR,2026-01-01,sale,mine").map(|request| request.key.to_string()), Ok("mine".into()));
}

#[test]
fn a_bad_field_is_reported_by_its_name() {
    let prices = "productId,price,currency,time";
    for (line, why) in [
        ("p-1,19.99,EUR,2026-01-01", "`price`: expected a whole number of minor units"),
        ("p-1,-5,EUR,2026-01-01", "`price`: expected a whole number"),
        ("p-1,1999,EURO,2026-01-01", "`currency`: expected the ISO 4217 code"),
        ("p-1,1999,EUR,2026-01-01T10:00:00", "`time`: expected a time with its zone"),
        ("p-1,1999,EUR,2026-11-21T00:05:00.000000001Z", "`time` is in the future"),
        ("p#1,1999,EUR,2026-01-01", "`productId`: expected 1 to 64"),
        (",1999,EUR,2026-01-01", "`productId` is empty"),
    ] {
        assert!(
            problem(SeriesKind::Prices, prices, line).starts_with(why),
            "{line}: {}",
            problem(SeriesKind::Prices, prices, line)
        );
    }
    let stock = "productId,type,quantity,time";
    for (line, why) in [
        ("p-1,LOST,1,2026-01-01", "`type`: expected IN, OUT, ADJUST or COUNT"),
        ("p-1,OUT,1.5,2026-01-01", "`quantity`: expected a whole number"),
        ("p-1,OUT,-1,2026-01-01", "`quantity`: "),
    ] {
        assert!(
            problem(SeriesKind::Stock, stock, line).starts_with(why),
            "{line}: {}",
            problem(SeriesKind::Stock, stock, line)
        );
    }
    let journal = "stream,message,time,id";
    let id = "0199a478-bc40-7abc-8def-000000000001";
    let line = format!("suite,Hello,2026-01-01,{id}");
    assert_eq!(problem(SeriesKind::Journal, journal, &line), "`id` has another time than `time`");
    assert!(read(SeriesKind::Journal, journal, &format!("suite,Hello,2025-10-02T10:30:00Z,{id}")).is_ok());
}

#[test]
fn a_time_may_be_given_in_days_before_today() {
    let at = |time: &str| price(&format!("p-1,1999,EUR,{time},,")).map(|request| request.now.to_string());
    let is = |text: &str| Ok(Moment::parse_or_day(text).expect("a moment").to_string());
    assert_eq!(at("-3d"), is("2026-11-18"));
    assert_eq!(at("-1d 10:00"), is("2026-11-20T10:00:00Z"));
    assert_eq!(at("-400d 23:59:59.999"), is("2025-10-17T23:59:59.999Z"));
    for wrong in ["-d", "-3", "3d", "-3d10:00", "-3d 25:00", "-3d 10:00Z", "--3d", "-99999d", "-1.5d"] {
        let why = at(wrong).expect_err(wrong);
        assert!(why.starts_with("`time`: expected a time with its zone"), "{wrong}: {why}");
    }
    assert!(at("-0d 23:59").expect_err("later today").starts_with("`time` is in the future"));
}

#[test]
fn example_files_import_at_any_time_within_retention() {
    let kept = Retention::default();
    for now in ["2026-11-22T00:00:00Z", "2031-03-01T12:00:00Z", "2090-12-31T23:59:59Z"] {
        let now = Moment::parse(now).expect("a moment");
        for (kind, file) in [
            (SeriesKind::Products, "products"),
            (SeriesKind::Prices, "prices"),
            (SeriesKind::Stock, "stock"),
            (SeriesKind::Activities, "activities"),
            (SeriesKind::Journal, "journal"),
        ] {
            let path = format!("{}/../../../examples/{file}.csv", env!("CARGO_MANIFEST_DIR"));
            let mut reader = csv::Reader::from_path(path).expect("an example");
            let columns = Columns::new(kind, reader.headers().expect("a header"), &[]).expect("columns");
            for line in reader.records() {
                let line = line.expect("a line");
                match ImportRow::read(kind, columns.of(&line), now).expect("an example's line") {
                    ImportRow::Journal(entry) => {
                        let first = kept.first_kept(&entry.stream, now.timestamp());
                        assert!(first.is_none_or(|first| entry.id > first), "{entry:?}");
                    }
                    ImportRow::Activity(activity) => {
                        let age = now.timestamp().duration_since(activity.at.timestamp());
                        assert!(age.as_hours() <= 7 * 24, "the page shows a week: {activity:?}");
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn lines_of_one_moment_get_different_nanoseconds_unless_repeated() {
    let mut moments = UniqueMoments::default();
    let mut give = |line: &str| {
        let mut row = ImportRow::Price(price(line).expect("a price"));
        let place = moments.assign(&mut row);
        let ImportRow::Price(request) = row else { unreachable!("it is a price") };
        (place, request.now.to_string().split_off(10))
    };
    let at = |nanosecond: u32| format!("T00:00:00.{nanosecond:09}Z");
    assert_eq!(give("p-1,1,EUR,2026-01-01,,"), (LineOrder::InOrder, at(0)));
    assert_eq!(give("p-1,2,EUR,2026-01-01,,"), (LineOrder::InOrder, at(1)));
    assert_eq!(give("p-1,1,EUR,2026-01-01,,"), (LineOrder::Again, at(0)));
    assert_eq!(give("p-2,1,EUR,2026-01-01,,"), (LineOrder::InOrder, at(0)));
    assert_eq!(give("p-1,3,EUR,2026-01-01,,"), (LineOrder::InOrder, at(2)));
    assert_eq!(give("p-1,4,EUR,2026-01-01T00:00:00.000000001Z,,"), (LineOrder::InOrder, at(3)));
    assert_eq!(give("p-1,5,EUR,2026-01-01,,"), (LineOrder::OutOfOrder, at(0)));
    assert_eq!(give("p-1,1,EUR,2026-01-02,,"), (LineOrder::InOrder, at(0)));
}
