//! Escapes texts from the wire for Markdown.

use crate::text::escaped;

/// Inserted where GitHub and GitLab would turn a text into a link. They look for links in each of the texts around it.
const PART: &str = "<!-- -->";

/// Number of hexadecimal digits from which GitHub takes them for the name of a commit.
const COMMIT: usize = 7;

/// A text in a line, or in a cell of a table: without Markdown, HTML, formulas, emoji, links, mentions of users, and
/// references to issues, commits and others.
pub(super) fn cell(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let text = escaped(&text);
    let mut out = String::with_capacity(text.len());
    let mut digits = 0;
    for (at, c) in text.char_indices() {
        digits = if c.is_ascii_hexdigit() { digits + 1 } else { 0 };
        let (before, rest) = text.split_at(at);
        if digits == COMMIT || is_link(before, c) || before.ends_with(':') && is_emoji(rest) {
            out.push_str(PART);
            digits = digits.min(1);
        }
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // The backslash is for GitLab. GitHub takes it for a formula nevertheless, unless it is in an element.
            '$' => out.push_str(r"<span>\$</span>"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '#' | '!' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// Whether `c` after these characters makes them a link: `@name`, `#1`, `GH-1`, `https://`, `www.`, and the
/// references of GitLab (`!1`, `%1`, `~1`, `&1`, `^1`).
fn is_link(before: &str, c: char) -> bool {
    let ends = |with: &str| {
        let from = before.len().checked_sub(with.len());
        from.and_then(|from| before.get(from..)).is_some_and(|end| end.eq_ignore_ascii_case(with))
    };
    let is_numbered = || {
        let name = before.strip_suffix('-').filter(|_| c.is_ascii_digit());
        name.is_some_and(|name| name.ends_with(|c: char| c.is_ascii_alphabetic()))
    };
    match c {
        _ if c.is_whitespace() => false,
        '/' if ends(":") => true,
        '.' if ends("www") => true,
        _ => {
            before.ends_with(['@', '#', '!', '%', '~', '&', '^']) || ends("ghsa-") || is_numbered()
        }
    }
}

/// Whether the text goes on as after the first colon of `:name:`.
fn is_emoji(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_+-".contains(c);
    let (name, after) = text.split_at(text.find(|c| !is_name(c)).unwrap_or(text.len()));
    let is_time = name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_digit());
    !name.is_empty() && !is_time && after.starts_with(':')
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
        assert_eq!(cell("GH-1 a1-2 :a: $"), "GH-<!-- -->1 a1-2 :<!-- -->a: <span>\\$</span>");
        assert_eq!(cell("0123456789abcdef"), "012345<!-- -->6789ab<!-- -->cdef");
    }

    #[test]
    fn numbers_and_times_are_as_they_are() {
        for plain in ["2026-01-02 10:00:00 UTC", "10.0.0.2:27015", "1,234,567 B", "99.9 %", "-1"] {
            assert_eq!(cell(plain), plain);
        }
    }
}
