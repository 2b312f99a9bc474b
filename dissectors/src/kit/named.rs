//! Enums whose variants have names.

/// Declares an enum, the list `ALL` of its variants, and their names.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $enum:ident {
        $($(#[doc = $doc:literal])* $member:ident = $name:literal,)+
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis enum $enum {
            $($(#[doc = $doc])* $member,)+
        }

        impl $enum {
            /// All of them, in order.
            #[allow(dead_code, reason = "only some are ever listed")]
            $vis const ALL: [$enum; [$($name),+].len()] = [$($enum::$member),+];

            /// Its name.
            $vis const fn name(self) -> &'static str {
                match self {
                    $($enum::$member => $name,)+
                }
            }
        }
    };
}
