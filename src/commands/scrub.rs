//! `gamewire scrub`: a copy of a capture that can be shared.
//!
//! The replacement of a message's bytes is known when the message is whole. Until then its packets
//! wait in a queue.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use dissectors::kit::sorted;

use crate::Terminal;
use crate::capture::write::{self, PcapNgWriter};
use crate::capture::{LinkType, Notice, Packet};
use crate::cli::ScrubArgs;
use crate::commands::consumer::Consumer;
use crate::commands::read::read;
use crate::commands::{Failure, outputs};
use crate::output_file::OutputFile;
use crate::scrub::{Key, PacketQueue, Queued, Scrubber, Seen};
use crate::session::{Event, FieldLimits, IcmpEvent, MessageEvent, Needs, Totals};
use crate::text::{counted, escaped};

/// The most packets that the recording lost which are written: more are no more proof.
const MOST_DROPS: u64 = u16::MAX as u64;

/// The most losses that wait for the packets around them; further ones are no more proof, either.
const MOST_LOSSES: usize = 1 << 16;

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(args: &ScrubArgs, err: &mut dyn Write, terminal: Terminal<'_>) -> Result<(), Failure> {
    if args.input.live.interface.is_some() || args.input.live.write.is_some() {
        let why = "scrub reads a file and writes to -o; --interface and -w are for other commands";
        return Err(Failure::Other(why.to_owned()));
    }
    if args.input.files.len() != 1 {
        let why = "scrub reads one capture: name one file; `mergecap -w ALL FILE...` makes one of several";
        return Err(Failure::Other(why.to_owned()));
    }
    let why = "a copy is written whole or not at all; name a file";
    outputs::refuse_dash(&args.output, "-o", why)?;
    outputs::refuse_capture(&args.output, "-o", &args.input.files)?;
    let key = match &args.key {
        Some(key) => Key::new(key.as_bytes()),
        None => Key::new(&random()?),
    };
    let config = args.input.config.load()?;
    let mut copy = Copy::new(key, args);
    let ran = read(&args.input, &config, &mut copy, terminal, err, terminal.err);
    if let Some(error) = copy.failed {
        return Err(Failure::unwritable(&args.output, &error));
    }
    ran?;
    let output = escaped(&args.output.to_string_lossy()).into_owned();
    copy.written.report(&output, copy.is_filtered, err);
    Ok(())
}

/// A random key.
fn random() -> Result<[u8; 32], Failure> {
    let mut key = [0; 32];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key));
    let why = |error: io::Error| {
        let error = crate::why::unreadable(&error);
        Failure::Other(format!("cannot make a random key: /dev/urandom: {error}; name one: --key"))
    };
    read.map(|()| key).map_err(why)
}

/// Counts of packets, and of messages.
#[derive(Default)]
struct Counts {
    packets: u64,
    cut: u64,
    dropped: u64,
    compressed: u64,
    late: u64,
}

impl Counts {
    fn report(&self, output: &str, is_filtered: bool, err: &mut dyn Write) {
        if self.packets == 0 {
            let why = "there is no message in the capture";
            writeln!(err, "gamewire: warning: {output} has no packets: {why}").ok();
        }
        writeln!(err, "gamewire: wrote {} to {output}", counted(self.packets, "packet")).ok();
        let note = |count: u64, what: &str, about: &str| {
            (count > 0).then(|| format!("{} {about}", counted(count, what)))
        };
        let notes = [
            note(self.compressed, "compressed response", "cut after the header"),
            note(self.cut, "packet", "cut: no message accounts for the rest of the payload"),
            note(
                self.dropped,
                "packet",
                match is_filtered {
                    true => "of other messages and other traffic left out",
                    false => "of other traffic left out",
                },
            ),
            note(
                self.late,
                "message",
                "whole only after packets of it were written, with letters for its contents; more \
                 --memory lets packets wait longer",
            ),
        ];
        for note in notes.into_iter().flatten() {
            writeln!(err, "gamewire: note: {note}").ok();
        }
    }
}

/// What a recording lost.
#[derive(Clone, Copy)]
enum Loss {
    /// This many packets so far, on this interface.
    Drops(u32, u64),
    /// What was there cannot be read.
    Unreadable,
}

