//! The model against measurements, and each of its limits.

#![allow(clippy::unwrap_used)]

use scale::clicks::{Limit, Setting, clicks_of_one_second, play};
use scale::{Measured, games};
use sha2::{Digest, Sha256};

/// As `store` spreads users; the bench's users are numbered.
fn shard_of(user: u64, shards: u32) -> u32 {
    let hash = Sha256::digest(format!("user-{user}"));
    u32::from(u16::from_be_bytes([hash[0], hash[1]])) % shards
}

#[test]
fn hot_day_second_matches_the_throttling_engine() {
    let measured = Measured::read().unwrap();
    for (date_shards, clicks) in [1, 4, 10].into_iter().zip(measured.hot_day) {
        assert_eq!(clicks_of_one_second(date_shards, shard_of) as f64, clicks, "{date_shards} date shards");
    }
}

/// A stack in which nothing is ever reached.
fn vast() -> Setting {
    Setting {
        api_rate: 1e9,
        account_rate: 1e9,
        concurrency: u32::MAX,
        warm_units: 50_000.0,
        table_units: 1e9,
        date_shards: 100,
        is_buffered: true,
        ..Setting::default()
    }
}

#[test]
fn each_limit_is_reached_only_when_it_is_scarce() {
    let measured = Measured::read().unwrap();
    assert_eq!(play(20_000.0, &vast(), &measured, 1).reached, None);
    let poor = [
        (Limit::Throttle, Setting { api_rate: 19_000.0, ..vast() }),
        (Limit::AccountRequests, Setting { account_rate: 19_000.0, ..vast() }),
        (Limit::Concurrency, Setting { concurrency: 150, ..vast() }),
        (Limit::TableQuota, Setting { table_units: 19_000.0, ..vast() }),
        (Limit::Partitions, Setting { warm_units: 18_000.0, ..vast() }),
        (Limit::Day, Setting { date_shards: 18, ..vast() }),
        (Limit::Statistics, Setting { is_buffered: false, warm_units: 400_000.0, ..vast() }),
        (Limit::Checkpoints, Setting { warm_units: 1_300_000.0, ..vast() }),
    ];
    for (limit, setting) in poor {
        assert_eq!(play(20_000.0, &setting, &measured, 1).reached, Some(limit));
    }
}

#[test]
fn a_load_is_played_again_just_as_it_was() {
    let measured = Measured::read().unwrap();
    let play = || play(5_000.0, &Setting::default(), &measured, 7);
    assert_eq!((play().stored, play().refused), (play().stored, play().refused));
}

#[test]
fn twice_the_games_send_twice_the_messages() {
    let game = Measured::read().unwrap().game;
    let [one, two] = [200, 400].map(|count| games::play(count, &games::Setting::default(), &game, 1).messages_in_max);
    assert!((1.8..2.2).contains(&(two / one)), "{one} and {two}");
}
