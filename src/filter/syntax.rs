//! The syntax of filters: tokens and grammar.

use std::fmt;
use std::ops::Range;

use winnow::ascii::multispace0;
use winnow::combinator::{alt, delimited, preceded, repeat};
use winnow::stream::{LocatingSlice, Location};
use winnow::token::{any, none_of, take_while};
use winnow::{ModalResult, Parser};

use super::error::FilterError;

/// Maximum length of a filter in bytes.
const LONGEST: usize = 1 << 16;

/// Maximum nesting of parentheses and `not`.
const DEEPEST: usize = 64;

/// A parsed filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// Any of these.
    Or(Vec<Expression>),
    /// All of these.
    And(Vec<Expression>),
    /// Not this.
    Not(Box<Expression>),
    /// One comparison.
    Test(Test),
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The parts of the field's path.
    pub path: Vec<String>,
    /// The position of the path.
    pub at: Range<usize>,
    /// The condition on the field.
    pub ask: FieldTest,
}

/// A condition on a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldTest {
    /// It is present.
    Present,
    /// A comparison with a value.
    Compare(Comparison, Literal),
    /// It is one of these, or in one of these ranges.
    In(Vec<(Literal, Option<Literal>)>),
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `contains`
    Contains,
    /// `matches`
    Matches,
}

impl Comparison {
    /// All operators with their spellings.
    pub const ALL: [(&'static str, Comparison); 18] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("contains", Comparison::Contains),
        ("matches", Comparison::Matches),
        ("eq", Comparison::Equal),
        ("ne", Comparison::Unequal),
        ("le", Comparison::LessOrEqual),
        ("ge", Comparison::GreaterOrEqual),
        ("lt", Comparison::Less),
        ("gt", Comparison::Greater),
        ("~", Comparison::Matches),
        ("===", Comparison::Equal),
        ("any_eq", Comparison::Equal),
        ("all_ne", Comparison::Unequal),
    ];

    /// Its first spelling.
    pub fn name(self) -> &'static str {
        Comparison::ALL.iter().find(|(_, it)| *it == self).map_or("", |(name, _)| name)
    }
}

/// A value in a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Literal {
    /// The text as it is written, without its quotes.
    pub text: String,
    /// It was in quotes, and may have escapes.
    pub is_quoted: bool,
    /// Its position.
    pub at: Range<usize>,
}

impl Literal {
    /// The bytes that it stands for.
    pub(super) fn bytes(&self) -> Vec<u8> {
        if self.is_quoted { unescaped(&self.text) } else { self.text.clone().into_bytes() }
    }

    /// The regular expression that it stands for: all escapes but those of quotes and backslashes are its own.
    pub(super) fn pattern(&self) -> String {
        self.text.replace(r"\\", r"\").replace("\\\"", "\"")
    }
}

