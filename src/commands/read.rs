//! From the files that were named to events: what is the same for every command.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use dissectors::kit::Secret;

use crate::capture::{self, CaptureError, Notice, Packet, Packets, Stop};
use crate::cli::Input;
use crate::commands::consumer::{Consumer, FRAGMENTS, LOOK, consume, finish, tell_no_traffic};
use crate::commands::extract::Extracting;
use crate::commands::notices::Monitor;
use crate::commands::shared::Shares;
use crate::commands::{Failure, sniff};
use crate::config::{Config, ConfigError, GivenKey};
use crate::filter::Filter;
use crate::flows::Identifier;
use crate::live::{FileFilter, Request};
use crate::metrics;
use crate::net::{self, Outcome};
use crate::session::{Decoder, Options, Totals, UnknownLinks};

/// Files that are at least this large get a progress bar.
const LARGE: u64 = 64 << 20;

/// How many packets pass between two looks at the clock of the progress bar.
const STEP: u64 = 1 << 14;

/// Reads all captures, one by one or merged, and writes the packets that are wanted, if that is
/// asked for. Warnings go to `err`.
pub(super) fn read<C: Consumer>(
    input: &Input,
    config: &Config,
    consumer: &mut C,
    stop: Option<fn() -> Stop>,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let output = input.live.write.as_deref().filter(|_| input.live.interface.is_none());
    let Some(output) = output else {
        return read_all(input, config, consumer, stop, err, progress);
    };
    let mut extracting = Extracting::new(consumer, output, input)?;
    let ran = read_all(input, config, &mut extracting, stop, err, progress);
    // What could be read is written, even if some could not.
    let written = extracting.write(input, err);
    ran.and(written)
}

/// Reads all captures, one by one or merged.
fn read_all<C: Consumer>(
    input: &Input,
    config: &Config,
    consumer: &mut C,
    stop: Option<fn() -> Stop>,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let filter = match consumer.selects_messages() {
        true => input.wanted.filter(true).map_err(Failure::Filter)?,
        false => None,
    };
    let needs = match input.live.metrics {
        Some(_) => metrics::needs(consumer.needs()),
        None => consumer.needs(),
    };
    let options =
        Options { complete: consumer.complete(), needs, filter, ..options(input, config)? };
    if let Some(request) = input.live.request() {
        let request = Request { made_later: consumer.makes(), ..request };
        let wanted = sniff::LiveWanted { packets: input.count, metrics: input.live.metrics };
        return sniff::sniff(&request, wanted, options, consumer, err, progress);
    }
    let stop = stop.map_or(Stop::default(), |stop| stop());
    let mut monitor = Monitor::new(stop, err);
    let mut filter = input.live.capture_filter.as_deref().map(FileFilter::new).transpose()?;
    let unpacking = input.memory.unwrap_or_default().unpacking();
    if input.merge && input.files.len() > 1 {
        let packets = capture::open_merged(&input.files, unpacking)?;
        let names: Vec<_> = input.files.iter().map(|file| display(file)).collect();
        let names = names.join(", ");
        let read = one(
            input,
            options,
            &names,
            None,
            packets,
            &mut filter,
            consumer,
            &mut monitor,
            progress,
        );
        monitor.end();
        let unopened = monitor.unopened();
        let count = unopened.len();
        for (path, why) in unopened {
            consumer.unreadable(&display(path), &Failure::Unopened(why.clone()));
        }
        tell_unread(&names, &read?, monitor.err)?;
        return match count {
            0 => Ok(()),
            count => Err(Failure::SomeUnopened { count, of: input.files.len() }),
        };
    }
    // A file that cannot be read does not keep the others from being read.
    let mut ended = Ok(());
    for (at, file) in input.files.iter().enumerate() {
        if stop.is_asked() && at > 0 {
            let more = input.files.len() - at;
            let files = if more == 1 { "file was" } else { "files were" };
            writeln!(monitor.err, "gamewire: warning: interrupted: {more} more {files} not read")
                .ok();
            break;
        }
        let name = display(file);
        let shown = (input.files.len() > 1).then_some(name.as_str());
        // A pipe ends by itself: its writer was often interrupted, too, and has something left.
        monitor.stop = if file.is_file() { stop } else { Stop::default() };
        let opened = capture::open_within(file, unpacking).map_err(Failure::from);
        let read = opened.and_then(|packets| {
            let options = options.clone();
            one(
                input,
                options,
                &name,
                shown,
                packets,
                &mut filter,
                consumer,
                &mut monitor,
                progress,
            )
        });
        match read.and_then(|read| tell_unread(&name, &read, monitor.err)) {
            Ok(()) => {}
            Err(failure @ Failure::Capture(CaptureError::Interrupted { .. })) => {
                ended = Err(failure);
                break;
            }
            Err(failure @ (Failure::Capture(_) | Failure::Unread(_))) => {
                writeln!(monitor.err, "gamewire: {failure}").ok();
                consumer.unreadable(&name, &failure);
                ended = Err(Failure::Reported);
            }
            Err(failure) => {
                ended = Err(failure);
                break;
            }
        }
    }
    monitor.end();
    ended
}

