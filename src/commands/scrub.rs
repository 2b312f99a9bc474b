//! `gamewire scrub`: a copy of a capture that can be shared.
//!
//! The replacement of a message's bytes is known when the message is whole; its packets are written
//! after that, when the input is read again.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::iter;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use crate::Terminal;
use crate::capture::write::PcapNgWriter;
use crate::capture::{self, LinkType, Notice, Packet, Packets};
use crate::cli::ScrubArgs;
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, outputs};
use crate::net::{self, Outcome};
use crate::output_file::OutputFile;
use crate::scrub::{AllEdits, Edit, Edits, Key, Rewriter, Scrubber};
use crate::session::{Event, FieldLimits, MessageEvent, Needs, Totals};
use crate::text::{counted, escaped};

/// Maximum bytes of replacements that are kept.
const HELD: usize = 1 << 29;

/// Maximum number of flows whose packets are recognized.
const FLOWS: usize = 1 << 20;

/// An empty IP packet between unspecified addresses, of RFC 3692's experimental protocol.
const END: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0x79, 0xEE, 0, 0, 0, 0, 0, 0, 0, 0];

/// An invalid IP header.
const MALFORMED: [u8; 1] = [0x45];

/// Packets that begin with an IP header.
const RAW_IP: LinkType = LinkType(101);

/// Runs the command.
///
/// # Errors
/// The input cannot be read twice, or the output not be written.
pub fn run(args: &ScrubArgs, err: &mut dyn Write, terminal: Terminal) -> Result<(), Failure> {
    let [input] = &args.input.files[..] else {
        let why = "scrub reads one capture: name one file; `mergecap -w ALL FILE...` makes one of several";
        return Err(Failure::Filter(why.to_owned()));
    };
    if input.as_os_str() == "-" || !input.is_file() && input.exists() {
        let name = escaped(&input.to_string_lossy()).into_owned();
        return Err(Failure::Filter(format!(
            "scrub reads the input twice, and {name} can be read only once; save it to a file first"
        )));
    }
    if args.input.live.interface.is_some() || args.input.live.write.is_some() {
        let why = "scrub reads a file and writes to -o; --interface and -w are for other commands";
        return Err(Failure::Filter(why.to_owned()));
    }
    outputs::refuse_capture(&args.output, "-o", &args.input.files)?;
    let key = match &args.key {
        Some(key) => Key::new(key.as_bytes()),
        None => Key::new(&random()?),
    };
    let config = args.input.config.load()?;
    let mut collecting = Replacements::new(key, !args.input.wanted.is_all());
    read(&args.input, &config, &mut collecting, terminal.stop, err, false)?;
    if collecting.is_full {
        return Err(Failure::Filter(format!(
            "the messages hold more than {} MiB; choose some of them with -Y, or --from and --to",
            HELD >> 20
        )));
    }
    let written = collecting.write(input, args, err)?;
    let PacketCounts { packets, cut, dropped } = written;
    let output = escaped(&args.output.to_string_lossy()).into_owned();
    writeln!(err, "gamewire: wrote {} to {output}", counted(packets, "packet")).ok();
    let compressed = counted(collecting.compressed, "compressed response");
    let (cut, dropped) =
        [cut, dropped].map(|count| (count > 0).then(|| counted(count, "packet"))).into();
    let notes = [
        (collecting.compressed > 0).then(|| format!("{compressed} cut after the header")),
        cut.map(|it| format!("{it} cut: no message accounts for the rest of the payload")),
        dropped.map(|it| format!("{it} of other traffic left out")),
    ];
    for note in notes.into_iter().flatten() {
        writeln!(err, "gamewire: note: {note}").ok();
    }
    Ok(())
}

/// A random key.
fn random() -> Result<[u8; 32], Failure> {
    let mut key = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
    let why = |error: io::Error| {
        let error = crate::why::unreadable(&error);
        Failure::Filter(format!("cannot make a random key: /dev/urandom: {error}; name one: --key"))
    };
    read.map(|()| key).map_err(why)
}

/// Counts of packets.
#[derive(Default)]
struct PacketCounts {
    packets: u64,
    cut: u64,
    dropped: u64,
}

/// Collects the replacements of messages' bytes.
struct Replacements {
    scrubber: Scrubber,
    /// Only some messages are selected: of their flows, only packets without payload are written in
    /// addition.
    is_filtered: bool,
    key: Key,
    /// By the number of the packet.
    edits: AllEdits,
    flows: HashSet<[SocketAddr; 2]>,
    /// The hosts of the flows, to recognize fragments.
    hosts: HashSet<[IpAddr; 2]>,
    /// The hosts individually.
    each_host: HashSet<IpAddr>,
    held: usize,
    is_full: bool,
    compressed: u64,
}

