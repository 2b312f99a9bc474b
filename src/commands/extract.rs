//! `-w` on files: writes the packets of selected messages to a capture.
//!
//! The packets of a message are known when it is whole, possibly long after the first of them: the
//! input is read again to write them.

use std::collections::HashSet;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dissectors::kit::{Payload, Transport, sorted};
use roaring::RoaringTreemap;

use crate::capture::write::PcapNgWriter;
use crate::capture::{self, Packet, Packets};
use crate::cli::InputArgs;
use crate::commands::consumer::{Consumer, Meter};
use crate::commands::{Failure, outputs};
use crate::filter::Filter;
use crate::live::LaterOutput;
use crate::net::{self, Outcome};
use crate::output_file::OutputFile;
use crate::report::text;
use crate::session::{
    Datagrams, Event, FieldLimits, Findings, MessageEvent, Messages, Needs, Totals,
};
use crate::text::escaped;

/// Maximum bytes of comments; packets beyond that are written without.
const COMMENTS: usize = 64 << 20;

/// The selected packets of one capture.
#[derive(Default)]
pub(super) struct Extraction {
    frames: RoaringTreemap,
    /// By the packet that completed the message, in order.
    comments: Vec<(u64, Box<str>)>,
    /// Connections with selected packets: the segments that open and close them are written, too,
    /// so that streams can be read.
    connections: HashSet<[SocketAddr; 2]>,
}

/// Maximum number of connections of a capture whose segments without payload are written.
const CONNECTIONS: usize = 1 << 20;

impl Extraction {
    /// The packets of a message.
    pub(super) fn add(&mut self, payload: &Payload<'_>) {
        if payload.transport == Transport::Tcp && self.connections.len() < CONNECTIONS {
            self.connections.insert(sorted([payload.from, payload.to]));
        }
        self.frames.insert(payload.frame);
        self.frames.extend(payload.pieces.iter().map(|piece| piece.frame));
    }

    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether a packet is to be written.
    pub(super) fn has(&self, frame: u64, packet: &Packet<'_>) -> bool {
        self.frames.contains(frame) || !self.connections.is_empty() && self.has_control(packet)
    }

    /// Whether a packet opens, confirms or closes one of the connections.
    fn has_control(&self, packet: &Packet<'_>) -> bool {
        let mut has_control = false;
        let outcome = net::decode(packet.link, packet.data, packet.original_length);
        outcome.each(&mut |outcome| {
            let Outcome::Tcp(segment) = outcome else { return };
            let (from, to) = (segment.ip.source, segment.ip.destination);
            let ends = [(from, segment.source_port), (to, segment.destination_port)];
            has_control |= segment.payload.announced == 0
                && self.connections.contains(&sorted(ends.map(Into::into)));
        });
        has_control
    }
}

/// Passes events to a command, and records the packets of its messages.
pub(super) struct ExtractConsumer<'c> {
    consumer: &'c mut dyn Consumer,
    output: PathBuf,
    annotate: bool,
    /// If the command gets all messages: the selected ones.
    filter: Option<Filter>,
    chosen: Vec<Extraction>,
    /// A capture could be read.
    has_read: bool,
    messages: u64,
    /// Bytes of comments so far, and the number of messages whose comments were left out.
    bytes: usize,
    left_out: u64,
}

impl<'c> ExtractConsumer<'c> {
    /// For this output.
    ///
    /// # Errors
    /// The input cannot be read twice, or would be overwritten.
    pub(super) fn new(
        consumer: &'c mut dyn Consumer,
        output: &Path,
        input: &InputArgs,
    ) -> Result<ExtractConsumer<'c>, Failure> {
        if let Some(file) = input
            .files
            .iter()
            .find(|file| !file.is_file() && file.exists() || file.as_os_str() == "-")
        {
            let name = escaped(&file.to_string_lossy()).into_owned();
            return Err(Failure::Other(format!(
                "-w reads the input twice, and {name} can be read only once; save it to a file first"
            )));
        }
        outputs::refuse_capture(output, "-w", &input.files)?;
        let filter = match consumer.selects_messages() {
            true => None,
            false => input.wanted.filter(true).map_err(Failure::Other)?,
        };
        Ok(ExtractConsumer {
            consumer,
            output: output.to_owned(),
            annotate: input.live.annotate,
            filter,
            chosen: Vec::new(),
            has_read: false,
            messages: 0,
            bytes: 0,
            left_out: 0,
        })
    }

    fn message(&mut self, m: &MessageEvent<'_>) {
        let payload = m.payload();
        let wanted = self.filter.as_ref().is_none_or(|filter| m.is_wanted(filter));
        let Some(chosen) = self.chosen.last_mut().filter(|_| wanted) else { return };
        self.messages += 1;
        chosen.add(&payload);
        let message = m.to_ref();
        if !self.annotate || message.tree.is_none() {
            return;
        }
        let comment = text::comment(&message);
        self.bytes += comment.len();
        if self.bytes > COMMENTS {
            self.left_out += 1;
        } else {
            chosen.comments.push((payload.frame, comment.into()));
        }
    }

    /// Writes the packets.
    ///
    /// # Errors
    /// The input cannot be read again, or the output not be written.
    pub(super) fn write(mut self, input: &InputArgs, err: &mut dyn Write) -> Result<(), Failure> {
        if !self.has_read {
            return Ok(());
        }
        let output = std::mem::take(&mut self.output);
        let failed = |error: io::Error| Failure::unwritable(&output, &error);
        let file = OutputFile::create_capture(&output).map_err(failed)?;
        let mut writer = PcapNgWriter::new(file).map_err(failed)?;
        let memory = input.unpacking();
        let mut written = 0;
        let chosen = std::mem::take(&mut self.chosen);
        if input.merge && input.files.len() > 1 {
            let packets = capture::open_merged(&input.files, memory)?;
            let all = chosen.into_iter().next().unwrap_or_default();
            written += copy(packets, 0, all, &mut writer).map_err(failed)?;
        } else {
            let chosen = chosen.into_iter().zip(&input.files).zip(0..);
            // A file that could not be read has no packets; it cannot be opened now, either.
            for ((chosen, path), file) in chosen.filter(|((chosen, _), _)| !chosen.is_empty()) {
                let packets = capture::open_within(path, memory)?;
                written += copy(packets, file << 16, chosen, &mut writer).map_err(failed)?;
            }
        }
        writer.finish().and_then(OutputFile::put).map_err(failed)?;
        let called = escaped(&output.to_string_lossy()).into_owned();
        let plural =
            |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let (packets, messages) = (plural(written, "packet"), plural(self.messages, "message"));
        writeln!(err, "gamewire: wrote {packets} of {messages} to {called}").ok();
        if self.left_out > 0 {
            let left_out = plural(self.left_out, "message");
            writeln!(err, "gamewire: warning: {left_out} have no comment: there are too many").ok();
        }
        Ok(())
    }
}

