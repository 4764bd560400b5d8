//! What a day's log may say beside the medication and bleeding: the flow, and symptoms. Streak, rest
//! and adherence do not depend on them.

use std::collections::BTreeSet;
use std::str::FromStr;

/// A text is none of these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be one of {}", .0.join(", "))]
pub struct UnknownName(&'static [&'static str]);

/// An enum whose variants have names that are stored and sent, and so never change.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($(#[$of])* $variant),+ }

        impl $type {
            /// All names, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The name in items, files and the API.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                match text { $($name => Ok(Self::$variant),)+ _ => Err(UnknownName(Self::NAMES)) }
            }
        }
    };
}

named! {
    /// The flow of a day with bleeding, weakest first. Spotting is bleeding: it counts for a rest.
    Flow {
        /// A few drops.
        Spotting = "spotting",
        /// Weaker than usual.
        Light = "light",
        /// As usual.
        Medium = "medium",
        /// Stronger than usual.
        Heavy = "heavy",
    }
}

named! {
    /// A symptom of a day, with bleeding or without.
    Symptom {
        /// Pain of the lower belly.
        Cramps = "cramps",
        /// Pain of the back.
        BackPain = "back-pain",
        /// Headache or migraine.
        Headache = "headache",
        /// Nausea or vomiting.
        Nausea = "nausea",
        /// Bloating.
        Bloating = "bloating",
        /// Tender breasts.
        TenderBreasts = "tender-breasts",
        /// Tiredness.
        Tiredness = "tiredness",
        /// Changes of mood.
        Mood = "mood",
        /// Dizziness.
        Dizziness = "dizziness",
    }
}

/// Why a flow cannot be told of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// Another text.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The day has no bleeding.
    #[error("must not be set on a day without bleeding")]
    NoBleeding,
}

impl Flow {
    /// The flow of this name, on a day with or without bleeding.
    ///
    /// # Errors
    /// [`FlowError`] for another name, and for a day without bleeding.
    pub fn of_day(name: &str, has_bleeding: bool) -> Result<Self, FlowError> {
        let flow = name.parse()?;
        if has_bleeding { Ok(flow) } else { Err(FlowError::NoBleeding) }
    }
}

/// Why a list is no set of symptoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SymptomsError {
    /// Another text.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A name comes twice.
    #[error("must not repeat a symptom")]
    Repeated,
}

impl Symptom {
    /// The symptoms of these names, in the order of the enum.
    ///
    /// # Errors
    /// [`SymptomsError`] at the first name that is unknown or comes again.
    pub fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<BTreeSet<Self>, SymptomsError> {
        let mut symptoms = BTreeSet::new();
        for name in names {
            if !symptoms.insert(name.parse()?) {
                return Err(SymptomsError::Repeated);
            }
        }
        Ok(symptoms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_is_told_only_of_days_with_bleeding() {
        assert_eq!(Flow::of_day("spotting", true), Ok(Flow::Spotting));
        assert_eq!(Flow::of_day("spotting", false), Err(FlowError::NoBleeding));
        assert_eq!(
            Flow::of_day("Heavy", true).unwrap_err().to_string(),
            "must be one of spotting, light, medium, heavy"
        );
    }

    #[test]
    fn symptoms_have_one_order_and_no_repetition() {
        let names = ["dizziness", "back-pain", "cramps"];
        let symptoms = Symptom::set(names).unwrap();
        assert!(symptoms.into_iter().map(Symptom::as_str).eq(["cramps", "back-pain", "dizziness"]));
        assert_eq!(Symptom::set(["mood", "mood"]), Err(SymptomsError::Repeated));
        assert!(matches!(Symptom::set(["hunger"]), Err(SymptomsError::Unknown(_))));
        assert_eq!(Symptom::set([]), Ok(BTreeSet::new()));
    }
}
