//! Cells of CSV files, which people open in spreadsheets.

/// A spreadsheet takes a cell that begins with one of these characters as a formula and runs it;
/// `=HYPERLINK(...)` can send other cells to a server
/// ([OWASP](https://owasp.org/www-community/attacks/CSV_Injection)). Japanese versions also accept
/// the full-width signs.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Behind one of these, a spreadsheet with another separator than the comma begins a cell. It then
/// ignores the quotes of ours.
const SEPARATORS: [char; 5] = [';', '\t', '|', '\n', '\r'];

fn is_escaped(c: char) -> bool {
    FORMULA.contains(&c) || c == '\''
}

/// Writes a user's text as a cell: with a `'` where a spreadsheet would begin a formula.
pub fn escape(text: &str) -> String {
    let (mut cell, mut is_begin) = (String::with_capacity(text.len()), true);
    for c in text.chars() {
        if is_begin && is_escaped(c) {
            cell.push('\'');
        }
        cell.push(c);
        is_begin = SEPARATORS.contains(&c);
    }
    cell
}

/// The text of a cell as it was before [`escape`].
pub fn unescape(cell: &str) -> String {
    let (mut text, mut is_begin) = (String::with_capacity(cell.len()), true);
    let mut chars = cell.chars().peekable();
    while let Some(mut c) = chars.next() {
        if is_begin && c == '\'' {
            c = chars.next_if(|next| is_escaped(*next)).unwrap_or(c);
        }
        text.push(c);
        is_begin = SEPARATORS.contains(&c);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escaped_cell_begins_a_formula_and_unescape_restores_it() {
        for text in [
            "=HYPERLINK(A1)",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "＝１",
            "'=1",
            "''",
            "'tis",
            "plain",
            "",
            "a=b",
            ";=1",
            "a;=1",
            "a|+1",
            "a\t@SUM(A1)",
            "a\n=1;'-1",
            ";;'",
            "a;'=1",
        ] {
            let cell = escape(text);
            assert!(!cell.split(SEPARATORS).any(|cell| cell.starts_with(FORMULA)), "{cell}");
            assert!(!cell.starts_with(FORMULA), "{cell}");
            assert_eq!(unescape(&cell), text);
        }
        // A file that another program wrote, without our escaping.
        assert_eq!(unescape("'tis"), "'tis");
    }
}
