//! The events that the suite writes into its own streams. They contain no data about persons.

use jiff::Timestamp;

use super::{Entry, JournalStream, Message};
use crate::Attributes;
use crate::EntryId;

/// An event in the suite. Its entry has an English sentence, and the facts as attributes. The
/// attribute `kind` names the kind of event. Pages build a sentence in the reader's language from
/// the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuiteEvent<'a> {
    /// A drawing game is over.
    GameFinished {
        /// The id of the game, if it is public.
        game_id: Option<&'a str>,
        /// How many players had a seat at the end of the game.
        players: usize,
        /// How many rounds the game was set to.
        rounds: u16,
        /// The winner's points.
        best_score: u32,
    },
    /// The price of a product has changed.
    PriceChanged {
        /// The product.
        product_id: &'a str,
        /// The new price, in minor units.
        price: u64,
        /// The previous price; `None` for the first price.
        previous_price: Option<u64>,
        /// The ISO 4217 code of the currency.
        currency: &'a str,
    },
    /// Stock came in, went out, or was corrected or counted.
    StockMoved {
        /// The product.
        product_id: &'a str,
        /// The type of the change, as the ledger spells it: `IN`, `OUT`, `ADJUST` or `COUNT`.
        change_type: &'a str,
        /// By how many pieces the stock has changed.
        quantity: i64,
        /// The stock after the change.
        stock: u64,
    },
    /// A product's stock has fallen below its threshold.
    LowStock {
        /// The product.
        product_id: &'a str,
        /// The stock.
        stock: u64,
        /// The threshold.
        threshold: u64,
    },
    /// The stock of a product is 0.
    OutOfStock {
        /// The product.
        product_id: &'a str,
    },
    /// A record of the stream of clicks could not be read. An operator has to look at it.
    RecordQuarantined {
        /// A stable code.
        reason: &'a str,
    },
    /// A quarantined record is settled.
    RecordSettled {
        /// How it was settled, as a stable code.
        ending: &'a str,
    },
    /// An operator has corrected statistics.
    StatisticsRepaired,
}

impl SuiteEvent<'_> {
    /// The journal entry. `name` must be unique among the events of this kind and millisecond, and
    /// the same when the event is reported again.
    pub fn entry(&self, at: Timestamp, name: &str) -> Entry {
        let kind = self.kind();
        let mut attributes = vec![("kind", kind.to_owned())];
        attributes.extend(self.facts());
        Entry {
            stream: self.stream(),
            id: EntryId::derived(at, &format!("{kind} {name}")),
            message: Message::of_suite(self.sentence()),
            attributes: Attributes::of_suite(attributes),
        }
    }

    /// Stock movements show how much a shop sells, so they are not in the public stream.
    fn stream(&self) -> JournalStream {
        if matches!(self, Self::StockMoved { .. }) { JournalStream::stock() } else { JournalStream::suite() }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::GameFinished { .. } => "game-finished",
            Self::PriceChanged { .. } => "price-changed",
            Self::StockMoved { .. } => "stock-moved",
            Self::LowStock { .. } => "low-stock",
            Self::OutOfStock { .. } => "out-of-stock",
            Self::RecordQuarantined { .. } => "record-quarantined",
            Self::RecordSettled { .. } => "record-settled",
            Self::StatisticsRepaired => "statistics-repaired",
        }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        match *self {
            Self::GameFinished { game_id, players, rounds, best_score } => {
                let game_id = game_id.map(|id| ("gameId", id.to_owned()));
                let mut facts: Vec<_> = game_id.into_iter().collect();
                facts.extend([
                    ("players", players.to_string()),
                    ("rounds", rounds.to_string()),
                    ("bestScore", best_score.to_string()),
                ]);
                facts
            }
            Self::PriceChanged { product_id, price, previous_price, currency } => {
                let mut facts = vec![
                    ("productId", product_id.to_owned()),
                    ("price", price.to_string()),
                    ("currency", currency.to_owned()),
                ];
                facts.extend(previous_price.map(|price| ("previousPrice", price.to_string())));
                facts
            }
            Self::StockMoved { product_id, change_type, quantity, stock } => vec![
                ("productId", product_id.to_owned()),
                ("changeType", change_type.to_owned()),
                ("quantity", quantity.to_string()),
                ("stock", stock.to_string()),
            ],
            Self::LowStock { product_id, stock, threshold } => vec![
                ("productId", product_id.to_owned()),
                ("stock", stock.to_string()),
                ("lowStockThreshold", threshold.to_string()),
            ],
            Self::OutOfStock { product_id } => vec![("productId", product_id.to_owned())],
            Self::RecordQuarantined { reason } => vec![("reason", reason.to_owned())],
            Self::RecordSettled { ending } => vec![("ending", ending.to_owned())],
            Self::StatisticsRepaired => Vec::new(),
        }
    }

    fn sentence(&self) -> String {
        match *self {
            Self::GameFinished { players, rounds, best_score, .. } => {
                let (players, rounds) = (plural(players, "player"), plural(rounds.into(), "round"));
                format!("A game of {players} and {rounds} is over; the best score was {best_score}.")
            }
            Self::PriceChanged { product_id, price, previous_price: None, currency } => {
                format!("{product_id} has its first price: {price} {currency}, in minor units.")
            }
            Self::PriceChanged { product_id, price, previous_price: Some(previous), currency } => {
                format!("The price of {product_id} went from {previous} to {price} {currency}, in minor units.")
            }
            Self::StockMoved { product_id, change_type, quantity, stock } => {
                let what = match change_type {
                    "IN" => format!("{quantity} came in"),
                    "OUT" => format!("{} went out", quantity.unsigned_abs()),
                    "ADJUST" => format!("{quantity:+} by a correction"),
                    _ => format!("{quantity:+} by a count"),
                };
                format!("Stock of {product_id}: {what}, {stock} now.")
            }
            Self::LowStock { product_id, stock, threshold } => {
                format!("{product_id} runs low: {stock} left, and the threshold is {threshold}.")
            }
            Self::OutOfStock { product_id } => format!("{product_id} is out of stock."),
            Self::RecordQuarantined { reason } => {
                format!("A click record could not be counted ({reason}) and was quarantined.")
            }
            Self::RecordSettled { ending } => {
                format!("A quarantined click record is settled ({ending}).")
            }
            Self::StatisticsRepaired => "Statistics were recounted and corrected.".to_owned(),
        }
    }
}

fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [SuiteEvent<'static>; 10] = [
        SuiteEvent::GameFinished {
            game_id: Some("0199c0de-0000-7000-8000-00000000000a"),
            players: 3,
            rounds: 1,
            best_score: 270,
        },
        SuiteEvent::GameFinished { game_id: None, players: 2, rounds: 3, best_score: 0 },
        SuiteEvent::PriceChanged { product_id: "p-1", price: 1_980, previous_price: Some(2_480), currency: "JPY" },
        SuiteEvent::PriceChanged { product_id: "p-1", price: 2_480, previous_price: None, currency: "JPY" },
        SuiteEvent::StockMoved { product_id: "p-1", change_type: "OUT", quantity: -3, stock: 7 },
        SuiteEvent::LowStock { product_id: "p-1", stock: 2, threshold: 3 },
        SuiteEvent::OutOfStock { product_id: "p-1" },
        SuiteEvent::RecordQuarantined { reason: "click-count" },
        SuiteEvent::RecordSettled { ending: "counted" },
        SuiteEvent::StatisticsRepaired,
    ];

    #[test]
    fn each_kind_has_its_sentence_and_its_facts() {
        let at = "2024-07-12T02:37:50.951Z".parse().expect("a time");
        let lines = ALL.map(|event| {
            let entry = event.entry(at, "x");
            let facts: Vec<_> =
                entry.attributes.pairs().iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} [{}]", entry.message.as_str(), facts.join(" "))
        });
        assert_eq!(
            lines,
            [
                "A game of 3 players and 1 round is over; the best score was 270. [bestScore=270 gameId=0199c0de-0000-7000-8000-00000000000a kind=game-finished players=3 rounds=1]",
                "A game of 2 players and 3 rounds is over; the best score was 0. [bestScore=0 kind=game-finished players=2 rounds=3]",
                "The price of p-1 went from 2480 to 1980 JPY, in minor units. [currency=JPY kind=price-changed previousPrice=2480 price=1980 productId=p-1]",
                "p-1 has its first price: 2480 JPY, in minor units. [currency=JPY kind=price-changed price=2480 productId=p-1]",
                "Stock of p-1: 3 went out, 7 now. [changeType=OUT kind=stock-moved productId=p-1 quantity=-3 stock=7]",
                "p-1 runs low: 2 left, and the threshold is 3. [kind=low-stock lowStockThreshold=3 productId=p-1 stock=2]",
                "p-1 is out of stock. [kind=out-of-stock productId=p-1]",
                "A click record could not be counted (click-count) and was quarantined. [kind=record-quarantined reason=click-count]",
                "A quarantined click record is settled (counted). [ending=counted kind=record-settled]",
                "Statistics were recounted and corrected. [kind=statistics-repaired]",
            ]
        );
    }

    #[test]
    fn the_suites_own_entries_keep_the_rules_of_all_entries() {
        for event in ALL {
            let Entry { message, attributes, id, .. } = event.entry(Timestamp::UNIX_EPOCH, "x");
            assert_eq!(Message::new(message.as_str()), Ok(message));
            assert_eq!(Attributes::new(attributes.pairs().clone()), Ok(attributes));
            assert_eq!(id, event.entry(Timestamp::UNIX_EPOCH, "x").id);
        }
    }

    #[test]
    fn stock_movements_are_not_in_the_public_stream() {
        let streams = ALL.map(|event| event.entry(Timestamp::UNIX_EPOCH, "x").stream);
        assert_eq!(streams.iter().filter(|stream| **stream == JournalStream::stock()).count(), 1);
        assert_eq!(streams[4], JournalStream::stock());
    }

    #[test]
    fn events_of_different_kinds_get_different_entry_ids() {
        let [low, out] = [
            SuiteEvent::LowStock { product_id: "p", stock: 0, threshold: 3 },
            SuiteEvent::OutOfStock { product_id: "p" },
        ]
        .map(|event| event.entry(Timestamp::UNIX_EPOCH, "7").id);
        assert_ne!(low, out);
    }
}