/// The copy, while the capture is read.
struct Copy<'a> {
    scrubber: Scrubber,
    queue: PacketQueue,
    output: &'a Path,
    writer: Option<PcapNgWriter<OutputFile>>,
    /// Only some messages are selected: of their flows, only packets without payload are written in
    /// addition.
    is_filtered: bool,
    keeps_foreign: bool,
    flows: Seen,
    /// The hosts of the flows, to recognize fragments.
    hosts: Seen,
    /// The hosts individually.
    each_host: Seen,
    /// Hosts with a packet of other traffic, because whether a host was recorded decides what a
    /// missing response proves.
    heard: Seen,
    /// The number of the latest packet.
    latest: u64,
    /// What was lost, with the number of the packet before it; at most [`MOST_LOSSES`].
    losses: VecDeque<(u64, Loss)>,
    /// The time of the latest packet that left the queue, and whether it was left out.
    last: Option<(Written, bool)>,
    written: Counts,
    failed: Option<io::Error>,
}

/// When and where a packet was recorded.
#[derive(Clone, Copy)]
struct Written {
    time: i64,
    interface: u32,
    digits: u8,
}

impl Written {
    fn of(packet: &Queued) -> Written {
        let &Queued { time, interface, digits, .. } = packet;
        Written { time, interface, digits }
    }

    fn packet<'p>(&self, link: LinkType, data: &'p [u8], missing: u32) -> Packet<'p> {
        Packet {
            link,
            interface: self.interface,
            digits: self.digits,
            original_length: data.len() as u32 + missing,
            ..Packet::new(self.time, data)
        }
    }
}

impl<'a> Copy<'a> {
    fn new(key: Key, args: &'a ScrubArgs) -> Copy<'a> {
        let bytes = args.input.waiting();
        let seen = || Seen::within(bytes / 16);
        Copy {
            scrubber: Scrubber::new(key.clone()),
            queue: PacketQueue::within(key, bytes - bytes / 4),
            output: &args.output,
            writer: None,
            is_filtered: !args.input.wanted.is_all(),
            keeps_foreign: args.keep_foreign,
            flows: seen(),
            hosts: seen(),
            each_host: seen(),
            heard: seen(),
            latest: 0,
            losses: VecDeque::new(),
            last: None,
            written: Counts::default(),
            failed: None,
        }
    }

    fn message(&mut self, message: &MessageEvent<'_>) {
        let payload = message.payload();
        self.flows.insert(sorted([payload.from, payload.to]));
        let hosts = [payload.from.ip(), payload.to.ip()];
        self.hosts.insert(sorted(hosts));
        for host in hosts {
            self.each_host.insert(host);
        }
        if payload.inflated {
            self.written.compressed += 1;
            self.queue.cut_compressed(payload.pieces);
            return;
        }
        let Some(tree) = message.tree() else { return };
        let other = self.scrubber.message(payload.bytes, tree);
        let mut is_late = false;
        for piece in payload.pieces {
            let (start, end) = (piece.at as usize, piece.at as usize + piece.length as usize);
            if let Some(bytes) = other.get(start..end.min(other.len())) {
                is_late |= !self.queue.edit(piece, bytes);
            }
        }
        self.written.late += u64::from(is_late);
        if payload.unlisted > 0 {
            self.queue.chunks(payload.pieces, payload.unlisted);
        }
    }

    fn icmp(&mut self, error: &IcmpEvent) {
        self.queue.quote(error.frame, error.message);
    }

    /// Whether a packet belongs to a flow of a message.
    fn is_ours(&self, packet: &Queued) -> bool {
        let is_ours = |(ends, is_empty): ([SocketAddr; 2], bool)| {
            (is_empty || !self.is_filtered) && self.flows.contains(sorted(ends))
        };
        let is_fragment =
            |hosts: [IpAddr; 2]| !self.is_filtered && self.hosts.contains(sorted(hosts));
        // A master may refuse the connection of a client that it has no other with.
        let is_opening = |hosts: [IpAddr; 2]| {
            !self.is_filtered && hosts.iter().any(|host| self.each_host.contains(host))
        };
        packet.is_message
            || packet.flows().any(is_ours)
            || packet.openings().any(is_opening)
            || packet.fragments().any(is_fragment)
    }

    /// Whether a packet is written.
    fn is_wanted(&mut self, packet: &Queued) -> bool {
        if self.keeps_foreign || self.is_ours(packet) {
            return true;
        }
        let mut is_first = false;
        if !self.is_filtered {
            for host in packet.senders().filter(|host| self.each_host.contains(host)) {
                is_first |= self.heard.insert(host);
            }
        }
        is_first
    }

    /// Writes packets until the queue is short enough, or with `all`, empty.
    fn write(&mut self, all: bool) -> io::Result<()> {
        while all || self.queue.is_full() {
            let Some(packet) = self.queue.pop() else { return Ok(()) };
            self.write_packet(packet)?;
        }
        Ok(())
    }

    fn write_packet(&mut self, packet: Queued) -> io::Result<()> {
        self.write_losses(packet.frame)?;
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let written = Written::of(&packet);
        for lost in &packet.lost {
            let (data, length) = lost.written();
            writer.packet(
                &written.packet(LinkType::RAW, data, length - data.len() as u32),
                0,
                None,
                &[],
            )?;
        }
        let (is_lost, is_wanted) = (!packet.lost.is_empty(), self.is_wanted(&packet));
        let rewritten = self.queue.write(packet, is_wanted, &mut self.scrubber);
        let Some(writer) = &mut self.writer else { return Ok(()) };
        self.written.dropped += u64::from(rewritten.is_empty());
        self.last = Some((written, rewritten.is_empty() && !is_lost));
        for new in rewritten {
            self.written.packets += 1;
            self.written.cut += u64::from(new.was_cut);
            writer.packet(&written.packet(new.link, &new.bytes, new.missing), 0, None, &[])?;
        }
        Ok(())
    }

    /// Writes what the recording lost before this packet.
    fn write_losses(&mut self, frame: u64) -> io::Result<()> {
        while let Some(&(before, loss)) = self.losses.front()
            && before < frame
        {
            self.losses.pop_front();
            let Some(writer) = &mut self.writer else { return Ok(()) };
            match loss {
                Loss::Drops(interface, count) => {
                    let before =
                        self.last.map_or(Written { time: 0, interface, digits: 6 }, |it| it.0);
                    let packet = Written { interface, ..before }.packet(LinkType::RAW, &[], 0);
                    writer.drops(&packet, 0, count.min(MOST_DROPS))?;
                }
                Loss::Unreadable => writer.unreadable()?,
            }
        }
        Ok(())
    }

    /// Writes the packets that still wait.
    fn finish(&mut self) -> io::Result<()> {
        self.write(true)?;
        self.write_losses(u64::MAX)?;
        let Some(mut writer) = self.writer.take() else { return Ok(()) };
        // The length of the recording decides which requests are overdue.
        if let Some((written, true)) = self.last {
            writer.packet(&written.packet(LinkType::RAW, &write::END, 0), 0, None, &[])?;
        }
        writer.finish()?.put()
    }

    /// Keeps an error for its own message.
    fn check<T: Default>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| {
            let copy = io::Error::from(error.kind());
            self.failed.get_or_insert(error);
            copy
        })
    }
}

