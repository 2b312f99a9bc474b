//! Limits that users can set: each is one block with its name, its default and what it bounds.

/// A limit that users can set, which is a field of `T`.
pub struct NamedLimit<T> {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// What it bounds, and what happens when it is reached.
    pub bounds: &'static str,
    /// Whether it counts bytes.
    pub is_bytes: bool,
    /// Minimum value.
    pub least: usize,
    /// Its value.
    pub place: fn(&mut T) -> &mut usize,
}

/// Declares a struct of limits, its defaults, and their list `NAMED`: `FIELD "NAME": UNIT >= MINIMUM = DEFAULT, BOUNDS;`.
#[macro_export]
macro_rules! limits {
    (@is_bytes bytes) => { true };
    (@is_bytes count) => { false };
    ($(#[$about:meta])* pub struct $Limits:ident {
        $($field:ident $name:literal: $unit:tt >= $least:expr, = $default:expr, $bounds:literal;)*
        $(+ $(#[$others_about:meta])* $others:ident: $Others:ty = $others_default:expr;)?
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $Limits {
            $(#[doc = $bounds] pub $field: usize,)*
            $($(#[$others_about])* pub $others: $Others,)?
        }

        impl Default for $Limits {
            fn default() -> $Limits {
                $Limits { $($field: $default,)* $($others: $others_default,)? }
            }
        }

        impl $Limits {
            /// Those that users can set.
            pub const NAMED: &[$crate::kit::NamedLimit<$Limits>] = &[
                $($crate::kit::NamedLimit {
                    name: $name,
                    bounds: $bounds,
                    is_bytes: $crate::limits!(@is_bytes $unit),
                    least: $least,
                    place: |limits| &mut limits.$field,
                },)*
            ];
        }
    };
}

/// Declares the limits of protocols, and an enum of them.
macro_rules! protocol_limits {
    ($($Limit:ident $field:ident $name:literal: $unit:tt >= $least:literal, = $default:expr, $bounds:literal;)*) => {
        limits! {
            /// Limits on the state of one run.
            pub struct Limits {
                $($field $name: $unit >= $least, = $default, $bounds;)*
            }
        }

        /// A limit that was reached, so that something was not read, or forgotten early.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Limit {
            $(#[doc = $bounds] $Limit,)*
        }

        impl Limit {
            /// All of them.
            pub const ALL: [Limit; Limits::NAMED.len()] = [$(Limit::$Limit),*];

            /// The name for users.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Limit::$Limit => $name,)*
                }
            }
        }
    };
}

protocol_limits! {
    Pending pending "pending": count >= 1, = 16,
        "requests of a flow that wait for a response; the oldest is dropped";
    Unfinished unfinished "unfinished": count >= 1, = 8,
        "responses of a flow with missing parts; the oldest is shown in parts";
    PartsBytes parts_bytes "parts-bytes": bytes >= 1, = 512 << 10,
        "the parts of one unfinished response; it is shown in parts";
    UnfinishedBytes unfinished_bytes "unfinished-bytes": bytes >= 1, = 16 << 20,
        "unfinished responses of all flows together; the one that does not fit is shown in parts";
    Inflated inflated "inflated": bytes >= 1, = 1 << 20,
        "a decompressed bzip2 response; a longer one is cut here";
    InflatedRatio inflated_ratio "inflated-ratio": count >= 1, = 50,
        "decompressed bytes for each compressed byte, beyond an allowance of 64 KiB, which \
         responses of a lower ratio fill again; a longer response is cut there";
    InflatedRate inflated_rate "inflated-rate": bytes >= 1, = 64 << 20,
        "decompressed bytes per second of the capture, over all responses; a longer response is \
         cut there";
    HttpHeader http_header "http-header": bytes >= 1, = 16 << 10,
        "the header of an HTTP message (also at most 64 header lines); a message with a longer \
         one is skipped";
    HttpBody http_body "http-body": bytes >= 1, = 1 << 20,
        "the body of an HTTP message; a longer one is cut here";
    ListBytes list_bytes "list-bytes": bytes >= 1, = 1 << 20,
        "a list in a stream of the GameSpy text protocol; a longer one is read in parts";
    Remembered remembered "remembered": count >= 1, = 1 << 19,
        "remembered items of one kind, such as challenges: the oldest are forgotten. Of state \
         that spans hosts half as many: further items are not stored. Checks that depend on a \
         missing item are inconclusive";
}

impl Limits {
    /// Bytes that compressed responses may decompress to regardless of their ratio: the size of a
    /// datagram. Responses of a lower ratio refill this allowance.
    pub const INFLATED_ALWAYS: usize = 64 << 10;
}
