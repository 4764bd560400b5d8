//! A batch of a DynamoDB stream, parsed for each table whose stream has consumers.

#![no_main]

use clicks_store::{OperatorEvent, OperatorEventImage, read_click};
use futures::executor::block_on;
use game_store::{GameChange, GameImage};
use lambda_kit::stream::{BatchProgress, ReadRecord, StreamEvent, StreamRecord, StreamReply};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use serde_json::{Value, to_value};
use shop_store::{ShopChange, ShopImage};

/// Each record is either handled or skipped as unreadable; none is lost.
fn nothing_is_lost<T>(records: usize, read: Vec<ReadRecord<'_, T>>) {
    assert_eq!(read.len(), records);
    let readable = read.iter().filter(|read| read.content.is_ok()).count();
    let mut handled = 0;
    let progress = BatchProgress::process(
        read,
        |_: &String| false,
        async |_| {
            handled += 1;
            Ok(())
        },
    );
    let progress = block_on(progress).expect("nothing fails");
    assert_eq!((handled, progress.failed_from), (readable, None));
    assert_eq!(progress.unreadable, u64::try_from(records - readable).expect("few"));
}

/// If the first readable record fails, the reply names it, and no later record is handled.
fn goes_on_where_it_failed<T>(read: Vec<ReadRecord<'_, T>>) -> Option<String> {
    let mut handled = 0;
    let progress = BatchProgress::process(
        read,
        |_: &String| false,
        async |_| {
            handled += 1;
            Err::<(), _>("no".to_owned())
        },
    );
    let progress = block_on(progress).expect("a readable record has a sequence number");
    assert_eq!(handled > 0, progress.failed_from.is_some());
    assert!(handled <= 1);
    progress.failed_from
}

fn click(record: &StreamRecord<'_, &RawValue>) -> Result<(), String> {
    let _ = (record.change.made_at(), record.is_expiry());
    let Some(image) = record.change.new_image else { return Ok(()) };
    read_click(image).map(drop).map_err(|why| why.message)
}

fuzz_target!(|event: &[u8]| {
    let Ok(event) = serde_json::from_slice::<Box<RawValue>>(event) else { return };
    let Ok(event) = StreamEvent::parse::<String>(&event) else { return };
    let records = event.records.len();
    nothing_is_lost(records, event.read(click));
    let watched = |record: &StreamRecord<'_, OperatorEventImage, OperatorEventImage>| {
        OperatorEvent::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
    };
    nothing_is_lost(records, event.read(watched));
    let shop = |record: &StreamRecord<'_, ShopImage, ShopImage>| {
        ShopChange::of(record.change.old_image.as_ref(), record.change.new_image.as_ref(), record.is_expiry())
    };
    nothing_is_lost(records, event.read(shop));
    let game = |record: &StreamRecord<'_, GameImage, GameImage>| {
        GameChange::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
    };
    nothing_is_lost(records, event.read(game));

    let failed = goes_on_where_it_failed(event.read(game));
    let answer = to_value(StreamReply::new(&event, failed.clone())).expect("JSON");
    let failures = answer["batchItemFailures"].as_array().expect("a list");
    assert_eq!(failures.first().map(|failure| failure["itemIdentifier"].clone()), failed.map(Value::from));
    // Numbers with more digits than a float holds are returned unchanged, as raw text.
    if let Some(state) = event.state {
        let answer = serde_json::to_string(&StreamReply::new(&event, None)).expect("JSON");
        assert!(answer.contains(state.get()));
    }
});
