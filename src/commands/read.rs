//! From the files that were named to a session's packets: what is the same for every command.

use std::io::{self, Write};
use std::path::Path;

use dissectors::kit::{Secret, Settings};

use crate::capture::{self, CaptureError, Event, Packets};
use crate::cli::Input;
use crate::commands::shared::Shares;
use crate::commands::{Failure, sniff};
use crate::config::{Config, ConfigError, Given};
use crate::flows::Identifier;
use crate::live::{FileFilter, Request};
use crate::session::{EventOrder, Observer, Options, Session, Totals};

/// Files that are at least this large get a progress bar.
const LARGE: u64 = 64 << 20;

/// How many packets pass between two looks at the clock of the progress bar.
const STEP: u64 = 1 << 14;

/// What a command does with each capture, beside looking on.
pub(super) trait Command {
    /// Looks on.
    type Observer: Observer + Send;
    /// One of the things that a part of the observers has to tell.
    type Entry: Send;
    /// A capture begins; it has a name where there are several.
    fn begin(&mut self, name: Option<&str>) -> io::Result<()>;
    /// The observer.
    fn observer(&mut self) -> &mut Self::Observer;
    /// Whether the user vouches that captures are complete.
    fn complete(&self) -> bool {
        false
    }
    /// Whether it wants to know whom the recording has heard.
    fn hears(&self) -> bool {
        false
    }
    /// Whether it lists flows.
    fn lists(&self) -> bool {
        false
    }
    /// A file that it makes when all has been read.
    fn makes(&self) -> Option<&Path> {
        None
    }
    /// Whether the output still takes something: an error ends the reading.
    fn check(&mut self) -> io::Result<()>;
    /// Some packets of a live capture were read, or none came: what there is to say is said now.
    fn live(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// What a running line says beside the counts.
    fn running(&self) -> String {
        String::new()
    }
    /// Looks on at a share of a capture's flows, beside others; `None`: one must see them all.
    fn part(&self) -> Option<Self::Observer>;
    /// How many bytes a part has to tell: they wait to be taken.
    fn waiting(part: &Self::Observer) -> usize;
    /// Takes what a part has to tell, and gives it the room of an empty slice for what follows.
    fn cut(part: &mut Self::Observer, slice: &mut Slice<Self::Entry>);
    /// The next of what the parts have told, in the order of the capture. `number` says which number
    /// a flow of the part has in the whole capture. None is taken twice.
    fn take(
        &mut self,
        at: EventOrder,
        told: &mut Self::Entry,
        text: &[u8],
        number: &dyn Fn(u32) -> u32,
    );
    /// All parts are over, and what they have told was taken.
    fn join(&mut self, _parts: Vec<Self::Observer>) {}
    /// That a capture has nothing that was asked for, and what it has.
    fn no_traffic(&self, read: &Totals) -> Option<String> {
        read.no_traffic()
    }
    /// A file, or the rest of it, cannot be read, and why; the next one follows.
    fn unreadable(&mut self, _file: &str, _why: &Failure) {}
    /// The capture was read.
    fn end(&mut self, read: &Totals) -> io::Result<()>;
}

/// What a part of the observers has to tell of the packets of a while.
pub(super) struct Slice<E> {
    /// When it was told, and what, in this order.
    pub(super) entries: Vec<(EventOrder, E)>,
    /// What the entries point into.
    pub(super) text: Vec<u8>,
}

impl<E> Default for Slice<E> {
    fn default() -> Slice<E> {
        Slice { entries: Vec::new(), text: Vec::new() }
    }
}

/// Reads all captures, one by one or merged. Warnings go to `err`.
pub(super) fn read<C: Command>(
    input: &Input,
    config: &Config,
    command: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let options = Options {
        complete: command.complete(),
        hears: command.hears(),
        lists: command.lists(),
        ..options(input, config)?
    };
    if let Some(request) = input.live.request() {
        let request = Request { made_later: command.makes().map(Path::to_owned), ..request };
        return sniff::sniff(&request, input.count, options, command, err, progress);
    }
    let mut filter = input.live.capture_filter.as_deref().map(FileFilter::new).transpose()?;
    let unpacking = input.memory.unwrap_or_default().unpacking();
    if input.merge && input.files.len() > 1 {
        let packets = capture::open_merged(&input.files, unpacking)?;
        let names: Vec<_> = input.files.iter().map(|file| display(file)).collect();
        let names = names.join(", ");
        let read = one(input, options, &names, None, packets, &mut filter, command, err, progress)?;
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
            one(input, options, &name, shown, packets, &mut filter, command, err, progress)
        });
        match read.and_then(|read| tell_unread(&name, &read, err)) {
            Ok(()) => {}
            Err(failure @ Failure::Capture(CaptureError::Interrupted { .. })) => {
                return Err(failure);
            }
            Err(failure @ (Failure::Capture(_) | Failure::Unread(_))) => {
                writeln!(err, "gamewire: {failure}").ok();
                command.unreadable(&name, &failure);
                ended = Err(Failure::Reported);
            }
            Err(failure) => return Err(failure),
        }
    }
    ended
}

