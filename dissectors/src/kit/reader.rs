//! Reads a payload once, from front to back. Every read names its field, so that offset, label and
//! value always match.

use crate::kit::scan::{self, Terminated, Zeros};
use crate::kit::{Field, LONGEST, Read, Rule, Sink, Span, TextPlace};

/// The payload ended before a field did. The outermost [`decode`] reports it and keeps the fields
/// that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A field runs past the end.
    Short,
    /// The fault has been reported by a rule of its own.
    Reported,
}

/// The rules that only the reader can check. `None` if the protocol's specification has no such
/// rule.
pub struct Endings {
    /// No field runs past the end.
    pub whole: Option<&'static Rule>,
    /// Every text ends in a zero.
    pub terminated: Option<&'static Rule>,
    /// Every text is UTF-8.
    pub utf8: Option<&'static Rule>,
    /// No bytes follow the last field.
    pub after: Option<&'static Rule>,
}

/// A position in a payload, and the sink for the fields that are read.
pub struct Reader<'a, S: Sink> {
    bytes: &'a [u8],
    /// The bytes that are left.
    rest: &'a [u8],
    open: u32,
    endings: &'static Endings,
    /// The number of zero-terminated texts so far.
    terminated: u32,
    /// The number of texts so far that are ASCII, and so UTF-8.
    utf8: u32,
    /// Receives fields and verdicts.
    pub sink: &'a mut S,
}

