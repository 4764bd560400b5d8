//! Money, as whole minor units of a currency.

use std::fmt;

/// An amount in the minor units of a currency (cents, yen, fils): 0 to [`Amount::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(u64);

/// The number is not a valid [`Amount`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number of minor units (cents, yen) from 0 to {max}", max = Amount::MAX)]
pub struct AmountError;

impl Amount {
    /// The largest amount: ten trillion dollars in cents. JavaScript represents such numbers
    /// exactly.
    pub const MAX: u64 = 1_000_000_000_000_000;

    /// Checks the limit.
    pub fn new(minor_units: u64) -> Result<Self, AmountError> {
        (minor_units <= Self::MAX).then_some(Self(minor_units)).ok_or(AmountError)
    }

    /// The number of minor units.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// The [ISO
/// 4217](https://www.six-group.com/en/products-services/financial-information/data-standards.html)
/// codes of currencies in circulation, without funds, metals, test codes and withdrawn currencies.
/// The number of minor units in a unit is not here: only pages that show a price need it.
const ISO_4217_CODES: &str = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP \
CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD \
JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK \
NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND \
TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG";

/// A currency, by its ISO 4217 code, such as `EUR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Currency(&'static str);

/// The text is not the code of a currency in circulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the ISO 4217 code of a currency in circulation, as EUR or JPY")]
pub struct CurrencyError;

impl Currency {
    /// ISO 4217's code for "no currency", for a row that has none. Clients cannot send it.
    pub const UNNAMED: Self = Self("XXX");

    /// Looks up the code. It must be in capital letters.
    pub fn new(code: &str) -> Result<Self, CurrencyError> {
        ISO_4217_CODES.split(' ').find(|known| *known == code).map(Self).ok_or(CurrencyError)
    }

    /// The code.
    pub fn as_str(&self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    /// The amount.
    pub amount: Amount,
    /// The currency.
    pub currency: Currency,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_zero_to_ten_to_the_fifteenth() {
        assert_eq!(Amount::new(0).map(Amount::get), Ok(0));
        assert_eq!(Amount::new(1_000_000_000_000_000).map(Amount::get), Ok(1_000_000_000_000_000));
        assert_eq!(Amount::new(1_000_000_000_000_001), Err(AmountError));
    }

    #[test]
    fn only_codes_of_money_in_circulation_are_currencies() {
        for code in ["AED", "EUR", "JPY", "USD", "VES", "ZWG"] {
            assert_eq!(Currency::new(code).map(|currency| currency.to_string()), Ok(code.to_owned()));
        }
        for code in ["", "eur", "EURO", "EU", "DEM", "XAU", "XXX", "AED AFN", " EUR", "€"] {
            assert_eq!(Currency::new(code), Err(CurrencyError), "{code:?}");
        }
        assert!(ISO_4217_CODES.split(' ').all(|code| code.len() == 3) && ISO_4217_CODES.split(' ').is_sorted());
    }
}
