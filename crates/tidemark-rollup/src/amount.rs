//! Fixed-point decimals: the amounts that are added to statistics.

use std::fmt;
use std::str::FromStr;

/// `units` times 10<sup>-scale</sup>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amount {
    /// The decimal without its point: 1999 for 19.99.
    pub units: i128,
    /// The number of decimals: 2 for 19.99.
    pub scale: u8,
}

/// The text is not a decimal of at most 38 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal of at most 38 digits")]
pub struct AmountError;

impl Amount {
    pub(crate) fn plus(self, other: Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { units: self.units_at(scale) + other.units_at(scale), scale }
    }

    #[cfg(feature = "recount")]
    pub(crate) fn negative(self) -> Self {
        Self { units: -self.units, ..self }
    }

    /// The number if it has no decimals: 5 for 5.00.
    pub fn to_integer(self) -> Option<i128> {
        let one = 10_i128.checked_pow(u32::from(self.scale))?;
        (self.units % one == 0).then(|| self.units / one)
    }

    /// The units at a scale that is not smaller.
    fn units_at(self, scale: u8) -> i128 {
        self.units * 10_i128.pow(u32::from(scale - self.scale))
    }
}

/// All decimals of the scale are printed: 5 at a scale of 2 is `0.05`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { units, scale } = *self;
        let (sign, digits) = (if units < 0 { "-" } else { "" }, units.unsigned_abs().to_string());
        let digits = format!("{digits:0>width$}", width = usize::from(scale) + 1);
        let (whole, decimals) = digits.split_at(digits.len() - usize::from(scale));
        if decimals.is_empty() { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{decimals}") }
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{decimals}");
        // DynamoDB's numbers have at most 38 digits.
        if !(1..=38).contains(&all.len()) || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError);
        }
        let scale = u8::try_from(decimals.len()).map_err(|_| AmountError)?;
        Ok(Self { units: sign * all.parse::<i128>().map_err(|_| AmountError)?, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_amount_is_read_as_it_was_printed(units in -10_i128.pow(30)..10_i128.pow(30), scale in 0..8_u8) {
            let amount = Amount { units, scale };
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }

    #[test]
    fn an_amount_is_printed_with_all_its_decimals() {
        let text = |units, scale| Amount { units, scale }.to_string();
        assert_eq!([text(1999, 2), text(-5, 2), text(0, 2), text(-70, 0)], ["19.99", "-0.05", "0.00", "-70"]);
    }

    #[test]
    fn amounts_of_two_scales_are_added() {
        let sum = Amount { units: 15, scale: 1 }.plus(Amount { units: 25, scale: 2 });
        assert_eq!(sum, Amount { units: 175, scale: 2 });
    }

    #[test]
    fn a_text_other_than_a_decimal_is_refused() {
        for text in ["", "-", ".", "1e5", "+1", "1.2.3", &"9".repeat(39)] {
            assert_eq!(text.parse::<Amount>(), Err(AmountError), "{text:?}");
        }
    }
}
