//! Serializes rules, messages and names for another process of the same version: a `static` is sent
//! as its index or name, and read as a reference to the same `static`.

use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::kit::{Message, Name, ResponseRules, Rule};
use crate::{Id, catalogue};

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.code.index().serialize(to)
    }
}

impl<'de> Deserialize<'de> for &'static Rule {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<&'static Rule, D::Error> {
        static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(catalogue::rules);
        let index = usize::deserialize(from)?;
        let place = RULES.binary_search_by_key(&index, |rule| rule.code.index());
        let rule = place.ok().and_then(|place| RULES.get(place));
        rule.copied().ok_or_else(|| D::Error::custom("no rule has this code"))
    }
}

/// All messages and their variants.
static MESSAGES: LazyLock<Vec<&'static Message>> = LazyLock::new(|| {
    let infos = Id::ALL.iter().map(|id| id.info());
    infos.flat_map(|info| info.messages.iter().chain(info.forms)).copied().collect()
});

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let place = MESSAGES.iter().position(|it| std::ptr::eq(*it, self));
        place.ok_or_else(|| S::Error::custom("no protocol lists this message"))?.serialize(to)
    }
}

impl<'de> Deserialize<'de> for &'static Message {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<&'static Message, D::Error> {
        let message = MESSAGES.get(usize::deserialize(from)?);
        message.copied().ok_or_else(|| D::Error::custom("no message has this place"))
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
        let name = intern(&NAMES, Box::<str>::deserialize(from)?);
        name.map(Name).ok_or_else(|| D::Error::custom("more names than the program has"))
    }
}

impl<'de> Deserialize<'de> for &'static ResponseRules {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<&'static ResponseRules, D::Error> {
        static ELSEWHERE: Mutex<Vec<&'static ResponseRules>> = Mutex::new(Vec::new());
        let rules = intern(&ELSEWHERE, Box::<ResponseRules>::deserialize(from)?);
        rules.ok_or_else(|| D::Error::custom("more rules about responding endpoints than exist"))
    }
}

/// Maximum number of interned strings of each kind: more than the program has.
const INTERNED: usize = 1 << 10;

/// The interned one of all equal values. `None` if there are too many to be the program's own.
fn intern<T: ?Sized + PartialEq>(known: &Mutex<Vec<&'static T>>, it: Box<T>) -> Option<&'static T> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.iter().find(|known| ***known == *it) {
        return Some(found);
    }
    (known.len() < INTERNED).then(|| {
        known.push(Box::leak(it));
        known.last().copied()
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(value: &impl Serialize) -> Vec<u8> {
        postcard::to_extend(value, Vec::new()).unwrap()
    }

    /// Serializes and deserializes.
    fn again<T: Serialize + for<'de> Deserialize<'de>>(value: &T) -> T {
        postcard::from_bytes(&bytes(value)).unwrap()
    }

    #[test]
    fn the_programs_own_things_are_the_same_ones_again() {
        for rule in catalogue::rules() {
            let read: &'static Rule = again(&rule);
            assert!(std::ptr::eq(rule, read), "{rule:?}");
        }
        let forms = Id::ALL.iter().map(|id| id.info().forms.len()).sum::<usize>();
        assert!(forms > 0 && MESSAGES.len() > forms);
        for message in MESSAGES.iter() {
            let read: &'static Message = again(message);
            assert!(std::ptr::eq(*message, read), "{}", message.name);
        }
        let name = Name("part of a message");
        assert_eq!(again(&name), name);
        assert!(std::ptr::eq(again(&name).0, again(&name).0));
        let [from_asked, answered] = [0, 1].map(|nth| catalogue::rules()[nth]);
        let rules = ResponseRules { from_asked, asked_for: None, answered };
        let [one, other] = [(); 2]
            .map(|()| postcard::from_bytes::<&'static ResponseRules>(&bytes(&&rules)).unwrap());
        assert!(*one == rules && std::ptr::eq(one, other));
    }

    #[test]
    fn unknown_names_are_not_read() {
        let beyond = bytes(&usize::MAX);
        assert!(postcard::from_bytes::<&'static Rule>(&beyond).is_err());
        assert!(postcard::from_bytes::<&'static Message>(&beyond).is_err());
        let unlisted = Message { ..*MESSAGES[0] };
        assert!(postcard::to_extend(&unlisted, Vec::new()).is_err());
    }

    #[test]
    fn no_more_names_are_kept_than_the_program_may_have() {
        let known = Mutex::new(Vec::new());
        for n in 0..INTERNED {
            assert!(intern::<str>(&known, n.to_string().into()).is_some());
        }
        assert_eq!(intern::<str>(&known, "one more".into()), None);
        assert_eq!(intern::<str>(&known, "7".into()), Some("7"));
    }
}
