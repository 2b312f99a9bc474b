//! The lists that a client asks masters for.

use std::net::SocketAddr;

use dissectors::kit::Time;

use crate::diagnose::facts::NO_ACCIDENT;
use crate::diagnose::facts::find_or_add::find_or_add;
use crate::session::{ExchangeCounts, ExchangeEffect, MessageEvent};

/// Maximum number of masters that are kept of a client.
const MASTERS: usize = 16;

/// The masters that a client asks.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct AskedMasters(Vec<AskedMaster>);

/// What a client asks one master.
#[derive(Debug)]
struct AskedMaster {
    address: SocketAddr,
    /// Its exchanges: requests for lists and for their next pages.
    counts: ExchangeCounts,
    /// When the first and the latest request were sent.
    sent: Option<[Time; 2]>,
    /// When the latest request was sent, while it waits.
    waits: Option<Time>,
    /// Who says that a request or a connection did not arrive, and why.
    refused: Option<String>,
    /// Some requests were not recorded whole: what was cut off may be wrong.
    is_cut: bool,
}

impl AskedMaster {
    fn is_sent(&mut self, time: Time) {
        let [first, last] = self.sent.unwrap_or([time; 2]);
        self.sent = Some([first.min(time), last.max(time)]);
    }

    /// The latest request counts neither as answered nor as unanswered.
    fn leave_out(&mut self) {
        self.counts.asked = self.counts.asked.saturating_sub(1);
    }
}

impl AskedMasters {
    /// It asks for a list, or for its next page.
    pub(in crate::diagnose) fn asks(&mut self, event: &MessageEvent<'_>) {
        let Some(asked) = self.at(event.ends()[1]) else { return };
        asked.counts.message(event.exchange());
        asked.is_sent(event.time());
        asked.waits = Some(event.time());
        asked.is_cut |= event.payload().lost;
    }

    /// It cannot connect to a master, which it would have asked for a list.
    pub(in crate::diagnose) fn connects_in_vain(&mut self, address: SocketAddr, time: Time) {
        let Some(asked) = self.at(address) else { return };
        asked.counts.add_one(false);
        asked.is_sent(time);
    }

    /// Something on the way says why its requests or connections do not reach a master.
    pub(in crate::diagnose) fn is_refused(&mut self, address: SocketAddr, words: &str) {
        if let Some(asked) = self.at(address) {
            asked.refused = Some(words.to_owned());
        }
    }

    fn at(&mut self, address: SocketAddr) -> Option<&mut AskedMaster> {
        let counts = ExchangeCounts::default();
        let new = || AskedMaster {
            address,
            counts,
            sent: None,
            waits: None,
            refused: None,
            is_cut: false,
        };
        find_or_add(&mut self.0, MASTERS, |it| it.address == address, new)
    }

    /// A master sends it a list or a page, or something else (`is_list`: false), for which nobody is at fault.
    pub(in crate::diagnose) fn gets(
        &mut self,
        from: SocketAddr,
        is_list: bool,
        effect: ExchangeEffect,
    ) {
        let of = |is: &dyn Fn(&AskedMaster) -> bool| self.0.iter().position(is);
        let other_port = |it: &AskedMaster| it.address.ip() == from.ip() && it.waits.is_some();
        let at = of(&|it| it.address == from).or_else(|| of(&other_port));
        let Some(asked) = at.and_then(|at| self.0.get_mut(at)) else { return };
        match asked.waits.take() {
            _ if is_list => asked.counts.message(effect),
            Some(_) => asked.leave_out(),
            None => {}
        }
    }

    /// The masters that it asks.
    pub(in crate::diagnose) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().map(|asked| asked.address)
    }

    /// The capture ends: what has not waited for long enough may still be answered.
    pub(in crate::diagnose) fn finish(&mut self, end: Time, timeout: i64, is_complete: bool) {
        for asked in &mut self.0 {
            let is_young = |sent: &mut Time| !is_complete && end.since(*sent) < timeout;
            if asked.waits.take_if(|sent| is_young(sent)).is_some() {
                asked.leave_out();
            }
        }
    }

    /// Whether a master answers any of its requests.
    pub(in crate::diagnose) fn any_answers(&self) -> bool {
        self.0.iter().any(|asked| asked.counts.answered > 0)
    }

    /// The number of its requests to one of the masters that answers others, and never this client, and who says why.
    /// `serves`: whether a master answers anybody between these times.
    pub(in crate::diagnose) fn only_others(
        &self,
        serves: impl Fn(SocketAddr, [Time; 2]) -> bool,
    ) -> Option<(u64, Option<&str>)> {
        let is_ignored = |it: &&AskedMaster| {
            let is_silent = it.counts.asked >= NO_ACCIDENT && it.counts.answered == 0;
            is_silent && !it.is_cut && it.sent.is_some_and(|sent| serves(it.address, sent))
        };
        let ignores = self.0.iter().find(is_ignored)?;
        Some((ignores.counts.asked, ignores.refused.as_deref()))
    }
}
