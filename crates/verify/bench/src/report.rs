//! The report: rows of figures, each beside its comparison.

use std::fmt;

use serde::Serialize;

/// One figure of the table.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The heading that it stands under.
    pub(crate) section: &'static str,
    /// The name of the measurement.
    pub(crate) what: String,
    /// Of the figures.
    pub(crate) unit: &'static str,
    /// Tidemark's, the median of its runs.
    pub(crate) value: f64,
    /// The comparison, measured in the same run.
    pub(crate) against: Vec<Against>,
    /// The target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) aim: Option<Aim>,
    /// How many measurements stand behind the figure; 1 for a count that comes out the same each
    /// time.
    pub(crate) runs: usize,
    /// Its place in the picture, if it has one.
    #[serde(skip)]
    pub(crate) panel: Option<Panel>,
}

/// What a row is called in the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panel {
    /// The value, with its unit.
    pub(crate) heading: &'static str,
    /// Whose figure the row's own is.
    pub(crate) own: &'static str,
}

/// The same figure of something else.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Against {
    /// Of what.
    pub(crate) name: &'static str,
    /// The median of its runs.
    pub(crate) value: f64,
    /// How many times better Tidemark is: the median over the pairs of runs, not the ratio of the
    /// medians.
    pub(crate) times: f64,
}

/// An aim, and whether it was reached.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Aim {
    /// In words.
    pub(crate) text: String,
    /// Reached.
    pub(crate) met: bool,
}

/// Which of two figures is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Better {
    Lower,
    Higher,
}

impl Row {
    /// A count that is the same in every run.
    pub(crate) fn count(section: &'static str, what: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { section, what: what.into(), unit, value, against: Vec::new(), aim: None, runs: 1, panel: None }
    }

    /// The median of `runs`.
    pub(crate) fn median(section: &'static str, what: impl Into<String>, unit: &'static str, runs: &[f64]) -> Self {
        Self { runs: runs.len(), ..Self::count(section, what, unit, median(runs)) }
    }

    /// Beside another count.
    pub(crate) fn beside(mut self, better: Better, name: &'static str, value: f64) -> Self {
        let times = if better == Better::Lower { value / self.value } else { self.value / value };
        self.against.push(Against { name, value, times });
        self
    }

    /// Beside other runs, each paired with one of Tidemark's.
    pub(crate) fn beside_runs(mut self, better: Better, name: &'static str, own: &[f64], others: &[f64]) -> Self {
        let times = |(own, other): (&f64, &f64)| if better == Better::Lower { other / own } else { own / other };
        let times: Vec<f64> = own.iter().zip(others).map(times).collect();
        self.against.push(Against { name, value: median(others), times: median(&times) });
        self
    }

    /// Shows the row in the picture.
    pub(crate) fn pictured(self, heading: &'static str, own: &'static str) -> Self {
        Self { panel: Some(Panel { heading, own }), ..self }
    }

    /// To stay at or below a figure.
    pub(crate) fn at_most(mut self, limit: f64) -> Self {
        self.aim = Some(Aim { text: format!("<= {}", Figure(limit)), met: self.value <= limit });
        self
    }

    /// To reach a figure.
    pub(crate) fn at_least(mut self, limit: f64) -> Self {
        self.aim = Some(Aim { text: format!(">= {}", Figure(limit)), met: self.value >= limit });
        self
    }

    /// To be so many times better than the first that it stands beside.
    pub(crate) fn at_least_times(mut self, times: f64) -> Self {
        let reached = self.against.first().is_some_and(|against| against.times >= times);
        self.aim = Some(Aim { text: format!("{times} x"), met: reached });
        self
    }
}

/// The middle of some figures; NaN of none.
pub(crate) fn median(figures: &[f64]) -> f64 {
    quantile(figures, 0.5)
}

/// The figure below which this share of them lies; NaN of none.
pub(crate) fn quantile(figures: &[f64], share: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len().saturating_sub(1)) as f64 * share;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(low), Some(high)) => low + (high - low) * place.fract(),
        _ => f64::NAN,
    }
}

/// A figure to three digits, or whole when it is large.
pub(crate) struct Figure(pub(crate) f64);

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = *self;
        if value.abs() >= 1_000.0 {
            let (thousands, rest) = (value.round() as i64 / 1_000, value.round().abs() as i64 % 1_000);
            return match (thousands / 1_000, thousands.abs() % 1_000) {
                (0, _) => write!(f, "{thousands},{rest:03}"),
                (millions, thousands) => write!(f, "{millions},{thousands:03},{rest:03}"),
            };
        }
        let digits = match value.abs() {
            0.0 => 0,
            small if small < 0.1 => 4,
            small if small < 1.0 => 3,
            small if small < 10.0 => 2,
            small if small < 100.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{value:.digits$}"))
    }
}

/// The rows as a table of text.
pub(crate) fn table(rows: &[Row]) -> String {
    let cells = |row: &Row| {
        let against: Vec<_> = row
            .against
            .iter()
            .map(|against| format!("{} {} ({} x)", against.name, Figure(against.value), Figure(against.times)))
            .collect();
        let aim = row
            .aim
            .as_ref()
            .map_or_else(String::new, |aim| format!("{} {}", if aim.met { "met" } else { "MISSED" }, aim.text));
        [row.what.clone(), format!("{} {}", Figure(row.value), row.unit), against.join(", "), aim, row.runs.to_string()]
    };
    let head = ["", "Tidemark", "beside (times better)", "aim", "runs"].map(str::to_owned);
    let body: Vec<_> = rows.iter().map(cells).collect();
    let mut widths = [0; 5];
    for line in body.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; 5]| {
        let cells = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = line(&head);
    let mut section = "";
    for (row, cells) in rows.iter().zip(&body) {
        if row.section != section {
            section = row.section;
            text += &format!("\n{section}\n");
        }
        text += &line(cells);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_ratio_is_the_median_over_pairs_of_runs() {
        let own = [1.0, 2.0, 4.0];
        let row = Row::median("s", "w", "ms", &own).beside_runs(Better::Lower, "other", &own, &[3.0, 4.0, 20.0]);
        assert_eq!((row.value, row.against[0].value, row.against[0].times), (2.0, 4.0, 3.0));
        let row = Row::count("s", "w", "/s", 8.0).beside(Better::Higher, "other", 2.0).at_least_times(5.0);
        assert_eq!((row.against[0].times, row.aim.map(|aim| aim.met)), (4.0, Some(false)));
    }

    #[test]
    fn a_missed_aim_is_said_to_be_missed() {
        let row = Row::count("units", "all new", "WRU", 0.5).at_most(0.32);
        assert!(table(std::slice::from_ref(&row)).contains("MISSED <= 0.320"));
        assert!(table(&[row.at_most(0.5)]).contains("met <= 0.500"));
    }

    #[test]
    fn quantiles_lie_between_their_neighbours() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(quantile(&[1.0, 2.0], 1.0), 2.0);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn figures_have_about_three_digits() {
        let shown =
            [0.0, 0.0112, 0.317, 6.0, 43.25, 512.4, 12_345.6, 1_021_004.0].map(|value| Figure(value).to_string());
        assert_eq!(shown, ["0", "0.0112", "0.317", "6.00", "43.2", "512", "12,346", "1,021,004"]);
    }
}
