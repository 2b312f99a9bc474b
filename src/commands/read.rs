//! Reads files and produces events, for all commands.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use dissectors::kit::Secret;

use crate::Terminal;
use crate::capture::{self, CaptureError, Notice, Packet, Packets, Stop};
use crate::cli::InputArgs;
use crate::commands::consumer::{Consumer, FRAGMENTS, warn_no_traffic};
use crate::commands::extract::ExtractConsumer;
use crate::commands::notices::Monitor;
use crate::commands::progress::Progress;
use crate::commands::threads::CaptureReaders;
use crate::commands::{Failure, sniff};
use crate::config::{Config, ConfigError, GivenKey};
use crate::filter::Filter;
use crate::flows::Identifier;
use crate::live::FileFilter;
use crate::metrics;
use crate::net::{self, Outcome};
use crate::session::{Decoder, Drive, Observer, Options, Totals, UnknownLinks};

/// Number of packets between looks at whether the progress bar is due.
const STEP: u64 = 1 << 12;

/// Reads all captures, one by one or merged, and writes the selected packets if requested. Warnings
/// go to `err`. `running`: a live capture shows there that it is running.
pub(super) fn read(
    input: &InputArgs,
    config: &Config,
    consumer: &mut dyn Consumer,
    terminal: Terminal<'_>,
    err: &mut dyn Write,
    running: bool,
) -> Result<(), Failure> {
    let output = input.live.write.as_deref().filter(|_| input.live.interface.is_none());
    let Some(output) = output else {
        return read_all(input, config, consumer, terminal, err, running);
    };
    let mut consumer = ExtractConsumer::new(consumer, output, input)?;
    let ran = read_all(input, config, &mut consumer, terminal, err, running);
    // Packets of readable files are written even if others failed.
    let written = consumer.write(input, err);
    ran.and(written)
}

/// Reads all captures, one by one or merged.
fn read_all(
    input: &InputArgs,
    config: &Config,
    consumer: &mut dyn Consumer,
    terminal: Terminal<'_>,
    err: &mut dyn Write,
    running: bool,
) -> Result<(), Failure> {
    let filter = match consumer.selects_messages() {
        true => input.wanted.filter(true).map_err(Failure::Other)?,
        false => None,
    };
    let needs = match input.live.metrics {
        Some(_) => metrics::needs(consumer.needs()),
        None => consumer.needs(),
    };
    let options =
        Options { complete: consumer.complete(), needs, filter, ..options(input, config)? };
    if input.live.interface.is_some() {
        return sniff::sniff_input(input, options, consumer, err, running);
    }
    let (stop, progress) = (terminal.stop, terminal.progress);
    let stop = stop.map_or(Stop::default(), |stop| stop());
    let filter = input.live.capture_filter.as_deref().map(FileFilter::new).transpose()?;
    let monitor = Monitor::new(stop, err);
    let mut reading = CaptureReading { input, options, filter, consumer, monitor, stop, progress };
    match input.merge && input.files.len() > 1 {
        true => reading.merged(),
        false => reading.one_by_one(),
    }
}

/// The captures that are read, with all that goes along with it.
struct CaptureReading<'r> {
    input: &'r InputArgs,
    options: Options,
    /// Which packets are taken (`-f`).
    filter: Option<FileFilter>,
    consumer: &'r mut dyn Consumer,
    monitor: Monitor<'r>,
    /// Set by an interrupt. A pipe ends by itself then: its writer was often interrupted, too, and has something left.
    stop: Stop,
    /// Shows how far it is.
    progress: Option<&'r Progress>,
}