fn sorted<T: Ord>([one, other]: [T; 2]) -> [T; 2] {
    if one <= other { [one, other] } else { [other, one] }
}

impl Replacements {
    fn new(key: Key, is_filtered: bool) -> Replacements {
        Replacements {
            scrubber: Scrubber::new(key.clone()),
            is_filtered,
            key,
            edits: AllEdits::new(),
            flows: HashSet::new(),
            hosts: HashSet::new(),
            each_host: HashSet::new(),
            held: 0,
            is_full: false,
            compressed: 0,
        }
    }

    fn message(&mut self, message: &MessageEvent<'_>) {
        let payload = message.payload();
        if self.flows.len() < FLOWS {
            self.flows.insert(sorted([payload.from, payload.to]));
            let hosts = [payload.from.ip(), payload.to.ip()];
            self.each_host.extend(hosts);
            self.hosts.insert(sorted(hosts));
        }
        self.held += payload.bytes.len() + 64 * payload.pieces.len();
        self.is_full |= self.held > HELD;
        if self.is_full {
            return;
        }
        if payload.inflated {
            self.compressed += 1;
            for piece in payload.pieces {
                let cut = &mut self.edits.entry(piece.frame).or_default().cut;
                *cut = Some(cut.map_or(piece.offset, |cut| cut.min(piece.offset)));
            }
            return;
        }
        let Some(tree) = message.tree() else { return };
        let other = self.scrubber.message(payload.bytes, tree);
        for piece in payload.pieces {
            let (start, end) = (piece.at as usize, piece.at as usize + piece.length as usize);
            let Some(bytes) = other.get(start..end.min(other.len())) else { continue };
            let edit = Edit { offset: piece.offset, bytes: bytes.into() };
            self.edits.entry(piece.frame).or_default().each.push(edit);
        }
    }

    /// Whether a packet belongs to a supported flow.
    fn is_ours(&self, packet: &Packet<'_>) -> bool {
        let mut is_ours = false;
        let outcome = net::decode(packet.link, packet.data, packet.original_length);
        outcome.each(&mut |outcome| is_ours |= self.is_outcome_ours(outcome));
        is_ours
    }

    fn is_outcome_ours(&self, outcome: Outcome<'_>) -> bool {
        let (ends, is_empty) = match outcome {
            Outcome::Udp(it) => {
                let (from, to) = (it.ip.source, it.ip.destination);
                ([(from, it.source_port), (to, it.destination_port)], false)
            }
            Outcome::Tcp(it) => {
                let (from, to) = (it.ip.source, it.ip.destination);
                ([(from, it.source_port), (to, it.destination_port)], it.payload.announced == 0)
            }
            Outcome::Icmp(it) => {
                let (from, to, [source, destination]) =
                    (it.quote.source, it.quote.destination, it.quote.ports);
                ([(from, source), (to, destination)], true)
            }
            Outcome::Fragment(it) => {
                let hosts = sorted([it.ip.source, it.ip.destination]);
                return !self.is_filtered && self.hosts.contains(&hosts);
            }
            _ => return false,
        };
        let is_wanted = is_empty || !self.is_filtered;
        is_wanted && self.flows.contains(&sorted(ends.map(SocketAddr::from)))
    }

    /// Whether a packet is written. `heard`: hosts with a packet of other traffic, because whether
    /// a host was recorded decides what a missing response proves.
    fn is_wanted(&self, packet: &Packet<'_>, frame: u64, heard: &mut HashSet<IpAddr>) -> bool {
        if self.edits.contains_key(&frame) || self.is_ours(packet) {
            return true;
        }
        let mut is_first = false;
        let outcome = net::decode(packet.link, packet.data, packet.original_length);
        outcome.each(&mut |outcome| {
            let from = match outcome {
                Outcome::Udp(it) => it.ip.source,
                Outcome::Tcp(it) => it.ip.source,
                Outcome::Icmp(it) => it.ip.source,
                _ => return,
            };
            is_first |= !self.is_filtered && self.each_host.contains(&from) && heard.insert(from);
        });
        is_first
    }

