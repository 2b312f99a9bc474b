//! State that goes from one process to another of the same version: what one has read of a capture, and
//! another puts together with what others have.
//!
//! Rules, messages and names are the program's own: they go by their places and come back as what they
//! are. What cannot be read is no error to be explained, since only the same program writes it: `None`.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, SocketAddr};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::{CODES, Elsewhere, Message, Rule, Who};
use crate::{Id, catalogue};

/// Can be written, and read again by the same version of the program.
pub trait Portable: Sized {
    /// Appends it.
    fn write(&self, to: &mut Vec<u8>);
    /// Takes it from the front; `None`: there is none.
    fn read(from: &mut &[u8]) -> Option<Self>;

    /// It alone.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// What is all of these bytes.
    fn of_bytes(mut bytes: &[u8]) -> Option<Self> {
        Self::read(&mut bytes).filter(|_| bytes.is_empty())
    }
}

/// Makes a struct portable by its fields, all of which are to be named, or an enum without fields by its variants.
#[macro_export]
macro_rules! portable {
    (struct $name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::kit::Portable for $name {
            fn write(&self, to: &mut Vec<u8>) {
                let $name { $($field),* } = self;
                $($crate::kit::Portable::write($field, to);)*
            }

            fn read(from: &mut &[u8]) -> Option<$name> {
                $(let $field = $crate::kit::Portable::read(from)?;)*
                Some($name { $($field),* })
            }
        }
    };
    (tuple $name:ident) => {
        impl $crate::kit::Portable for $name {
            fn write(&self, to: &mut Vec<u8>) {
                self.0.write(to);
            }

            fn read(from: &mut &[u8]) -> Option<$name> {
                $crate::kit::Portable::read(from).map($name)
            }
        }
    };
    // With a list of the variants, which then holds all of them.
    (enum $name:ident, ALL { $($variant:ident),* $(,)? }) => {
        $crate::portable!(enum $name { $($variant),* });

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
        }
    };
    (enum $name:ident { $($variant:ident),* $(,)? }) => {
        impl $crate::kit::Portable for $name {
            fn write(&self, to: &mut Vec<u8>) {
                to.push(match self { $($name::$variant => $name::$variant as u8),* });
            }

            fn read(from: &mut &[u8]) -> Option<$name> {
                let place: u8 = $crate::kit::Portable::read(from)?;
                [$($name::$variant),*].into_iter().find(|it| *it as u8 == place)
            }
        }
    };
}

impl Portable for u8 {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn read(from: &mut &[u8]) -> Option<u8> {
        let (&first, rest) = from.split_first()?;
        *from = rest;
        Some(first)
    }
}

/// Seven bits a byte, the lowest first.
impl Portable for u64 {
    fn write(&self, to: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            to.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        to.push(rest as u8);
    }

    fn read(from: &mut &[u8]) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = u8::read(from)?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

macro_rules! as_u64 {
    ($($type:ty),+) => {
        $(impl Portable for $type {
            fn write(&self, to: &mut Vec<u8>) {
                (*self as u64).write(to);
            }

            fn read(from: &mut &[u8]) -> Option<$type> {
                u64::read(from)?.try_into().ok()
            }
        })+
    };
}

as_u64!(u16, u32, usize);

/// The sign is the lowest bit: small numbers are short, whatever their sign.
impl Portable for i64 {
    fn write(&self, to: &mut Vec<u8>) {
        ((self << 1) ^ (self >> 63)).cast_unsigned().write(to);
    }

    fn read(from: &mut &[u8]) -> Option<i64> {
        let number = u64::read(from)?;
        Some((number >> 1).cast_signed() ^ -((number & 1).cast_signed()))
    }
}

impl Portable for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut &[u8]) -> Option<bool> {
        Some(u8::read(from)? != 0)
    }
}