impl CaptureReading<'_> {
    /// All files as one capture.
    fn merged(&mut self) -> Result<(), Failure> {
        let files = &self.input.files;
        let packets = capture::open_merged(files, self.input.unpacking())?;
        let names = files.iter().map(|file| display(file)).collect::<Vec<_>>().join(", ");
        let read = self.one(&names, None, packets);
        self.monitor.end();
        let unopened = self.monitor.unopened();
        let count = unopened.len();
        for (path, why) in unopened {
            self.consumer.unreadable(&display(path), &Failure::Unopened(why.clone()));
        }
        warn_unread(&names, &read?, self.monitor.err)?;
        match count {
            0 => Ok(()),
            count => Err(Failure::SomeUnopened { count, of: files.len() }),
        }
    }

    /// File after file. One that cannot be read does not keep the others from being read.
    fn one_by_one(&mut self) -> Result<(), Failure> {
        let (files, stop) = (&self.input.files, self.stop);
        let mut ended = Ok(());
        for (at, file) in files.iter().enumerate() {
            if stop.is_asked() && at > 0 {
                let more = files.len() - at;
                let files = if more == 1 { "file was" } else { "files were" };
                let err = &mut self.monitor.err;
                writeln!(err, "gamewire: warning: interrupted: {more} more {files} not read").ok();
                break;
            }
            self.monitor.stop = if file.is_file() { stop } else { Stop::default() };
            let Err(failure) = self.file(file) else { continue };
            let is_of_file = matches!(failure, Failure::Capture(_) | Failure::Unread(_));
            if !is_of_file || matches!(failure, Failure::Capture(CaptureError::Interrupted { .. }))
            {
                ended = Err(failure);
                break;
            }
            writeln!(self.monitor.err, "gamewire: {failure}").ok();
            self.consumer.unreadable(&display(file), &failure);
            ended = Err(Failure::Reported);
        }
        self.monitor.end();
        ended
    }

    /// One of the files.
    fn file(&mut self, file: &Path) -> Result<(), Failure> {
        let name = self.input.called.clone().unwrap_or_else(|| display(file));
        let shown = (self.input.files.len() > 1).then_some(name.as_str());
        let packets = capture::open_within(file, self.input.unpacking())?;
        let read = self.one(&name, shown, packets)?;
        warn_unread(&name, &read, self.monitor.err)
    }

    /// One capture. `name`: what consumers show it as, if there are others.
    fn one(
        &mut self,
        called: &str,
        name: Option<&str>,
        packets: Box<dyn Packets + Send>,
    ) -> Result<Totals, Failure> {
        self.consumer.begin(name)?;
        let (meter, bar) = (self.consumer.meter(), self.progress);
        let total = packets.progress().map(|(_, total)| total);
        bar.iter().for_each(|bar| bar.begin(total, name));
        if let (Some(meter), Some(all)) = (&meter, total) {
            meter.all.store(all, Ordering::Relaxed);
        }
        let mut progress = |done| {
            bar.iter().for_each(|bar| bar.reached(done));
            meter.iter().for_each(|meter| meter.done.store(done, Ordering::Relaxed));
        };
        let mut read = match self.readers(packets.as_ref()) {
            Some(readers) => {
                let (consumer, monitor) = (&mut *self.consumer, &mut self.monitor);
                let count = self.input.count;
                readers.read(&self.options, called, count, consumer, monitor, &mut progress)?
            }
            None => self.one_thread(called, packets, &mut progress)?,
        };
        // The header alone is nothing to report of.
        if self.stop.is_asked() && read.packets == 0 {
            return Err(Failure::Interrupted);
        }
        // Until the result is there, which may take long, too, or is written, the bar remains.
        self.consumer.end(&mut read)?;
        bar.iter().for_each(|bar| bar.erase());
        let selection = self.input.wanted.typed();
        warn_no_traffic(called, &read, self.consumer, selection.as_deref(), self.monitor.err);
        Ok(read)
    }

    /// The threads that share a capture; `None`: one thread reads it.
    fn readers(&self, packets: &dyn Packets) -> Option<CaptureReaders> {
        let filter = self.options.filter.as_ref();
        // Threads do not know the final numbers of flows, which are assigned by the merge.
        let needs_order = filter.is_some_and(Filter::needs_flow_numbers);
        if self.filter.is_some() || needs_order || self.consumer.sees_packets() {
            return None;
        }
        CaptureReaders::of(self.input.threads, &self.options, packets)
    }

    /// Reads a capture with one thread.
    fn one_thread(
        &mut self,
        called: &str,
        mut packets: Box<dyn Packets + Send>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Totals, Failure> {
        let mut decoder = Decoder::new(self.options.clone());
        let drive = Drive::new(called, self.input.count, self.monitor.stop);
        // A pipe may be silent at any time.
        let is_prompt = self.consumer.is_prompt() || packets.in_memory().is_none();
        let mut reading = OneThread { capture: self, fragments: 0, is_prompt, progress };
        drive.run(&mut *packets, &mut decoder, &mut reading)?;
        let fragments = reading.fragments;
        if fragments > 0 {
            let (err, s) = (&mut self.monitor.err, if fragments == 1 { "" } else { "s" });
            let cannot = format!("{fragments} IP fragment{s} did not pass -f: {FRAGMENTS}");
            writeln!(err, "gamewire: warning: {called}: {cannot}").ok();
        }
        Ok(decoder.into_totals())
    }
}

