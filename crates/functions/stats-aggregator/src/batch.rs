//! Sorts the records of a batch: clicks, unreadable records, and records to ignore.

use domain::clicks::{SequenceNumber, StreamClick};
use jiff::{SignedDuration, Timestamp};
use lambda_kit::stream::{Change, StreamEvent, StreamRecord};
use serde_json::value::RawValue;
use store::clicks::{ClickImage, NewQuarantinedRecord};

/// A record, parsed as far as possible.
#[derive(Debug)]
pub(crate) struct Record<'a> {
    raw: &'a RawValue,
    read: Result<StreamRecord<'a, ClickImage<'a>>, serde_json::Error>,
}

/// The records of an event, from which [`Batch`] borrows.
pub(crate) fn records<'a>(event: &StreamEvent<'a>) -> Vec<Record<'a>> {
    event.records.iter().map(|raw| Record { raw, read: serde_json::from_str(raw.get()) }).collect()
}

/// A batch, sorted by the kinds of work.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    /// In the order of the shard, without duplicates.
    pub(crate) clicks: Vec<StreamClick<'a>>,
    /// A record without a number has no readable sequence number.
    pub(crate) unreadable: Vec<(Option<SequenceNumber>, NewQuarantinedRecord<'a>)>,
    /// Records that are not insertions of clicks: the statistics themselves, modifications,
    /// deletions by TTL.
    pub(crate) ignored: u64,
    /// The last record of the batch, of any kind.
    pub(crate) last: Option<SequenceNumber>,
    /// The records to count or to quarantine.
    pending: Vec<PendingRecord<'a>>,
}

