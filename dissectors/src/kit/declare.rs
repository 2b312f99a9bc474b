//! How a protocol writes its messages and its fields down: a `static` each, in the order of the
//! document's tables.

/// `NAME = "name", "Label", Speaker, "gist";`, over and over; and `ALL`, the list of them.
macro_rules! messages {
    ($($name:ident = $id:literal, $label:literal, $speaker:ident, $gist:literal;)+) => {
        $(pub(super) static $name: $crate::kit::Message = $crate::kit::Message {
            name: $id,
            label: $label,
            speaker: $crate::kit::Who::$speaker,
            gist: $gist,
        };)+
        pub(super) static ALL: &[&$crate::kit::Message] = &[$(&$name),+];
    };
}

/// `NAME = Field::new(...);`, over and over.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident = $field:expr;)+) => {
        $($(#[$doc])* pub(super) static $name: $crate::kit::Field = $field;)+
    };
}

pub(crate) use {fields, messages};
