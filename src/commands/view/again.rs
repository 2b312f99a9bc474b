//! Reads captures again to show details that the index lacks: from files, or from kept packets.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dissectors::kit::{Time, sorted};

use crate::capture::{self, Packet, Packets, Stop};
use crate::cli::InputArgs;
use crate::commands::read::options;
use crate::commands::{Failure, view::ViewState};
use crate::config::Config;
use crate::filter::Filter;
use crate::live::FileFilter;
use crate::net::glance;
use crate::rows::ConversationRow;
use crate::session::{Decoder, Drive, Event, MessageEvent, Needs, Observer, Options, Totals};

/// Number of packets between reports of progress.
const STEP: u64 = 1 << 12;

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
    /// The time to which their capture has been read, if what was missing by then matters.
    until: Option<Time>,
}

impl WantedConversations {
    pub(super) fn new(all: impl IntoIterator<Item = ConversationRow>) -> WantedConversations {
        let (conversations, hosts) = (HashMap::new(), HashSet::new());
        let mut wanted = WantedConversations { conversations, hosts, last: 0, until: None };
        for it in all {
            wanted.last = wanted.last.max(it.frames[1]);
            wanted.hosts.insert(sorted(it.ends.map(|end| end.ip())));
            wanted.conversations.entry(sorted(it.ends)).or_default().push(it);
        }
        wanted
    }

    /// These, judged by what their capture, read to this time, shows: a request at their end may have been
    /// waited for.
    pub(super) fn until(self, until: Option<Time>) -> WantedConversations {
        WantedConversations { until, ..self }
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

impl CaptureAgain {
    /// Opens a capture.
    pub(super) fn open(&self, capture: usize) -> Result<Box<dyn Packets + Send>, Failure> {
        if self.shared.is_kept(capture) {
            let mut reader = self.shared.kept_of(capture);
            reader.interface.clone_from(&self.input.live.interface);
            return Ok(Box::new(reader));
        }
        let files = &self.input.files;
        let memory = self.input.unpacking();
        Ok(match files.get(self.shared.file_of(capture)) {
            Some(file) if !(self.input.merge && files.len() > 1) => {
                capture::open_within(file, memory)?
            }
            _ => capture::open_merged(files, memory)?,
        })
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
        let mut decoder = Decoder::new(options);
        let input = &self.input;
        // Kept packets were taken, and counted, when they came.
        let is_kept = self.shared.is_kept(capture);
        let filter = input.live.capture_filter.as_deref().filter(|_| !is_kept);
        let filter = filter.map(FileFilter::new).transpose()?;
        let after = 3 * self.config.settings.answer_timeout;
        let now = Time(i64::MIN);
        let mut decoding = Decoding { filter, wanted, after, now, last: None, control, each };
        let drive = Drive::new("", input.count.filter(|_| !is_kept), Stop::default());
        match drive.run(&mut *self.open(capture)?, &mut decoder, &mut decoding) {
            Err(GivenUp::Failed(failure)) => Err(failure),
            Ok(()) | Err(GivenUp::Enough) => Ok(decoder.into_totals()),
        }
    }
}

/// A capture that is decoded again.
struct Decoding<'d> {
    /// Which packets are taken (`-f`).
    filter: Option<FileFilter>,
    wanted: Option<&'d WantedConversations>,
    /// For how long packets after the last wanted message matter: an ICMP error may be about it.
    after: i64,
    /// The latest time of a packet, and that of the last wanted message.
    now: Time,
    last: Option<Time>,
    control: &'d TaskControl<'d>,
    each: &'d mut dyn FnMut(&Event<'_>) -> bool,
}

/// Why it is not decoded to its end.
enum GivenUp {
    /// It was cancelled, or no other events matter.
    Enough,
    Failed(Failure),
}

impl Observer for Decoding<'_> {
    type Error = GivenUp;

    fn takes(&mut self, decoder: &mut Decoder, packet: &Packet<'_>) -> Result<bool, GivenUp> {
        // Dropped packets are only counted.
        while decoder.packets() + 1 < packet.frame_after(decoder.packets()) {
            decoder.pass_over();
        }
        let is_taken = match &mut self.filter {
            Some(filter) => filter.takes(packet).map_err(|why| GivenUp::Failed(why.into()))?,
            None => true,
        };
        self.now = self.now.max(Time(packet.time));
        Ok(is_taken && self.wanted.is_none_or(|wanted| wanted.needs(packet)))
    }

    fn events(&mut self, decoder: &mut Decoder) -> Result<(), GivenUp> {
        if self.control.is_cancelled() {
            return Err(GivenUp::Enough);
        }
        decoder.each_event(|event| if (self.each)(event) { Ok(()) } else { Err(GivenUp::Enough) })
    }

    fn goes_on(&mut self, decoder: &mut Decoder, packets: &dyn Packets) -> Result<bool, GivenUp> {
        let frame = decoder.packets();
        if frame.is_multiple_of(STEP) {
            let share =
                packets.progress().map_or(0.0, |(done, all)| done as f64 / all.max(1) as f64);
            (self.control.progress)(share);
        }
        let Some(wanted) = self.wanted.filter(|wanted| frame >= wanted.last) else {
            return Ok(true);
        };
        // Open flows are ended: an incomplete response is reported then.
        let Some(until) = wanted.until else { return Ok(false) };
        let last = *self.last.get_or_insert(self.now);
        let goes_on = self.now.since(last) < self.after;
        decoder.go_to(frame, if goes_on { self.now } else { until.max(self.now) });
        Ok(goes_on)
    }
}
