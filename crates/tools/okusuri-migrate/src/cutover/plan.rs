//! How far a cutover is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The phases of a cutover, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// PostgreSQL notes what changes; DynamoDB is told nothing. From before the export until the
    /// load is checked.
    Capture,
    /// The changes of one side are replicated to the other. PostgreSQL owns every user.
    Dual,
    /// Also, who reads compares both sides.
    Shadow,
    /// Part of the users are written in DynamoDB first.
    Percent,
    /// Everybody is written in DynamoDB, and PostgreSQL is told nothing more. There is no way back.
    Finished,
    /// Everybody goes back to PostgreSQL.
    RollingBack,
}

impl Phase {
    /// As the plan and reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Dual => "dual",
            Self::Shadow => "shadow",
            Self::Percent => "percent",
            Self::Finished => "finished",
            Self::RollingBack => "rolling-back",
        }
    }

    /// Whether a writer tells the other side at once.
    pub fn is_replicated(self) -> bool {
        self != Self::Capture
    }

    /// Whether a reader compares.
    pub fn is_compared(self) -> bool {
        matches!(self, Self::Shadow | Self::Percent)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Phase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Capture, Self::Dual, Self::Shadow, Self::Percent, Self::Finished, Self::RollingBack];
        all.into_iter().find(|phase| phase.as_str() == text).ok_or_else(|| format!("{text:?} is no phase of a cutover"))
    }
}

/// Which cutover this is, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Its id: what another cutover has left in the table is not taken for this one's.
    pub run: String,
    /// How far it is.
    pub phase: Phase,
    /// How many of a hundred parts of the users are to be DynamoDB's: 0 to 100.
    pub percent: u8,
}

/// Where a cutover is to go: `capture`, `dual`, `shadow`, `1%` to `100%`, or `finished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The phase.
    pub phase: Phase,
    /// With [`Phase::Percent`] and [`Phase::Finished`].
    pub percent: u8,
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of = |phase, percent| Ok(Self { phase, percent });
        match text {
            "capture" => of(Phase::Capture, 0),
            "dual" => of(Phase::Dual, 0),
            "shadow" => of(Phase::Shadow, 0),
            "finished" => of(Phase::Finished, 100),
            _ => match text.strip_suffix('%').map(str::parse) {
                Some(Ok(percent @ 0..=100)) => of(Phase::Percent, percent),
                _ => Err("must be capture, dual, shadow, 0% to 100%, or finished".to_owned()),
            },
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.phase {
            Phase::Percent => write!(f, "{}%", self.percent),
            phase => phase.fmt(f),
        }
    }
}
