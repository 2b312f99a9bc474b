//! Formats texts and numbers, and escapes texts from outside for terminals and logs.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::RangeInclusive;

use dissectors::kit::Time;
use unicode_width::UnicodeWidthChar;

/// Replaces each character that a terminal would interpret or not show by `\xNN` or `\u{NNNN}`. A
/// backslash is not changed.
pub fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hidden) else { return Cow::Borrowed(text) };
    let (plain, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(plain);
    for c in rest.chars() {
        // Writing to a `String` cannot fail.
        let _ = match c {
            c if !is_hidden(c) => out.write_char(c),
            '\0'..='\x7F' => write!(out, "\\x{:02X}", u32::from(c)),
            c => write!(out, "\\u{{{:X}}}", u32::from(c)),
        };
    }
    Cow::Owned(out)
}

/// A text that is not UTF-8, if it may be Windows-1252, and what people are told of that. Latin-1 is the same without the
/// bytes 80-9F.
pub fn guessed(text: &[u8]) -> Option<(String, &'static str)> {
    let is_cut = |error| is_cut(text, error);
    if std::str::from_utf8(text).map_or_else(is_cut, |_| true) {
        return None;
    }
    let read = text.iter().map(|&byte| windows_1252(byte)).collect::<Option<_>>()?;
    let is_latin_1 = !text.iter().any(|byte| WINDOWS_ONLY.contains(byte));
    Some((read, if is_latin_1 { " (Latin-1)" } else { " (Windows-1252)" }))
}

/// Whether a text ends with the beginning of a character, since it was truncated. A single small letter of Latin-1 after
/// ASCII is no such beginning: what is written in UTF-8 beyond ASCII has more of it, and capital letters begin those of Europe.
fn is_cut(text: &[u8], error: std::str::Utf8Error) -> bool {
    let is_letter = |text: &[u8]| match text.split_last() {
        Some((0xDF..=0xEF | 0xF1..=0xFF, before)) => before.is_ascii(),
        _ => false,
    };
    error.error_len().is_none() && !is_letter(text)
}

/// The bytes that are control characters in Latin-1, and others in Windows-1252.
const WINDOWS_ONLY: RangeInclusive<u8> = 0x80..=0x9F;

/// The character of a byte in Windows-1252, which leaves five undefined.
fn windows_1252(byte: u8) -> Option<char> {
    /// Those of the bytes 80-9F; U+FFFD: undefined.
    const OTHERS: &str = "€\u{FFFD}‚ƒ„…†‡ˆ‰Š‹Œ\u{FFFD}Ž\u{FFFD}\u{FFFD}‘’“”•–—˜™š›œ\u{FFFD}žŸ";
    if !WINDOWS_ONLY.contains(&byte) {
        return Some(char::from(byte));
    }
    let other = OTHERS.chars().nth(usize::from(byte - WINDOWS_ONLY.start()));
    other.filter(|&other| other != char::REPLACEMENT_CHARACTER)
}

/// A text from a packet: if it is not UTF-8, it is read as Windows-1252 or Latin-1 and says so, or has U+FFFD for the
/// invalid bytes.
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    match guessed(text) {
        Some((text, encoding)) => Cow::Owned(text + encoding),
        None => String::from_utf8_lossy(text),
    }
}

/// The names that are similar to the given one, up to three, each in backticks. Case is ignored.
pub fn nearest(typed: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    /// Minimum similarity of two names.
    const ALIKE: f64 = 0.85;
    let typed = typed.to_ascii_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&typed, &name.to_ascii_lowercase());
    let mut near: Vec<_> = names.into_iter().map(|name| (likeness(&name), name)).collect();
    near.retain(|&(alike, _)| alike >= ALIKE);
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect()
}

/// A number with its noun in singular or plural: `1 error`, `2 errors`, `150,213 errors`.
pub fn counted(count: u64, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(count))
}

