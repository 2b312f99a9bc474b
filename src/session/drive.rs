//! Feeds a decoder from a capture: the one loop of files, threads, tables and screens.

use std::convert::Infallible;

use super::{Decoder, Event, Totals};
use crate::capture::{self, Notice, Packet, Packets, Stop};

/// Number of packets between looks at whether to stop.
const LOOK: u64 = 1 << 10;

/// Size of the unread events, in bytes, from which on they are read. Decoding and reading events in turn, a packet
/// at a time, would be more code than the instruction cache of a processor holds.
const ENOUGH: usize = 1 << 14;

/// What goes along with a capture that is read.
pub(crate) trait Observer {
    /// Why reading is given up, without ending the open flows.
    type Error;

    /// The next packet. Returns whether it is decoded; others are only counted.
    #[inline(always)]
    fn takes(&mut self, _: &mut Decoder, _: &Packet<'_>) -> Result<bool, Self::Error> {
        Ok(true)
    }

    /// A notice, of which the decoder knows. The events before it were read.
    fn notice(&mut self, _: &Decoder, _: Notice) {}

    /// Whether it reads the events of each packet before the next packet.
    #[inline(always)]
    fn is_prompt(&self) -> bool {
        false
    }

    /// Reads the events.
    fn events(&mut self, decoder: &mut Decoder) -> Result<(), Self::Error>;

    /// A packet or a notice was read, and its events. Returns whether to read on.
    #[inline(always)]
    fn goes_on(&mut self, _: &mut Decoder, _: &dyn Packets) -> Result<bool, Self::Error> {
        Ok(true)
    }
}

/// Reads all events.
impl<E, F: FnMut(&mut Decoder) -> Result<(), E>> Observer for F {
    type Error = E;

    #[inline]
    fn events(&mut self, decoder: &mut Decoder) -> Result<(), E> {
        self(decoder)
    }
}

/// Reading a capture.
#[derive(Default)]
pub(crate) struct Drive {
    /// What notices call the capture.
    pub(crate) called: String,
    /// The number of packets to decode, if not all.
    pub(crate) count: Option<u64>,
    /// Whether to stop.
    pub(crate) stop: Stop,
    taken: u64,
    is_read: bool,
}

impl Drive {
    /// Of a capture with this name.
    #[cfg(feature = "commands")]
    pub(crate) fn new(called: &str, count: Option<u64>, stop: Stop) -> Drive {
        Drive { called: called.to_owned(), count, stop, ..Drive::default() }
    }

    /// Reads a capture to its end, and ends the open flows.
    ///
    /// # Errors
    /// Those of the observer.
    pub(crate) fn run<O: Observer>(
        mut self,
        packets: &mut dyn Packets,
        decoder: &mut Decoder,
        observer: &mut O,
    ) -> Result<(), O::Error> {
        if let Some(capture) = packets.in_memory() {
            decoder.lend(capture);
        }
        while self.step(packets, decoder, observer)? {}
        Ok(())
    }

    /// Reads the next packet or notice or, if there are no more, ends an open flow. Returns `false` if there
    /// was none.
    ///
    /// # Errors
    /// Those of the observer.
    #[inline(always)]
    pub(crate) fn step<O: Observer>(
        &mut self,
        packets: &mut dyn Packets,
        decoder: &mut Decoder,
        observer: &mut O,
    ) -> Result<bool, O::Error> {
        let next = if self.is_read { None } else { packets.next() };
        match next {
            Some(capture::Event::Packet(packet)) => {
                if observer.takes(decoder, &packet)? {
                    self.taken += 1;
                    decoder.push(&packet);
                } else {
                    decoder.pass_over();
                }
            }
            Some(capture::Event::Notice(notice)) => {
                observer.events(decoder)?;
                decoder.notice(&notice);
                observer.notice(decoder, notice);
            }
            None => {
                self.is_read = true;
                let has_ended = decoder.finish();
                if !has_ended || decoder.batch().size() >= ENOUGH {
                    observer.events(decoder)?;
                }
                return Ok(has_ended);
            }
        }
        if observer.is_prompt() || decoder.batch().size() >= ENOUGH {
            observer.events(decoder)?;
        }
        self.is_read = !observer.goes_on(decoder, packets)?
            || self.count.is_some_and(|count| self.taken >= count)
            || self.is_interrupted(decoder, observer)?;
        Ok(true)
    }

    #[inline(always)]
    fn is_interrupted<O: Observer>(
        &self,
        decoder: &mut Decoder,
        observer: &mut O,
    ) -> Result<bool, O::Error> {
        let packets = decoder.packets();
        let is_interrupted = packets.is_multiple_of(LOOK) && self.stop.is_asked();
        if is_interrupted {
            observer.events(decoder)?;
            let notice = Notice::Interrupted { path: self.called.as_str().into(), packets };
            decoder.notice(&notice);
            observer.notice(decoder, notice);
        }
        Ok(is_interrupted)
    }
}

impl Decoder {
    /// Reads a capture to its end, and calls `each` with every event.
    ///
    /// ```
    /// use gamewire::{Decoder, Event, Needs, Options, capture};
    ///
    /// let mut packets = capture::open("samples/a2s-info-players-rules.pcap".as_ref())?;
    /// let options = Options { needs: Needs::messages_with_fields(), ..Options::default() };
    /// let mut paths = Vec::new();
    /// let totals = Decoder::new(options).read(&mut *packets, |event| {
    ///     if let Event::Message(message) = event {
    ///         paths.push(message.path());
    ///     }
    /// });
    /// assert_eq!(paths[0], "a2s.info_request");
    /// assert_eq!(totals.packets, 10);
    /// # Ok::<(), capture::CaptureError>(())
    /// ```
    pub fn read(mut self, packets: &mut dyn Packets, mut each: impl FnMut(&Event<'_>)) -> Totals {
        let mut events = |decoder: &mut Decoder| {
            decoder.each_event(|event| {
                each(event);
                Ok::<(), Infallible>(())
            })
        };
        let Ok(()) = Drive::default().run(packets, &mut self, &mut events);
        self.into_totals()
    }
}
