//! Cells of CSV files, which people open in spreadsheets.

use std::borrow::Cow;

/// A spreadsheet takes a cell that begins with one of these characters as a formula and runs it;
/// `=HYPERLINK(...)` can send other cells to a server
/// ([OWASP](https://owasp.org/www-community/attacks/CSV_Injection)). Japanese versions also accept
/// the full-width signs.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Writes a user's text as a cell: with a leading `'` if a spreadsheet would run it as a formula.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) || text.starts_with('\'') { format!("'{text}").into() } else { text.into() }
}

/// The text of a cell as it was before [`escape`].
pub fn unescape(cell: &str) -> &str {
    let text = cell.strip_prefix('\'').filter(|text| text.starts_with(FORMULA) || text.starts_with('\''));
    text.unwrap_or(cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escaped_cell_begins_a_formula_and_unescape_restores_it() {
        for text in
            ["=HYPERLINK(A1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝１", "'=1", "''", "'tis", "plain", "", "a=b"]
        {
            let cell = escape(text);
            assert!(!cell.starts_with(FORMULA), "{cell}");
            assert_eq!(unescape(&cell), text);
        }
        // A file that another program wrote, without our escaping.
        assert_eq!(unescape("'tis"), "'tis");
    }
}
