//! The checkpoint of a stream shard: every record up to it has been counted.

use std::fmt;
use std::str::FromStr;

/// The place of a record in its shard. Later records of a shard have higher numbers; numbers of two shards say nothing about each other.
///
/// DynamoDB's have 21 to 40 digits ([StreamRecord](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_StreamRecord.html)),
/// more than a `u128` or a DynamoDB number holds, so they are kept in two halves and printed zero-padded: text order is then number order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceNumber {
    // The order of the fields is the order of the numbers.
    high: u64,
    low: u128,
}

/// Not 1 to 40 decimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sequence number has 1 to {max} digits and nothing else", max = SequenceNumber::DIGITS_MAX)]
pub struct SequenceNumberError;

impl SequenceNumber {
    /// The most digits that DynamoDB gives one.
    pub const DIGITS_MAX: usize = 40;

    const LOW_DIGITS: usize = 21;

    /// The number behind a checkpoint that only hands count up, as with repairs: one more, and 1 behind none.
    pub fn behind(checkpoint: Option<Self>) -> Self {
        let Self { high, low } = checkpoint.unwrap_or(Self { high: 0, low: 0 });
        match low + 1 {
            low if low == 10_u128.pow(Self::LOW_DIGITS as u32) => Self { high: high + 1, low: 0 },
            low => Self { high, low },
        }
    }

    /// 17 bytes in which byte order is number order.
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [0; 17];
        bytes[..8].copy_from_slice(&self.high.to_be_bytes());
        // 10^21 needs 70 bits: nine of the sixteen bytes.
        bytes[8..].copy_from_slice(&self.low.to_be_bytes()[7..]);
        bytes
    }

    /// The reverse of [`SequenceNumber::to_bytes`].
    pub fn from_bytes(bytes: [u8; 17]) -> Self {
        let (mut high, mut low) = ([0; 8], [0; 16]);
        high.copy_from_slice(&bytes[..8]);
        low[7..].copy_from_slice(&bytes[8..]);
        Self { high: u64::from_be_bytes(high), low: u128::from_be_bytes(low) }
    }
}

impl FromStr for SequenceNumber {
    type Err = SequenceNumberError;

    fn from_str(text: &str) -> Result<Self, SequenceNumberError> {
        let valid = (1..=Self::DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !valid {
            return Err(SequenceNumberError);
        }
        let (high, low) = text.split_at(text.len().saturating_sub(Self::LOW_DIGITS));
        let high = if high.is_empty() { 0 } else { high.parse().map_err(|_| SequenceNumberError)? };
        Ok(Self { high, low: low.parse().map_err(|_| SequenceNumberError)? })
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:019}{:021}", self.high, self.low)
    }
}

/// A short name for one shard of one stream. Two shards share one with a probability of 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardHash(pub [u8; 8]);

/// Who was first to see a visitor in a period: the record of that number, in that shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstSeen {
    /// The shard whose batch made the first-seen record.
    pub shard: ShardHash,
    /// The record for which it was made.
    pub sequence_number: SequenceNumber,
}

impl FirstSeen {
    /// Whether the visitor is still to be counted by `shard`, which has counted everything up to `checkpoint`.
    ///
    /// The first-seen record survives a crash between claiming and counting: the replay, which still stands at the old checkpoint,
    /// recognises it as its own. Once the checkpoint has passed it, the visitor has been counted. Another shard's first-seen record is
    /// that shard's to count.
    pub fn is_uncounted_by(&self, shard: ShardHash, checkpoint: Option<SequenceNumber>) -> bool {
        self.shard == shard && checkpoint.is_none_or(|checkpoint| self.sequence_number > checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_text_and_value_keep_the_same_order(a in "[0-9]{1,40}", b in "[0-9]{1,40}") {
            let (x, y): (SequenceNumber, SequenceNumber) = (a.parse().expect("digits"), b.parse().expect("digits"));
            let padded = format!("{a:0>40}").cmp(&format!("{b:0>40}"));
            prop_assert_eq!(x.cmp(&y), padded);
            prop_assert_eq!(x.to_bytes().cmp(&y.to_bytes()), padded);
            prop_assert_eq!(x.to_string(), format!("{a:0>40}"));
            prop_assert_eq!(SequenceNumber::from_bytes(x.to_bytes()), x);
        }
    }

    #[test]
    fn forty_nines_are_still_a_sequence_number() {
        let nines = "9".repeat(40);
        assert_eq!(nines.parse::<SequenceNumber>().map(|n| n.to_string()), Ok(nines));
    }

    #[test]
    fn the_number_behind_a_checkpoint_is_one_more() {
        let behind = |text: &str| SequenceNumber::behind(text.parse().ok()).to_string();
        assert_eq!(behind("none"), format!("{:040}", 1));
        assert_eq!(behind("41"), format!("{:040}", 42));
        assert_eq!(behind(&"9".repeat(21)), format!("{:0>40}", format!("1{}", "0".repeat(21))));
    }

    #[test]
    fn anything_but_digits_is_refused() {
        let too_long = "1".repeat(41);
        for text in ["", "-1", "+1", "1.0", "1e3", " 1", "１", too_long.as_str()] {
            assert_eq!(text.parse::<SequenceNumber>(), Err(SequenceNumberError), "{text:?}");
        }
    }

    #[test]
    fn only_an_own_claim_above_the_checkpoint_is_still_to_be_counted() {
        let (shard, other) = (ShardHash([1; 8]), ShardHash([2; 8]));
        let number = |n: u8| n.to_string().parse().expect("digits");
        let first_seen = FirstSeen { shard, sequence_number: number(5) };
        assert!(first_seen.is_uncounted_by(shard, None));
        assert!(first_seen.is_uncounted_by(shard, Some(number(4))));
        assert!(!first_seen.is_uncounted_by(shard, Some(number(5))));
        assert!(!first_seen.is_uncounted_by(other, None));
    }
}
