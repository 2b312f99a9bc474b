//! A request that waits for its response, and the compact form in which it is kept, since captures may
//! have millions of flows.

use bitflags::bitflags;

use crate::kit::{Clock, Mark, Reply, Side, Time};

/// What is asked, as a protocol distinguishes its requests. It is kept for each request that waits:
/// enums, flags and arrays of bytes need no padding.
pub trait Question: Copy {
    /// Whether it is the same request as another, so that it may be that one, sent again.
    fn repeats(&self, before: &Self) -> bool;

    /// Whether it asks for the same data as another, perhaps with another challenge.
    fn is_alike(&self, other: &Self) -> bool;

    /// Whether it carries a challenge, from whomever: it is then not the first request of its exchange.
    fn carries_challenge(&self) -> bool {
        false
    }

    /// Whether it carries a challenge that the server has given.
    fn has_challenge(&self) -> bool {
        false
    }
}

/// Where there is only one thing to ask for.
impl Question for () {
    fn repeats(&self, (): &()) -> bool {
        true
    }

    fn is_alike(&self, (): &()) -> bool {
        true
    }
}

/// A request that waits for its response. Sent again while it waits, it is the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<Q> {
    /// What is asked.
    pub what: Q,
    /// The latest packet with it.
    pub mark: Mark,
    /// When the exchange began: for a request with a challenge, with the request before it.
    pub began: Time,
    /// Whether a response is due.
    pub due: ResponseDue,
    /// What happened to it.
    pub flags: RequestFlags,
    /// How often it was sent, up to a maximum.
    pub tries: u8,
    /// How many responses may still come: one for each packet with it. At the maximum they are no
    /// longer counted.
    pub left: u8,
}

/// Whether a response is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseDue {
    /// Yes.
    Yes,
    /// The request is itself wrong, or one that servers are documented to ignore.
    No,
    /// A response came that may or may not belong to it: it keeps waiting, but a missing response
    /// is not a fault.
    NoMore,
    /// It was answered. Its repeats may be, too, and the client may use the challenge that it got.
    Answered,
}

bitflags! {
    /// What happened to a request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct RequestFlags: u8 {
        /// An ICMP error says that its latest packet did not arrive.
        const REFUSED = 1;
        /// It was answered with a challenge, which the client will use.
        const GOES_ON = 1 << 1;
        /// The recording lost some of it.
        const LOST = 1 << 2;
    }
}

impl<Q: Question> Request<Q> {
    /// The maximum of counted responses, and of counted packets.
    const MOST_LEFT: u8 = u8::MAX;
    const MOST_TRIES: u8 = 127;

    /// A request that is sent for the first time, as far as is known. `is_due`: a response is due.
    pub fn new(what: Q, mark: Mark, is_due: bool) -> Request<Q> {
        Request {
            what,
            mark,
            began: mark.time,
            due: if is_due { ResponseDue::Yes } else { ResponseDue::No },
            flags: RequestFlags::empty(),
            tries: 1,
            left: 1,
        }
    }

    /// Whether this is so.
    pub const fn is(&self, flag: RequestFlags) -> bool {
        self.flags.contains(flag)
    }

    /// Whether it waits, and no response came that may be its own.
    pub const fn is_open(&self) -> bool {
        matches!(self.due, ResponseDue::Yes | ResponseDue::No)
    }

    /// Whether it still waits, repeats included.
    pub fn waits(&self, clock: Clock) -> bool {
        clock.waits(self.began, self.mark.time)
    }

    /// Whether its response is overdue.
    pub fn is_overdue(&self, clock: Clock) -> bool {
        clock.is_over(self.mark.time)
    }

    /// Whether it was answered before.
    pub fn was_answered(&self) -> bool {
        self.due == ResponseDue::Answered || self.is_challenged()
    }

    /// Whether a challenge came that the client may continue with.
    pub fn is_challenged(&self) -> bool {
        self.is(RequestFlags::GOES_ON)
    }

