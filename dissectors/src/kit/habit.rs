//! Recognizes the library or program of a client by its first messages, if no other sends the same.

/// Messages that only one library is known to send.
#[derive(Debug)]
pub struct Habit {
    /// The library or program; two, if both send the same.
    pub library: &'static str,
    /// The first messages on a socket, in this order.
    pub sends: &'static [Bytes],
}

/// The bytes of one message.
#[derive(Debug)]
pub enum Bytes {
    /// Exactly these.
    Exactly(&'static [u8]),
    /// These, then a number of bytes that vary, then these. If all that vary are FF, or all are 0,
    /// they are not a challenge but request one.
    Around(&'static [u8], usize, &'static [u8]),
    /// These are contained in it.
    Containing(&'static [u8]),
}

impl Bytes {
    /// Whether a message matches.
    pub fn matches(&self, message: &[u8]) -> bool {
        match *self {
            Bytes::Exactly(bytes) => message == bytes,
            Bytes::Around(first, between, last) => {
                if message.len() != first.len() + between + last.len() {
                    return false;
                }
                let varying = message.strip_prefix(first).and_then(|it| it.strip_suffix(last));
                let asks =
                    |bytes: &[u8]| [0, 0xFF].iter().any(|byte| bytes.iter().all(|it| it == byte));
                varying.is_some_and(|it| between == 0 || !asks(it))
            }
            Bytes::Containing(bytes) => memchr::memmem::find(message, bytes).is_some(),
        }
    }
}

/// The habits that the messages of a socket match so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    sent: u8,
    possible: u16,
}

impl Default for Habits {
    fn default() -> Habits {
        Habits { sent: 0, possible: u16::MAX }
    }
}

impl Habits {
    /// Whether it can still match one of these.
    pub fn is_open(&self) -> bool {
        self.possible > 0
    }

    /// Adds a message. Returns the habit that it completes.
    pub fn sends(&mut self, habits: &'static [Habit], message: &[u8]) -> Option<&'static str> {
        let mut library = None;
        let mut possible = 0;
        for (at, habit) in habits.iter().enumerate().take(u16::BITS as usize) {
            let next = habit.sends.get(usize::from(self.sent));
            let is_such =
                self.possible & 1 << at > 0 && next.is_some_and(|next| next.matches(message));
            if is_such && usize::from(self.sent) + 1 == habit.sends.len() {
                library = Some(habit.library);
            } else if is_such {
                possible |= 1 << at;
            }
        }
        self.sent = self.sent.saturating_add(1);
        self.possible = if library.is_some() { 0 } else { possible };
        library
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static HABITS: &[Habit] = &[
        Habit { library: "one", sends: &[Bytes::Exactly(b"a"), Bytes::Around(b"b", 2, b"c")] },
        Habit { library: "two", sends: &[Bytes::Exactly(b"a"), Bytes::Containing(b"xy")] },
    ];

    fn library(messages: &[&[u8]]) -> Option<&'static str> {
        let mut habits = Habits::default();
        messages.iter().filter_map(|message| habits.sends(HABITS, message)).last()
    }

    #[test]
    fn a_library_is_known_by_all_that_it_sends_first() {
        assert_eq!(library(&[b"a", b"b12c"]), Some("one"));
        assert_eq!(library(&[b"a", b".xy."]), Some("two"));
        for others in [
            &[&b"a"[..]][..],
            &[b"a", b"b1c"],
            &[b"a", b"a", b"b12c"],
            &[b"b12c"],
            &[b"aa", b".xy."],
            &[b"a", b"b\xFF\xFFc"],
        ] {
            assert_eq!(library(others), None, "{others:?}");
        }
        let mut habits = Habits::default();
        habits.sends(HABITS, b"else");
        assert!(!habits.is_open());
    }
}
