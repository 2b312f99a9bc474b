//! Where a direction begins: by its SYN, by what the other side says of it, or by the first segment of the capture.

use super::{Direction, NEAR, Phase, START_REACH};
use crate::net::tcp::budget::StreamBudget;
use crate::net::tcp::out_of_order::OutOfOrder;

/// How often the stream's beginning may move.
const REWINDS: u8 = 16;
/// An impossible position of the first byte: missing bytes before it were reported.
pub(super) const REPORTED: u64 = 1;

/// The position of the first byte, which has this number: above zero, so that the beginning can be moved back.
fn start(sequence: u32) -> u64 {
    1 << 32 | u64::from(sequence)
}

impl Direction {
    /// Whether no bytes of it were recorded, and the other side has acknowledged all up to this number, and no more.
    pub(in crate::net::tcp) fn is_awaited_at(&self, sequence: u32) -> bool {
        !self.is_known() && self.next == start(sequence)
    }

    /// Handles a SYN with this number, unless it is known, or that of another connection.
    pub(in crate::net::tcp) fn opens(&mut self, sequence: u32, budget: &mut StreamBudget) {
        self.is_answered(sequence, budget);
        if !self.is_known() {
            self.begin_at(sequence.wrapping_add(1));
        }
    }

    fn begin_at(&mut self, sequence: u32) {
        self.next = start(sequence);
        self.initial = sequence.wrapping_sub(1);
        self.phase = Phase::Open;
    }

    /// The other side answers a SYN with this number, which the capture may lack, as all of the direction.
    pub(in crate::net::tcp) fn is_answered(&mut self, sequence: u32, budget: &mut StreamBudget) {
        if !self.is_known() {
            (self.next, self.began) = (start(sequence.wrapping_add(1)), true);
        } else if self.is_late_syn(sequence) {
            self.open_late(sequence, budget);
        }
    }

    /// Sets the position by a segment with this number: the beginning is known if the SYN was answered.
    pub(super) fn begin_by(&mut self, sequence: u32) {
        let first = self.next as u32;
        self.began &= u64::from(sequence.wrapping_sub(first)) <= NEAR;
        self.begin_at(if self.began { first } else { sequence });
    }

    /// Whether a SYN was captured after the segments that it opened.
    pub(in crate::net::tcp) fn is_late_syn(&self, sequence: u32) -> bool {
        !self.began && u64::from(self.initial.wrapping_sub(sequence)) <= START_REACH
    }

    /// Handles a SYN that [`is_late_syn`](Self::is_late_syn).
    fn open_late(&mut self, sequence: u32, budget: &mut StreamBudget) {
        if let Some(start) = self.position(sequence.wrapping_add(1)) {
            self.rewind(start, budget);
        }
        self.began = self.initial == sequence;
    }

    /// The other side acknowledges bytes up to a sequence number, in a direction that is not in the
    /// capture. Returns the first missing byte, if known, and the number of missing bytes; only
    /// once.
    pub(in crate::net::tcp) fn acknowledged_unseen(&mut self, sequence: u32) -> Option<(u32, u64)> {
        if self.is_known() || self.next == REPORTED {
            return None;
        }
        if self.next == 0 {
            self.next = start(sequence);
        }
        let missing = self.position(sequence)?.checked_sub(self.next).filter(|&it| it > 0)?;
        let first = self.next as u32;
        self.next = REPORTED;
        Some((first, missing))
    }

    /// Moves the beginning back, if the capture began in the middle and nothing was consumed.
    pub(super) fn rewind(&mut self, start: u64, budget: &mut StreamBudget) {
        let len = self.held.as_ref().map_or(0, |held| held.buffer.len());
        let first = self.next.saturating_sub(len as u64);
        if self.began || self.touched || start >= first || first - start > START_REACH {
            return;
        }
        let held = self.held.get_or_insert_default();
        if held.rewinds >= REWINDS || budget.room(held.charged) < OutOfOrder::PUT_BACK_COST {
            return;
        }
        held.rewinds += 1;
        let buffer = held.take_buffer();
        if buffer.len() > 0 {
            held.ahead.put_back(first, buffer);
        }
        held.settle(budget);
        self.next = start;
        self.initial = (start as u32).wrapping_sub(1);
    }
}
