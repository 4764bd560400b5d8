//! Cells of CSV files, which people open in spreadsheets.

use std::borrow::Cow;

/// What makes a spreadsheet take a text for a formula, and run it: `=HYPERLINK(...)` sends other
/// cells away ([OWASP](https://owasp.org/www-community/attacks/CSV_Injection)). Full-width signs
/// count in Japanese versions.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// A text that somebody typed, as a cell: behind a `'` where a spreadsheet would take it for a
/// formula.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) || text.starts_with('\'') { format!("'{text}").into() } else { text.into() }
}

/// The text of a cell, as it was before [`escape`].
pub fn unescape(cell: &str) -> &str {
    let text = cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA) || text.starts_with('\''));
    text.unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_begins_a_formula_and_each_comes_back() {
        for text in
            ["=HYPERLINK(A1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝１", "'=1", "''", "'tis", "plain", "", "a=b"]
        {
            let cell = escape(text);
            assert!(!cell.starts_with(FORMULA), "{cell}");
            assert_eq!(unescape(&cell), text);
        }
        // Another program's file.
        assert_eq!(unescape("'tis"), "'tis");
    }
}
