//! From the files that were named to a session's packets: what is the same for every command.

use std::io::{self, Write};
use std::path::Path;

use dissectors::kit::{Secret, Settings};

use crate::capture::{self, Event, Packets};
use crate::cli::Input;
use crate::commands::{Failure, sniff};
use crate::config::{Config, ConfigError, Given};
use crate::flows::Identifier;
use crate::limits::Limits;
use crate::live::FileFilter;
use crate::session::{Options, Session, View};

/// Files that are at least this large get a progress bar.
const LARGE: u64 = 64 << 20;

/// How many packets pass between two looks at the clock of the progress bar.
const STEP: u64 = 1 << 14;

/// What a command does with each capture, beside looking on.
pub(super) trait Command {
    /// Looks on.
    type View: View;
    /// A capture begins; it has a name where there are several.
    fn begin(&mut self, name: Option<&str>) -> io::Result<()>;
    /// The view.
    fn view(&mut self) -> &mut Self::View;
    /// Whether the user vouches that captures are complete.
    fn complete(&self) -> bool {
        false
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
    /// The capture was read.
    fn end(&mut self, session: &Session) -> io::Result<()>;
}

/// Reads all captures, one by one or merged. Warnings go to `err`.
pub(super) fn read<C: Command>(
    input: &Input,
    config: &Config,
    command: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let options = Options { complete: command.complete(), ..options(input, config)? };
    if let Some(request) = input.live.request() {
        return sniff::sniff(&request, input.count, options, command, err, progress);
    }
    let mut filter = input.live.capture_filter.as_deref().map(FileFilter::new).transpose()?;
    if input.merge && input.files.len() > 1 {
        let packets = capture::open_merged(&input.files)?;
        return one(input, options, None, packets, &mut filter, command, err, progress);
    }
    for file in &input.files {
        let packets = capture::open(file)?;
        let name = (input.files.len() > 1).then(|| display(file));
        let (name, options) = (name.as_deref(), options.clone());
        one(input, options, name, packets, &mut filter, command, err, progress)?;
    }
    Ok(())
}

/// A file's name, safe to show.
fn display(file: &Path) -> String {
    crate::text::escaped(&file.to_string_lossy()).into_owned()
}

#[allow(clippy::too_many_arguments, reason = "what is read, how, by whom and for whom")]
fn one<C: Command>(
    input: &Input,
    options: Options,
    name: Option<&str>,
    mut packets: Box<dyn Packets + Send>,
    filter: &mut Option<FileFilter>,
    command: &mut C,
    err: &mut dyn Write,
    progress: bool,
) -> Result<(), Failure> {
    let mut session = Session::new(options);
    let bar = bar(packets.as_ref(), progress);
    command.begin(name)?;
    while let Some(event) = packets.next() {
        match event {
            Event::Packet(packet) => {
                let wanted = filter.as_mut().map_or(Ok(true), |filter| filter.takes(&packet))?;
                if wanted {
                    session.packet(&packet, command.view());
                } else {
                    session.pass_over();
                }
            }
            Event::Notice(notice) => {
                session.notice(&notice, command.view());
                writeln!(err, "gamewire: warning: {notice}").ok();
            }
        }
        if session.packets().is_multiple_of(STEP)
            && let Some(bar) = &bar
        {
            bar.set_position(packets.progress().map_or(0, |(done, _)| done));
        }
        command.check()?;
        if input.count.is_some_and(|count| session.packets() >= count) {
            break;
        }
    }
    session.finish(command.view());
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    warn_of_unknown_links(&session, err);
    command.check()?;
    command.end(&session)?;
    Ok(())
}

/// Says how many packets could not be read.
pub(super) fn warn_of_unknown_links(session: &Session, err: &mut dyn Write) {
    if session.unknown_links() > 0 {
        let (count, all) = (session.unknown_links(), session.packets());
        let packets = if count == 1 { "packet has" } else { "packets have" };
        writeln!(
            err,
            "gamewire: warning: {count} of {all} {packets} a link type that gamewire does not read"
        )
        .ok();
    }
}

/// What the command line says, before what the configuration says.
fn options(input: &Input, config: &Config) -> Result<Options, ConfigError> {
    let settings = Settings {
        gamespy_keys: keys(&input.gamespy_key, &config.settings.gamespy_keys)?,
        acr_keys: keys(&input.acr_key, &config.settings.acr_keys)?,
        ..config.settings.clone()
    };
    let defaults = Options::default();
    Ok(Limits::with(&input.limit).options(Options {
        identifier: Identifier::new([&input.decode_as[..], &config.decode_as].concat()),
        settings,
        verify_checksums: input.verify_checksums,
        idle: config.flow_idle.unwrap_or(defaults.idle),
        ..defaults
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
