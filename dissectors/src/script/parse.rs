//! Parses the lines of a script into steps.

use super::cursor::Cursor;
use super::{Checksum, Options, Party, Say, ScriptError, Step, What, payload};
use crate::kit::Transport;

/// The maximum time in a script, about 31 years: it fits into the 32 bits of seconds of pcap.
const LAST_SECOND: u64 = 1_000_000_000;

/// The steps of a script.
///
/// # Errors
/// If the script does not follow the grammar.
pub fn parse(script: &str) -> Result<Vec<Step>, ScriptError> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, text) in script.lines().enumerate() {
        let mut cursor = Cursor::new(text, index + 1);
        if cursor.is_done() {
            continue;
        }
        let before = steps.last().map_or(0, |step| step.at);
        steps.push(step(&mut cursor, before)?);
    }
    Ok(steps)
}

fn step(cursor: &mut Cursor<'_>, before: u64) -> Result<Step, ScriptError> {
    let line = cursor.line();
    let mut ahead = cursor.clone();
    if ahead.word() != "end" {
        let at = time(cursor, before)?;
        return Ok(Step { at, line, what: What::Say(Box::new(say(cursor)?)) });
    }
    *cursor = ahead;
    let at = time(cursor, before)?;
    if !cursor.is_done() {
        return Err(cursor.error(cursor.at(), "unexpected text after the time of `end`"));
    }
    Ok(Step { at, line, what: What::End })
}

