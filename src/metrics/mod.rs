//! Metrics of a live capture in the OpenMetrics format, for Prometheus.
//!
//! Attackers choose addresses, names and texts, so none of these is a label, except for the targets
//! of the largest attacks. `docs/metrics.md` lists the metrics; a test compares that page with them.
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

mod attack_rate;
mod host;
mod http;

use std::fs::File;
use std::io::{Read, Seek};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dissectors::Id;
use dissectors::kit::{Role, Rule, Set, Severity};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::live::QueueCounts;
use crate::session::{Datagrams, Decoder, Event, MessageEvent, Messages, Needs};

pub(crate) use attack_rate::AttackRate;
pub(crate) use host::HostName;
use http::{HttpPage, MetricsServer};
pub(crate) use http::{ListenAddress, PATH};

/// Maximum age of the page.
const REFRESH: Duration = Duration::from_secs(1);

/// Maximum number of servers that are counted.
const SERVERS: usize = 1 << 16;

/// Maximum number of targets of attacks that have a label; the others share one.
pub(crate) const TARGETS: usize = 10;

/// The label of all others.
const OTHER: &str = "other";

/// The bounds of the response-time histogram in seconds.
const TIMES: [f64; 12] = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProtocolLabels {
    protocol: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MessageLabels {
    protocol: &'static str,
    message: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LossLabels {
    by: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    rule: String,
    severity: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttackLabels {
    seat: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TargetLabels {
    seat: &'static str,
    target: String,
}

/// The metrics.
pub(crate) struct Metrics {
    registry: Registry,
    packets: Counter,
    bytes: Counter,
    lost: Family<LossLabels, Counter>,
    downs: Counter,
    waiting: Gauge,
    messages: Family<MessageLabels, Counter>,
    requests: Family<ProtocolLabels, Counter>,
    answered: Family<ProtocolLabels, Counter>,
    response_times: Family<ProtocolLabels, Histogram>,
    flows: Gauge,
    servers: Family<ProtocolLabels, Gauge>,
    known: Set<(Id, SocketAddr)>,
    findings: Family<RuleLabels, Counter>,
    attacks: Family<AttackLabels, Gauge>,
    attack_rate: Family<TargetLabels, Gauge<f64, AtomicU64>>,
    memory: Gauge,
}

/// The needs of a command and of metrics. A command that reads datagrams only has no messages.
pub(crate) fn needs(needs: Needs) -> Needs {
    if !has_messages(&needs) {
        return needs;
    }
    let traffic = needs.traffic.or(Some(0));
    Needs { messages: Messages::All, traffic, ..needs }
}

/// Whether a command with these needs reads messages and flows.
pub(crate) fn has_messages(needs: &Needs) -> bool {
    needs.datagrams != Datagrams::Only
}

impl Metrics {
    /// `messages`: the command reads messages and flows. Without them, their metrics would be 0 whatever comes, and
    /// are left out.
    fn new(messages: bool) -> Metrics {
        let times = || Histogram::new(TIMES);
        let mut metrics = Metrics {
            registry: Registry::default(),
            packets: Counter::default(),
            bytes: Counter::default(),
            lost: Family::default(),
            downs: Counter::default(),
            waiting: Gauge::default(),
            messages: Family::default(),
            requests: Family::default(),
            answered: Family::default(),
            response_times: Family::new_with_constructor(times),
            flows: Gauge::default(),
            servers: Family::default(),
            known: Set::default(),
            findings: Family::default(),
            attacks: Family::default(),
            attack_rate: Family::default(),
            memory: Gauge::default(),
        };
        metrics.register(messages);
        if messages {
            metrics.begin();
        }
        metrics.lost(QueueCounts::default());
        metrics
    }

    fn register(&mut self, messages: bool) {
        let mut registry = Registry::with_prefix("gamewire");
        let all = &mut registry;
        let version = Info::new(vec![("version", env!("GAMEWIRE_VERSION"))]);
        all.register("build", "The version of gamewire", version);
        all.register("packets", "Packets read", self.packets.clone());
        let help = "Bytes of the packets read, as they were on the wire";
        all.register_with_unit("received", help, Unit::Bytes, self.bytes.clone());
        all.register("lost_packets", "Packets lost, by who lost them", self.lost.clone());
        all.register("interface_downs", "Times the interface was down", self.downs.clone());
        let help = "Packets captured and not yet read";
        all.register("waiting_packets", help, self.waiting.clone());
        if messages {
            self.register_messages(all);
        }
        all.register("findings", "Findings of check", self.findings.clone());
        all.register("attacks", "Attacks that abuse detects", self.attacks.clone());
        let help = "Packets per second of the attacks that abuse detects";
        all.register("attack_packets_per_second", help, self.attack_rate.clone());
        let help = "Memory in use";
        all.register_with_unit("resident_memory", help, Unit::Bytes, self.memory.clone());
        self.registry = registry;
    }

    fn register_messages(&self, all: &mut Registry) {
        all.register("messages", "Messages decoded", self.messages.clone());
        let help = "Requests, each with its repeats and its challenge round";
        all.register("requests", help, self.requests.clone());
        all.register("answered_requests", "Requests that were answered", self.answered.clone());
        let help = "Time from a request to its response";
        let times = self.response_times.clone();
        all.register_with_unit("response_time", help, Unit::Seconds, times);
        all.register("open_flows", "Flows tracked", self.flows.clone());
        all.register("servers", "Servers that have responded", self.servers.clone());
    }

    /// Creates all counters of messages with 0: rates need a value before the first event.
    fn begin(&self) {
        for protocol in Id::ALL.iter().map(|id| id.info()) {
            let of = ProtocolLabels { protocol: protocol.id };
            drop(self.requests.get_or_create(&of));
            drop(self.answered.get_or_create(&of));
            drop(self.response_times.get_or_create(&of));
            drop(self.servers.get_or_create(&of));
            for message in protocol.messages {
                let of = MessageLabels { protocol: protocol.id, message: message.name };
                drop(self.messages.get_or_create(&of));
            }
        }
    }

    /// Counts an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        if let Event::Message(message) = event {
            self.message(message);
        }
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let (context, message) = (event.context(), event.message());
        // A datagram that the network duplicated was sent once.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        let of = ProtocolLabels { protocol: id.info().id };
        let of_message = MessageLabels { protocol: of.protocol, message: message.name };
        self.messages.get_or_create(&of_message).inc();
        let Some(reply) = event.reply() else { return };
        let from = event.ends()[0];
        if matches!(message.speaker, Role::Server | Role::Master)
            && self.known.len() < SERVERS
            && self.known.insert((id, from))
        {
            self.servers.get_or_create(&of).inc();
        }
        let time = event.payload().time.since(reply.sent).max(0);
        self.response_times.get_or_create(&of).observe(time as f64 / 1e9);
    }

    /// Updates the counters of the capture.
    fn capture(&self, counts: QueueCounts, waiting: u64, decoder: &Decoder) {
        set(&self.packets, decoder.packets());
        set(&self.bytes, decoder.bytes());
        self.lost(counts);
        set(&self.downs, counts.downs);
        self.waiting.set(signed(waiting));
        self.flows.set(signed(decoder.open_flows() as u64));
        for (id, exchanges) in decoder.traffic().into_iter().flat_map(|it| it.by_protocol()) {
            let of = ProtocolLabels { protocol: id.info().id };
            set(&self.requests.get_or_create(&of), exchanges.asked);
            set(&self.answered.get_or_create(&of), exchanges.answered);
        }
    }

    fn lost(&self, counts: QueueCounts) {
        let QueueCounts { dropped, dropped_by_interface, missed, .. } = counts;
        for (by, count) in
            [("kernel", dropped), ("interface", dropped_by_interface), ("gamewire", missed)]
        {
            set(&self.lost.get_or_create(&LossLabels { by }), count);
        }
    }

    /// Sets how often a rule was broken so far.
    pub(crate) fn found(&self, rule: &Rule, severity: Severity, count: u64) {
        let of = RuleLabels { rule: rule.code.to_string(), severity: severity.name() };
        set(&self.findings.get_or_create(&of), count);
    }

    /// Sets the current attacks, the largest first.
    pub(crate) fn attacks(&self, seats: &[&'static str], attacks: &[AttackRate]) {
        for &seat in seats {
            let count = attacks.iter().filter(|it| it.seat == seat).count();
            self.attacks.get_or_create(&AttackLabels { seat }).set(signed(count as u64));
        }
        self.attack_rate.clear();
        for (at, attack) in attacks.iter().enumerate() {
            let target = if at < TARGETS { attack.target.to_string() } else { OTHER.to_owned() };
            self.attack_rate
                .get_or_create(&TargetLabels { seat: attack.seat, target })
                .inc_by(attack.rate);
        }
    }

    /// The text of the page.
    fn page(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        text::encode(&mut page, &self.registry).ok();
        page
    }
}

/// A counter never decreases: a challenge that answered a request may turn out to be for another one.
fn set(counter: &Counter, count: u64) {
    counter.inner().fetch_max(count, Ordering::Relaxed);
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The resident memory of this process, on Linux: a file that is opened once, because a confined
/// process cannot open it.
pub(crate) struct ResidentMemory(Option<File>);

impl ResidentMemory {
    /// Opens the file.
    pub(crate) fn open() -> ResidentMemory {
        ResidentMemory(File::open("/proc/self/status").ok())
    }

    /// Its size now, in bytes.
    fn bytes(&self) -> Option<u64> {
        let mut file = self.0.as_ref()?;
        let mut status = String::new();
        file.rewind().ok()?;
        file.read_to_string(&mut status).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024)
    }
}

/// The metrics of a live capture, and the socket that serves them.
pub(crate) struct Exporter {
    pub(crate) metrics: Metrics,
    page: HttpPage,
    memory: ResidentMemory,
    refreshed: Instant,
    _server: MetricsServer,
}

impl Exporter {
    /// Starts to serve the metrics of a command, which may read messages. Starts threads, so privileges must have been
    /// dropped before.
    pub(crate) fn start(
        endpoint: ListenAddress,
        memory: ResidentMemory,
        messages: bool,
    ) -> Exporter {
        let (metrics, page) = (Metrics::new(messages), HttpPage::default());
        page.publish(metrics.page());
        let server = endpoint.serve(&page);
        Exporter { metrics, page, memory, refreshed: Instant::now(), _server: server }
    }

    /// Updates the page, if it is old. `more` adds the counts of a command.
    pub(crate) fn refresh(
        &mut self,
        counts: QueueCounts,
        waiting: u64,
        decoder: &Decoder,
        more: impl FnOnce(&Metrics),
    ) {
        if self.refreshed.elapsed() < REFRESH {
            return;
        }
        self.metrics.capture(counts, waiting, decoder);
        if let Some(bytes) = self.memory.bytes() {
            self.metrics.memory.set(signed(bytes));
        }
        more(&self.metrics);
        self.page.publish(self.metrics.page());
        self.refreshed = Instant::now();
    }
}

#[cfg(test)]
mod tests;
