//! Captures from a network device and produces events, for all commands.
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

use std::fmt;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::Failure;
use super::closed::is_gone;
use super::consumer::{Consumer, FRAGMENTS, finish, warn_no_traffic};
use crate::capture::Notice;
use crate::cli::InputArgs;
use crate::live::{CaptureRequest, Live, LiveError, NextStep, QueueCounts, StopSignals};
use crate::metrics::{self, Exporter, HostName, ListenAddress, ResidentMemory};
use crate::report::clock;
use crate::session::{Decoder, Options, UnknownLinks};
use crate::text::escaped;
use dissectors::kit::Time;

/// How the line on standard error begins that says that packets are captured from now on.
pub(super) const LISTENING: &str = "gamewire: listening on";

/// Captures on the interface that the input names.
pub(super) fn sniff_input(
    input: &InputArgs,
    options: Options,
    consumer: &mut dyn Consumer,
    err: &mut dyn Write,
    running: bool,
) -> Result<(), Failure> {
    let Some(request) = input.live.request() else { return Ok(()) };
    let request = CaptureRequest { later: consumer.makes(), ..request };
    let selection = input.wanted.typed();
    let wanted = LiveWanted {
        packets: input.count,
        metrics: input.live.metrics,
        metrics_hosts: &input.live.metrics_host,
        selection: selection.as_deref(),
    };
    sniff(&request, wanted, options, consumer, err, running)
}

/// Captures until a signal, a count, a time limit or the device ends it. Results until then are
/// reported in any case.
fn sniff(
    request: &CaptureRequest,
    wanted: LiveWanted<'_>,
    options: Options,
    consumer: &mut dyn Consumer,
    err: &mut dyn Write,
    running: bool,
) -> Result<(), Failure> {
    // When the device is open, the process may no longer listen or read files.
    let bind = |address| listening(address, wanted.metrics_hosts);
    let endpoint = wanted.metrics.map(bind).transpose()?;
    clock::local_zone();
    let memory = ResidentMemory::open();
    let live = Live::open(request)?;
    let interface = escaped(&request.interface).into_owned();
    let decoder = Decoder::new(options);
    consumer.begin(None)?;
    let confined = live.confinement();
    let ends = match request.until_input_ends {
        true => "until the command has ended",
        false => "Ctrl-C ends it",
    };
    writeln!(err, "{LISTENING} {interface}; {ends}; {confined}").ok();
    // Around a command, no signal is for the capture.
    if let Some(why) = live.no_further_file().filter(|_| !request.until_input_ends) {
        writeln!(err, "gamewire: note: SIGHUP cannot start a new file: {why}").ok();
    }
    if let Some(address) = endpoint.as_ref().and_then(ListenAddress::address) {
        writeln!(err, "gamewire: metrics at http://{address}{}", metrics::PATH).ok();
    }
    let messages = metrics::has_messages(&consumer.needs());
    let mut exporter = endpoint.map(|endpoint| Exporter::start(endpoint, memory, messages));
    if request.filter.as_deref().is_some_and(leaves_out_fragments) {
        writeln!(err, "gamewire: note: -f leaves out IP fragments: {FRAGMENTS}").ok();
    }
    let mut listening = Listening {
        live,
        decoder,
        most: wanted.packets,
        reader: EventReader { consumer, exporter: exporter.as_mut() },
        err,
        line: StatusLine::new(running),
        reported: Reported { interface: &interface, lost: 0, downs: 0, unread: 0 },
    };
    let ended = listening.listen();
    let Listening { mut live, mut decoder, reader, err, line, mut reported, .. } = listening;
    let consumer = reader.consumer;
    // Without a reader of the output, all that was captured is nevertheless in the file.
    let rest = if ended.is_err() { live.write_rest() } else { Ok(()) };
    let finished = rest.and(live.finish().map(|_| ()));
    reported.losses(live.counts(), &mut decoder);
    if reported.lost == 0 && reported.downs == 0 {
        reported.drops(0, &mut decoder);
    }
    let checked = finish(&mut decoder, consumer);
    line.ends();
    let mut read = decoder.into_totals();
    if let Some(unread) = UnknownLinks::of(&interface, &read) {
        writeln!(err, "gamewire: warning: {unread}").ok();
    }
    let reported_all =
        checked.and_then(|()| consumer.pause(true)).and_then(|()| consumer.end(&mut read));
    if reported_all.is_ok() {
        warn_no_traffic(&interface, &read, consumer, wanted.selection, err);
    }
    reported.counts(live.counts(), err);
    let ended = ended?;
    reported_all?;
    Ok(ended.and(finished)?)
}

