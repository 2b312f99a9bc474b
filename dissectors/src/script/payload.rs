//! Parses the tokens of a payload.

use std::net::SocketAddr;

use super::ScriptError;
use super::cursor::Cursor;

/// Maximum payload of a step in bytes, so that a typing error in a number does not fill the memory.
const LIMIT: usize = 1 << 20;

/// The bytes of a payload, as it stands in a step.
///
/// # Errors
/// If it does not follow the grammar.
pub fn payload(text: &str) -> Result<Vec<u8>, ScriptError> {
    let mut cursor = Cursor::new(text, 1);
    let mut payload = Vec::new();
    while !cursor.is_done() {
        token(&mut cursor, &mut payload)?;
    }
    Ok(payload)
}

/// Reads one token at the cursor, and appends its bytes to the payload.
pub(super) fn token(cursor: &mut Cursor<'_>, payload: &mut Vec<u8>) -> Result<(), ScriptError> {
    let start = cursor.at();
    let bytes = if cursor.peek() == Some('\'') {
        text(cursor)?
    } else {
        let word = cursor.take_while(|c| !c.is_whitespace() && c != '\'' && c != '*');
        number(word).map_err(|message| cursor.error(start, message))?
    };
    let times = if cursor.eat('*') { times(cursor)? } else { 1 };
    let length = bytes.len().checked_mul(times).and_then(|more| more.checked_add(payload.len()));
    if length.is_none_or(|length| length > LIMIT) {
        return Err(cursor.error(start, format!("more than {LIMIT} bytes in one step")));
    }
    payload.extend(bytes.repeat(times));
    Ok(())
}

fn times(cursor: &mut Cursor<'_>) -> Result<usize, ScriptError> {
    let start = cursor.at();
    let digits = cursor.take_while(|c| c.is_ascii_digit());
    digits.parse().map_err(|_| cursor.error(start, "`*` needs a number of times"))
}

