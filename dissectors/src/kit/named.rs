//! Enums whose variants have names for scripts.

/// Declares an enum, the list `ALL` of its variants, and their names.
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

            /// The name in scripts.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$member => $name,)+
                }
            }
        }
    };
}