/// Of packets that could not be read, says so; where there were no others, that is an error.
fn tell_unread(name: &str, read: &Totals, err: &mut dyn Write) -> Result<(), Failure> {
    let Some(unread) = UnknownLinks::of(name, read) else { return Ok(()) };
    if unread.is_all() {
        return Err(Failure::Unread(unread));
    }
    writeln!(err, "gamewire: warning: {unread}").ok();
    Ok(())
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
    monitor: &mut Monitor<'_>,
    progress: bool,
) -> Result<Totals, Failure> {
    let bar = bar(packets.as_ref(), progress);
    consumer.begin(name)?;
    let shares = match filter {
        Some(_) => None,
        // Until the threads' flows are put in order, their numbers are not those of the capture.
        None if options.filter.as_ref().is_some_and(Filter::needs_flow_numbers) => None,
        None if consumer.sees_packets() => None,
        None => Shares::of(input.threads, &options, packets.as_ref()),
    };
    let meter = consumer.meter();
    if let (Some(meter), Some((_, all))) = (&meter, packets.progress()) {
        meter.all.store(all, Ordering::Relaxed);
    }
    let mut progress = |done| {
        bar.iter().for_each(|bar| bar.set_position(done));
        meter.iter().for_each(|meter| meter.done.store(done, Ordering::Relaxed));
    };
    let mut read = match shares {
        Some(shares) => {
            shares.read(&options, called, input.count, consumer, monitor, &mut progress)?
        }
        None => {
            alone(options, called, input.count, packets, filter, consumer, monitor, &mut progress)?
        }
    };
    bar.iter().for_each(indicatif::ProgressBar::finish_and_clear);
    consumer.end(&mut read)?;
    tell_no_traffic(called, &read, consumer, monitor.err);
    Ok(read)
}

/// Reads a capture with one thread.
#[allow(clippy::too_many_arguments, reason = "what is read, how, by whom and for whom")]
fn alone<C: Consumer>(
    options: Options,
    called: &str,
    count: Option<u64>,
    mut packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    consumer: &mut C,
    monitor: &mut Monitor<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Totals, Failure> {
    let mut decoder = Decoder::new(options);
    if let Some(capture) = packets.in_memory() {
        decoder.lend(capture);
    }
    let (mut taken, mut fragments) = (0, 0_u64);
    while let Some(event) = packets.next() {
        match event {
            capture::Event::Packet(packet) => {
                let wanted = filter.as_mut().map_or(Ok(true), |filter| filter.takes(&packet))?;
                if wanted {
                    taken += 1;
                    consumer.packet(decoder.packets() + 1, &packet);
                    decoder.push(&packet);
                } else {
                    fragments += u64::from(is_later_fragment(&packet));
                    decoder.pass_over();
                }
            }
            capture::Event::Notice(notice) => {
                decoder.notice(&notice);
                if notice.is_warning() {
                    monitor.warn(notice.into());
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
        let packets = decoder.packets();
        if packets.is_multiple_of(LOOK) && monitor.stop.is_asked() {
            let notice = Notice::Interrupted { path: called.into(), packets };
            decoder.notice(&notice);
            monitor.warn(notice.into());
            break;
        }
    }
    finish(&mut decoder, consumer)?;
    if fragments > 0 {
        let s = if fragments == 1 { "" } else { "s" };
        writeln!(
            monitor.err,
            "gamewire: warning: {called}: {fragments} IP fragment{s} did not pass -f: {FRAGMENTS}"
        )
        .ok();
    }
    Ok(decoder.into_totals())
}

/// Whether a packet is a fragment without the ports of its datagram.
fn is_later_fragment(packet: &Packet<'_>) -> bool {
    let mut is_later = false;
    net::decode(packet.link, packet.data, packet.original_length).each(&mut |outcome| {
        is_later |= matches!(outcome, Outcome::Fragment(fragment) if fragment.at > 0);
    });
    is_later
}

/// How protocols are distinguished.
pub(super) fn identifier(input: &Input, config: &Config) -> Identifier {
    Identifier::new([&input.decode_as[..], &config.decode_as].concat())
}

/// What the command line says, before what the configuration says.
pub(super) fn options(input: &Input, config: &Config) -> Result<Options, ConfigError> {
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

fn bar(packets: &dyn Packets, wanted: bool) -> Option<indicatif::ProgressBar> {
    let (_, total) = packets.progress()?;
    if !wanted || total < LARGE {
        return None;
    }
    let style = "{bar:40} {percent}% of {total_bytes}, {bytes_per_sec}, {eta} left";
    let style = indicatif::ProgressStyle::with_template(style).ok()?;
    Some(indicatif::ProgressBar::new(total).with_style(style))
}
