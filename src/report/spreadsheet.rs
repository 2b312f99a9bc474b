//! Cells of comma- and tab-separated values. Text from the wire is no formula in them, with whatever separator a
//! spreadsheet reads the file.

use std::borrow::Cow;

use super::put;
use crate::text::escaped;

/// Characters with which a formula begins, as [OWASP](https://owasp.org/www-community/attacks/CSV_Injection) lists
/// them: in ASCII, in full width, and other forms. Control characters are escaped anyway.
const BEGINS: [char; 13] = [
    '=', '+', '-', '@', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}', '\u{FE66}', '\u{FE62}',
    '\u{FE63}', '\u{FE6B}', '\u{2212}',
];

/// Characters that separate cells, depending on the country that a spreadsheet is set to.
const SEPARATORS: [char; 2] = [',', ';'];

/// Writes a line of comma-separated values as RFC 4180 has it.
pub(crate) fn csv_line<'c>(cells: impl Iterator<Item = &'c str>, out: &mut Vec<u8>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        csv_text(cell, out);
    }
    out.extend_from_slice(b"\r\n");
}

/// Writes a text as a cell of such a line.
pub(crate) fn csv_text(text: &str, out: &mut Vec<u8>) {
    csv_cell(&unformulated(text), out);
}

/// Writes JSON as a cell of such a line. What would be a formula is escaped as JSON does it: the JSON remains the same.
pub(crate) fn csv_json(json: &str, out: &mut Vec<u8>) {
    let (mut cell, mut rest) = (String::with_capacity(json.len()), json);
    // A semicolon is in a text. After a comma there are no formulas, since all of the cell is in quotes.
    while let Some((before, after)) = rest.split_once(';') {
        cell.extend([before, ";"]);
        let text = after.trim_start();
        cell.push_str(&after[..after.len() - text.len()]);
        rest = text;
        if let Some(begin) = text.chars().next().filter(|c| BEGINS.contains(c)) {
            cell.push_str(&format!("\\u{:04x}", u32::from(begin)));
            rest = &text[begin.len_utf8()..];
        }
    }
    cell.push_str(rest);
    csv_cell(&escaped(&cell), out);
}

/// Writes a cell that is no text from the wire, or was changed by [`unformulated`].
pub(crate) fn csv_cell(cell: &str, out: &mut Vec<u8>) {
    if cell.contains(['"', ',', ';']) {
        put(out, format_args!("\"{}\"", cell.replace('"', "\"\"")));
    } else {
        out.extend_from_slice(cell.as_bytes());
    }
}

/// A text for a cell of tab-separated values, which has no quotes around it.
pub(crate) fn tsv_text(text: &str) -> Cow<'_, str> {
    let text = unformulated(text);
    // A spreadsheet would take all up to the next quote for one cell.
    if text.trim_start().starts_with('"') { format!("'{text}").into() } else { text }
}

/// A text for a cell. A `'` marks what would be a formula, at the beginning of the cell or of what another separator
/// would make a cell; control characters and ends of lines are escaped, so that a record is a line.
pub(crate) fn unformulated(text: &str) -> Cow<'_, str> {
    let text = escaped(text);
    let is_formula = |at: &usize| {
        let cell = text[*at..].trim_start_matches(|c: char| c.is_whitespace() || c == '"');
        cell.starts_with(BEGINS)
    };
    let separators = text.match_indices(SEPARATORS).map(|(at, separator)| at + separator.len());
    let formulas: Vec<usize> = std::iter::once(0).chain(separators).filter(is_formula).collect();
    if formulas.is_empty() {
        return text;
    }
    let (mut marked, mut done) = (String::with_capacity(text.len() + formulas.len()), 0);
    for at in formulas {
        marked.extend([&text[done..at], "'"]);
        done = at;
    }
    marked.push_str(&text[done..]);
    marked.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn no_cell_is_a_formula_or_breaks_its_line() {
        let cells = ["=1+1", "+1", "-1", "@a", "\tb", "a=b", "c,\"d\"\n", " =1", ";=1", "a; \"-1"];
        let line = written(|out| csv_line(cells.into_iter(), out));
        let expected =
            "'=1+1,'+1,'-1,'@a,\\x09b,a=b,\"c,\"\"d\"\"\\x0A\",' =1,\";'=1\",\"a;' \"\"-1\"\r\n";
        assert_eq!(line, expected);
        assert_eq!(tsv_text("\"a"), "'\"a");
        assert_eq!(tsv_text("\"=a"), "'\"=a");
    }

    #[test]
    fn plain_texts_are_not_copied() {
        for plain in ["", "a=b", "de_dust2", "a-b; c", "\u{6771}\u{4EAC}, 1"] {
            assert!(matches!(unformulated(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn json_keeps_its_value() {
        let json = r#"{"a;=1":"b; -","c":-1,"d":["=e"]}"#;
        let cell = written(|out| csv_json(json, out));
        let expected = r#"{"a;\u003d1":"b; \u002d","c":-1,"d":["=e"]}"#;
        assert_eq!(cell, format!("\"{}\"", expected.replace('"', "\"\"")));
        let value = |json| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
        assert_eq!(value(json), value(expected));
    }
}