/// A capture that one thread reads.
struct OneThread<'t, 'r> {
    capture: &'t mut CaptureReading<'r>,
    /// Number of fragments without ports that `-f` did not take.
    fragments: u64,
    /// Whether each packet's events are to appear before the next packet.
    is_prompt: bool,
    progress: &'t mut dyn FnMut(u64),
}

impl Observer for OneThread<'_, '_> {
    type Error = Failure;

    #[inline]
    fn takes(&mut self, decoder: &mut Decoder, packet: &Packet<'_>) -> Result<bool, Failure> {
        let filter = self.capture.filter.as_mut();
        let is_taken = filter.map_or(Ok(true), |filter| filter.takes(packet))?;
        match is_taken {
            true => self.capture.consumer.packet(decoder.packets() + 1, packet),
            false => self.fragments += u64::from(is_later_fragment(packet)),
        }
        Ok(is_taken)
    }

    fn notice(&mut self, _: &Decoder, notice: Notice) {
        self.capture.consumer.notice(&notice);
        if notice.is_warning() {
            self.capture.monitor.warn(notice.into());
        }
    }

    #[inline]
    fn is_prompt(&self) -> bool {
        self.is_prompt
    }

    #[inline]
    fn events(&mut self, decoder: &mut Decoder) -> Result<(), Failure> {
        decoder.each_event(|event| self.capture.consumer.event(event))?;
        Ok(self.capture.consumer.pause(false)?)
    }

    #[inline]
    fn goes_on(&mut self, decoder: &mut Decoder, packets: &dyn Packets) -> Result<bool, Failure> {
        if packets.is_awaited() {
            self.capture.consumer.idle()?;
        }
        if decoder.packets().is_multiple_of(STEP) {
            (self.progress)(packets.progress().map_or(decoder.packets(), |(done, _)| done));
        }
        Ok(true)
    }
}

/// Reports unsupported packets; if there are no others, that is an error.
fn warn_unread(name: &str, read: &Totals, err: &mut dyn Write) -> Result<(), Failure> {
    let Some(unread) = UnknownLinks::of(name, read) else { return Ok(()) };
    if unread.is_all() {
        return Err(Failure::Unread(unread));
    }
    writeln!(err, "gamewire: warning: {unread}").ok();
    Ok(())
}

/// A file's name with terminal controls escaped.
pub(super) fn display(file: &Path) -> String {
    crate::text::escaped(&file.to_string_lossy()).into_owned()
}

/// Whether a packet is a fragment without ports.
fn is_later_fragment(packet: &Packet<'_>) -> bool {
    let mut is_later = false;
    net::decode(packet.link, packet.data, packet.original_length).each(&mut |outcome| {
        is_later |= matches!(outcome, Outcome::Fragment(fragment) if fragment.at > 0);
    });
    is_later
}

/// Identifies protocols.
pub(super) fn identifier(input: &InputArgs, config: &Config) -> Identifier {
    Identifier::new([&input.decode_as[..], &config.decode_as].concat())
}

/// The options from the command line, or else from the configuration.
pub(super) fn options(input: &InputArgs, config: &Config) -> Result<Options, ConfigError> {
    let mut settings = config.settings.clone();
    let protocols = &mut settings.protocols;
    protocols.gamespy1.keys = keys(&input.gamespy_key, &protocols.gamespy1.keys)?;
    protocols.acr_master.keys = keys(&input.acr_key, &protocols.acr_master.keys)?;
    Ok(input.limits().options(Options {
        identifier: identifier(input, config),
        settings,
        severities: config.severities.clone(),
        verify_checksums: input.verify_checksums,
        idle: config.flow_idle,
        ..Options::default()
    }))
}

fn keys(
    typed: &[GivenKey],
    settled: &[(String, Secret)],
) -> Result<Vec<(String, Secret)>, ConfigError> {
    let typed = typed.iter().map(|key| key.clone().map_err(ConfigError::Key));
    typed.chain(settled.iter().cloned().map(Ok)).collect()
}