impl Consumer for Copy<'_> {
    fn needs(&self) -> Needs {
        let fields = Some(FieldLimits { fields: 1 << 20, depth: 32, ..FieldLimits::default() });
        Needs { fields, icmp: true, ..Needs::messages_with_fields() }
    }

    fn selects_messages(&self) -> bool {
        true
    }

    fn begin(&mut self, _: Option<&str>) -> io::Result<()> {
        let made = OutputFile::create_capture(self.output).and_then(PcapNgWriter::new);
        self.writer = self.check(made.map(Some))?;
        Ok(())
    }

    fn sees_packets(&self) -> bool {
        true
    }

    fn packet(&mut self, frame: u64, packet: &Packet<'_>) {
        self.latest = frame;
        self.queue.push(packet, frame);
    }

    fn notice(&mut self, notice: &Notice) {
        let loss = match *notice {
            Notice::Drops { interface, count, .. } => Loss::Drops(interface, count),
            Notice::TimeOutOfRange { .. }
            | Notice::Unordered { .. }
            | Notice::Interrupted { .. } => return,
            _ => Loss::Unreadable,
        };
        if self.losses.len() < MOST_LOSSES {
            self.losses.push_back((self.latest, loss));
        }
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Message(message) => self.message(message),
            Event::Icmp(error) => self.icmp(error),
            _ => {}
        }
        Ok(())
    }

    fn pause(&mut self, _: bool) -> io::Result<()> {
        let written = self.write(false);
        self.check(written)
    }

    fn end(&mut self, _: &mut Totals) -> io::Result<()> {
        let finished = self.finish();
        self.check(finished)
    }
}
