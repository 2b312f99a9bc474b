//! Options that would have no effect beside the other ones.

use super::{Command, DissectArgs, DissectFormat};

/// Why an option of this command would have no effect, and what to do.
pub(super) fn refusal(command: &mut Command) -> Option<String> {
    let of_command = match command {
        Command::Dissect(dissect) => of_dissect(dissect),
        _ => None,
    };
    of_command.map(str::to_owned).or_else(|| of_live(command)).or_else(|| of_one_file(command))
}

/// The newest files are to be kept, and there is only one.
fn of_one_file(command: &mut Command) -> Option<String> {
    command.input()?.live.keeps_newest_of_one().then(|| {
        "--rotate-files keeps the newest of several files; start new ones with --rotate-size MB or \
         --rotate-seconds SECONDS"
            .to_owned()
    })
}

/// An option that is only for live capture, beside files.
fn of_live(command: &mut Command) -> Option<String> {
    let interval = match command {
        Command::Abuse(abuse) => abuse.interval,
        Command::Summary(summary) => summary.interval,
        _ => None,
    };
    let live = &command.input()?.live;
    let interval = interval.filter(|_| live.interface.is_none()).map(|_| "--interval");
    let option = live.idle_option().or(interval)?;
    let instead = if option == "--metrics" { "; for files, use --format json" } else { "" };
    Some(format!("{option} is only for live capture and needs --interface IFACE{instead}"))
}

fn of_dissect(dissect: &DissectArgs) -> Option<&'static str> {
    let is_text = match dissect.format {
        Some(format) => format == DissectFormat::Text,
        None => dissect.fields.is_empty(),
    };
    if dissect.tree && dissect.format != Some(DissectFormat::Json) {
        Some(
            "--tree is a part of JSON and needs --format json; in text, -v shows the fields as a tree",
        )
    } else if dissect.hex && !is_text {
        Some(
            "-x shows bytes in text only; leave out --format and --fields, or use --format json --tree, which \
              has the range of bytes of each field",
        )
    } else {
        None
    }
}