fn text(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, ScriptError> {
    let start = cursor.at();
    cursor.next();
    let mut bytes = Vec::new();
    loop {
        let at = cursor.at();
        match cursor.next() {
            None => return Err(cursor.error(start, "missing closing `'`")),
            Some('\'') => return Ok(bytes),
            Some('\\') => bytes.push(escape(cursor, at)?),
            Some(other) => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

fn escape(cursor: &mut Cursor<'_>, at: usize) -> Result<u8, ScriptError> {
    match cursor.next() {
        Some('n') => Ok(b'\n'),
        Some('r') => Ok(b'\r'),
        Some('t') => Ok(b'\t'),
        Some('0') => Ok(0x00),
        Some('\\') => Ok(b'\\'),
        Some('\'') => Ok(b'\''),
        Some('x') => {
            let digits = cursor.rest().get(..2).filter(|pair| is_hex(pair));
            let digits = digits.ok_or_else(|| cursor.error(at, "`\\x` needs two hex digits"))?;
            cursor.next();
            cursor.next();
            u8::from_str_radix(digits, 16).map_err(|_| cursor.error(at, "not hex digits"))
        }
        _ => Err(cursor.error(at, "unknown escape; valid ones are \\n \\r \\t \\0 \\\\ \\' \\xNN")),
    }
}

/// The bytes of a token that is not a text.
fn number(word: &str) -> Result<Vec<u8>, String> {
    let Some((kind, value)) = word.split_once(':') else {
        return hex(word);
    };
    let whole = |bytes: usize| integer(value, bytes).map_err(|what| format!("`{word}`: {what}"));
    let low = |bytes: usize| Ok(whole(bytes)?.to_le_bytes()[..bytes].to_vec());
    let high = |bytes: usize| Ok(whole(bytes)?.to_be_bytes()[16 - bytes..].to_vec());
    match kind {
        "le16" => low(2),
        "le32" => low(4),
        "le64" => low(8),
        "be16" => high(2),
        "be32" => high(4),
        "f32" => match value.parse::<f32>() {
            Ok(number) => Ok(number.to_le_bytes().to_vec()),
            Err(_) => Err(format!("`{value}` is not a number with a fraction")),
        },
        "ip" => match value.parse::<SocketAddr>() {
            Ok(SocketAddr::V4(end)) => {
                Ok([&end.ip().octets()[..], &end.port().to_be_bytes()].concat())
            }
            Ok(SocketAddr::V6(end)) => {
                Ok([&end.ip().octets()[..], &end.port().to_be_bytes()].concat())
            }
            Err(_) => Err(format!("`{value}` is not an address and port")),
        },
        _ => Err(format!("unknown type `{kind}:`; valid ones are le16 le32 le64 be16 be32 f32 ip")),
    }
}

fn integer(value: &str, bytes: usize) -> Result<i128, String> {
    let bits = 8 * bytes as u32;
    let (least, most) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
    match value.parse::<i128>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Ok(_) => Err(format!("out of range for {bits} bits")),
        Err(_) => Err(format!("`{value}` is not a whole number")),
    }
}

fn hex(word: &str) -> Result<Vec<u8>, String> {
    if !is_hex(word) {
        return Err(format!(
            "`{word}` is neither an option nor a payload: hex digits, 'text', le32:N ..."
        ));
    }
    if word.len() % 2 == 1 {
        return Err(format!("`{word}` has an odd number of hex digits"));
    }
    let digit = |digit: u8| (digit as char).to_digit(16).unwrap_or_default() as u8;
    Ok(word.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

fn is_hex(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::payload as read;

    #[test]
    fn hex_and_text() {
        assert_eq!(read("FFfe 00 'a b' 'c'0A").unwrap(), b"\xFF\xFE\x00a bc\n");
        assert_eq!(read(r"'\n\r\t\0\\\'\x7f#' # '").unwrap(), b"\n\r\t\0\\'\x7F#");
        assert_eq!(read("'é'").unwrap(), "é".as_bytes());
        assert_eq!(read("").unwrap(), b"");
    }

    #[test]
    fn repeats() {
        assert_eq!(read("00*3 'ab'*2 FF01*2 41*0").unwrap(), b"\0\0\0abab\xFF\x01\xFF\x01");
        assert_eq!(read("le16:1*2'x'").unwrap(), b"\x01\0\x01\0x");
    }

    #[test]
    fn numbers() {
        assert_eq!(read("le16:-1 le16:65535 be16:258").unwrap(), b"\xFF\xFF\xFF\xFF\x01\x02");
        assert_eq!(read("le32:-2 be32:1").unwrap(), b"\xFE\xFF\xFF\xFF\0\0\0\x01");
        assert_eq!(read("be32:-2").unwrap(), b"\xFF\xFF\xFF\xFE");
        assert_eq!(read("le64:18446744073709551615").unwrap(), [0xFF; 8]);
        assert_eq!(read("f32:1.5 f32:-1").unwrap(), b"\0\0\xC0\x3F\0\0\x80\xBF");
        assert_eq!(read("ip:1.2.3.4:27015").unwrap(), b"\x01\x02\x03\x04\x69\x87");
        assert_eq!(read("ip:[::1]:80").unwrap()[14..], [0, 1, 0, 80]);
    }

    #[test]
    fn errors_have_a_position() {
        for (text, column, message) in [
            ("00 FFF", 4, "odd number"),
            ("00 zz", 4, "`zz` is neither an option"),
            ("'abc", 1, "closing"),
            (r"'é\q'", 3, "unknown escape"),
            (r"'\x4'", 2, "two hex digits"),
            (r"'\xé'", 2, "two hex digits"),
            ("00*", 4, "number of times"),
            ("*2", 1, "neither an option"),
            ("le16:65536", 1, "out of range"),
            ("le16:-32769", 1, "out of range"),
            ("le32:x", 1, "not a whole number"),
            ("le64:18446744073709551616", 1, "out of range"),
            ("f32:", 1, "fraction"),
            ("ip:1.2.3:4", 1, "address and port"),
            ("le24:1", 1, "unknown"),
            ("00*99999999999", 1, "more than"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.column, column, "{text}: {error}");
            assert!(error.message.contains(message), "{text}: {error}");
        }
    }
}