impl<T: Portable> Portable for Option<T> {
    fn write(&self, to: &mut Vec<u8>) {
        self.is_some().write(to);
        if let Some(it) = self {
            it.write(to);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Option<T>> {
        match bool::read(from)? {
            true => T::read(from).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Portable> Portable for Box<T> {
    fn write(&self, to: &mut Vec<u8>) {
        T::write(self, to);
    }

    fn read(from: &mut &[u8]) -> Option<Box<T>> {
        T::read(from).map(Box::new)
    }
}

/// How many, then each. No room is taken for what is announced and does not come.
fn write_all<'t, T: Portable + 't>(many: impl ExactSizeIterator<Item = &'t T>, to: &mut Vec<u8>) {
    many.len().write(to);
    many.for_each(|it| it.write(to));
}

impl<T: Portable> Portable for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        write_all(self.iter(), to);
    }

    fn read(from: &mut &[u8]) -> Option<Vec<T>> {
        let count = usize::read(from)?;
        // Each takes a byte at least.
        (count <= from.len()).then(|| (0..count).map(|_| T::read(from)).collect())?
    }
}

impl<T: Portable, const N: usize> Portable for [T; N] {
    fn write(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|it| it.write(to));
    }

    fn read(from: &mut &[u8]) -> Option<[T; N]> {
        let all: Option<Vec<T>> = (0..N).map(|_| T::read(from)).collect();
        all?.try_into().ok()
    }
}

macro_rules! tuples {
    ($(($($type:ident $place:tt),+))+) => {
        $(impl<$($type: Portable),+> Portable for ($($type,)+) {
            fn write(&self, to: &mut Vec<u8>) {
                $(self.$place.write(to);)+
            }

            fn read(from: &mut &[u8]) -> Option<($($type,)+)> {
                Some(($($type::read(from)?,)+))
            }
        })+
    };
}

tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

impl Portable for String {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut &[u8]) -> Option<String> {
        let length = usize::read(from)?;
        let (text, rest) = from.split_at_checked(length)?;
        *from = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Portable for IpAddr {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            IpAddr::V4(address) => (4_u8, address.octets()).write(to),
            IpAddr::V6(address) => (6_u8, address.octets()).write(to),
        }
    }

    fn read(from: &mut &[u8]) -> Option<IpAddr> {
        match u8::read(from)? {
            4 => <[u8; 4]>::read(from).map(IpAddr::from),
            6 => <[u8; 16]>::read(from).map(IpAddr::from),
            _ => None,
        }
    }
}

impl Portable for SocketAddr {
    fn write(&self, to: &mut Vec<u8>) {
        (self.ip(), self.port()).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<SocketAddr> {
        <(IpAddr, u16)>::read(from).map(SocketAddr::from)
    }
}

impl<K: Portable + Eq + Hash, V: Portable, S: BuildHasher + Default> Portable for HashMap<K, V, S> {
    fn write(&self, to: &mut Vec<u8>) {
        self.len().write(to);
        self.iter().for_each(|(key, value)| {
            key.write(to);
            value.write(to);
        });
    }

    fn read(from: &mut &[u8]) -> Option<HashMap<K, V, S>> {
        Some(Vec::<(K, V)>::read(from)?.into_iter().collect())
    }
}

impl<K: Portable + Eq + Hash, S: BuildHasher + Default> Portable for HashSet<K, S> {
    fn write(&self, to: &mut Vec<u8>) {
        write_all(self.iter(), to);
    }

    fn read(from: &mut &[u8]) -> Option<HashSet<K, S>> {
        Some(Vec::<K>::read(from)?.into_iter().collect())
    }
}

impl Portable for &'static Rule {
    fn write(&self, to: &mut Vec<u8>) {
        self.code.index().write(to);
    }

    fn read(from: &mut &[u8]) -> Option<&'static Rule> {
        static BY_CODE: LazyLock<Vec<Option<&'static Rule>>> = LazyLock::new(|| {
            let mut rules = vec![None; CODES];
            catalogue::rules().into_iter().for_each(|rule| rules[rule.code.index()] = Some(rule));
            rules
        });
        *BY_CODE.get(usize::read(from)?)?
    }
}

/// By its place in its protocol's list. Some messages have forms that only differ in who speaks them what for.
impl Portable for &'static Message {
    fn write(&self, to: &mut Vec<u8>) {
        let find = |is: &dyn Fn(&Message) -> bool| {
            Id::ALL.iter().find_map(|&id| {
                let at = id.info().messages.iter().position(|it| is(it))?;
                Some((id, at))
            })
        };
        // Several protocols may call a message the same: it is a form of another one only if it is in no list.
        let place = find(&|it| std::ptr::eq(it, *self))
            .or_else(|| find(&|it| (it.label, it.summary) == (self.label, self.summary)));
        (place, self.speaker, self.purpose).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<&'static Message> {
        static FORMS: Mutex<Vec<&'static Message>> = Mutex::new(Vec::new());
        let (place, speaker, purpose) = <(Option<(Id, usize)>, Who, _)>::read(from)?;
        let (id, at) = place?;
        let listed: &'static Message = id.info().messages.get(at)?;
        let is = |it: &Message| (it.speaker, it.purpose) == (speaker, purpose);
        if is(listed) {
            return Some(listed);
        }
        let is_it = |it: &Message| is(it) && std::ptr::eq(it.name, listed.name);
        own(&FORMS, is_it, || Box::new(Message { speaker, purpose, ..*listed }))
    }
}