/// Decodes a whole payload: bytes after a cut or after the last field become one leaf `unparsed`,
/// and the rules of `endings` are checked. Returns whether the payload was whole.
pub fn decode<S: Sink>(
    bytes: &[u8],
    endings: &'static Endings,
    sink: &mut S,
    body: impl FnOnce(&mut Reader<'_, S>) -> Result<(), Cut>,
) -> bool {
    let bytes = bytes.get(..LONGEST).unwrap_or(bytes);
    let mut r = Reader { bytes, rest: bytes, open: 0, endings, terminated: 0, utf8: 0, sink };
    let read = body(&mut r);
    for (rule, times) in [(endings.terminated, r.terminated), (endings.utf8, r.utf8)] {
        if let Some(rule) = rule {
            r.sink.kept(rule, times);
        }
    }
    while r.open > 0 {
        r.close();
    }
    let rest = Span::known(r.at(), bytes.len());
    if let Some(rule) = endings.whole
        && read != Err(Cut::Reported)
    {
        r.sink.checked(rule, read.is_ok(), rest, || match rest.len() {
            0 => "the bytes end before the next field".to_owned(),
            1 => "a field runs past the end: 1 byte is left for it".to_owned(),
            left => format!("a field runs past the end: {left} bytes are left for it"),
        });
    }
    if let Some(rule) = endings.after
        && read.is_ok()
    {
        r.sink.checked(rule, rest.is_empty(), rest, || {
            let s = if rest.len() == 1 { "byte follows" } else { "bytes follow" };
            format!("{} {s} the last field", rest.len())
        });
    }
    if !rest.is_empty() {
        r.sink.leaf(Field::UNPARSED, rest, 0);
    }
    read.is_ok()
}

impl<'a, S: Sink> Reader<'a, S> {
    /// The offset of the next field.
    #[inline(always)]
    pub fn at(&self) -> usize {
        self.bytes.len() - self.rest.len()
    }

    /// How many bytes are left.
    #[inline(always)]
    pub fn rest(&self) -> usize {
        self.rest.len()
    }

    /// Whether nothing is left.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes that are left, not yet read.
    #[inline(always)]
    pub fn peek(&self) -> &'a [u8] {
        self.rest
    }

    /// The empty span before the next field, to point at a missing field.
    pub fn here(&self) -> Span {
        Span::known(self.at(), self.at())
    }

    /// The span from an earlier offset to here.
    pub fn since(&self, start: usize) -> Span {
        Span::new(start, self.at())
    }

    /// Skips `length` bytes, at most the bytes that are left. Returns them and their span.
    #[inline(always)]
    fn take(&mut self, length: usize) -> (&'a [u8], Span) {
        let start = self.at();
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, &[]));
        self.rest = rest;
        (taken, Span::known(start, start + taken.len()))
    }

    #[inline(always)]
    fn array<const N: usize>(&mut self) -> Result<([u8; N], Span), Cut> {
        let start = self.at();
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(Cut::Short)?;
        self.rest = rest;
        Ok((*bytes, Span::known(start, start + N)))
    }

    #[inline(always)]
    fn number<T: Copy, const N: usize>(
        &mut self,
        field: &'static Field,
        read: fn([u8; N]) -> T,
        bits: fn(T) -> u64,
    ) -> Result<Read<T>, Cut> {
        let (bytes, at) = self.array()?;
        let value = read(bytes);
        self.sink.leaf(field, at, bits(value));
        Ok(Read { value, at })
    }

    /// A byte.
    #[inline(always)]
    pub fn u8(&mut self, field: &'static Field) -> Result<Read<u8>, Cut> {
        self.number(field, u8::from_le_bytes, u64::from)
    }

    /// Two bytes, little-endian, unsigned.
    #[inline(always)]
    pub fn u16_le(&mut self, field: &'static Field) -> Result<Read<u16>, Cut> {
        self.number(field, u16::from_le_bytes, u64::from)
    }

    /// Two bytes, big-endian, unsigned.
    #[inline(always)]
    pub fn u16_be(&mut self, field: &'static Field) -> Result<Read<u16>, Cut> {
        self.number(field, u16::from_be_bytes, u64::from)
    }

    /// Four bytes, little-endian, unsigned.
    #[inline(always)]
    pub fn u32_le(&mut self, field: &'static Field) -> Result<Read<u32>, Cut> {
        self.number(field, u32::from_le_bytes, u64::from)
    }

    /// Four bytes, big-endian, unsigned.
    #[inline(always)]
    pub fn u32_be(&mut self, field: &'static Field) -> Result<Read<u32>, Cut> {
        self.number(field, u32::from_be_bytes, u64::from)
    }

    /// Four bytes, little-endian, signed.
    #[inline(always)]
    pub fn i32_le(&mut self, field: &'static Field) -> Result<Read<i32>, Cut> {
        self.number(field, i32::from_le_bytes, |v| i64::from(v) as u64)
    }

    /// Four bytes, big-endian, signed.
    #[inline(always)]
    pub fn i32_be(&mut self, field: &'static Field) -> Result<Read<i32>, Cut> {
        self.number(field, i32::from_be_bytes, |v| i64::from(v) as u64)
    }

    /// Eight bytes, little-endian, unsigned.
    #[inline(always)]
    pub fn u64_le(&mut self, field: &'static Field) -> Result<Read<u64>, Cut> {
        self.number(field, u64::from_le_bytes, |v| v)
    }

    /// A 32-bit float, little-endian.
    #[inline(always)]
    pub fn f32_le(&mut self, field: &'static Field) -> Result<Read<f32>, Cut> {
        self.number(field, f32::from_le_bytes, |v| u64::from(v.to_bits()))
    }

    /// An IPv4 address and a port, in network order. The value holds both in its low 48 bits.
    #[inline(always)]
    pub fn endpoint(&mut self, field: &'static Field) -> Result<Read<[u8; 6]>, Cut> {
        self.number(
            field,
            |v: [u8; 6]| v,
            |[a, b, c, d, e, f]| u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        )
    }

    /// A zero-terminated text. Without the zero it takes all bytes that are left, which a rule
    /// checks.
    #[inline(always)]
    pub fn text(&mut self, field: &'static Field) -> Result<Read<&'a [u8]>, Cut> {
        let found = scan::terminated(self.rest);
        let text = self.found_text(field, found)?;
        if found.is_some_and(|found| found.is_ascii) {
            self.utf8 += 1;
        } else {
            self.check_utf8(field, text.value, text.at.start);
        }
        Ok(text)
    }

    /// Reads this text, the most frequent value of the field, ASCII with its zero, if it is next.
    /// Returns whether it was.
    #[inline(always)]
    pub(crate) fn usual_text(&mut self, field: &'static Field, text: &'static [u8]) -> bool {
        let Some(after) = self.rest.strip_prefix(text) else { return false };
        let text = text.strip_suffix(&[0]).unwrap_or(text);
        self.utf8 += 1;
        self.found_text(field, Some(Terminated { text, after, is_ascii: true })).is_ok()
    }

    /// A text that need not be UTF-8.
    pub(crate) fn text_as_is(&mut self, field: &'static Field) -> Result<Read<&'a [u8]>, Cut> {
        self.found_text(field, scan::terminated(self.rest))
    }

    /// Groups of two such texts: all that are complete before `end`, at most `most`. `first` is
    /// called with the first text of each. Returns their number.
    #[inline(always)]
    pub(crate) fn text_pairs(
        &mut self,
        group: &'static Field,
        texts: [&'static Field; 2],
        most: u32,
        end: usize,
        mut first: impl FnMut(Read<&'a [u8]>),
    ) -> u32 {
        let bytes = self.bytes.get(..end).unwrap_or(self.bytes);
        let (mut at, mut groups) = (self.at(), 0);
        let are_shown = self.sink.keeps_fields();
        let mut zeros = Zeros::new(bytes, at);
        while groups < most
            && let Some(middle) = zeros.next()
            && let Some(last) = zeros.next()
        {
            if are_shown {
                let text = |field, from, to| {
                    let place = TextPlace::at(Span::known(from, to));
                    (field, Span::known(from, to + 1), place.value())
                };
                let fields = [text(texts[0], at, middle), text(texts[1], middle + 1, last)];
                self.sink.group(group, Span::known(at, last + 1), fields);
            }
            let name = bytes.get(at..middle).unwrap_or_default();
            first(Read { value: name, at: Span::known(at, middle + 1) });
            at = last + 1;
            groups += 1;
        }
        self.seek(at);
        self.terminated += 2 * groups;
        groups
    }

    /// A zero-terminated text, or, without the zero, all bytes that are left.
    #[inline(always)]
    fn found_text(
        &mut self,
        field: &'static Field,
        found: Option<Terminated<'a>>,
    ) -> Result<Read<&'a [u8]>, Cut> {
        let start = self.at();
        let Some(Terminated { text: value, after, .. }) = found else {
            return Err(self.endless(field));
        };
        self.rest = after;
        self.terminated += 1;
        let at = Span::known(start, self.at());
        let place = Span::known(start, start + value.len());
        self.sink.leaf(field, at, TextPlace::at(place).value());
        Ok(Read { value, at })
    }

    /// All bytes that are left, as a text without a zero. If there are none, there is no field.
    #[cold]
    fn endless(&mut self, field: &'static Field) -> Cut {
        let text = if self.is_empty() {
            Read { value: &[][..], at: self.here() }
        } else {
            self.text_of(field, self.rest())
        };
        let rule = self.endings.terminated;
        if let Some(rule) = rule {
            self.sink.checked(rule, false, text.at, || {
                format!("{} has no terminating zero", field.label)
            });
        }
        self.check_utf8(field, text.value, text.at.start);
        if rule.is_some() { Cut::Reported } else { Cut::Short }
    }

    #[cold]
    fn check_utf8(&mut self, field: &'static Field, text: &[u8], start: u32) {
        let Some(rule) = self.endings.utf8 else { return };
        let at = Span::known(start as usize, start as usize + text.len());
        let ok = std::str::from_utf8(text).is_ok();
        self.sink.checked(rule, ok, at, || format!("{} is not UTF-8", field.label));
    }

    /// A text of `length` bytes without a terminator, `length` at most the bytes that are left.
    pub fn text_of(&mut self, field: &'static Field, length: usize) -> Read<&'a [u8]> {
        let (value, at) = self.take(length);
        self.sink.leaf(field, at, TextPlace::at(at).value());
        Read { value, at }
    }

    /// `length` opaque bytes, at most the bytes that are left.
    pub fn bytes(&mut self, field: &'static Field, length: usize) -> Read<&'a [u8]> {
        let (value, at) = self.take(length);
        self.sink.leaf(field, at, 0);
        Read { value, at }
    }

    /// The next `length` bytes, at most the bytes that are left, with the text at `place` in them
    /// as value.
    pub fn text_in(&mut self, field: &'static Field, length: usize, place: Span) -> Span {
        self.leaf(field, length, TextPlace::at(place).value())
    }

    /// The next `length` bytes, at most the bytes that are left, with the decoded text as value.
    pub fn decoded(&mut self, field: &'static Field, length: usize, text: &[u8]) -> Span {
        let (_, at) = self.take(length);
        self.sink.leaf_text(field, at, text);
        at
    }

    /// Continues at another offset. Code that reads out of order must still read every byte exactly
    /// once.
    pub fn seek(&mut self, at: usize) {
        self.rest = self.bytes.get(at..).unwrap_or_default();
    }

    /// The next `length` bytes, at most the bytes that are left, with a value computed by the
    /// caller.
    pub fn leaf(&mut self, field: &'static Field, length: usize, value: u64) -> Span {
        let (_, at) = self.take(length);
        self.sink.leaf(field, at, value);
        at
    }

    /// Begins a group of fields.
    #[inline(always)]
    pub fn open(&mut self, field: &'static Field) {
        self.open += 1;
        self.sink.open(field, self.at() as u32, 0);
    }

    /// Begins a text with fields inside: the text is the next `length` bytes.
    pub fn open_text(&mut self, field: &'static Field, length: usize) {
        self.open += 1;
        let place = Span::known(self.at(), self.at() + length.min(self.rest.len()));
        self.sink.open(field, place.start, TextPlace::at(place).value());
    }

    /// Ends the innermost group.
    #[inline(always)]
    pub fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.sink.close(self.at() as u32);
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::{Kind, RuleResults, Tree};

    use super::*;

    static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
    static NAME: Field = Field::new("name", "Name", Kind::Text);
    static GROUP: Field = Field::new("group", "Group", Kind::Group);
    static NOTHING: Endings = Endings { whole: None, terminated: None, utf8: None, after: None };

    fn tree(
        bytes: &[u8],
        body: impl FnOnce(&mut Reader<'_, Tree>) -> Result<(), Cut>,
    ) -> (bool, Vec<(&'static str, u32, u32)>) {
        let mut tree = Tree::default();
        let whole = decode(bytes, &NOTHING, &mut tree, body);
        let nodes = tree.nodes().iter();
        (whole, nodes.map(|n| (n.field.name, n.span.start, n.span.end)).collect())
    }

    #[test]
    fn reads_in_order_and_leaves_the_rest_unparsed() {
        let (whole, nodes) = tree(b"\x05ab\0xyz", |r| {
            assert_eq!(r.u8(&NUMBER)?.value, 5);
            assert_eq!(r.text(&NAME)?.value, b"ab");
            Ok(())
        });
        assert!(whole);
        assert_eq!(nodes, [("number", 0, 1), ("name", 1, 4), ("unparsed", 4, 7)]);
    }

    #[test]
    fn a_truncation_closes_groups_and_keeps_fields() {
        let (whole, nodes) = tree(b"\x05\x06\x07", |r| {
            r.open(&GROUP);
            r.u8(&NUMBER)?;
            r.u32_le(&NUMBER)?;
            r.close();
            Ok(())
        });
        assert!(!whole);
        assert_eq!(nodes, [("group", 0, 1), ("number", 0, 1), ("unparsed", 1, 3)]);
    }

    #[test]
    fn texts_are_counted_whether_or_not_they_take_a_closer_look() {
        use crate::net_rules::{NET001, NET008};

        static BOTH: Endings =
            Endings { terminated: Some(&NET001), utf8: Some(&NET008), whole: None, after: None };
        let mut results = RuleResults::default();
        let whole = decode(b"ab\0\xC3\xAB\0\xEB\0c\0\xFFd", &BOTH, &mut results, |r| {
            while !r.is_empty() {
                r.text(&NAME)?;
            }
            Ok(())
        });
        assert!(!whole);
        let [ended, utf8] = [&NET001, &NET008].map(|rule| results.counts(rule));
        assert_eq!((ended.passed, ended.failed), (4, 1));
        assert_eq!((utf8.passed, utf8.failed), (3, 2));
        let spans: Vec<_> = results.findings.iter().map(|f| (f.span.start, f.span.end)).collect();
        assert_eq!(spans, [(6, 7), (10, 12), (10, 12)]);
    }

    #[test]
    fn complete_texts_are_read_in_pairs() {
        static TEXTS: [&Field; 2] = [&NAME, &NUMBER];
        let bytes = b"\x05a\0bc\0\0\0d\0e\0f\0g";
        let pairs = |most, end| {
            let mut names = Vec::new();
            let (_, nodes) = tree(bytes, |r| {
                r.u8(&NUMBER)?;
                let groups = r.text_pairs(&GROUP, TEXTS, most, end, |name| {
                    names.push(name.value.to_vec());
                });
                assert_eq!(groups as usize, names.len());
                Ok(())
            });
            (names, nodes)
        };
        let (names, nodes) = pairs(9, bytes.len());
        assert_eq!(names, [&b"a"[..], b"", b"d"]);
        let groups = [
            [("group", 1, 6), ("name", 1, 3), ("number", 3, 6)],
            [("group", 6, 8), ("name", 6, 7), ("number", 7, 8)],
            [("group", 8, 12), ("name", 8, 10), ("number", 10, 12)],
        ];
        let shown = |groups: usize| {
            let after = if groups == 2 { 8 } else { 12 };
            let groups = nodes.iter().skip(1).take(3 * groups).copied();
            groups.chain([("unparsed", after, 15)]).collect::<Vec<_>>()
        };
        assert_eq!(nodes[1..], [groups.concat(), vec![("unparsed", 12, 15)]].concat());
        for (most, end, count) in [(2, 15, 2), (9, 11, 2), (3, 12, 3)] {
            let (names, nodes) = pairs(most, end);
            assert_eq!((names.len(), &nodes[1..]), (count, &*shown(count)), "{most} {end}");
        }
        assert_eq!(pairs(9, 0).0.len(), 0);
    }

    #[test]
    fn a_text_without_a_zero_is_shown_and_is_a_cut() {
        let (whole, nodes) = tree(b"abc", |r| r.text(&NAME).map(|_| ()));
        assert!(!whole);
        assert_eq!(nodes, [("name", 0, 3)]);
        let (whole, nodes) = tree(b"", |r| r.text(&NAME).map(|_| ()));
        assert!(!whole);
        assert_eq!(nodes, [], "of a field that is not there nothing is shown");
    }
}