    /// Writes the scrubbed packets. The capture is read twice, because replacements can depend on later packets.
    fn write(
        &mut self,
        input: &Path,
        args: &ScrubArgs,
        err: &mut dyn Write,
    ) -> Result<PacketCounts, Failure> {
        let failed = |error: io::Error| Failure::unwritable(&args.output, &error);
        let memory = args.input.unpacking();
        let none = Edits::default();
        let mut rewriter = Rewriter::new(self.key.clone());
        let mut packets = capture::open_within(input, memory)?;
        let (mut frame, mut heard) = (0, HashSet::new());
        while packets.advance().is_some() {
            let capture::Event::Packet(packet) = packets.current() else { continue };
            frame += 1;
            if args.keep_foreign || self.is_wanted(&packet, frame, &mut heard) {
                rewriter.see(&packet, frame, self.edits.get(&frame).unwrap_or(&none));
            }
        }
        let packets = capture::open_within(input, memory)?;
        let mut file = OutputFile::create(&args.output).map_err(failed)?;
        let written = self.rewrite(packets, frame, args, &mut rewriter, &mut file);
        let written = written.and_then(|written| file.put().map(|()| written)).map_err(failed)?;
        if written.packets == 0 {
            let output = escaped(&args.output.to_string_lossy()).into_owned();
            let why = "there is no message in the capture";
            writeln!(err, "gamewire: warning: {output} has no packets: {why}").ok();
        }
        Ok(written)
    }

    /// Writes the packets as they become; `last`: the number of the last one.
    fn rewrite(
        &mut self,
        mut packets: Box<dyn Packets + Send>,
        last: u64,
        args: &ScrubArgs,
        rewriter: &mut Rewriter,
        writer: impl Write,
    ) -> io::Result<PacketCounts> {
        let mut writer = PcapNgWriter::new(writer)?;
        let mut written = PacketCounts::default();
        let (mut frame, mut heard) = (0, HashSet::new());
        let mut before = Packet { link: RAW_IP, ..Packet::new(0, &[]) };
        while packets.advance().is_some() {
            let packet = match packets.current() {
                capture::Event::Packet(packet) => packet,
                capture::Event::Notice(notice) => {
                    self::notice(&mut writer, &notice, &before)?;
                    continue;
                }
            };
            (before.time, before.digits) = (packet.time, packet.digits);
            frame += 1;
            let is_wanted = args.keep_foreign || self.is_wanted(&packet, frame, &mut heard);
            let addresses = self.scrubber.addresses();
            let rewritten = match is_wanted {
                true => rewriter.rewrite(&packet, frame, &self.edits, addresses),
                false => Vec::new(),
            };
            if rewritten.is_empty() {
                written.dropped += 1;
                leave_out(&packet, frame == last, &mut writer)?;
            }
            let is_cut = self.edits.get(&frame).is_some_and(|edits| edits.cut.is_some());
            for rewritten in rewritten {
                written.packets += 1;
                written.cut += u64::from(rewritten.was_cut && !is_cut);
                let packet = Packet {
                    link: RAW_IP,
                    data: &rewritten.bytes,
                    original_length: rewritten.bytes.len() as u32 + rewritten.missing,
                    ..packet
                };
                writer.packet(&packet, 0, None, &[])?;
            }
        }
        writer.finish()?;
        Ok(written)
    }
}

/// Writes the remains of a packet that is left out: its invalid headers, and the time of the last
/// packet, because the length of the recording decides which requests are overdue.
fn leave_out<W: Write>(
    packet: &Packet<'_>,
    is_last: bool,
    writer: &mut PcapNgWriter<W>,
) -> io::Result<()> {
    let malformed = malformed(packet);
    let end = (is_last && malformed == 0).then_some(&END[..]);
    for data in iter::repeat_n(&MALFORMED[..], malformed).chain(end) {
        let original_length = data.len() as u32;
        let packet = Packet { link: RAW_IP, data, original_length, ..*packet };
        writer.packet(&packet, 0, None, &[])?;
    }
    Ok(())
}

/// The number of invalid headers of a packet without supported traffic.
fn malformed(packet: &Packet<'_>) -> usize {
    let mut count = 0;
    let outcome = net::decode(packet.link, packet.data, packet.original_length);
    outcome.each(&mut |outcome| count += usize::from(matches!(outcome, Outcome::Malformed(_))));
    count
}

/// Writes what the recording lost; `before`: the previous packet.
fn notice<W: Write>(
    writer: &mut PcapNgWriter<W>,
    notice: &Notice,
    before: &Packet<'_>,
) -> io::Result<()> {
    match *notice {
        Notice::Drops { interface, count, .. } => {
            writer.drops(&Packet { interface, ..*before }, 0, count)
        }
        Notice::TimeOutOfRange { .. } => Ok(()),
        _ => writer.unreadable(),
    }
}

impl Consumer for Replacements {
    fn needs(&self) -> Needs {
        let fields = Some(FieldLimits { fields: 1 << 20, depth: 32, ..FieldLimits::default() });
        Needs { fields, ..Needs::messages_with_fields() }
    }

    fn selects_messages(&self) -> bool {
        true
    }

    fn begin(&mut self, _: Option<&str>) -> io::Result<()> {
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Event::Message(message) = event {
            self.message(message);
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        Ok(())
    }
}