/// Seconds, with at most nine digits after the point, as nanoseconds.
fn time(cursor: &mut Cursor<'_>, before: u64) -> Result<u64, ScriptError> {
    if cursor.is_done() {
        return Err(cursor.error(cursor.at(), "a time is missing"));
    }
    let start = cursor.at();
    let word = cursor.word();
    let wrong = || cursor.error(start, format!("`{word}` is not a time: `0.25`, `+0.02`"));
    let (base, number) = match word.strip_prefix('+') {
        Some(number) => (before, number),
        None => (0, word),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let seconds = whole.parse::<u64>().ok().filter(|seconds| *seconds <= LAST_SECOND);
    let nanoseconds = format!("{fraction:0<9}").parse::<u64>().map_err(|_| wrong())?;
    let seconds = seconds.ok_or_else(|| cursor.error(start, "a time of more than 31 years"))?;
    let at = base + seconds * 1_000_000_000 + nanoseconds;
    if at > LAST_SECOND * 1_000_000_000 {
        return Err(cursor.error(start, "a time of more than 31 years"));
    }
    Ok(at)
}

fn say(cursor: &mut Cursor<'_>) -> Result<Say, ScriptError> {
    let from = party(cursor)?;
    if cursor.is_done() || !cursor.eat('>') {
        return Err(cursor.error(cursor.at(), "`>` is missing between the parties"));
    }
    let to = party(cursor)?;
    let mut say = Say { from, to, options: Options::default(), payload: Vec::new() };
    let mut begun = false;
    while !cursor.is_done() {
        let start = cursor.at();
        let mut ahead = cursor.clone();
        let word = ahead.word();
        let known = say.options.set(word).map_err(|message| cursor.error(start, message))?;
        if !known {
            payload::token(cursor, &mut say.payload)?;
            begun = true;
        } else if begun && !matches!(word, "fin" | "rst") {
            return Err(cursor.error(start, format!("`{word}` comes before the payload")));
        } else {
            *cursor = ahead;
        }
    }
    Ok(say)
}

fn party(cursor: &mut Cursor<'_>) -> Result<Party, ScriptError> {
    if cursor.is_done() {
        return Err(cursor.error(cursor.at(), "a party is missing"));
    }
    let start = cursor.at();
    let word = cursor.take_while(|c| !c.is_whitespace() && c != '>');
    Party::parse(word).map_err(|message| cursor.error(start, message))
}

impl Options {
    /// Sets an option; returns false if the word is not an option.
    fn set(&mut self, word: &str) -> Result<bool, String> {
        match word {
            "udp" => self.transport = Some(Transport::Udp),
            "tcp" => self.transport = Some(Transport::Tcp),
            "df" => self.dont_fragment = true,
            "lost" => self.lost = true,
            "twice" => self.twice = true,
            "nosyn" => self.nosyn = true,
            "fin" => self.fin = true,
            "rst" => self.rst = true,
            "refused" => self.refused = true,
            "ipsum=bad" => self.ip_checksum = Checksum::Wrong,
            "udpsum=bad" => self.udp_checksum = Some(Checksum::Wrong),
            "udpsum=none" => self.udp_checksum = Some(Checksum::Absent),
            "tcpsum=bad" => self.tcp_checksum = Some(Checksum::Wrong),
            _ => return self.set_number(word),
        }
        Ok(true)
    }

    fn set_number(&mut self, word: &str) -> Result<bool, String> {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) else {
            return Ok(false);
        };
        let number = |most: u32| match value.parse::<u32>() {
            Ok(number) if (1..=most).contains(&number) => Ok(number),
            _ => Err(format!("`{name}=` needs a number from 1 to {most}")),
        };
        match name {
            "icmp" => {
                let numbers = value.split_once('.');
                let byte = |text: &str| text.parse::<u8>().ok();
                let numbers = numbers.and_then(|(kind, code)| Some([byte(kind)?, byte(code)?]));
                let wrong = || "`icmp=` needs a type and a code: `icmp=3.3`".to_owned();
                self.icmp = Some(numbers.ok_or_else(wrong)?);
            }
            "lacks" => self.lacks = Some(number(65_535)? as usize),
            "mtu" => self.mtu = Some(number(65_535)? as u16),
            "snap" => self.snap = Some(number(65_535)? as usize),
            "ttl" => self.ttl = Some(number(255)? as u8),
            "vlan" => self.vlans.push(number(4095)? as u16),
            "frag" => match number(65_528)? as usize {
                size if size.is_multiple_of(8) => self.fragment = Some(size),
                size => return Err(format!("fragments of {size} bytes: not a multiple of 8")),
            },
            _ => return Err(format!("there is no option `{word}`")),
        }
        Ok(true)
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(script: &str) -> Say {
        match parse(script).unwrap().pop().unwrap().what {
            What::Say(say) => *say,
            What::End => panic!("an end"),
        }
    }

    fn times(script: &str) -> Vec<u64> {
        parse(script).unwrap().iter().map(|step| step.at / 1_000_000).collect()
    }

    #[test]
    fn lines_without_a_step() {
        assert_eq!(parse("\n  # nothing\n\n\t\n"), Ok(vec![]));
        let steps = parse("# one\r\n0 c > s 00 # two\r\n").unwrap();
        assert_eq!((steps.len(), steps[0].line), (1, 2));
    }

    #[test]
    fn times_are_absolute_or_relative_to_the_previous_step() {
        assert_eq!(
            times("0.5 c > s\n+0.02 s > c\n+1 c > s\nend +3\nend 9"),
            [500, 520, 1520, 4520, 9000]
        );
        assert_eq!(parse("1.000000001 c > s").unwrap()[0].at, 1_000_000_001);
    }

    #[test]
    fn options_are_before_the_payload_and_fin_also_after() {
        let parsed = only("0 c>s tcp nosyn lost snap=60 ttl=3 ipsum=bad vlan=1 vlan=2 'a' fin");
        assert!(parsed.options.nosyn && parsed.options.lost && parsed.options.fin);
        assert_eq!(parsed.options.vlans, [1, 2]);
        assert_eq!((parsed.options.snap, parsed.options.ttl), (Some(60), Some(3)));
        assert_eq!(parsed.payload, b"a");
        assert!(only("0 c > s tcp fin 'a'").options.fin);
        assert_eq!(only("0 c > s 'udp lost'").payload, b"udp lost");
    }

    #[test]
    fn errors_have_a_position() {
        for (script, line, column, message) in [
            ("\nnow c > s", 2, 1, "`now` is not a time"),
            ("-1 c > s", 1, 1, "not a time"),
            ("1. c > s", 1, 1, "not a time"),
            ("0.1234567890 c > s", 1, 1, "not a time"),
            ("99999999999 c > s", 1, 1, "31 years"),
            ("999999999 c > s\n+2 c > s", 2, 1, "31 years"),
            ("0", 1, 2, "a party is missing"),
            ("0 c s 00", 1, 5, "`>` is missing"),
            ("0 c > ", 1, 7, "a party is missing"),
            ("0 c > x 00", 1, 7, "`x` is not a party"),
            ("0 c > s 00 lost", 1, 12, "before the payload"),
            ("0 c > s frag=9 00", 1, 9, "multiple of 8"),
            ("0 c > s ttl=256", 1, 9, "1 to 255"),
            ("0 c > s mss=1", 1, 9, "no option `mss=1`"),
            ("0 c > s 'a", 1, 9, "closing"),
            ("end", 1, 4, "a time is missing"),
            ("end 1 2", 1, 7, "unexpected text"),
        ] {
            let error = parse(script).unwrap_err();
            assert_eq!((error.line, error.column), (line, column), "{script}: {error}");
            assert!(error.message.contains(message), "{script}: {error}");
        }
    }
}
