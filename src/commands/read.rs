//! From the files that were named to a session's packets: what is the same for every consumer.

use std::io::{self, Write};
use std::path::Path;

use dissectors::kit::{Secret, Settings};

use crate::capture::{self, CaptureError, Packets};
use crate::cli::Input;
use crate::commands::shared::Shares;
use crate::commands::{Failure, sniff};
use crate::config::{Config, ConfigError, Given};
use crate::flows::Identifier;
use crate::live::{FileFilter, Request};
use crate::session::{Decoder, Event, Needs, Options, Totals};

/// Files that are at least this large get a progress bar.
const LARGE: u64 = 64 << 20;

/// How many packets pass between two looks at the clock of the progress bar.
const STEP: u64 = 1 << 14;

/// Reads the events of captures: what a command does with them.
pub(super) trait Consumer {
    /// Which events it wants to read.
    fn needs(&self) -> Needs;
    /// Whether the user vouches that captures are complete.
    fn complete(&self) -> bool {
        false
    }
    /// A capture begins; it has a name where there are several.
    fn begin(&mut self, name: Option<&str>) -> io::Result<()>;
    /// The next event, in the order of the capture.
    fn event(&mut self, event: &Event<'_>) -> io::Result<()>;
    /// No more events are here for now. `live`: they come from a live capture, and somebody may wait for
    /// what there is to say.
    fn pause(&mut self, _live: bool) -> io::Result<()> {
        Ok(())
    }
    /// What the line of a live capture shows beside the counts.
    fn running(&self) -> String {
        String::new()
    }
    /// That a capture has nothing that was asked for, and what it has.
    fn no_traffic(&self, read: &Totals) -> Option<String> {
        read.no_traffic()
    }
    /// A file, or the rest of it, cannot be read, and why; the next one follows.
    fn unreadable(&mut self, _file: &str, _why: &Failure) {}
    /// The capture was read.
    fn end(&mut self, read: &mut Totals) -> io::Result<()>;
    /// A file that it makes when all has been read.
    fn makes(&self) -> Option<&Path> {
        None
    }
}

/// Hands the events that are here to a consumer.
#[inline]
pub(super) fn consume<C: Consumer>(decoder: &mut Decoder, consumer: &mut C) -> io::Result<()> {
    if decoder.has_events() {
        let mut events = decoder.events();
        while let Some(event) = events.next() {
            consumer.event(&event)?;
        }
    }
    Ok(())
}

/// Reads all captures, one by one or merged. Warnings go to `err`.
pub(super) fn read<C: Consumer>(
    input: &Input,
    config: &Config,
    consumer: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let options = Options {
        complete: consumer.complete(),
        needs: consumer.needs(),
        ..options(input, config)?
    };
    if let Some(request) = input.live.request() {
        let request = Request { made_later: consumer.makes().map(Path::to_owned), ..request };
        return sniff::sniff(&request, input.count, options, consumer, err, progress);
    }
    let mut filter = input.live.capture_filter.as_deref().map(FileFilter::new).transpose()?;
    let unpacking = input.memory.unwrap_or_default().unpacking();
    if input.merge && input.files.len() > 1 {
        let packets = capture::open_merged(&input.files, unpacking)?;
        let names: Vec<_> = input.files.iter().map(|file| display(file)).collect();
        let names = names.join(", ");
        let read =
            one(input, options, &names, None, packets, &mut filter, consumer, err, progress)?;
        return tell_unread(&names, &read, err);
    }
    // A file that cannot be read does not keep the others from being read.
    let mut ended = Ok(());
    for file in &input.files {
        let name = display(file);
        let shown = (input.files.len() > 1).then_some(name.as_str());
        let opened = capture::open_within(file, unpacking).map_err(Failure::from);
        let read = opened.and_then(|packets| {
            let options = options.clone();
            one(input, options, &name, shown, packets, &mut filter, consumer, err, progress)
        });
        match read.and_then(|read| tell_unread(&name, &read, err)) {
            Ok(()) => {}
            Err(failure @ Failure::Capture(CaptureError::Interrupted { .. })) => {
                return Err(failure);
            }
            Err(failure @ (Failure::Capture(_) | Failure::Unread(_))) => {
                writeln!(err, "gamewire: {failure}").ok();
                consumer.unreadable(&name, &failure);
                ended = Err(Failure::Reported);
            }
            Err(failure) => return Err(failure),
        }
    }
    ended
}

/// Of a capture with nothing that was asked for, says so, and what it has.
pub(super) fn tell_no_traffic<C: Consumer>(
    name: &str,
    read: &Totals,
    consumer: &C,
    err: &mut dyn Write,
) {
    // Packets that cannot be read are told of elsewhere.
    let is_unread = read.packets > 0 && read.unknown_links == read.packets;
    if let Some(there) = consumer.no_traffic(read).filter(|_| !is_unread) {
        writeln!(err, "gamewire: warning: {name}: {there}").ok();
    }
}

/// Of packets that could not be read, says so; where there were no others, that is an error.
fn tell_unread(name: &str, read: &Totals, err: &mut dyn Write) -> Result<(), Failure> {
    let Some(unread) = Unread::of(name, read) else { return Ok(()) };
    if unread.count == read.packets {
        return Err(Failure::Unread(unread));
    }
    writeln!(err, "gamewire: warning: {unread}").ok();
    Ok(())
}

/// Packets of a capture that could not be read.
#[derive(Debug)]
pub struct Unread {
    name: String,
    count: u64,
    of: u64,
    link: u16,
}

impl Unread {
    pub(super) fn of(name: &str, read: &Totals) -> Option<Unread> {
        let link = read.unknown_link?.0;
        let (count, of) = (read.unknown_links, read.packets);
        Some(Unread { name: name.to_owned(), count, of, link })
    }
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Unread { name, count, of, link } = self;
        write!(
            f,
            "{name}: gamewire does not read the link type of {count} of {of} packets, {link} the \
             first; record on an interface that carries IP"
        )
    }
}

