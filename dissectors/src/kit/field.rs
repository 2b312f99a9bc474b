//! Fields: each is declared once, in a `static`, for all outputs.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::treatment::{Scrub, Treatment};

/// A range of bytes in the payload that was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One after the last byte.
    pub end: u32,
}

impl Span {
    /// The range between two places; the end is never before the start.
    pub const fn new(start: usize, end: usize) -> Span {
        let (start, end) = (clamp(start), clamp(end));
        Span { start, end: if end < start { start } else { end } }
    }

    /// A range whose end is not before the start, and not after [`LONGEST`].
    #[inline(always)]
    pub(crate) const fn known(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// Number of bytes.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether the range holds no byte.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// Payloads are far shorter than 2^31 bytes; places after that are clamped to this one.
pub(crate) const LONGEST: usize = 0x7FFF_FFFF;

const fn clamp(at: usize) -> u32 {
    if at > LONGEST { LONGEST as u32 } else { at as u32 }
}

/// A value with its bytes, so that a rule can point at them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// Its bytes.
    pub at: Span,
}

/// The type of a value: how the 64 bits of a node are interpreted, and how every output writes
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned integer.
    Unsigned,
    /// Signed integer, sign-extended to 64 bits.
    Signed,
    /// The bits of a 32-bit float.
    Float,
    /// A 64-bit id: a decimal string in JSON, where numbers lose precision.
    Id,
    /// One character.
    Char,
    /// True or false.
    Flag,
    /// A value that is written as its meaning.
    Name,
    /// Text; the value is its position, see [`TextPlace`](crate::kit::TextPlace).
    Text,
    /// Opaque bytes, written in hex.
    Bytes,
    /// 4 bytes of address and a port, both in network order: `ip:port`.
    Endpoint,
    /// 16 bytes of address and a port, both in network order: `[ip]:port`.
    Endpoint6,
    /// Fields that belong together: an object.
    Group,
    /// The same kind of element several times: an array.
    List,
    /// Pairs: an object whose keys come from the wire.
    Map,
    /// A key and its value: the first two texts below it.
    Pair,
}

impl Kind {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Unsigned => "unsigned integer",
            Kind::Signed => "signed integer",
            Kind::Float => "float",
            Kind::Id => "64-bit ID",
            Kind::Char => "character",
            Kind::Flag => "boolean",
            Kind::Name | Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::Endpoint | Kind::Endpoint6 => "address",
            Kind::Group => "group",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Pair => "pair",
        }
    }
}

/// Where JSON has a field; `tree` has all fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In `fields`.
    Fields,
    /// In `tree` only: headers, terminators, counts of bytes.
    Framing,
    /// Next to `fields`, under its own name.
    Beside,
}