/// A share in percent, with as many digits as needed: 99.97 % is not shown as 100 %, nor 0.02 % as 0 %.
pub fn percent(share: f64) -> String {
    let share = 100.0 * share.clamp(0.0, 1.0);
    let digits = match share {
        share if share == 0.0 || share == 100.0 => 0,
        share if !(0.1..=99.9).contains(&share) => 2,
        _ => 1,
    };
    // Rounded toward the middle, so that only 1 and 0 become 100 % and 0 %.
    let scale = 10_f64.powi(digits);
    let rounded =
        if share > 50.0 { (share * scale).floor() } else { (share * scale).ceil() } / scale;
    format!("{rounded:.*} %", digits as usize)
}

/// A number with its digits in groups of three: `150,213`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The number of terminal columns that a text takes: East Asian characters and emoji take two.
pub fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// A beginning of an address that is shorter than this says nothing.
const ADDRESS: usize = 8;

/// Truncates a text to this number of terminal columns; a longer one ends with `…`. An IPv6 address in brackets keeps its port.
pub fn shortened(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    if let Some((address, rest)) = text.split_once("]:").filter(|_| text.starts_with('[')) {
        let port = rest.split(' ').next().unwrap_or_default();
        let end = format!("]:{port}");
        if let Some(room) = columns.checked_sub(width(&end)).filter(|room| *room >= ADDRESS) {
            return Cow::Owned(shortened(address, room).into_owned() + &end);
        }
    }
    let (mut cut, mut room) = (String::new(), columns.saturating_sub(1));
    for c in text.chars() {
        let Some(rest) = room.checked_sub(width_of(c)) else { break };
        cut.push(c);
        room = rest;
    }
    if columns > 0 {
        cut.push('\u{2026}');
    }
    Cow::Owned(cut)
}

/// A text in lines of at most this many columns of a terminal, broken at spaces. A longer word has a line of
/// its own.
pub fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    if width(text) <= columns {
        return vec![text];
    }
    let (mut lines, mut start, mut end) = (Vec::new(), 0, 0);
    for (space, _) in text.match_indices(' ').chain([(text.len(), "")]) {
        if end > start && width(&text[start..space]) > columns {
            lines.push(&text[start..end]);
            start = end + 1;
        }
        end = space;
    }
    lines.push(&text[start..]);
    lines
}

/// A text that begins at column `indent` of a terminal: where it would reach the edge, it goes on in the next
/// line, in the same column. `None`: no terminal.
pub fn hanging(text: &str, indent: usize, terminal: Option<usize>) -> String {
    let room = terminal.map_or(usize::MAX, |terminal| terminal.saturating_sub(indent));
    wrapped(text, room).join(&format!("\n{}", " ".repeat(indent)))
}

/// The minimum width of a text beside what is before it.
const NARROW: usize = 36;

/// A line of two parts: where the second one has no room on the terminal, it goes on below itself, or if little
/// room remains beside the first part, below that with this indent. `None`: no terminal.
pub fn beside(first: &str, second: &str, below: usize, terminal: Option<usize>) -> String {
    let before = width(first);
    let fits = |terminal| terminal >= before + NARROW.min(width(second));
    if terminal.is_none_or(fits) {
        return format!("{first}{}", hanging(second, before, terminal));
    }
    let second = hanging(second, below, terminal);
    format!("{}\n{}{second}", first.trim_end(), " ".repeat(below))
}

/// Whether a terminal acts on the character, or shows nothing for it, or lets it change the order
/// of what is around it. Variation selectors are not counted: emoji are full of them.
pub fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        _ if c.is_control() => true,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' => {
            true
        }
        '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' => true,
        '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' => true,
        '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' => true,
        '\u{E0000}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}' => true,
        // Noncharacters of Unicode.
        '\u{FDD0}'..='\u{FDEF}' => true,
        _ => u32::from(c) & 0xFFFE == 0xFFFE,
    }
}