/// Whether a capture filter leaves out fragments: only the first one has a port.
fn leaves_out_fragments(filter: &str) -> bool {
    let names_ports = filter.split(|c: char| !c.is_alphanumeric()).any(|word| word == "port");
    names_ports && !filter.contains("ip[6:2]")
}

/// Options of a live capture.
#[derive(Clone, Copy)]
pub(super) struct LiveWanted<'w> {
    /// The number of packets after which it ends.
    pub(super) packets: Option<u64>,
    /// The options that select messages, as they were typed.
    pub(super) selection: Option<&'w str>,
    /// Where metrics are served.
    pub(super) metrics: Option<SocketAddr>,
    /// Other names by which clients ask for them.
    pub(super) metrics_hosts: &'w [HostName],
}

fn listening(address: SocketAddr, names: &[HostName]) -> Result<ListenAddress, Failure> {
    ListenAddress::bind(address, names).map_err(|error| Failure::Metrics { address, error })
}

/// The readers of events: a command, and metrics if requested.
struct EventReader<'r> {
    consumer: &'r mut dyn Consumer,
    exporter: Option<&'r mut Exporter>,
}

impl EventReader<'_> {
    fn consume(&mut self, decoder: &mut Decoder) -> io::Result<()> {
        decoder.each_event(|event| {
            self.exporter.iter_mut().for_each(|exporter| exporter.metrics.event(event));
            self.consumer.event(event)
        })
    }

    fn refresh(&mut self, counts: QueueCounts, waiting: u64, decoder: &Decoder) {
        let EventReader { consumer, exporter } = self;
        if let Some(exporter) = exporter {
            exporter.refresh(counts, waiting, decoder, |metrics| consumer.measure(metrics));
        }
    }
}

/// A capture that goes on.
struct Listening<'l> {
    live: Live,
    decoder: Decoder,
    /// The number of packets after which it ends.
    most: Option<u64>,
    reader: EventReader<'l>,
    err: &'l mut dyn Write,
    line: StatusLine,
    reported: Reported<'l>,
}

impl Listening<'_> {
    /// Captures and reports until something ends it, which is returned. Errors are those of the output.
    fn listen(&mut self) -> Result<Result<(), LiveError>, Failure> {
        let (mut ending, waiting) = (self.live.ending(), self.live.waiting());
        let (interval, mut due) = (self.reader.consumer.interval(), Instant::now());
        loop {
            let unread = match self.read(&mut ending, &waiting)? {
                Ok(Some(unread)) => unread,
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            };
            self.say_losses();
            if ending.is_left() {
                self.reported.unread(unread + waiting(), &mut self.decoder);
                return Ok(Ok(()));
            }
            self.reader.consume(&mut self.decoder)?;
            self.line.suspended(|| self.reader.consumer.pause(true))?;
            if interval.is_some_and(|interval| due.elapsed() >= interval) {
                due = Instant::now();
                self.line.suspended(|| self.reader.consumer.so_far(&mut self.decoder))?;
            }
            self.reader.refresh(self.live.counts(), waiting(), &self.decoder);
            self.line.says(&self.decoder, &self.reader.consumer.running());
            self.say_changes();
            if is_gone(&io::stdout()) {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe).into());
            }
            if is_enough(self.most, &self.decoder) {
                return Ok(Ok(()));
            }
        }
    }

    /// Reads the next packets. Returns how many of them it left unread; `None`: the capture is over.
    fn read(
        &mut self,
        ending: &mut StopSignals,
        waiting: &impl Fn() -> u64,
    ) -> Result<Result<Option<u64>, LiveError>, Failure> {
        let Listening { live, decoder, most, reader, err, line, .. } = self;
        let packets = match live.turn() {
            Ok(NextStep::Packets(packets)) => packets,
            Ok(NextStep::Nothing(now)) => {
                decoder.reach(Time(now));
                return Ok(Ok(Some(0)));
            }
            Ok(NextStep::End) => return Ok(Ok(None)),
            Err(error) => return Ok(Err(error)),
        };
        for (packet, read) in packets.iter().zip(0..) {
            let left = packets.count() - read;
            if ending.is_new() {
                line.suspended(|| say_unread(left + waiting(), err));
            }
            if ending.is_left() {
                return Ok(Ok(Some(left)));
            }
            reader.consumer.packet(decoder.packets() + 1, &packet);
            decoder.push(&packet);
            reader.consume(decoder)?;
            if is_enough(*most, decoder) {
                break;
            }
        }
        Ok(Ok(Some(0)))
    }

    /// Reports what was lost since the last time.
    fn say_losses(&mut self) {
        let counts = self.live.counts();
        if self.reported.downs < counts.downs {
            let down = Notice::InterfaceDown { path: self.reported.interface.into() };
            self.warn(&down);
        }
        self.reported.losses(counts, &mut self.decoder);
    }

    /// Reports what became of the files, and the counters if a signal requested them.
    fn say_changes(&mut self) {
        if let Some(error) = self.live.reopen_error() {
            self.warn(&format_args!("{error}; capture continues into the same file"));
        }
        if let Some(error) = self.live.not_removed() {
            self.warn(&error);
        }
        if self.live.counts_wanted() {
            self.line.suspended(|| self.reported.counts(self.live.counts(), self.err));
        }
    }

    fn warn(&mut self, what: &dyn fmt::Display) {
        self.line.suspended(|| writeln!(self.err, "gamewire: warning: {what}").ok());
    }
}

