//! The recording: what all relays write to, in the order in which it was said.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::spoken::{PacketMaker, Recorded, Tape};

/// The name of the interface in the file.
const INTERFACE: &str = "relay";

/// A pcapng file that several threads write to. When it is closed, nothing is written any longer, and
/// relays forward only what was written.
pub struct SharedTape(Mutex<Option<Reel>>);

/// The open file.
struct Reel {
    maker: PacketMaker,
    tape: Tape,
}

impl SharedTape {
    /// Begins the file. It is in its place only when it is finished.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn create(path: &Path) -> io::Result<SharedTape> {
        let tape = Tape::new(Some(path), INTERFACE, usize::MAX)?;
        Ok(SharedTape(Mutex::new(Some(Reel { maker: PacketMaker::default(), tape }))))
    }

    /// Whether nothing is recorded any longer.
    pub(super) fn is_closed(&self) -> bool {
        self.reel().is_none()
    }

    /// Writes a datagram. `false`: the recording is over, and it must not be forwarded.
    pub(super) fn datagram(&self, [from, to]: [SocketAddr; 2], payload: &[u8]) -> bool {
        self.packets(|maker| Vec::from_iter(maker.datagram(from, to, payload)))
    }

    /// Writes these packets; `false` as for datagrams.
    pub(super) fn packets(&self, build: impl FnOnce(&mut PacketMaker) -> Vec<Vec<u8>>) -> bool {
        let mut reel = self.reel();
        let Some(Reel { maker, tape }) = &mut *reel else { return false };
        let packets = build(maker);
        packets.iter().for_each(|packet| _ = tape.keep(packet));
        !packets.is_empty()
    }

    /// Writes that a recorded datagram did not get through, so that a missing response proves nothing.
    pub(super) fn lost(&self) {
        if let Some(reel) = &mut *self.reel() {
            reel.tape.lost();
        }
    }

    /// The time since the latest packet, if there was one.
    pub(super) fn silence(&self) -> Option<Duration> {
        self.reel().as_ref()?.tape.silence()
    }

    /// Ends the recording without a file, unless it has ended.
    pub(super) fn discard(&self) {
        drop(self.reel().take());
    }

    /// Ends the recording, and puts the file in its place.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub(super) fn finish(&self) -> io::Result<Recorded> {
        match self.reel().take() {
            Some(reel) => reel.tape.finish(),
            None => Err(io::Error::other("the recording is over")),
        }
    }

    fn reel(&self) -> MutexGuard<'_, Option<Reel>> {
        // A thread that panicked has written whole blocks or nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