/// How a value is explained. The functions are called only when an output needs the explanation.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// None.
    None,
    /// A number's meaning.
    Number(fn(u64) -> Option<&'static str>),
    /// A number of seconds since 1970, if it is one of this century.
    Seconds,
    /// A text's meaning.
    Text(fn(&[u8]) -> Option<Cow<'static, str>>),
    /// A pair's meaning, from its key and its value.
    Pair(fn(&[u8], &[u8]) -> Option<Cow<'static, str>>),
}

/// One field of a message.
pub struct Field {
    /// The name in scripts.
    pub name: &'static str,
    /// The name for people, from the specification.
    pub label: &'static str,
    /// The type of the value.
    pub kind: Kind,
    /// Where JSON has it.
    pub place: Place,
    /// What a value means.
    pub meaning: Meaning,
    /// What the field means, in one sentence; empty for a field that is in `tree` only.
    pub about: &'static str,
    /// The unit of its numbers, such as `seconds`; empty for none.
    pub unit: &'static str,
    /// What `scrub` does with its bytes.
    pub scrub: Scrub,
    /// The fields in it that scripts see, if it is a group, a list or a map.
    pub children: &'static [&'static Field],
}

/// Declares a protocol's fields: a `static` each. The doc comment is the description for users.
macro_rules! fields {
    ($($(#[doc = $doc:literal])* $name:ident = $field:expr;)+) => {
        $crate::kit::fields! { pub(super), $($(#[doc = $doc])* $name = $field;)+ }
    };
    ($visible:vis, $($(#[doc = $doc:literal])* $name:ident = $field:expr;)+) => {
        $($(#[doc = $doc])* $visible static $name: $crate::kit::Field =
            $field.about(concat!($($doc),*));)+
    };
}
pub(crate) use fields;

impl Field {
    /// A field in `fields`.
    pub const fn new(name: &'static str, label: &'static str, kind: Kind) -> Field {
        Field {
            name,
            label,
            kind,
            place: Place::Fields,
            meaning: Meaning::None,
            about: "",
            unit: "",
            scrub: Scrub::As(Treatment::Replaced),
            children: &[],
        }
    }

    /// The same field, in `tree` only.
    pub const fn framing(mut self) -> Field {
        self.place = Place::Framing;
        self
    }

    /// The same field, next to `fields`.
    pub const fn beside(mut self) -> Field {
        self.place = Place::Beside;
        self
    }

    /// The same field, its numbers explained.
    pub const fn number(mut self, meaning: fn(u64) -> Option<&'static str>) -> Field {
        self.meaning = Meaning::Number(meaning);
        self
    }

    /// The same field, its numbers explained as seconds since 1970.
    pub const fn seconds(mut self) -> Field {
        self.meaning = Meaning::Seconds;
        self
    }

    /// The same field, its texts explained.
    pub const fn text(mut self, meaning: fn(&[u8]) -> Option<Cow<'static, str>>) -> Field {
        self.meaning = Meaning::Text(meaning);
        self
    }

    /// The same field, its pairs explained.
    pub const fn pair(mut self, meaning: fn(&[u8], &[u8]) -> Option<Cow<'static, str>>) -> Field {
        self.meaning = Meaning::Pair(meaning);
        self
    }

    /// The same field, described.
    pub const fn about(mut self, text: &'static str) -> Field {
        self.about = text.trim_ascii();
        self
    }

    /// The same field, its numbers in this unit.
    pub const fn unit(mut self, unit: &'static str) -> Field {
        self.unit = unit;
        self
    }

    /// The same field, whose bytes `scrub` keeps: they are structure.
    pub const fn kept(self) -> Field {
        self.treated(Treatment::Kept)
    }

    /// The same field, with this treatment by `scrub`.
    pub const fn treated(mut self, treatment: Treatment) -> Field {
        self.scrub = Scrub::As(treatment);
        self
    }

    /// The same field, whose text `scrub` keeps if it is one of the protocol's words.
    pub const fn kept_if(mut self, is_word: fn(&[u8]) -> bool) -> Field {
        self.scrub = Scrub::If(is_word);
        self
    }

    /// The same field, which is a key; `scrub` keeps known ones.
    pub const fn key(mut self, is_known: fn(&[u8]) -> bool) -> Field {
        self.scrub = Scrub::Key(is_known);
        self
    }

    /// The same field, which is the value of the key before it, with what `scrub` does with it.
    pub const fn value(mut self, treatment: fn(&[u8], &[u8]) -> Treatment) -> Field {
        self.scrub = Scrub::Value(treatment);
        self
    }

    /// The same field, in which a list of addresses may begin after this many bytes.
    pub const fn blocks_after(mut self, length: fn(&[u8]) -> Option<usize>) -> Field {
        self.scrub = Scrub::Blocks(length);
        self
    }

    /// The same field, of which `scrub` keeps this many bytes at the beginning.
    pub const fn kept_up_to(mut self, length: fn(&[u8]) -> usize) -> Field {
        self.scrub = Scrub::After(length);
        self
    }

    /// The same field, with these fields in it.
    pub const fn of(mut self, children: &'static [&'static Field]) -> Field {
        self.children = children;
        self
    }

    /// Bytes that no field of the message accounts for.
    pub const UNPARSED: &'static Field = &UNPARSED;
}

static UNPARSED: Field = Field::new("unparsed", "Unparsed", Kind::Bytes).framing();