/// The bytes of a text in quotes, in which `\"`, `\\` and `\x41` are escapes. Any other backslash is kept.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((plain, escape)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        let byte = escape.strip_prefix('x').and_then(|digits| hex_byte(digits.get(..2)?));
        let (byte, length) = match (byte, escape.as_bytes().first()) {
            (Some(byte), _) => (byte, 3),
            (None, Some(&byte @ (b'"' | b'\\'))) => (byte, 1),
            (None, _) => (b'\\', 0),
        };
        bytes.push(byte);
        rest = escape.get(length..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

/// The byte of two hex digits.
pub(super) fn hex_byte(digits: &str) -> Option<u8> {
    let is_hex = digits.len() == 2 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// `(`, `==`, `&&` and so on.
    Sign(&'static str),
    /// A word, and the keys in brackets after it.
    Word(String, Vec<String>),
    Quoted(String),
}

struct Token {
    kind: Kind,
    at: Range<usize>,
}

type Input<'s> = LocatingSlice<&'s str>;

const SIGNS: [&str; 16] =
    ["===", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "{", "}", ",", "<", ">", "!", "~"];

fn sign(input: &mut Input<'_>) -> ModalResult<Kind> {
    for mut sign in SIGNS {
        if input.starts_with(sign) {
            sign.parse_next(input)?;
            return Ok(Kind::Sign(sign));
        }
    }
    winnow::combinator::fail(input)
}

/// A text in quotes, as it is written between them: a backslash belongs to the character after it.
fn quoted(input: &mut Input<'_>) -> ModalResult<String> {
    let part = alt((preceded('\\', any), none_of(['"', '\\'])));
    let text = repeat::<_, _, (), _, _>(0.., part).take();
    delimited('"', text, '"').map(str::to_owned).parse_next(input)
}

fn word(input: &mut Input<'_>) -> ModalResult<Kind> {
    let letters = |c: char| c.is_alphanumeric() || "_.:/+-*%@#".contains(c);
    // A key is a text, as all parts of a path.
    let key = quoted.map(|key| String::from_utf8_lossy(&unescaped(&key)).into_owned());
    let brackets = delimited('[', key, ']');
    let head = take_while(1.., letters);
    (head, repeat(0.., brackets))
        .map(|(head, keys): (&str, Vec<String>)| Kind::Word(head.to_owned(), keys))
        .parse_next(input)
}

/// `[::1]:27015`, `[2001:db8::]/32`
fn address6(input: &mut Input<'_>) -> ModalResult<Kind> {
    let letters = |c: char| c.is_ascii_hexdigit() || ":.%/".contains(c);
    let rest = |c: char| c.is_ascii_digit() || ":/".contains(c);
    (delimited('[', take_while(1.., letters), ']'), take_while(0.., rest))
        .take()
        .map(|text: &str| Kind::Word(text.to_owned(), Vec::new()))
        .parse_next(input)
}

fn tokens(source: &str) -> Result<Vec<Token>, FilterError> {
    let mut input = LocatingSlice::new(source);
    let mut tokens = Vec::new();
    loop {
        let space: ModalResult<&str> = multispace0.parse_next(&mut input);
        let at = input.current_token_start();
        if space.is_err() || input.is_empty() {
            return Ok(tokens);
        }
        let token = alt((sign, quoted.map(Kind::Quoted), address6, word)).parse_next(&mut input);
        let Ok(kind) = token else {
            let (what, help) = match source.get(at..).and_then(|rest| rest.chars().next()) {
                Some('"') => ("missing closing quote", "the text starts here".to_owned()),
                Some('[') => {
                    ("missing quotes in brackets", "write properties[\"game type\"]".into())
                }
                Some('=') => ("unknown operator =", "write == for equality".to_owned()),
                Some('&' | '|') => ("unknown operator", "write && for `and`, || for `or`".into()),
                _ => ("unexpected character", "put texts in double quotes".to_owned()),
            };
            return Err(FilterError::new(source, at..at + 1, what, help));
        };
        tokens.push(Token { kind, at: at..input.current_token_start() });
    }
}

/// The parts of a path, if the source is just a path.
pub(super) fn path(source: &str) -> Option<Vec<String>> {
    match &*tokens(source).ok()? {
        [Token { kind: Kind::Word(head, keys), .. }] => {
            let head = head.split('.').map(str::to_owned);
            Some(head.chain(keys.iter().cloned()).collect())
        }
        _ => None,
    }
}

struct Reader<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Expression {
    /// Parses a filter.
    ///
    /// # Errors
    /// A syntax error, with its position.
    pub fn read(source: &str) -> Result<Expression, FilterError> {
        if source.len() > LONGEST {
            let most = format!("a filter has at most {LONGEST} bytes");
            return Err(FilterError::new(source, 0..1, "the filter is too long", most));
        }
        let tokens = tokens(source)?;
        let mut reader = Reader { source, tokens, next: 0, depth: 0 };
        let expression = reader.or()?;
        match reader.tokens.get(reader.next) {
            None => Ok(expression),
            Some(token) => Err(reader.wrong(token.at.clone(), "`and`, `or` or the end")),
        }
    }
}

impl Reader<'_> {
    fn wrong(&self, at: Range<usize>, expected: &str) -> FilterError {
        let what = match self.source.get(at.clone()).filter(|text| !text.is_empty()) {
            Some(text) => format!("unexpected `{text}`"),
            None => "unexpected end of the filter".to_owned(),
        };
        FilterError::new(self.source, at, what, format!("expected: {expected}"))
    }

    /// The position of the next token, or the end.
    fn here(&self) -> Range<usize> {
        let end = self.source.len();
        self.tokens.get(self.next).map_or(end..end, |token| token.at.clone())
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = match self.tokens.get(self.next).map(|token| &token.kind) {
            Some(Kind::Sign(it)) => *it == sign,
            Some(Kind::Word(it, keys)) => keys.is_empty() && it == sign,
            _ => false,
        };
        self.next += usize::from(is);
        is
    }

    fn or(&mut self) -> Result<Expression, FilterError> {
        let mut any = vec![self.and()?];
        while self.takes("or") || self.takes("||") {
            any.push(self.and()?);
        }
        Ok(if any.len() == 1 { any.remove(0) } else { Expression::Or(any) })
    }

    fn and(&mut self) -> Result<Expression, FilterError> {
        let mut all = vec![self.not()?];
        while self.takes("and") || self.takes("&&") {
            all.push(self.not()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Expression::And(all) })
    }

    fn not(&mut self) -> Result<Expression, FilterError> {
        let at = self.here();
        self.depth += 1;
        if self.depth > DEEPEST {
            let help = format!("at most {DEEPEST} levels of parentheses and `not` are possible");
            return Err(FilterError::new(self.source, at, "the filter is nested too deeply", help));
        }
        let expression = if self.takes("not") || self.takes("!") {
            Expression::Not(Box::new(self.not()?))
        } else if self.takes("(") {
            let inner = self.or()?;
            if !self.takes(")") {
                return Err(self.wrong(self.here(), "`)`, `and` or `or`"));
            }
            inner
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(expression)
    }

    fn test(&mut self) -> Result<Expression, FilterError> {
        let at = self.here();
        let Some(Kind::Word(head, keys)) = self.tokens.get(self.next).map(|token| &token.kind)
        else {
            return Err(self.wrong(at, "a field, such as a2s.info_response.map, or `not`, or `(`"));
        };
        let mut path: Vec<String> = head.split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err(self.wrong(at, "a field, such as a2s.info_response.map"));
        }
        path.extend(keys.iter().cloned());
        self.next += 1;
        if self.takes("in") {
            return Ok(Expression::Test(Test { path, at, ask: FieldTest::In(self.set()?) }));
        }
        let before = self.next;
        if self.takes("not") {
            if self.takes("in") {
                let within = Test { path, at, ask: FieldTest::In(self.set()?) };
                // As with `!=`, there must be a value.
                let present = Test { ask: FieldTest::Present, ..within.clone() };
                return Ok(Expression::And(vec![
                    Expression::Test(present),
                    Expression::Not(Box::new(Expression::Test(within))),
                ]));
            }
            self.next = before;
        }
        let written = Comparison::ALL.iter().find(|(name, _)| self.takes(name));
        let ask = match written {
            Some(&(_, comparison)) => FieldTest::Compare(comparison, self.literal()?),
            None => FieldTest::Present,
        };
        Ok(Expression::Test(Test { path, at, ask }))
    }

    fn literal(&mut self) -> Result<Literal, FilterError> {
        let at = self.here();
        let (text, is_quoted) = match self.tokens.get(self.next).map(|token| &token.kind) {
            Some(Kind::Word(word, keys)) if keys.is_empty() => (word.clone(), false),
            Some(Kind::Quoted(text)) => (text.clone(), true),
            _ => return Err(self.wrong(at, "a value: a number, an address, or a text in quotes")),
        };
        self.next += 1;
        Ok(Literal { text, is_quoted, at })
    }

    /// `{1, 2, 5..9}`
    fn set(&mut self) -> Result<Vec<(Literal, Option<Literal>)>, FilterError> {
        if !self.takes("{") {
            return Err(self.wrong(self.here(), "a set, such as {1, 2, 5..9}"));
        }
        let mut set = Vec::new();
        while set.is_empty() || !self.takes("}") {
            // Commas are optional, as in Wireshark.
            if !set.is_empty() {
                self.takes(",");
            }
            set.push(self.element()?);
        }
        Ok(set)
    }

    /// `5`, or `5..9`, which is one word, or `"a".."b"`
    fn element(&mut self) -> Result<(Literal, Option<Literal>), FilterError> {
        let mut first = self.literal()?;
        if first.is_quoted {
            if !self.takes("..") {
                return Ok((first, None));
            }
            let last = self.literal()?;
            if !last.is_quoted {
                return Err(self.wrong(last.at, "the end of the range in quotes"));
            }
            return Ok((first, Some(last)));
        }
        let Some((begin, end)) = first.text.split_once("..") else { return Ok((first, None)) };
        let last = Literal { text: end.to_owned(), ..first.clone() };
        first.text = begin.to_owned();
        Ok((first, Some(last)))
    }
}

impl fmt::Display for Expression {
    /// The filter in a canonical form, which parses to the same filter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let join = |f: &mut fmt::Formatter<'_>, parts: &[Expression], word: &str| {
            f.write_str("(")?;
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    write!(f, " {word} ")?;
                }
                part.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Expression::Or(parts) => join(f, parts, "or"),
            Expression::And(parts) => join(f, parts, "and"),
            Expression::Not(inner) => write!(f, "not {inner}"),
            Expression::Test(test) => test.fmt(f),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(&self.path))?;
        match &self.ask {
            FieldTest::Present => Ok(()),
            FieldTest::Compare(comparison, literal) => {
                write!(f, " {} {literal}", comparison.name())
            }
            FieldTest::In(set) => {
                f.write_str(" in {")?;
                for (at, (first, last)) in set.iter().enumerate() {
                    f.write_str(if at > 0 { ", " } else { "" })?;
                    match last {
                        Some(last) => write!(f, "{first}..{last}")?,
                        None => first.fmt(f)?,
                    }
                }
                f.write_str("}")
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_quoted {
            return f.write_str(&self.text);
        }
        write!(f, "\"{}\"", self.text)
    }
}

/// A path in the syntax of filters: keys that are not words are in brackets.
pub(super) fn written(path: &[String]) -> String {
    let is_word = |part: &String| {
        !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || "_-*".contains(c))
    };
    let mut text = String::new();
    let mut bracketed = false;
    for (at, part) in path.iter().enumerate() {
        bracketed |= at > 0 && !is_word(part);
        if bracketed {
            text += &format!("[\"{}\"]", part.replace('\\', "\\\\").replace('"', "\\\""));
        } else {
            text += if at > 0 { "." } else { "" };
            text += part;
        }
    }
    text
}