/// A file's name, safe to show.
fn display(file: &Path) -> String {
    crate::text::escaped(&file.to_string_lossy()).into_owned()
}

#[allow(clippy::too_many_arguments, reason = "what is read, how, by whom and for whom")]
fn one<C: Consumer>(
    input: &Input,
    options: Options,
    called: &str,
    name: Option<&str>,
    packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    consumer: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<Totals, Failure> {
    let bar = bar(packets.as_ref(), progress);
    consumer.begin(name)?;
    let shares = match filter {
        Some(_) => None,
        None => Shares::of(input.threads, &options, packets.as_ref()),
    };
    let mut progress = |done| bar.iter().for_each(|bar| bar.set_position(done));
    let mut read = match shares {
        Some(shares) => shares.read(&options, input.count, consumer, err, &mut progress)?,
        None => alone(options, input.count, packets, filter, consumer, err, &mut progress)?,
    };
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    consumer.end(&mut read)?;
    tell_no_traffic(called, &read, consumer, err);
    Ok(read)
}

/// Reads a capture with one thread.
fn alone<C: Consumer>(
    options: Options,
    count: Option<u64>,
    mut packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    consumer: &mut C,
    err: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, Failure> {
    let mut decoder = Decoder::new(options);
    if let Some(capture) = packets.in_memory() {
        decoder.lend(capture);
    }
    let mut taken = 0;
    while let Some(event) = packets.next() {
        match event {
            capture::Event::Packet(packet) => {
                let wanted = filter.as_mut().map_or(Ok(true), |filter| filter.takes(&packet))?;
                if wanted {
                    taken += 1;
                    decoder.push(&packet);
                } else {
                    decoder.pass_over();
                }
            }
            capture::Event::Notice(notice) => {
                decoder.notice(&notice);
                if notice.is_warning() {
                    writeln!(err, "gamewire: warning: {notice}").ok();
                }
            }
        }
        consume(&mut decoder, consumer)?;
        consumer.pause(false)?;
        if decoder.packets().is_multiple_of(STEP) {
            progress(packets.progress().map_or(0, |(done, _)| done));
        }
        if count.is_some_and(|count| taken >= count) {
            break;
        }
    }
    finish(&mut decoder, consumer)?;
    Ok(decoder.into_totals())
}

/// Ends all flows that are open, and hands over the events of that.
pub(super) fn finish<C: Consumer>(decoder: &mut Decoder, consumer: &mut C) -> io::Result<()> {
    while decoder.finish() {
        consume(decoder, consumer)?;
    }
    consume(decoder, consumer)
}

/// What the command line says, before what the configuration says.
fn options(input: &Input, config: &Config) -> Result<Options, ConfigError> {
    let settings = Settings {
        gamespy_keys: keys(&input.gamespy_key, &config.settings.gamespy_keys)?,
        acr_keys: keys(&input.acr_key, &config.settings.acr_keys)?,
        ..config.settings.clone()
    };
    Ok(input.limits().options(Options {
        identifier: Identifier::new([&input.decode_as[..], &config.decode_as].concat()),
        settings,
        severities: config.severities.clone(),
        verify_checksums: input.verify_checksums,
        idle: config.flow_idle,
        ..Options::default()
    }))
}

fn keys(
    typed: &[Given],
    settled: &[(String, Secret)],
) -> Result<Vec<(String, Secret)>, ConfigError> {
    let typed = typed.iter().map(|key| key.clone().map_err(ConfigError::Key));
    typed.chain(settled.iter().cloned().map(Ok)).collect()
}

fn bar(packets: &dyn Packets, wanted: bool) -> Option<indicatif::ProgressBar> {
    let (_, total) = packets.progress()?;
    if !wanted || total < LARGE {
        return None;
    }
    let style = "{bar:40} {percent}% of {total_bytes}, {bytes_per_sec}, {eta} left";
    let style = indicatif::ProgressStyle::with_template(style).ok()?;
    Some(indicatif::ProgressBar::new(total).with_style(style))
}
