//! What `scrub` does with the bytes of a field: it keeps those that are marked as structure, and
//! replaces all others.

/// What becomes of some bytes. The same bytes always become the same others, of the same length and
/// form, so that what is equal before is equal after.
#[derive(Clone, Copy, Debug)]
pub enum Treatment {
    /// They are replaced: letters by letters, figures by figures, an address by an address.
    Replaced,
    /// They are kept, because a rule or another message needs them. Of a number, only one that is
    /// below 65,536 is: larger ones are replaced.
    Kept,
    /// The words in them are kept that the function names; the others are replaced one by one.
    /// Separators are kept.
    Words(fn(&[u8]) -> bool),
    /// They are a challenge: a number of 32 bits that another message repeats as bytes, as decimal
    /// text, or with its bytes reversed. The replacement can be repeated in all these forms.
    Challenge,
    /// They are a number of 32 bits that another message repeats whole or masked by 0F0F0F0F.
    Timestamp,
    /// They are a number of 32 bits that another message repeats as hexadecimal text.
    Hexadecimal,
    /// They are the number of a split response: the highest bit is a flag, and is kept.
    SplitId,
    /// They are a challenge whose response is a code, and are replaced like other texts.
    CodeChallenge,
    /// They are a code: if it is correct for a challenge, its replacement is correct for the
    /// replacement of that challenge.
    Code,
}

/// How the treatment of a field's bytes is found.
#[derive(Clone, Copy, Debug)]
pub enum Scrub {
    /// It is always this one.
    As(Treatment),
    /// The text is kept if it is one of the protocol's words, and replaced otherwise.
    If(fn(&[u8]) -> bool),
    /// The text is the key of the values after it. It is kept if it is a known one, and replaced
    /// otherwise.
    Key(fn(&[u8]) -> bool),
    /// The text is the value of the key before it: the function is called with both.
    Value(fn(&[u8], &[u8]) -> Treatment),
    /// This many bytes at the beginning are kept, and the others replaced.
    After(fn(&[u8]) -> usize),
    /// Blocks of an IPv4 address and a port begin after this many bytes of a damaged header; or
    /// there is no such list.
    Blocks(fn(&[u8]) -> Option<usize>),
}

/// Keeps a value that satisfies the condition.
pub(crate) fn kept_if(is_kept: bool) -> Treatment {
    if is_kept { Treatment::Kept } else { Treatment::Replaced }
}

/// Whether it is a number of few digits, with or without a sign and a fraction.
pub(crate) fn is_small_number(text: &[u8]) -> bool {
    let digits =
        |text: &[u8], most| (1..=most).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    let number = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    match number.iter().position(|&byte| byte == b'.') {
        Some(at) => {
            let (whole, fraction) = number.split_at(at);
            digits(whole, 4) && digits(fraction.get(1..).unwrap_or_default(), 2)
        }
        None => digits(number, 5),
    }
}

/// Whether a value says a number of few digits, yes or no, or nothing.
pub(crate) fn is_plain(value: &[u8]) -> bool {
    let words: [&[u8]; 7] = [b"true", b"false", b"yes", b"no", b"on", b"off", b""];
    is_small_number(value) || words.iter().any(|word| word.eq_ignore_ascii_case(value))
}

/// Declares lists of words that are separated by spaces, for lookups.
macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal;)+) => {
        $($(#[doc = $doc])*
        static $name: ::std::sync::LazyLock<$crate::kit::Set<&'static [u8]>> =
            ::std::sync::LazyLock::new(|| {
                $text.split_ascii_whitespace().map(str::as_bytes).collect()
            });)+
    };
}
pub(crate) use words;

words! {
    /// The names by which protocols and game folders call well-known games.
    GAMES = "ag black_mesa_source brainbread bshift csgo cs2 cstrike czero dayofinfamy ddtank \
    dmc dod dota fof gamedir garrysmod gearbox gesource gunman hl2ctf hl2dm hl2mp hldm insurgency \
    left4dead left4dead2 nmrih ns nucleardawn op4 ricochet rust ship sourceforts svencoop synergy tf \
    tfc ts valve zps \
    bfield1942 bfvietnam battlefield2 deusex gamespy2 gmtest halo jc2mp minecraft mohaa mohaab mohaas \
    qr2test quake1 quake2 quake3 rtnp samp sof swat4 unreal ut ut2004 ut3pc";
}

/// Whether it is the name of a well-known game.
pub(crate) fn is_game(name: &[u8]) -> bool {
    GAMES.contains(&*name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_numbers_and_flags_are_plain() {
        for plain in ["0", "27015", "-1", "+5", "0.5", "1000.25", "True", "off", ""] {
            assert!(is_plain(plain.as_bytes()), "{plain}");
        }
        for telling in
            ["203.0.113.9", "203.0.113", "113.9.", "127001", "3405803786", "pin", "1e9", "."]
        {
            assert!(!is_plain(telling.as_bytes()), "{telling}");
        }
        assert!(is_game(b"ut") && is_game(b"UT") && !is_game(b"") && !is_game(b"ut "));
    }
}
