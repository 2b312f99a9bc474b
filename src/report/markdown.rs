//! Text of others in Markdown.

use crate::text::escaped;

/// Text in a cell of a table: nothing in it is Markdown or HTML, or calls somebody by name.
pub(super) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escaped(&text.replace(['\n', '\r'], " ")).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '@' => out.push_str("&#64;"),
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
    fn names_are_no_markup() {
        let name = "a|b <script> [x](y) `c` \u{1b}[1m @all";
        let safe = r"a\|b &lt;script&gt; \[x\](y) \`c\` \\x1B\[1m &#64;all";
        assert_eq!(cell(name), safe);
        assert_eq!(cell("a|b\n<img src=x> `c` \\"), "a\\|b &lt;img src=x&gt; \\`c\\` \\\\");
        assert_eq!(cell("1\u{B}\n2"), r"1\\x0B 2");
    }
}
