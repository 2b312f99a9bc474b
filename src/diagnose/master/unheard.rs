//! Masters from which nothing comes: no packet, no connection, no greeting.

use std::fmt::Display;

use dissectors::kit::{Item, causes};

use super::{Connections, Master, Surroundings};
use crate::diagnose::facts::{Failure, NO_ACCIDENT};
use crate::text::{counted, grouped};

impl Master {
    /// Only attempts to connect to it are in the capture, and no packet of the port that they go to.
    fn is_unreached(&self) -> bool {
        self.unreached.count > 0
            && self.silent.count == 0
            && self.spoke == 0
            && self.requests.begun() == 0
    }

    /// No packet comes from it, or no longer, or none from the port to which its clients connect.
    pub(super) fn is_unheard(&mut self, around: &Surroundings) -> bool {
        let speaks = self.spoke > 0;
        let is_gone = speaks && self.unreached.count >= NO_ACCIDENT && self.silent.count == 0;
        let is_heard = speaks || around.is_heard || self.is_elsewhere;
        if is_heard && !is_gone && !self.is_unreached() {
            return false;
        }
        let (times, frame, why) = match is_heard {
            true => self.connects_in_vain(),
            false => self.says_nothing(),
        };
        let is_proven =
            around.complete || times >= NO_ACCIDENT && around.others_are_heard && !around.is_lossy;
        let reached = self.items.fact(Item::Reached);
        match is_proven {
            true => reached.fails(why),
            false if speaks => reached.doubt(vec![frame], why),
            false => reached.open_by(why),
        }
        true
    }

    /// No packet of it is in the capture: how many requests are, and one of them.
    fn says_nothing(&self) -> (u64, u64, Failure) {
        let times = self.requests.begun().max(self.clients.len() as u64).max(1);
        let values: [(_, &dyn Display); 1] = [("times", &grouped(times))];
        let why = Failure::with(&causes::masters::MASTER_SILENT, self.first, &values);
        (times, self.first, why)
    }

    /// It is heard otherwise, or was before, and does not accept connections: how many, and one of them.
    fn connects_in_vain(&self) -> (u64, u64, Failure) {
        let Connections { count, frame } = self.unreached;
        let connections = counted(count, "connection");
        let values: [(_, &dyn Display); 2] =
            [("connections", &connections), ("port", &self.address.port())];
        (count, frame, Failure::with(&causes::masters::TCP_UNANSWERED, frame, &values))
    }

    /// It accepts connections, and does not greet as its protocol demands, or no longer.
    pub(super) fn never_speaks(&mut self, around: &Surroundings) -> bool {
        if !self.greets() || around.is_lossy {
            return false;
        }
        let Connections { count: times, frame } = self.silent;
        let speaks = self.spoke > 0;
        let is_asked = self.is_probed || !self.clients.is_empty();
        let why = |times: u64, frame| {
            let connections = counted(times, "connection");
            let values: [(_, &dyn Display); 1] = [("connections", &connections)];
            Failure::with(&causes::masters::NEVER_SPEAKS, frame, &values)
        };
        let asked = self.clients.len().max(1) as u64;
        match self.items.fact(Item::Greets) {
            greeting if !speaks && is_asked => greeting.fails(why(asked, self.first)),
            greeting if speaks && times >= NO_ACCIDENT => {
                greeting.fails_by(vec![why(times, frame)]);
            }
            _ => return false,
        }
        true
    }
}
