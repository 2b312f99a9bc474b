//! Enums whose members have names for scripts.

/// Declares an enum, the list of `ALL` its members, and their names.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* pub enum $enum:ident {
        $($(#[doc = $doc:literal])+ $member:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum {
            $($(#[doc = $doc])+ $member,)+
        }

        impl $enum {
            /// All of them, in order.
            pub const ALL: &[$enum] = &[$($enum::$member),+];

            /// The name scripts use.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$member => $name,)+
                }
            }
        }
    };
}