/// Whether the packets to capture were read.
fn is_enough(most: Option<u64>, decoder: &Decoder) -> bool {
    most.is_some_and(|most| decoder.packets() >= most)
}

/// Number of packets that take a while to read.
const MANY: u64 = 1 << 10;

/// Reports how many packets are still unread, if that may take a while.
fn say_unread(count: u64, err: &mut dyn Write) {
    if count > MANY {
        writeln!(err, "gamewire: {count} packets are still unread; Ctrl-C again discards them")
            .ok();
    }
}

/// Reports losses.
struct Reported<'a> {
    interface: &'a str,
    lost: u64,
    downs: u64,
    /// Packets that were captured but skipped after an interrupt.
    unread: u64,
}

impl Reported<'_> {
    /// Reports increased losses to the session: later missing packets prove nothing.
    fn losses(&mut self, counts: QueueCounts, decoder: &mut Decoder) {
        let lost = counts.lost();
        if lost > self.lost {
            self.lost = lost;
            self.drops(lost, decoder);
        }
        while self.downs < counts.downs {
            self.downs += 1;
            decoder.notice(&Notice::InterfaceDown { path: self.interface.into() });
        }
    }

    /// Skipped packets count as lost.
    fn unread(&mut self, count: u64, decoder: &mut Decoder) {
        if count > 0 {
            self.unread = count;
            self.drops(self.lost + count, decoder);
        }
    }

    fn drops(&self, count: u64, decoder: &mut Decoder) {
        let path = self.interface.into();
        decoder.notice(&Notice::Drops { path, interface: 0, count });
    }

    fn counts(&self, counts: QueueCounts, err: &mut dyn Write) {
        let QueueCounts { captured, dropped, dropped_by_interface, missed, downs } = counts;
        let packets = if captured == 1 { "packet" } else { "packets" };
        writeln!(
            err,
            "gamewire: {}: {captured} {packets} captured, {dropped} dropped by the kernel, \
             {dropped_by_interface} by the interface, {missed} came faster than they could be read{}{}",
            self.interface,
            match downs {
                0 => String::new(),
                1 => ", the interface was down once".to_owned(),
                downs => format!(", the interface was down {downs} times"),
            },
            if self.unread > 0 { format!(", {} left unread", self.unread) } else { String::new() },
        )
        .ok();
    }
}

/// The running line of counts, on a terminal.
struct StatusLine(Option<(indicatif::ProgressBar, Instant)>);

impl StatusLine {
    fn new(wanted: bool) -> StatusLine {
        let style = indicatif::ProgressStyle::with_template("{msg}").ok().filter(|_| wanted);
        StatusLine(style.map(|style| {
            let bar = indicatif::ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            (bar, Instant::now())
        }))
    }

    fn says(&self, decoder: &Decoder, more: &str) {
        let Some((bar, begun)) = &self.0 else { return };
        let (packets, flows) = (decoder.packets(), decoder.flows());
        let seconds = begun.elapsed().as_secs();
        let comma = if more.is_empty() { "" } else { ", " };
        bar.set_message(format!("{seconds} s: {packets} packets, {flows} flows{comma}{more}"));
    }

    fn suspended<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some((bar, _)) => bar.suspend(work),
            None => work(),
        }
    }

    fn ends(&self) {
        if let Some((bar, _)) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
