//! When what servers say of themselves matters: soon after a list that was requested with a filter. It may be of hosts
//! whose flows another part of the session follows, so each part looks at all packets for such requests. It may
//! take more for one than the ledger does, never less: the results do not depend on the number of parts.

use std::sync::LazyLock;

use dissectors::Id;
use dissectors::kit::Time;
use dissectors::ledger::MINUTE;

use super::Session;
use super::recorder::{FieldSink, Recorder};

/// The first bytes of requests that may have a filter.
static BEGINNINGS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let filters = Id::ALL.iter().filter_map(|id| id.info().masters?.selects);
    filters.map(|filter| filter.begins).collect()
});

impl Session {
    /// A datagram with this payload is of another part.
    #[inline]
    pub(super) fn pass_by<F: FieldSink>(&self, payload: &[u8], recorder: &mut Recorder<F>) {
        if payload.first().is_some_and(|first| BEGINNINGS.contains(first)) {
            self.may_be_filtered(recorder);
        }
    }

    /// A packet of another part may be a request for a filtered list. Its response comes within the answer timeout:
    /// others are not compared.
    pub(super) fn may_be_filtered<F: FieldSink>(&self, recorder: &mut Recorder<F>) {
        let timeout = self.context.options.settings.answer_timeout;
        let until = self.context.now.0.saturating_add(timeout).saturating_add(MINUTE);
        recorder.describe_until(Time(until));
    }
}
