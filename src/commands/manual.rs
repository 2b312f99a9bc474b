//! `gamewire man` and `gamewire completions`, generated from the command line's definition.

use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::{self, Cli, CompletionsArgs};
use crate::commands::Failure;
use crate::text::escaped;

/// Writes a manual page in roff.
///
/// # Errors
/// There is no such command, or the output cannot be written.
pub fn page(args: &cli::ManArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let known = |known: &&clap::Command| known.get_name() == name;
        let Some(found) = command.get_subcommands().find(known) else {
            let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            let (name, known) = (escaped(name).into_owned(), names.join(", "));
            return Err(Failure::NoCommand { name, known });
        };
        command = found.clone().version(cli::VERSION);
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    sections(args.command.as_deref()).to_writer(&mut page)?;
    Ok(out.write_all(&page)?)
}

/// Sections that are not in the definition of the command line.
fn sections(command: Option<&str>) -> Roff {
    let mut page = Roff::new();
    let examples = examples(command);
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
    }
    for (what, line) in examples {
        page.control("TP", []).text([roman(*what)]).text([bold(*line)]);
    }
    page.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    page.control("SH", ["FILES"]);
    page.control("TP", []).text([bold("gamewire.toml")]).text([roman(
        "The configuration of a project: the nearest one in the working directory or above it, unless --config or \
         --no-config is given.",
    )]);
    let others = if command.is_some() { "gamewire(1), " } else { "" };
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(format!("{others}tcpdump(1), tshark(1), editcap(1), pcap-filter(7)"))]);
    page
}

const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "Success; check found no fault that fails the capture."),
    (
        "1",
        "check found a fault that fails the capture (see --fail-on, --require and --require-traffic), or diagnose found a fault.",
    ),
    (
        "2",
        "The command line, the input or the configuration is invalid, or output cannot be written.",
    ),
    ("130", "The run was interrupted before there was a result."),
    (
        "other",
        "Of record, and of check with a command if no fault fails the capture: the exit code of the command, or 128 \
         and the signal that ended it.",
    ),
];

/// Frequent uses of a command: a description, and the command line.
fn examples(command: Option<&str>) -> &'static [(&'static str, &'static str)] {
    match command {
        None => &[
            ("List the messages of a capture:", "gamewire dissect evening.pcapng"),
            (
                "Check it, and explain a broken rule:",
                "gamewire check evening.pcapng; gamewire explain A2S030",
            ),
        ],
        Some("dissect") => &[
            ("One line for each message:", "gamewire dissect evening.pcapng"),
            ("With all fields and their bytes:", "gamewire dissect -v -x evening.pcapng"),
            (
                "The names of all servers:",
                "gamewire dissect --format json evening.pcapng | jq -r .fields.name",
            ),
            ("Live traffic of a server:", "gamewire dissect -i eth0 -f 'udp port 27015'"),
        ],
        Some("follow") => &[
            (
                "One conversation, by its number in flows and dissect:",
                "gamewire follow --flow 3 evening.pcapng",
            ),
            (
                "The conversations of a player's computer with its master and game servers:",
                "gamewire follow --host 192.0.2.7 evening.pcapng",
            ),
            (
                "A diagram for a bug report:",
                "gamewire follow --format mermaid --flow 3 evening.pcapng",
            ),
        ],
        Some("scrub") => &[
            (
                "A copy of one flow for a bug report:",
                "gamewire scrub --flow 3 evening.pcapng -o report.pcapng",
            ),
            (
                "Several captures, with the same replacement for an address in all of them:",
                "gamewire scrub --key 'a secret' monday.pcap -o 1.pcapng",
            ),
        ],
        Some("export") => &[
            (
                "Rotated files as one capture, for a spreadsheet or a database:",
                "gamewire export --merge -o tables --format csv monday-*.pcapng",
            ),
            (
                "Only messages, one JSON object per line:",
                "gamewire export -o tables --format ndjson --tables messages evening.pcapng",
            ),
        ],
        Some("serve") => &[
            (
                "A server whose list of players lacks one, until a client has read it:",
                "gamewire serve A2S030 --once --record said.pcapng",
            ),
            ("A right one, which loses every tenth answer:", "gamewire serve a2s --fault loss=10%"),
        ],
        Some("flows") => &[
            ("The ten flows with the most bytes:", "gamewire flows --top 10 evening.pcapng"),
            ("For a spreadsheet:", "gamewire flows --format csv evening.pcapng > flows.csv"),
        ],
        Some("check") => &[
            (
                "In continuous integration:",
                "gamewire check --complete --require-traffic server.pcap",
            ),
            (
                "One server, two groups of rules:",
                "gamewire check --host 192.0.2.7:27015 --select A2S04,SEC server.pcap",
            ),
            ("As JUnit XML:", "gamewire check --format junit server.pcap > report.xml"),
            (
                "What a client says to a server, recorded without the right to capture:",
                "gamewire check --relay 127.0.0.1:27016=192.0.2.7:27015 -- ./client 127.0.0.1:27016",
            ),
        ],
        Some("record") => &[
            (
                "A client that asks the server given as its argument, without the right to capture:",
                "gamewire record -w client.pcapng --relay 127.0.0.1:27016=192.0.2.7:27015 -- ./client 127.0.0.1:27016",
            ),
            (
                "A list over TCP, at a port that is free:",
                "gamewire record -w list.pcapng --relay tcp:127.0.0.1:0=192.0.2.9:28900 -- sh -c './list $GAMEWIRE_RELAY_1'",
            ),
        ],
        Some("rules") => &[("Rules about split responses:", "gamewire rules A2S04")],
        Some("fields") => &[
            ("The fields of an A2S_INFO response:", "gamewire fields a2s.info_response"),
            ("All messages with players:", "gamewire fields players"),
        ],
        Some("explain") => &[(
            "The requirement of a rule, and its reason:",
            "gamewire explain A2S030 player-count",
        )],
        Some("completions") => &[(
            "For bash:",
            "gamewire completions bash > ~/.local/share/bash-completion/completions/gamewire",
        )],
        Some(_) => &[],
    }
}

/// Writes a shell's completions.
///
/// # Errors
/// The output cannot be written.
pub fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gamewire", &mut script);
    Ok(out.write_all(&script)?)
}
