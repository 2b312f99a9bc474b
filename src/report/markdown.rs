//! Escapes texts from the wire for Markdown.

use crate::text::escaped;

/// Inserted where GitHub and others would turn a text into a link.
const PART: &str = "<!-- -->";

/// Text for a table cell: without Markdown, HTML, mentions of users, or links.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in escaped(&text.replace(['\n', '\r'], " ")).chars() {
        let is_link = c == '/' && before == ':' || c == '.' && before.eq_ignore_ascii_case(&'w');
        let is_reference = matches!(before, '@' | '#') && !c.is_whitespace();
        if is_link || is_reference {
            out.push_str(PART);
        }
        before = c;
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_markup() {
        let name = "a|b <script> [x](y) `c` \u{1b}[1m @all";
        let safe = r"a\|b &lt;script&gt; \[x\](y) \`c\` \\x1B\[1m @<!-- -->all";
        assert_eq!(cell(name), safe);
        assert_eq!(cell("a|b\n<img src=x> `c` \\"), "a\\|b &lt;img src=x&gt; \\`c\\` \\\\");
        assert_eq!(cell("1\u{B}\n2"), r"1\\x0B 2");
        assert_eq!(cell("#12 # http://a"), r"\#<!-- -->12 \# http:<!-- -->//a");
        assert_eq!(cell("WWW.a.b"), "WWW<!-- -->.a.b");
    }
}
