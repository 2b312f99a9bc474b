//! Hostile captures: randomly damaged ones, and ones with texts that terminals and spreadsheets would
//! interpret.

use std::panic::catch_unwind;
use std::path::Path;

use crate::support::project::Project;
use crate::support::{gamewire, samples};
use captures::exchange::Setting;
use captures::mutate::mutated;
use captures::wire::Prng;
use gamewire::text::is_hidden;

#[test]
fn damaged_captures_end_with_an_exit_code() {
    let project = Project::new("damaged");
    let page = project.path("page.html");
    let commands: [&[&str]; 5] = [
        &["check", "--format", "json"],
        &["dissect", "-v", "-x"],
        &["dissect", "--format", "json", "--tree"],
        &["flows"],
        &["report", "-o", &page],
    ];
    for (number, sample) in (0..400_u64).zip(samples().iter().cycle()) {
        let bytes = std::fs::read(sample).expect("a sample");
        project.write("damaged.pcap", mutated(&bytes, &mut Prng::new(number)));
        let path = project.path("damaged.pcap");
        let command = commands[(number / 7) as usize % commands.len()];
        let ran = catch_unwind(|| {
            gamewire(command.iter().copied().chain(["--no-config", path.as_str()])).code
        });
        let name = sample.display();
        assert!(ran.is_ok_and(|code| code < 3), "{command:?} of {name}, seed {number}");
    }
}

/// Clears the screen, sets a title, reverses the order of characters, hides one, ends the line.
const TEXT: &str = r"\x09\x1B[2J\x1B]0;owned\x07\xE2\x80\xAEtxt\xE2\x80\x8B\r\nfrom: nobody";

/// One exchange of each protocol, with it in every text.
fn exchanges() -> Vec<(Setting, String)> {
    let a2s = format!(
        "0 c > s FFFFFFFF 54 'Source Engine Query' 00\n\
         1 s > c FFFFFFFF 49 11 '{TEXT}' 00 '=1+1{TEXT}' 00 '@{TEXT}' 00 '{TEXT}' 00 B801 18 20 02 64 6C 00 01 '{TEXT}' 00"
    );
    let master = format!("0 c > m 31 FF '0.0.0.0:0' 00 '\\\\map\\\\{TEXT}' 00");
    let gamespy4 = format!(
        "0 c > s FEFD 09 00000001\n0.1 s > c 09 00000001 '1234' 00\n\
         0.2 c > s FEFD 00 00000001 000004D2 FFFFFF01\n\
         0.3 s > c 00 00000001 'splitnum' 00 80 00 'hostname' 00 '{TEXT}' 00 '{TEXT}' 00 '1' 00 's0' 00 '{TEXT}' 00 00"
    );
    let gamespy1 = format!("0 s > m '\\\\heartbeat\\\\7778\\\\gamename\\\\{TEXT}'");
    let acr = format!(
        "0 c > m 'GET /c?name={TEXT} HTTP/1.1\\r\\nHost: m\\r\\n\\r\\n'\n\
         1 m > c 'HTTP/1.1 200 OK\\r\\nContent-Length: 200\\r\\n\\r\\nmasterserver_flags 0\\n{TEXT}' 'x'*200"
    );
    vec![
        (Setting::udp(27015), a2s),
        (Setting::udp(27010), master),
        (Setting::udp(6500), gamespy4),
        (Setting::udp(27900), gamespy1),
        (Setting::tcp(80), acr),
    ]
}