/// Copies the chosen packets of a capture; `first`: what its files count from.
pub(super) fn copy<W: Write>(
    mut packets: Box<dyn Packets + Send>,
    first: u32,
    mut chosen: Extraction,
    writer: &mut PcapNgWriter<W>,
) -> io::Result<u64> {
    let mut comments = std::mem::take(&mut chosen.comments);
    comments.sort_by_key(|(frame, _)| *frame);
    let mut comments = comments.into_iter().peekable();
    let (last, mut frame, mut written) = (chosen.frames.max().unwrap_or(0), 0, 0);
    while (frame < last || !chosen.connections.is_empty()) && packets.advance().is_some() {
        let capture::Event::Packet(packet) = packets.current() else { continue };
        frame = packet.frame_after(frame);
        if !chosen.has(frame, &packet) {
            continue;
        }
        let mut about = packets.comments();
        while let Some((_, comment)) = comments.next_if(|(of, _)| *of <= frame) {
            about.push(comment.into());
        }
        writer.packet(&packet, first + packet.file, packets.interface_name(), &about)?;
        written += 1;
    }
    Ok(written)
}

impl Consumer for ExtractConsumer<'_> {
    fn needs(&self) -> Needs {
        let mut needs = self.consumer.needs();
        needs.messages = Messages::All;
        needs.datagrams = needs.datagrams.and(Datagrams::None);
        // The positions of packets are stored with the bytes.
        needs.fields = needs.fields.or(Some(FieldLimits {
            fields: 10_000,
            depth: 32,
            ..FieldLimits::default()
        }));
        if needs.findings == Findings::None {
            needs.findings = Findings::OfMessages;
        }
        needs
    }

    fn selects_messages(&self) -> bool {
        self.consumer.selects_messages()
    }

    fn complete(&self) -> bool {
        self.consumer.complete()
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        self.chosen.push(Extraction::default());
        self.has_read = true;
        self.consumer.begin(name)
    }

    fn sees_packets(&self) -> bool {
        self.consumer.sees_packets()
    }

    fn is_prompt(&self) -> bool {
        self.consumer.is_prompt()
    }

    fn packet(&mut self, frame: u64, packet: &Packet<'_>) {
        self.consumer.packet(frame, packet);
    }

    fn meter(&self) -> Option<Arc<Meter>> {
        self.consumer.meter()
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if let Event::Message(message) = event {
            self.message(message);
        }
        self.consumer.event(event)
    }

    fn pause(&mut self, live: bool) -> io::Result<()> {
        self.consumer.pause(live)
    }

    fn idle(&mut self) -> io::Result<()> {
        self.consumer.idle()
    }

    fn running(&self) -> String {
        self.consumer.running()
    }

    fn no_traffic(&self, read: &Totals) -> Option<String> {
        self.consumer.no_traffic(read)
    }

    fn has_selected(&self, read: &Totals) -> bool {
        self.consumer.has_selected(read)
    }

    fn unreadable(&mut self, file: &str, why: &Failure) {
        // Its index among the captures remains; a capture without readable packets has begun and
        // has an index.
        if !matches!(why, Failure::Unread(_)) {
            self.chosen.push(Extraction::default());
        }
        self.consumer.unreadable(file, why);
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        self.consumer.end(read)
    }

    fn makes(&self) -> Vec<LaterOutput> {
        self.consumer.makes()
    }
}