impl Portable for Id {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(*self as u8);
    }

    fn read(from: &mut &[u8]) -> Option<Id> {
        Id::ALL.get(usize::from(u8::read(from)?)).copied()
    }
}

/// What is kept of each kind of the program's own things that are known by what they say.
const OWN: usize = 1 << 10;

/// The program's own thing that says the same; it is kept from the first time on.
fn own<T: ?Sized>(
    known: &Mutex<Vec<&'static T>>,
    is: impl Fn(&T) -> bool,
    make: impl FnOnce() -> Box<T>,
) -> Option<&'static T> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.iter().find(|it| is(it)) {
        return Some(found);
    }
    (known.len() < OWN).then(|| {
        let made: &'static T = Box::leak(make());
        known.push(made);
        made
    })
}

/// A name that the program gives something.
impl Portable for &'static str {
    fn write(&self, to: &mut Vec<u8>) {
        self.to_string().write(to);
    }

    fn read(from: &mut &[u8]) -> Option<&'static str> {
        static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
        let name = String::read(from)?;
        own(&NAMES, |it| it == name, || name.clone().into())
    }
}

impl Portable for &'static Elsewhere {
    fn write(&self, to: &mut Vec<u8>) {
        (self.from_asked, self.asked_for, self.answered).write(to);
    }

    fn read(from: &mut &[u8]) -> Option<&'static Elsewhere> {
        static RULES: Mutex<Vec<&'static Elsewhere>> = Mutex::new(Vec::new());
        let (from_asked, asked_for, answered) = Portable::read(from)?;
        let rules = Elsewhere { from_asked, asked_for, answered };
        let codes = |it: &Elsewhere| {
            (it.from_asked.code, it.asked_for.map(|rule| rule.code), it.answered.code)
        };
        own(&RULES, |it| codes(it) == codes(&rules), || Box::new(Elsewhere { ..rules }))
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;

    use super::*;
    use crate::kit::Map;

    fn comes_back<T: Portable + PartialEq + Debug>(it: T) {
        let bytes = it.to_bytes();
        assert_eq!(T::of_bytes(&bytes).as_ref(), Some(&it), "{bytes:?}");
        for cut in 0..bytes.len() {
            assert_eq!(T::of_bytes(&bytes[..cut]), None, "{it:?} cut after {cut} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_less(
            numbers: (u64, i64, u16),
            texts: Vec<String>,
            some: Option<[u8; 16]>,
            map: std::collections::HashMap<u32, bool>,
            address: SocketAddr,
        ) {
            comes_back(numbers);
            comes_back(texts);
            comes_back(some);
            comes_back(Map::from_iter(map));
            comes_back((address.ip(), address.port()));
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            Vec::<(u64, String, Option<&'static Rule>)>::of_bytes(&bytes);
            Map::<IpAddr, Vec<u64>>::of_bytes(&bytes);
        }
    }

    #[test]
    fn the_programs_own_things_are_the_same_ones_again() {
        for rule in catalogue::rules() {
            let read = <&Rule>::of_bytes(&rule.to_bytes()).unwrap();
            assert!(std::ptr::eq(rule, read), "{:?}", rule.code);
        }
        for message in Id::ALL.iter().flat_map(|id| id.info().messages) {
            let read = <&Message>::of_bytes(&message.to_bytes()).unwrap();
            assert!(std::ptr::eq(*message, read), "{}", message.name);
        }
        let listed = Id::ALL[0].info().messages[0];
        let form: &'static Message = Box::leak(Box::new(Message { speaker: Who::Any, ..*listed }));
        let read = <&Message>::of_bytes(&form.to_bytes()).unwrap();
        assert_eq!((read.name, read.speaker), (listed.name, Who::Any));
        let name = String::from("A2S_INFO").to_bytes();
        let [one, other] = [(); 2].map(|()| <&'static str>::of_bytes(&name).unwrap());
        assert!(std::ptr::eq(one, other));
    }

    #[test]
    fn no_room_is_taken_for_what_is_announced_only() {
        let mut bytes = u64::MAX.to_bytes();
        bytes.extend([0; 8]);
        assert_eq!(Vec::<u8>::of_bytes(&bytes), None);
    }
}
