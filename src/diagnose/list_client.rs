//! The lists that a client asks masters for.

use std::net::IpAddr;

use dissectors::kit::{Map, Time};

use super::fact::NO_ACCIDENT;
use super::find_or_add::find_or_add;
use crate::session::{ExchangeCounts, ExchangeEffect};

/// Maximum number of masters that are kept of a client.
const MASTERS: usize = 16;

/// The masters that a client asks.
#[derive(Debug, Default)]
pub(super) struct AskedMasters(Vec<AskedMaster>);

/// What a client asks one master.
#[derive(Debug)]
struct AskedMaster {
    host: IpAddr,
    /// Its exchanges: requests for lists and for their next pages.
    counts: ExchangeCounts,
    /// When the latest request was sent, while it waits.
    waits: Option<Time>,
}

impl AskedMaster {
    /// The latest request counts neither as answered nor as unanswered.
    fn leave_out(&mut self) {
        self.counts.asked = self.counts.asked.saturating_sub(1);
    }
}

impl AskedMasters {
    /// It asks for a list, or for its next page.
    pub(super) fn asks(&mut self, master: IpAddr, time: Time, effect: ExchangeEffect) {
        let new = || AskedMaster { host: master, counts: ExchangeCounts::default(), waits: None };
        let found = find_or_add(&mut self.0, MASTERS, |it| it.host == master, new);
        let Some(asked) = found else { return };
        asked.counts.message(effect);
        asked.waits = Some(time);
    }

    /// A master sends it a list or a page, or something else (`is_list`: false), for which nobody is at fault.
    pub(super) fn gets(&mut self, master: IpAddr, is_list: bool, effect: ExchangeEffect) {
        let asked = self.0.iter_mut().find(|it| it.host == master);
        let Some(asked) = asked else { return };
        match asked.waits.take() {
            _ if is_list => asked.counts.message(effect),
            Some(_) => asked.leave_out(),
            None => {}
        }
    }

    /// The hosts of the masters that it asks.
    pub(super) fn hosts(&self) -> impl Iterator<Item = IpAddr> {
        self.0.iter().map(|asked| asked.host)
    }

    /// The capture ends: what has not waited for long enough may still be answered.
    pub(super) fn finish(&mut self, end: Time, timeout: i64, is_complete: bool) {
        for asked in &mut self.0 {
            let is_young = |sent: &mut Time| !is_complete && end.since(*sent) < timeout;
            if asked.waits.take_if(|sent| is_young(sent)).is_some() {
                asked.leave_out();
            }
        }
    }

    /// Adds its requests that are answered, by master.
    pub(super) fn add_to(&self, answered: &mut Map<IpAddr, u64>) {
        for asked in &self.0 {
            *answered.entry(asked.host).or_default() += asked.counts.answered;
        }
    }

    /// Whether a master answers any of its requests.
    pub(super) fn any_answers(&self) -> bool {
        self.0.iter().any(|asked| asked.counts.answered > 0)
    }

    /// The number of its requests to one of the masters that answers others, and never this client. `answered`: requests that are
    /// answered, by master.
    pub(super) fn only_others(&self, answered: &Map<IpAddr, u64>) -> Option<u64> {
        let is_ignored = |it: &&AskedMaster| {
            let others = answered.get(&it.host).is_some_and(|answered| *answered > 0);
            it.counts.asked >= NO_ACCIDENT && it.counts.answered == 0 && others
        };
        self.0.iter().find(is_ignored).map(|it| it.counts.asked)
    }
}
