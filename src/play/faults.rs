//! Faults of the way: what becomes of answers between the server and the client. The same seed has the same faults.

use std::str::FromStr;
use std::time::Duration;

/// How much later a datagram comes that another one overtakes.
const OVERTAKEN: Duration = Duration::from_millis(50);

/// Maximum delay.
const LONGEST: Duration = Duration::from_secs(60);

/// Which faults there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Percentage of datagrams that are lost.
    pub loss: u8,
    /// Each answer comes this much later.
    pub delay: Duration,
    /// Half of the datagrams are overtaken by those after them.
    pub reorder: bool,
    /// Percentage of datagrams that come twice.
    pub duplicate: u8,
    /// Maximum number of bytes of a datagram, and of a line of a connection.
    pub truncate: Option<usize>,
    /// Answers come from another port.
    pub other_port: bool,
    /// Nothing is answered.
    pub silence: bool,
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for word in text.split(',') {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match (name, value) {
                ("loss", value) => faults.loss = percent(name, value)?,
                ("duplicate", value) => faults.duplicate = percent(name, value)?,
                ("delay", value) => faults.delay = delay(value)?,
                ("truncate", value) => faults.truncate = Some(bytes(value)?),
                ("reorder", "") => faults.reorder = true,
                ("other-port", "") => faults.other_port = true,
                ("silence", "") => faults.silence = true,
                _ => {
                    return Err(format!(
                        "`{word}` is not a fault; known ones are loss=10%, delay=200ms, reorder, \
                         duplicate=5%, truncate=1200, other-port, silence"
                    ));
                }
            }
        }
        Ok(faults)
    }
}

fn percent(name: &str, value: &str) -> Result<u8, String> {
    let number = value.strip_suffix('%').and_then(|number| number.parse().ok());
    let number = number.filter(|&percent: &u8| percent <= 100);
    number
        .ok_or_else(|| format!("write {name} as a percentage from 0% to 100%, such as {name}=10%"))
}

fn delay(value: &str) -> Result<Duration, String> {
    let duration: Option<jiff::SignedDuration> = value.parse().ok();
    let duration = duration.and_then(|it| Duration::try_from(it).ok());
    duration
        .filter(|delay| *delay <= LONGEST)
        .ok_or_else(|| "write delay as a time of at most a minute, such as delay=200ms".to_owned())
}

fn bytes(value: &str) -> Result<usize, String> {
    let number = value.parse().ok().filter(|&bytes| bytes <= usize::from(u16::MAX));
    number.ok_or_else(|| "write truncate as a number of bytes, such as truncate=1200".to_owned())
}

/// A source of numbers that depend only on its seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The numbers of a seed, for the client that came as the nth.
    pub(super) fn new(seed: u64, nth: u64) -> Dice {
        let mut dice = Dice(seed);
        Dice(dice.next() ^ nth)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn is_within(&mut self, percent: u8) -> bool {
        self.next() % 100 < u64::from(percent)
    }
}

/// What becomes of one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// How often it arrives.
    pub(super) copies: usize,
    /// How much later.
    pub(super) later: Duration,
}

impl Faults {
    /// The first of these faults that only datagrams have.
    pub(super) fn of_datagrams(&self) -> Option<&'static str> {
        let all = [
            ("loss", self.loss > 0),
            ("duplicate", self.duplicate > 0),
            ("reorder", self.reorder),
            ("other-port", self.other_port),
        ];
        all.into_iter().find_map(|(name, is_there)| is_there.then_some(name))
    }

    /// What becomes of the next datagram. Each takes the same number of dice, so that one fault does not change
    /// others.
    pub(super) fn fate(&self, dice: &mut Dice) -> Fate {
        let is_lost = dice.is_within(self.loss);
        let comes_twice = dice.is_within(self.duplicate);
        let is_overtaken = dice.is_within(50) && self.reorder;
        let copies = if is_lost { 0 } else { 1 + usize::from(comes_twice) };
        let later = self.delay + if is_overtaken { OVERTAKEN } else { Duration::ZERO };
        Fate { copies, later }
    }

    /// The bytes that arrive.
    pub(super) fn cut<'p>(&self, payload: &'p [u8]) -> &'p [u8] {
        self.truncate.and_then(|most| payload.get(..most)).unwrap_or(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_are_read() {
        let text = "loss=10%,delay=200ms,reorder,duplicate=5%,truncate=1200,other-port,silence";
        let faults: Faults = text.parse().unwrap();
        let expected = Faults {
            loss: 10,
            delay: Duration::from_millis(200),
            reorder: true,
            duplicate: 5,
            truncate: Some(1200),
            other_port: true,
            silence: true,
        };
        assert_eq!(faults, expected);
        for wrong in [
            "loss",
            "loss=10",
            "loss=101%",
            "delay=1h",
            "delay=-1s",
            "reorder=1",
            "x",
            "truncate=70000",
        ] {
            assert!(wrong.parse::<Faults>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_seed_decides() {
        let faults: Faults = "loss=30%,duplicate=30%,reorder".parse().unwrap();
        let fates = |seed, nth| {
            let mut dice = Dice::new(seed, nth);
            [(); 200].map(|()| faults.fate(&mut dice))
        };
        assert_eq!(fates(1, 0), fates(1, 0));
        assert_ne!(fates(1, 0), fates(2, 0));
        assert_ne!(fates(1, 0), fates(1, 1));
        let lost = fates(1, 0).iter().filter(|fate| fate.copies == 0).count();
        assert!((30..90).contains(&lost), "{lost}");
    }
}
