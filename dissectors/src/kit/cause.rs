//! Causes: why a condition is not met, or why that is unknown. Each is declared once, with all its
//! texts, beside the protocol whose servers have it, or in [`causes`](crate::kit::causes).

use std::borrow::Cow;
use std::fmt;

use crate::kit::Item;

/// Why a condition is not met, or why that is unknown.
pub struct Cause {
    /// The name in scripts, which never changes.
    pub name: &'static str,
    /// The conditions that are not met because of it.
    pub no: &'static [Item],
    /// The conditions that may not be met because of it.
    pub unknown: &'static [Item],
    /// The conditions that are met, though not as they should be.
    pub yes: &'static [Item],
    /// What shows it.
    pub kind: CauseKind,
    /// What is wrong or missing, in one sentence. A name in braces is the place of a [value](Values).
    pub says: &'static str,
    /// The details, if they are the same for every packet that shows it; with names in braces, too.
    pub details: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// What a capture must have to show more.
    pub lacks: &'static str,
    /// What to do where the capture shows what the server itself sent and received; empty if that makes no difference.
    pub at_server: &'static str,
}

/// What shows a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CauseKind {
    /// Messages, or their absence.
    Messages,
    /// Only that no response came: any other cause of the same condition says more.
    Silence,
    /// An ICMP error.
    Icmp,
    /// Messages that may have another reason.
    Suspicion,
    /// The capture lacks what would decide it.
    Capture,
}

/// Values for the names in braces in the texts of a cause.
pub type Values = Vec<(&'static str, String)>;

impl Cause {
    /// Its sentence with these values.
    pub fn sentence(&self, values: &[(&'static str, String)]) -> Cow<'static, str> {
        filled(self.says, values)
    }

    /// Its details with these values.
    pub fn details(&self, values: &[(&'static str, String)]) -> Cow<'static, str> {
        filled(self.details, values)
    }

    /// What to do: about a condition that is not met, or, if that is unknown, to learn more. `is_no`:
    /// it is not met.
    pub fn remedy(&self, is_no: bool) -> &'static str {
        match (self.advice, self.lacks) {
            (advice, "") => advice,
            ("", lacks) => lacks,
            (advice, _) if is_no => advice,
            (_, lacks) => lacks,
        }
    }

    /// The names in braces in its texts.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let texts = [self.says, self.details].into_iter();
        texts
            .flat_map(|text| text.split('{').skip(1))
            .filter_map(|rest| Some(rest.split_once('}')?.0))
    }
}

/// A text with the values instead of their names in braces.
pub(super) fn filled(text: &'static str, values: &[(&'static str, String)]) -> Cow<'static, str> {
    if !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let mut parts = text.split('{');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let value = values.iter().find(|(known, _)| *known == name);
        debug_assert!(value.is_some(), "{text} lacks {name}");
        filled += value.map_or("?", |(_, value)| value);
        filled += rest;
    }
    Cow::Owned(filled)
}

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        self.name == other.name
    }
}

impl Eq for Cause {}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Declares a cause: a `static`. `no` and `unknown` are the conditions that it explains, `any` all of
/// them; `yes` are those that are met all the same; `advice` says what to do about it, `lacks` what a capture must have to show more,
/// `at_server` what to do where it was taken at the server.
#[macro_export]
macro_rules! cause {
    ($(#[doc = $doc:literal])+
     pub $cause:ident $name:literal {
        $(no: [$($no:ident),+],)?
        $(unknown: $unknown:tt,)?
        $(yes: $yes:tt,)?
        $(kind: $kind:ident,)?
        says: $says:literal,
        $(details: $details:literal,)?
        $(advice: $advice:expr,)?
        $(lacks: $lacks:expr,)?
        $(at_server: $at_server:expr,)?
     }) => {
        $(#[doc = $doc])+
        #[allow(unreachable_pub, reason = "each protocol decides which of its causes are public")]
        pub static $cause: $crate::kit::Cause = $crate::kit::Cause {
            name: $name,
            no: &[$($($crate::kit::Item::$no),+)?],
            unknown: $crate::cause!(@items $($unknown)?),
            yes: $crate::cause!(@items $($yes)?),
            kind: $crate::cause!(@kind $($kind)?),
            says: $says,
            details: concat!($($details)?),
            advice: $crate::cause!(@text $($advice)?),
            lacks: $crate::cause!(@text $($lacks)?),
            at_server: $crate::cause!(@text $($at_server)?),
        };
    };
    (@items) => { &[] };
    (@items any) => { $crate::kit::Item::ALL };
    (@items [$($item:ident),+]) => { &[$($crate::kit::Item::$item),+] };
    (@kind) => { $crate::kit::CauseKind::Messages };
    (@kind $kind:ident) => { $crate::kit::CauseKind::$kind };
    (@text) => { "" };
    (@text $text:expr) => { $text };
}

#[cfg(test)]
mod tests {
    use super::*;

    cause! {
        /// Nobody returns its challenges.
        pub FILTERED "filtered" {
            no: [Verified],
            unknown: [Answered],
            says: "challenges reach {clients} clients, and none comes back",
            details: "{challenges} challenges to {clients} clients",
            advice: "Let longer requests in.",
            lacks: "Record both directions.",
        }
    }

    #[test]
    fn values_are_written_where_their_names_are() {
        let values = [("clients", "7".to_owned()), ("challenges", "{9}".to_owned())];
        assert_eq!(FILTERED.sentence(&values), "challenges reach 7 clients, and none comes back");
        assert_eq!(FILTERED.details(&values), "{9} challenges to 7 clients");
        assert_eq!(Vec::from_iter(FILTERED.names()), ["clients", "challenges", "clients"]);
        assert_eq!(filled("nothing to fill in", &values), "nothing to fill in");
    }

    #[test]
    fn what_to_do_depends_on_what_is_known() {
        assert_eq!(FILTERED.remedy(true), "Let longer requests in.");
        assert_eq!(FILTERED.remedy(false), "Record both directions.");
        let causes = crate::kit::causes::ALL;
        assert!(causes.iter().all(|cause| !cause.remedy(true).is_empty()));
        for cause in causes {
            let texts = cause.advice.to_owned() + cause.lacks + cause.at_server;
            assert!(!texts.contains('{'), "{}: there are no values in what to do", cause.name);
        }
    }
}
