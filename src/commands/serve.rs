//! `gamewire serve`: plays servers and masters for clients under test.

use std::io::Write;
use std::time::Duration;

use crate::Terminal;
use crate::cli::ServeArgs;
use crate::commands::outputs::refuse_dash;
use crate::commands::{Failure, end_of_recording};
use crate::play::{Place, Play, Report, Scenario, Server};
use crate::text::{counted, escaped};

/// Runs the command.
///
/// # Errors
/// A scenario cannot be played, or the recording not be written.
pub fn run(
    args: &ServeArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    if args.list {
        return list(out);
    }
    if let Some(file) = &args.record {
        refuse_dash(file, "--record", "standard output has the addresses; name a file")?;
    }
    let scenarios = args.scenarios.iter().map(|name| named(name));
    let play = Play {
        scenarios: scenarios.collect::<Result<_, _>>()?,
        listen: args.listen,
        allow_remote: args.allow_remote,
        faults: args.fault.clone().unwrap_or_default(),
        seed: args.seed,
        record: args.record.clone(),
        once: args.once,
        duration: args.duration.map(|time| Duration::from_nanos(time.unsigned_abs())),
    };
    let stop = end_of_recording(terminal);
    let server = Server::open(play)?;
    for place in server.places() {
        writeln!(out, "{}", line(place))?;
    }
    out.flush()?;
    let report = server.run(&|| stop.is_asked())?;
    say(&report, args, err);
    Ok(())
}

fn named(name: &str) -> Result<Scenario, Failure> {
    Scenario::named(name).ok_or_else(|| {
        let name = escaped(name);
        let why = format!("there is no scenario `{name}`; `gamewire serve --list` names all");
        Failure::Other(why)
    })
}

fn line(place: &Place) -> String {
    let Place { name, shows, address, transport } = place;
    format!("{name} at {address} ({}): {shows}", transport.name())
}

/// One line per scenario: those that can be played, then why the others cannot.
fn list(out: &mut dyn Write) -> Result<(), Failure> {
    let (mut played, mut others) = (Vec::new(), Vec::new());
    for scenario in Scenario::all() {
        let (name, shows) = (&scenario.name, &scenario.shows);
        match scenario.transport() {
            Ok(transport) => {
                let transport = transport.name();
                played.push(format!("{name:<22} {transport}  {shows}"));
            }
            Err(why) => others.push(format!("{name:<22} {shows}: {why}")),
        }
    }
    for line in played {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "\nwrong examples that cannot be played:")?;
    for line in others {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn say(report: &Report, args: &ServeArgs, err: &mut dyn Write) {
    let Report { requests, unknown, answers, withheld, is_cut, .. } = *report;
    let heard = counted(requests, "request");
    writeln!(err, "gamewire: {heard}, {}", counted(answers, "answer")).ok();
    if unknown > 0 {
        let what = counted(unknown, "request");
        writeln!(err, "gamewire: note: {what} without an answer in the script").ok();
    }
    if withheld > 0 {
        let what = counted(withheld, "answer");
        writeln!(
            err,
            "gamewire: note: {what} withheld: more than three times larger than a request whose sender may be forged"
        )
        .ok();
    }
    if is_cut {
        writeln!(
            err,
            "gamewire: warning: the recording has reached a gigabyte, and lacks the rest"
        )
        .ok();
    }
    if let Some(file) = &args.record {
        writeln!(err, "gamewire: wrote {}", escaped(&file.to_string_lossy())).ok();
    }
}