/// A record to count or to quarantine.
#[derive(Debug)]
struct PendingRecord<'a> {
    number: SequenceNumber,
    change: &'a Change<'a, ClickImage<'a>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn of(records: &'a [Record<'a>]) -> Self {
        let mut batch = Self { clicks: Vec::with_capacity(records.len()), ..Self::default() };
        for record in records {
            batch.add(record);
        }
        // Lambda promises the shard's order. Sorting costs almost nothing while that holds.
        batch.clicks.sort_by_key(|click| click.sequence_number);
        batch.clicks.dedup_by_key(|click| click.sequence_number);
        batch.pending.sort_by_key(|pending| pending.number);
        batch
    }

    fn add(&mut self, record: &'a Record<'a>) {
        let raw = record.raw.get();
        let quarantined = |sequence_number, reason, detail: String| NewQuarantinedRecord {
            sequence_number,
            reason,
            detail,
            record: raw,
        };
        let read = match &record.read {
            Ok(read) => read,
            Err(error) => return self.unreadable.push((None, quarantined(None, "record", error.to_string()))),
        };
        let number: &str = &read.change.sequence_number;
        let parsed = number.parse().ok();
        self.last = self.last.max(parsed);
        let Some(image) = read.change.new_image.as_ref().filter(|_| read.event_name == "INSERT") else {
            self.ignored += 1;
            return;
        };
        let Some(sequence_number) = parsed else {
            let detail = "the sequence number is not 1 to 40 digits".to_owned();
            return self.unreadable.push((None, quarantined(None, "sequence-number", detail)));
        };
        match image.click(sequence_number) {
            Ok(Some(click)) => self.clicks.push(click),
            Ok(None) => {
                self.ignored += 1;
                return;
            }
            Err(why) => {
                let record = quarantined(Some(number), why.code(), why.to_string());
                self.unreadable.push((Some(sequence_number), record));
            }
        }
        self.pending.push(PendingRecord { number: sequence_number, change: &read.change });
    }

    /// The sequence number of the first record after `through` to count or to quarantine, in its
    /// original spelling.
    pub(crate) fn first_after(&self, through: Option<SequenceNumber>) -> Option<&'a str> {
        self.pending_after(through).map(|pending| &*pending.change.sequence_number)
    }

    /// How long that record has been in the table. It is the batch's oldest uncounted click.
    pub(crate) fn lag(&self, through: Option<SequenceNumber>, now: Timestamp) -> Option<SignedDuration> {
        self.pending_after(through)?.change.made_at().map(|made_at| now.duration_since(made_at))
    }

    fn pending_after(&self, through: Option<SequenceNumber>) -> Option<&PendingRecord<'a>> {
        self.pending.iter().find(|pending| through.is_none_or(|through| pending.number > through))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn click(number: &str, user: &str) -> String {
        let time = "2025-10-02T10:30:00.000Z";
        format!(
            r##"{{"eventName":"INSERT","dynamodb":{{"SequenceNumber":"{number}","NewImage":{{"userId":{{"S":"{user}"}},
            "createDateTime":{{"S":"{time}"}},"dateKey":{{"S":"DATE#2025-10-02"}},
            "recordSort":{{"S":"CLICK#{time}#{user}"}}}}}}}}"##
        )
    }

    fn check(records_json: &[String], check: impl FnOnce(Batch<'_>)) {
        let event = format!(r#"{{"Records":[{}]}}"#, records_json.join(","));
        let event: StreamEvent = serde_json::from_str(&event).expect("an event");
        let records = records(&event);
        check(Batch::of(&records));
    }

    #[test]
    fn only_insertions_of_clicks_count() {
        let stat = click("2", "ann").replace("CLICK#", "STAT#");
        let records = [
            click("1", "ann"),
            stat,
            click("3", "ann").replace("INSERT", "MODIFY"),
            r#"{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"4","OldImage":{}}}"#.to_owned(),
        ];
        check(&records, |batch| {
            assert_eq!((batch.clicks.len(), batch.ignored, batch.unreadable.len()), (1, 3, 0));
            assert_eq!(batch.last, "4".parse().ok());
        });
    }

    #[test]
    fn an_unreadable_record_is_quarantined_with_its_reason() {
        let records = [
            click("1", "ann"),
            click("2", "STAT#DAILY"),
            click("x", "bob"),
            r#"{"eventName":"INSERT"}"#.to_owned(),
            "7".to_owned(),
            click("6", "bob"),
        ];
        check(&records, |batch| {
            let reasons: Vec<_> =
                batch.unreadable.iter().map(|(number, record)| (number.is_some(), record.reason)).collect();
            assert_eq!(reasons, [(true, "user-id"), (false, "sequence-number"), (false, "record"), (false, "record")]);
            assert_eq!(batch.clicks.len(), 2);
            assert_eq!(batch.first_after("1".parse().ok()), Some("2"));
            assert_eq!(batch.first_after("2".parse().ok()), Some("6"));
            assert_eq!(batch.first_after("6".parse().ok()), None);
        });
    }

    #[test]
    fn the_lag_is_the_age_of_the_oldest_uncounted_click() {
        let made_at = |number: &str, second: i64| {
            let member = format!(r#""dynamodb":{{"ApproximateCreationDateTime":{second},"#);
            click(number, "ann").replace(r#""dynamodb":{"#, &member)
        };
        let records = [made_at("2", 20), made_at("1", 10), click("3", "ann")];
        check(&records, |batch| {
            let lag = |through: &str| batch.lag(through.parse().ok(), Timestamp::from_second(25).expect("a time"));
            assert_eq!(lag("0"), Some(SignedDuration::from_secs(15)));
            assert_eq!(lag("1"), Some(SignedDuration::from_secs(5)));
            assert_eq!((lag("2"), lag("3")), (None, None), "a record without a time, and no record");
        });
    }

    #[test]
    fn a_duplicate_record_in_a_batch_counts_once() {
        check(&[click("2", "bob"), click("1", "ann"), click("2", "bob")], |batch| {
            let users: Vec<_> = batch.clicks.iter().map(|click| click.user_id).collect();
            assert_eq!(users, ["ann", "bob"]);
        });
    }
}