#[test]
fn no_output_contains_control_characters() {
    let project = Project::new("terminal");
    // The name of a file is not trusted either.
    let name = "=cmd\u{1B}[2J\u{202E}.pcap";
    for (setting, script) in exchanges() {
        project.play(name, &setting, &script);
        for args in [
            &["dissect"][..],
            &["dissect", "-v", "-x"],
            &["dissect", "--format", "json", "--tree"],
            &[
                "dissect",
                "--fields",
                "frame,message,map,a2s.info_response.name,gamespy4.info_fragment.properties.hostname",
                "--format",
                "csv",
            ],
            &[
                "dissect",
                "--fields",
                "frame,message,map,a2s.info_response.name,gamespy4.info_fragment.properties.hostname",
                "--format",
                "ndjson",
            ],
            &["follow"],
            &["follow", "--format", "json"],
            &["follow", "--format", "mermaid"],
            &["follow", "--format", "svg"],
            &["check"],
            &["check", "--format", "json"],
            &["check", "--format", "junit"],
            &["check", "--format", "sarif"],
            &["check", "--format", "github"],
            &["summary"],
            &["summary", "--format", "csv"],
            &["summary", "--format", "json"],
            &["summary", "--format", "markdown"],
            &["abuse"],
            &["abuse", "--format", "json"],
            &["diagnose"],
            &["diagnose", "--format", "json"],
            &["diagnose", "--format", "markdown"],
            &["flows"],
            &["flows", "--format", "csv"],
            &["flows", "--format", "json"],
        ] {
            // The file twice: with several files, their names are headings.
            let run = project.run(&[args, &["--no-config", name, name]].concat());
            assert!(run.code < 2, "{args:?}: {}", run.err);
            if args.contains(&"-v") {
                let shown = run.out.matches(r"\x1B[2J").count();
                assert!(shown > 2, "the texts and the file's name are shown: {}", run.out);
            }
            let is_csv = args.contains(&"csv");
            let lines = run
                .out
                .split('\n')
                .map(|line| line.strip_suffix('\r').filter(|_| is_csv).unwrap_or(line));
            let shown = lines.chain(run.err.split('\n'));
            for line in shown {
                let hidden = line.chars().find(|&c| is_hidden(c));
                assert_eq!(hidden, None, "{args:?}: {}", line.escape_debug());
            }
        }
    }
    let missing = gamewire(["dissect", "no\u{1B}[2Jsuch.pcap"]);
    assert!(missing.code == 2 && !missing.err.trim_end().contains(is_hidden), "{}", missing.err);
}

#[test]
fn colours_are_the_only_escape_sequences() {
    let project = Project::new("colours");
    let mut escapes = 0;
    for (setting, script) in exchanges() {
        project.play("a.pcap", &setting, &script);
        for args in [&["dissect", "-v", "-x"][..], &["check"], &["flows"]] {
            let run =
                project.run(&[args, &["--color", "always", "--no-config", "a.pcap"]].concat());
            for escape in run.out.split('\u{1B}').skip(1) {
                let colour = escape.strip_prefix('[').and_then(|rest| rest.split_once('m'));
                let digits = |code: &str| code.bytes().all(|b| b.is_ascii_digit() || b == b';');
                assert!(colour.is_some_and(|(code, _)| digits(code)), "{args:?}: {escape:?}");
                escapes += 1;
            }
        }
    }
    assert!(escapes > 1000, "{escapes} colours were written");
}

/// The modules that may contain `unsafe`: small ones that state their reasons.
const UNSAFE: [&str; 5] = [
    "src/capture/mapping",
    "src/live/groups.rs",
    "src/live/libpcap.rs",
    "src/live/packet_socket/system.rs",
    "src/standard_output.rs",
];

#[test]
fn unsafe_code_is_in_few_modules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders =
        ["src", "dissectors", "xtask", "fuzz", "tests", "benches"].map(|f| root.join(f)).to_vec();
    let mut files = vec![root.join("build.rs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a readable folder").flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|e| e == "rs") => files.push(path),
                _ => {}
            }
        }
    }
    assert!(files.len() > 100);
    for file in files {
        let name = file.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let is_unsafe = |line: &str| {
            let code = line.split("//").next().unwrap_or_default();
            let words = ["un", "safe"].concat();
            code.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == words || word == format!("{words}_code"))
        };
        if UNSAFE.iter().any(|allowed| name.starts_with(allowed)) || name == "tests/it/hostile.rs" {
            continue;
        }
        let found = text.lines().position(|line| is_unsafe(line) && !line.contains("#![forbid"));
        assert_eq!(found.map(|at| at + 1), None, "{name}: is this the place for it?");
    }
}
