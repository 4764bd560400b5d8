//! The picture of the table: a panel of bars for each row that asks for one, on a card of its own
//! colours, so that it reads well on a light page and on a dark one.

use std::fmt::Write;

use crate::report::{Figure, Panel, Row};

const COLUMNS: usize = 2;
const MARGIN: usize = 28;
const PANEL_WIDTH: usize = 396;
const HEADING_HEIGHT: usize = 30;
const BAR_HEIGHT: usize = 16;
const BAR_STEP: usize = 24;
/// Where bars begin, right of their names.
const BAR_X: usize = 148;
const BAR_LENGTH_MAX: f64 = 180.0;
/// A bar that would be shorter is still seen.
const BAR_LENGTH_MIN: f64 = 2.0;

const STYLE: &str = "
    text { font-family: ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 13px; fill: #33475b }
    .card { fill: #f6f8fa; stroke: #d0d7de } .heading { font-weight: 600; fill: #102a43 } .name { text-anchor: end }
    .own { fill: #0b7a9b } .other { fill: #b3bfca } .figure { font-variant-numeric: tabular-nums } .best { font-weight: 600; fill: #075a74 }
    @media (prefers-color-scheme: dark) {
      text { fill: #b6c2cf } .card { fill: #161b22; stroke: #30363d } .heading { fill: #e6edf3 }
      .own { fill: #2bb3d6 } .other { fill: #4d5866 } .best { fill: #6fd3ee }
    }
";

/// The rows with a panel, as SVG.
pub(crate) fn svg(rows: &[Row]) -> String {
    let panels: Vec<_> = rows.iter().filter_map(|row| Some((row, row.panel?))).collect();
    let heights = panels.chunks(COLUMNS).map(|line| line.iter().map(|(row, _)| height(row)).max().unwrap_or_default());
    let heights: Vec<_> = heights.collect();
    let width = 2 * MARGIN + COLUMNS * PANEL_WIDTH;
    let total = 2 * MARGIN - 14 + heights.iter().sum::<usize>();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" height=\"{total}\" role=\"img\">\n\
         <title>Tidemark beside what it is compared with</title>\n<style>{STYLE}</style>\n\
         <rect class=\"card\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"10\"/>\n",
        width - 1,
        total - 1,
    );
    let mut y = MARGIN;
    for (line, height) in panels.chunks(COLUMNS).zip(heights) {
        for (column, (row, panel)) in line.iter().enumerate() {
            let _ = writeln!(svg, "<g transform=\"translate({} {y})\">", MARGIN + column * PANEL_WIDTH);
            svg += &bars(row, *panel);
            svg += "</g>\n";
        }
        y += height;
    }
    svg + "</svg>\n"
}

fn height(row: &Row) -> usize {
    HEADING_HEIGHT + (1 + row.against.len()) * BAR_STEP + 18
}

fn bars(row: &Row, panel: Panel) -> String {
    let others = row.against.iter().map(|against| (against.name, against.value, "other"));
    let bars: Vec<_> = std::iter::once((panel.own, row.value, "own")).chain(others).collect();
    let longest = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = format!("<text class=\"heading\" x=\"0\" y=\"12\">{}</text>\n", escaped(panel.heading));
    for (index, (name, value, class)) in bars.into_iter().enumerate() {
        let y = HEADING_HEIGHT + index * BAR_STEP - 4;
        let length = (value / longest * BAR_LENGTH_MAX).max(BAR_LENGTH_MIN);
        let best = if class == "own" { " best" } else { "" };
        let _ = writeln!(
            svg,
            "<text class=\"name{best}\" x=\"{}\" y=\"{}\">{}</text><rect class=\"{class}\" x=\"{BAR_X}\" y=\"{y}\" width=\"{length:.1}\" \
             height=\"{BAR_HEIGHT}\" rx=\"3\"/><text class=\"figure{best}\" x=\"{:.1}\" y=\"{}\">{}</text>",
            BAR_X - 10,
            y + 13,
            escaped(name),
            BAR_X as f64 + length + 8.0,
            y + 13,
            Figure(value),
        );
    }
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Better;

    #[test]
    fn longest_bar_is_the_largest_figure_and_none_is_invisible() {
        let row = Row::count("s", "w", "ms", 0.001).beside(Better::Lower, "a < b", 8.0).pictured("Time", "Tidemark");
        let svg = svg(&[row, Row::count("s", "not shown", "ms", 1.0)]);
        assert!(svg.contains("width=\"180.0\"") && svg.contains("width=\"2.0\""));
        assert!(svg.contains("a &lt; b") && !svg.contains("not shown"));
    }
}