/// Of a capture with nothing that was asked for, says so, and what it has.
pub(super) fn tell_no_traffic<C: Command>(
    name: &str,
    read: &Totals,
    command: &C,
    err: &mut dyn Write,
) {
    // Packets that cannot be read are told of elsewhere.
    let is_unread = read.packets > 0 && read.unknown_links == read.packets;
    if let Some(there) = command.no_traffic(read).filter(|_| !is_unread) {
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
fn one<C: Command>(
    input: &Input,
    options: Options,
    called: &str,
    name: Option<&str>,
    packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    command: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<Totals, Failure> {
    let bar = bar(packets.as_ref(), progress);
    command.begin(name)?;
    let shares = match filter {
        Some(_) => None,
        None => Shares::of(input.threads, &options, packets.as_ref(), command),
    };
    let mut progress = |done| bar.iter().for_each(|bar| bar.set_position(done));
    let read = match shares {
        Some(shares) => shares.read(&options, input.count, command, err, &mut progress)?,
        None => alone(options, input.count, packets, filter, command, err, &mut progress)?,
    };
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    command.check()?;
    command.end(&read)?;
    tell_no_traffic(called, &read, command, err);
    Ok(read)
}

/// Reads a capture with one thread.
fn alone<C: Command>(
    options: Options,
    count: Option<u64>,
    mut packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    command: &mut C,
    err: &mut dyn Write,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, Failure> {
    let mut session = Session::new(options);
    if let Some(capture) = packets.in_memory() {
        session.lend(capture);
    }
    let mut taken = 0;
    while let Some(event) = packets.next() {
        match event {
            Event::Packet(packet) => {
                let wanted = filter.as_mut().map_or(Ok(true), |filter| filter.takes(&packet))?;
                if wanted {
                    taken += 1;
                    session.packet(&packet, command.observer());
                } else {
                    session.pass_over();
                }
            }
            Event::Notice(notice) => {
                session.notice(&notice, command.observer());
                if notice.is_warning() {
                    writeln!(err, "gamewire: warning: {notice}").ok();
                }
            }
        }
        if session.packets().is_multiple_of(STEP) {
            progress(packets.progress().map_or(0, |(done, _)| done));
        }
        command.check()?;
        if count.is_some_and(|count| taken >= count) {
            break;
        }
    }
    finish(&mut session, command)?;
    Ok(session.totals_in_the_end())
}

/// What is open is judged, and told as it is.
pub(super) fn finish<C: Command>(session: &mut Session, command: &mut C) -> io::Result<()> {
    let mut open = session.finish(command.observer());
    while session.finish_next(&mut open, command.observer()) {
        command.check()?;
    }
    command.check()
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