    /// Whether a response to it may come, now or at an earlier time.
    pub fn may_be_answered(&self, clock: Clock) -> bool {
        self.due != ResponseDue::Answered || self.left > 0 && !self.is_overdue(clock)
    }

    /// Whether this request repeats another.
    pub fn repeats(&self, before: &Request<Q>) -> bool {
        self.mark.side == before.mark.side && self.what.repeats(&before.what)
    }

    /// Whether this request asks for the same data as another.
    pub fn is_alike(&self, other: &Request<Q>) -> bool {
        self.mark.side == other.mark.side && self.what.is_alike(&other.what)
    }

    /// Whether this request repeats another that is still waiting. A request that gets no response does not
    /// repeat one that does.
    pub fn is_again(&self, before: &Request<Q>, timeout: i64) -> bool {
        let clock = Clock { now: self.mark.time, timeout };
        before.is_open() && before.due == self.due && self.repeats(before) && before.waits(clock)
    }

    /// Whether this request asks for the data of another, which is still waiting with its challenge, as if it had not been
    /// sent: without a challenge, or with another one.
    pub fn begins_anew(&self, before: &Request<Q>, timeout: i64) -> bool {
        let clock = Clock { now: self.mark.time, timeout };
        before.due == ResponseDue::Yes
            && before.what.has_challenge()
            && (self.what.has_challenge() || !self.what.carries_challenge())
            && self.is_alike(before)
            && before.waits(clock)
    }

    /// It was repeated.
    pub fn sent_again(&mut self, again: Mark) {
        self.mark = again;
        self.flags -= RequestFlags::REFUSED;
        self.tries = self.tries.saturating_add(1).min(Self::MOST_TRIES);
        self.left = self.left.saturating_add(1);
    }

    /// Whether this request continues an exchange with the challenge from its response so far.
    pub fn goes_on_from(&self, before: &Request<Q>) -> bool {
        self.what.carries_challenge() && before.is_challenged() && self.is_alike(before)
    }

    /// Whether this request continues the exchange of another, which still waits, with a challenge that did not come as the
    /// response to it: another host may have sent it.
    pub fn goes_on_from_elsewhere(&self, before: &Request<Q>, timeout: i64) -> bool {
        let clock = Clock { now: self.mark.time, timeout };
        before.due == ResponseDue::Yes
            && !before.what.carries_challenge()
            && self.what.carries_challenge()
            && self.is_alike(before)
            && before.waits(clock)
    }

    /// Whether this request replaces the other, which was or may have been answered.
    pub fn replaces(&self, before: &Request<Q>) -> bool {
        match before.due {
            ResponseDue::NoMore => self.is_alike(before),
            ResponseDue::Answered => {
                before.left == 0 && !before.is_challenged() || self.repeats(before)
            }
            ResponseDue::Yes | ResponseDue::No => false,
        }
    }

    /// An ICMP error says that this packet did not arrive.
    pub fn refused(&mut self, frame: u64) {
        if self.mark.frame == frame {
            self.flags |= RequestFlags::REFUSED;
        }
    }

    /// A response came that is its own.
    pub fn settle(&mut self) {
        self.answered();
        self.due = ResponseDue::Answered;
    }

    /// A response to one of its packets came.
    pub fn answered(&mut self) {
        if self.left < Self::MOST_LEFT {
            self.left = self.left.saturating_sub(1);
        }
    }

    /// One more response may come.
    pub fn lend(&mut self, more: u8) {
        self.left = self.left.saturating_add(more);
    }

    /// The reply for a response to it. `complete`: that has the requested data.
    pub fn reply(&self, complete: bool) -> Reply {
        let Request { mark, began, tries, .. } = *self;
        Reply { began, tries: tries.into(), complete, ..Reply::to(mark.frame, mark.time) }
    }
}