/// A number of bytes in few digits.
pub fn size(count: u64) -> String {
    let of = |unit: u64| count as f64 / unit as f64;
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", of(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", of(1_000_000)),
        _ => format!("{:.1} GB", of(1_000_000_000)),
    }
}

/// A duration in few digits.
pub fn brief_span(nanoseconds: u64) -> String {
    let of = |unit: u64| nanoseconds as f64 / unit as f64;
    match nanoseconds {
        0 => "0s".to_owned(),
        1..1_000_000 => format!("{:.0}us", of(1000)),
        1_000_000..10_000_000 => format!("{:.1}ms", of(1_000_000)),
        10_000_000..1_000_000_000 => format!("{:.0}ms", of(1_000_000)),
        1_000_000_000..100_000_000_000 => format!("{:.1}s", of(1_000_000_000)),
        _ => format!("{:.0}s", of(1_000_000_000)),
    }
}

/// The second of a day of UTC of a time in nanoseconds since 1970.
pub fn second_of_day(nanoseconds: i64) -> String {
    let second = nanoseconds.div_euclid(1_000_000_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// The second of a time, with its day if a capture has several.
pub fn moment(time: Time, has_date: bool) -> String {
    if has_date { time.utc_second() } else { second_of_day(time.0) }
}

/// A duration, in two units from minutes on.
pub fn long_span(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match (minutes, hours) {
        (0, _) => brief_span(nanoseconds),
        (_, 0) => format!("{minutes} min {} s", seconds % 60),
        (_, 1..48) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_not_utf8_are_windows_1252_if_they_can_be() {
        let quoted = decoded(b"J\xFCrgens \x93Server\x94 \x80");
        assert_eq!(quoted, "J\u{FC}rgens \u{201C}Server\u{201D} \u{20AC} (Windows-1252)");
        assert_eq!(decoded(b"Caf\xE9 de Paris"), "Caf\u{E9} de Paris (Latin-1)");
        assert_eq!(decoded(b"Caf\xE9"), "Caf\u{E9} (Latin-1)");
        assert_eq!(decoded("Caf\u{E9}".as_bytes()), "Caf\u{E9}");
        assert_eq!(decoded(b"\x81\xE9x"), "\u{FFFD}\u{FFFD}x");
        assert_eq!(decoded(b"Caf\xC3"), "Caf\u{FFFD}", "a truncated character");
    }

    #[test]
    fn sizes_have_few_digits() {
        assert_eq!([12, 1500, 3_200_000].map(size), ["12 B", "1.5 kB", "3.2 MB"]);
    }

    #[test]
    fn long_spans_have_two_units() {
        let spans = [20, 59, 60, 301, 3600, 90_000, 200_000];
        let spans = spans.map(|seconds| long_span(seconds * 1_000_000_000));
        let expected =
            ["20.0s", "59.0s", "1 min 0 s", "5 min 1 s", "1 h 0 min", "25 h 0 min", "2 d 7 h"];
        assert_eq!(spans, expected);
    }

    #[test]
    fn plain_texts_are_not_copied() {
        for plain in ["", "de_dust2", r"\gamename\ut\", "Größe ★ 東京 ❤\u{FE0F}"] {
            assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
        }
    }

    #[test]
    fn numbers_are_grouped_and_agree_with_their_nouns() {
        let written = [0, 1, 999, 1000, 150_213, 1_000_000].map(|count| counted(count, "error"));
        let expected = [
            "0 errors",
            "1 error",
            "999 errors",
            "1,000 errors",
            "150,213 errors",
            "1,000,000 errors",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn only_all_and_none_are_100_and_0_percent() {
        let reported = [0.0, 0.000_01, 0.5, 0.333_3, 0.999_97, 1.0].map(percent);
        assert_eq!(reported, ["0 %", "0.01 %", "50.0 %", "33.4 %", "99.99 %", "100 %"]);
    }

    #[test]
    fn long_texts_are_truncated() {
        assert_eq!(["abc", "abcd", ""].map(|text| shortened(text, 3)), ["abc", "ab\u{2026}", ""]);
        assert_eq!(shortened("abc", 0), "");
        let end = "[2001:db8:85a3::8a2e:370:7334]:27015 (master)";
        assert_eq!(shortened(end, 21), "[2001:db8:85a\u{2026}]:27015");
        assert_eq!(shortened(end, 10), "[2001:db8\u{2026}");
        // Characters of two columns, and of none.
        assert_eq!(["\u{6771}\u{4EAC}", "e\u{301}e\u{301}e\u{301}"].map(width), [4, 3]);
        assert_eq!(shortened("\u{6771}\u{4EAC}", 3), "\u{6771}\u{2026}");
        assert_eq!(shortened("\u{6771}\u{4EAC}", 2), "\u{2026}");
        assert_eq!(shortened("e\u{301}e\u{301}e\u{301}", 3), "e\u{301}e\u{301}e\u{301}");
    }

    #[test]
    fn a_text_is_broken_at_spaces() {
        assert_eq!(wrapped("one two  three", 7), ["one two", " three"]);
        assert_eq!(wrapped("one two three", 3), ["one", "two", "three"]);
        assert_eq!(wrapped("one two", usize::MAX), ["one two"]);
        assert_eq!(wrapped("", 3), [""]);
        assert_eq!(wrapped("\u{6771}\u{4EAC} a", 5), ["\u{6771}\u{4EAC}", "a"]);
        assert_eq!(wrapped(" a b", 0), [" a", "b"]);
        let (long, lines) = ("a ".repeat(40), ["a a a"; 13]);
        assert_eq!(wrapped(long.trim_end(), 6)[..13], lines);
    }

    #[test]
    fn a_text_goes_on_below_itself() {
        assert_eq!(hanging("one two three", 4, Some(11)), "one two\n    three");
        assert_eq!(hanging("one two three", 4, None), "one two three");
    }

    #[test]
    fn a_text_without_room_beside_is_below() {
        let (first, second) = ("eight   ", ["ten words"; 5].join(" "));
        let shown = |terminal| beside(first, &second, 4, terminal);
        assert_eq!(shown(None), format!("{first}{second}"));
        assert_eq!(shown(Some(57)), shown(None));
        let hanging = format!("{first}{} ten\n        words", ["ten words"; 4].join(" "));
        assert_eq!(shown(Some(56)), hanging);
        assert_eq!(shown(Some(43)).lines().next(), Some("eight"));
        assert_eq!(
            shown(Some(43)).lines().nth(1),
            Some("    ten words ten words ten words ten words")
        );
        assert_eq!(beside(first, "short", 4, Some(13)), "eight   short");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escaped("a\x1B[2Jb\r\n\x7F"), r"a\x1B[2Jb\x0D\x0A\x7F");
        assert_eq!(escaped("\u{9B}31m"), r"\u{9B}31m");
        assert_eq!(escaped("user\u{202E}txt.exe"), r"user\u{202E}txt.exe");
        assert_eq!(escaped("ad\u{200B}min\u{FEFF}"), r"ad\u{200B}min\u{FEFF}");
        assert_eq!(escaped("\u{2028}\u{E0041}"), r"\u{2028}\u{E0041}");
        for hidden in ["\u{3164}", "\u{1D173}", "\u{1D17A}", "\u{FFFE}", "\u{FDD0}", "\u{1BCA0}"] {
            assert!(escaped(hidden).starts_with(r"\u{"), "{hidden:?}");
        }
        for hidden in ["\u{FFF0}", "\u{1FFFF}", "\u{10FFFE}", "\u{E0080}", "\u{E0FFF}"] {
            assert!(escaped(hidden).starts_with(r"\u{"), "{hidden:?}");
        }
    }
}
