//! Reads captures again to show details that the index lacks: from files, or from kept packets.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::capture::{self, Packet, Packets};
use crate::cli::InputArgs;
use crate::commands::read::options;
use crate::commands::{Failure, view::ViewState};
use crate::config::Config;
use crate::filter::Filter;
use crate::live::FileFilter;
use crate::net::glance;
use crate::rows::ConversationRow;
use crate::session::{Decoder, Event, MessageEvent, Needs, Options, Totals};

use super::kept::KeptReader;

/// Number of packets between checks for cancellation.
const LOOK: u64 = 1 << 12;

/// What is needed to read captures again.
#[derive(Clone)]
pub(super) struct CaptureAgain {
    pub(super) input: Arc<InputArgs>,
    pub(super) config: Arc<Config>,
    pub(super) shared: Arc<ViewState>,
}

/// The conversations to find, all of one capture.
pub(super) struct WantedConversations {
    conversations: HashMap<[SocketAddr; 2], Vec<ConversationRow>>,
    /// Only packets between these hosts can matter.
    hosts: HashSet<[IpAddr; 2]>,
    /// The last packet of these conversations.
    last: u64,
}

impl WantedConversations {
    pub(super) fn new(all: impl IntoIterator<Item = ConversationRow>) -> WantedConversations {
        let (conversations, hosts) = (HashMap::new(), HashSet::new());
        let mut wanted = WantedConversations { conversations, hosts, last: 0 };
        for it in all {
            wanted.last = wanted.last.max(it.frames[1]);
            wanted.hosts.insert(sorted(it.ends.map(|end| end.ip())));
            wanted.conversations.entry(sorted(it.ends)).or_default().push(it);
        }
        wanted
    }

    /// The conversation of a message, if it is one of them.
    pub(super) fn of(&self, m: &MessageEvent<'_>) -> Option<u32> {
        let all = self.conversations.get(&sorted(m.ends()))?;
        let payload = m.payload();
        let is_it = |it: &&ConversationRow| {
            it.transport == payload.transport && it.packets().contains(&payload.frame)
        };
        all.iter().rev().find(is_it).map(|it| it.number)
    }

    /// Whether a packet can matter: it is between these hosts, or its hosts are not known without
    /// decoding.
    fn needs(&self, packet: &Packet<'_>) -> bool {
        let glance = glance(packet.link, packet.data).filter(|glance| !glance.is_fragment());
        glance.is_none_or(|glance| self.hosts.contains(&sorted(glance.hosts().map(IpAddr::from))))
    }
}

fn sorted<T: Ord>([a, b]: [T; 2]) -> [T; 2] {
    if a <= b { [a, b] } else { [b, a] }
}

/// Cancellation and progress of a task.
pub(super) struct TaskControl<'g> {
    pub(super) cancel: &'g AtomicBool,
    pub(super) progress: &'g dyn Fn(f64),
}

impl TaskControl<'_> {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

/// A capture that is read again.
pub(super) enum CaptureSource {
    File(Box<dyn Packets + Send>),
    Kept(KeptReader),
}

impl CaptureAgain {
    /// Opens a capture.
    pub(super) fn open(&self, capture: usize) -> Result<CaptureSource, Failure> {
        if let Some(reader) = self.shared.kept_of(capture) {
            return Ok(CaptureSource::Kept(reader));
        }
        let files = &self.input.files;
        let memory = self.input.unpacking();
        let packets = match files.get(self.shared.file_of(capture)) {
            Some(file) if !(self.input.merge && files.len() > 1) => {
                capture::open_within(file, memory)?
            }
            _ => capture::open_merged(files, memory)?,
        };
        Ok(CaptureSource::File(packets))
    }

    /// Decodes a capture again: with `wanted` only the needed part. `each` returns whether to
    /// continue. Returns what was read.
    pub(super) fn decode(
        &self,
        capture: usize,
        needs: Needs,
        filter: Option<Filter>,
        wanted: Option<&WantedConversations>,
        control: &TaskControl<'_>,
        each: &mut dyn FnMut(&Event<'_>) -> bool,
    ) -> Result<Totals, Failure> {
        let options = Options { needs, filter, ..options(&self.input, &self.config)? };
        let mut decoding = Decoding { decoder: Decoder::new(options), wanted, control, each };
        let mut goes_on = true;
        match self.open(capture)? {
            CaptureSource::Kept(mut packets) => {
                while goes_on {
                    let share = packets.progress();
                    let Some((frame, packet)) = packets.next() else { break };
                    goes_on = decoding.packet(frame, &packet, true, || share);
                }
            }
            CaptureSource::File(mut packets) => {
                let count = self.input.count.unwrap_or(u64::MAX);
                let filter = self.input.live.capture_filter.as_deref();
                let mut filter = filter.map(FileFilter::new).transpose()?;
                let (mut frame, mut taken) = (0, 0);
                while goes_on && taken < count {
                    let share = packets.progress();
                    let share = || share.map_or(0.0, |(done, all)| done as f64 / all.max(1) as f64);
                    match packets.next() {
                        None => break,
                        Some(capture::Event::Notice(notice)) => decoding.decoder.notice(&notice),
                        Some(capture::Event::Packet(packet)) => {
                            frame += 1;
                            let is_taken = match &mut filter {
                                Some(filter) => filter.takes(&packet)?,
                                None => true,
                            };
                            taken += u64::from(is_taken);
                            goes_on = decoding.packet(frame, &packet, is_taken, share);
                        }
                    }
                }
            }
        }
        decoding.finish();
        Ok(decoding.decoder.into_totals())
    }
}

/// A running decoder.
struct Decoding<'d> {
    decoder: Decoder,
    wanted: Option<&'d WantedConversations>,
    control: &'d TaskControl<'d>,
    each: &'d mut dyn FnMut(&Event<'_>) -> bool,
}

impl Decoding<'_> {
    /// The next packet. Returns whether to continue.
    fn packet(
        &mut self,
        frame: u64,
        packet: &Packet<'_>,
        is_taken: bool,
        share: impl Fn() -> f64,
    ) -> bool {
        // Dropped and skipped packets are only counted.
        while self.decoder.packets() + 1 < frame {
            self.decoder.pass_over();
        }
        if is_taken && self.wanted.is_none_or(|wanted| wanted.needs(packet)) {
            self.decoder.push(packet);
        } else {
            self.decoder.pass_over();
        }
        if frame.is_multiple_of(LOOK) {
            if self.control.is_cancelled() {
                return false;
            }
            (self.control.progress)(share());
        }
        self.read() && self.wanted.is_none_or(|wanted| frame < wanted.last)
    }

    fn read(&mut self) -> bool {
        if !self.decoder.has_events() {
            return true;
        }
        let mut events = self.decoder.events();
        while let Some(event) = events.next() {
            if !(self.each)(&event) {
                return false;
            }
        }
        true
    }

    /// Ends open flows: an incomplete response is reported then.
    fn finish(&mut self) {
        while !self.control.is_cancelled() && self.decoder.finish() && self.read() {}
    }
}
