//! The checkpoint of a stream shard: the last record of the shard that has been counted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The sequence number of a record in its shard. Later records of a shard have higher numbers. The
/// numbers of two shards cannot be compared.
///
/// DynamoDB's numbers have 21 to 40 digits
/// ([StreamRecord](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_StreamRecord.html)).
/// Neither a `u128` nor a DynamoDB number holds so many. They are therefore stored in two halves
/// and printed with leading zeros, so that the order of the texts is the order of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SequenceNumber {
    // The derived order compares the fields in this order.
    high: u64,
    low: u128,
}

/// The text does not consist of 1 to 40 decimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a sequence number has 1 to {max} digits and nothing else", max = SequenceNumber::DIGITS_MAX)]
pub struct SequenceNumberError;

impl SequenceNumber {
    /// The most digits that DynamoDB gives a sequence number.
    pub const DIGITS_MAX: usize = 40;

    /// Below every number of a stream.
    pub const ZERO: Self = Self { high: 0, low: 0 };

    /// At or above every number of a stream.
    pub(crate) const MAX: Self = Self { high: u64::MAX, low: u128::MAX };

    const LOW_DIGITS: usize = 21;

    /// The number after a checkpoint: one more, or 1 when there is no checkpoint. For checkpoints
    /// without a stream that gives the numbers, such as that of the repairs.
    pub fn after(checkpoint: Option<Self>) -> Self {
        let Self { high, low } = checkpoint.unwrap_or(Self::ZERO);
        match low + 1 {
            low if low == 10_u128.pow(Self::LOW_DIGITS as u32) => Self { high: high + 1, low: 0 },
            low => Self { high, low },
        }
    }

    /// 17 bytes. The order of the bytes is the order of the numbers.
    pub fn to_bytes(self) -> [u8; 17] {
        let mut bytes = [0; 17];
        bytes[..8].copy_from_slice(&self.high.to_be_bytes());
        // 10^21 needs 70 bits, so nine of the sixteen bytes are enough.
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

impl TryFrom<String> for SequenceNumber {
    type Error = SequenceNumberError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SequenceNumber> for String {
    fn from(number: SequenceNumber) -> Self {
        number.to_string()
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:019}{:021}", self.high, self.low)
    }
}

/// A short hash that identifies one shard of one stream. Two shards have the same hash with a
/// probability of 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ShardHash(pub [u8; 8]);

/// Parses 16 hexadecimal digits.
impl TryFrom<String> for ShardHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let digits = Some(&text).filter(|text| text.len() == 16);
        let number = digits.and_then(|text| u64::from_str_radix(text, 16).ok());
        number.map(|number| Self(number.to_be_bytes())).ok_or("not 16 hexadecimal digits")
    }
}

impl From<ShardHash> for String {
    fn from(hash: ShardHash) -> Self {
        format!("{:016x}", u64::from_be_bytes(hash.0))
    }
}

/// The first record that showed a value in a statistic: its shard and its sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstSeen {
    /// The shard whose batch wrote the first-seen record.
    pub shard: ShardHash,
    /// The stream record for which it was written.
    pub sequence_number: SequenceNumber,
}

impl FirstSeen {
    /// Whether `shard`, which has counted every record up to `checkpoint`, has still to count the
    /// value.
    ///
    /// A crash between writing the first-seen record and counting leaves the record behind. The
    /// replay starts at the old checkpoint and recognises the record as its own. When the
    /// checkpoint has passed the record, the value has been counted. A value whose first-seen
    /// record belongs to another shard is counted by that shard.
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
        fn bytes_and_text_sort_as_the_numbers_do(a in "[0-9]{1,40}", b in "[0-9]{1,40}") {
            let (x, y): (SequenceNumber, SequenceNumber) = (a.parse().expect("digits"), b.parse().expect("digits"));
            let padded = format!("{a:0>40}").cmp(&format!("{b:0>40}"));
            prop_assert_eq!(x.cmp(&y), padded);
            prop_assert_eq!(x.to_bytes().cmp(&y.to_bytes()), padded);
            prop_assert_eq!(x.to_string(), format!("{a:0>40}"));
            prop_assert_eq!(SequenceNumber::from_bytes(x.to_bytes()), x);
        }
    }

    #[test]
    fn a_sequence_number_may_have_forty_nines() {
        let nines = "9".repeat(40);
        assert_eq!(nines.parse::<SequenceNumber>().map(|n| n.to_string()), Ok(nines));
    }

    #[test]
    fn the_number_after_a_checkpoint_is_one_more() {
        let after = |text: &str| SequenceNumber::after(text.parse().ok()).to_string();
        assert_eq!(after("none"), format!("{:040}", 1));
        assert_eq!(after("41"), format!("{:040}", 42));
        assert_eq!(after(&"9".repeat(21)), format!("{:0>40}", format!("1{}", "0".repeat(21))));
    }

    #[test]
    fn a_sequence_number_other_than_digits_is_refused() {
        let too_long = "1".repeat(41);
        for text in ["", "-1", "+1", "1.0", "1e3", " 1", "１", too_long.as_str()] {
            assert_eq!(text.parse::<SequenceNumber>(), Err(SequenceNumberError), "{text:?}");
        }
    }

    #[test]
    fn shard_counts_own_first_seen_records_above_its_checkpoint() {
        let (shard, other) = (ShardHash([1; 8]), ShardHash([2; 8]));
        let number = |n: u8| n.to_string().parse().expect("digits");
        let first_seen = FirstSeen { shard, sequence_number: number(5) };
        assert!(first_seen.is_uncounted_by(shard, None));
        assert!(first_seen.is_uncounted_by(shard, Some(number(4))));
        assert!(!first_seen.is_uncounted_by(shard, Some(number(5))));
        assert!(!first_seen.is_uncounted_by(other, None));
    }
}