/// A [`Request`] in two thirds of the space. Packet numbers above 2^40 are clamped; times between the
/// beginning of the exchange and the latest packet are stored in microseconds if they exceed two
/// seconds, up to 35 minutes.
#[derive(Clone, Copy, Debug)]
pub struct CompactRequest<Q> {
    // Bytes, so that no padding is needed.
    /// From the highest bit on: the packet number in 40 bits, the length in 16, the number of times
    /// that it was sent in seven, and its side.
    place: [u8; 8],
    time: [u8; 8],
    /// From the beginning of the exchange to the latest packet.
    since: [u8; 4],
    due: ResponseDue,
    flags: RequestFlags,
    left: u8,
    what: Q,
}

/// The highest packet number that is kept.
const MOST_FRAME: u64 = (1 << 40) - 1;

/// Marks that the other bits of a duration are microseconds, not nanoseconds.
const COARSE: u32 = 1 << 31;

fn shortened(nanoseconds: i64) -> u32 {
    match u32::try_from(nanoseconds) {
        Ok(fine) if fine < COARSE => fine,
        _ => (nanoseconds / 1000).clamp(0, i64::from(COARSE) - 1) as u32 | COARSE,
    }
}

impl<Q: Question> CompactRequest<Q> {
    /// What is asked.
    #[inline]
    pub fn what(&self) -> &Q {
        &self.what
    }

    /// The request.
    #[inline]
    pub fn get(&self) -> Request<Q> {
        let place = u64::from_le_bytes(self.place);
        let time = i64::from_le_bytes(self.time);
        let since = match u32::from_le_bytes(self.since) {
            fine @ 0..COARSE => i64::from(fine),
            coarse => i64::from(coarse & !COARSE) * 1000,
        };
        let side = if place & 1 == 0 { Side::First } else { Side::Second };
        let length = u32::from((place >> 8) as u16);
        Request {
            what: self.what,
            mark: Mark { frame: place >> 24, time: Time(time), length, side },
            began: Time(time.saturating_sub(since)),
            due: self.due,
            flags: self.flags,
            tries: (place >> 1 & u64::from(Request::<Q>::MOST_TRIES)) as u8,
            left: self.left,
        }
    }
}

impl<Q: Question> From<Request<Q>> for CompactRequest<Q> {
    #[inline]
    fn from(asked: Request<Q>) -> CompactRequest<Q> {
        let Mark { frame, time, length, side } = asked.mark;
        let place = frame.min(MOST_FRAME) << 24
            | u64::from(length.min(u16::MAX.into())) << 8
            | u64::from(asked.tries.min(Request::<Q>::MOST_TRIES)) << 1
            | side.index() as u64;
        CompactRequest {
            place: place.to_le_bytes(),
            time: time.0.to_le_bytes(),
            since: shortened(time.since(asked.began)).to_le_bytes(),
            due: asked.due,
            flags: asked.flags,
            left: asked.left,
            what: asked.what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_kept_as_it_was() {
        let flags = RequestFlags::REFUSED | RequestFlags::GOES_ON;
        for due in [ResponseDue::Yes, ResponseDue::No, ResponseDue::NoMore, ResponseDue::Answered] {
            for (waited, side) in [(0, Side::First), (2_147_483_647, Side::Second)] {
                let mark = Mark { frame: 7_000_000_001, time: Time(5), length: 1400, side };
                let asked = Request {
                    began: Time(5 - waited),
                    due,
                    flags,
                    tries: 100,
                    left: 9,
                    ..Request::new((), mark, true)
                };
                assert_eq!(CompactRequest::from(asked).get(), asked);
            }
        }
        assert_eq!(size_of::<Option<CompactRequest<()>>>(), 23);
    }

    #[test]
    fn beyond_two_seconds_an_exchange_is_reported_in_microseconds() {
        for (nanoseconds, reported) in [
            (2_147_483_648, 2_147_483_000),
            (90_000_000_999, 90_000_000_000),
            (i64::MAX, 2_147_483_647_000),
        ] {
            let mark = Mark { frame: 1, time: Time(i64::MAX), length: 9, side: Side::First };
            let began = Time(i64::MAX - nanoseconds);
            let asked = Request { began, ..Request::new((), mark, true) };
            assert_eq!(mark.time.since(CompactRequest::from(asked).get().began), reported);
        }
    }
}
