//! What the page saves has the bytes of what the program writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{after, choose, give, is_alone, message, opened, program, sample, show};
use crate::support::browser::Browser;
use crate::support::project::Project;

const SAMPLES: [&str; 5] = [
    "a2s-quirks.pcap",
    "valve-master-faults.pcap",
    "gamespy4-ut3.pcap",
    "acr-master-faults.pcap",
    "abuse-victim.pcap",
];

/// A browser that saves files in a folder of the project.
fn saving(project: &Project) -> Option<(Browser, String, PathBuf)> {
    let (browser, page) = opened(project)?;
    let folder = PathBuf::from(project.path("saved"));
    std::fs::create_dir_all(&folder).expect("a folder");
    browser.save_to(&folder.to_string_lossy());
    Some((browser, page, folder))
}

/// The file of this name that a button saves.
fn saved(browser: &Browser, folder: &Path, button: &str, name: &str) -> Vec<u8> {
    browser.click(button);
    let file = folder.join(name);
    // The browser puts an empty file where the whole one will be.
    let bytes = (0..500).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        std::fs::read(&file).ok().filter(|bytes| !bytes.is_empty())
    });
    let Some(bytes) = bytes else { panic!("{button} saves no {name}: {}", message(browser)) };
    std::fs::remove_file(&file).expect("a file");
    bytes
}

/// The bytes of a file that the program writes in another folder, run in the folder of the samples.
fn written(project: &Project, args: &[&str], name: &str) -> Vec<u8> {
    let ran = Command::new(env!("CARGO_BIN_EXE_gamewire"))
        .args(args)
        .current_dir(sample(""))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    std::fs::read(project.path(name)).unwrap_or_else(|_| panic!("{name} is written: {said}"))
}

/// A report without the commit that it names: the page may be built from another one than the program.
fn without_commit(report: Vec<u8>) -> String {
    let report = String::from_utf8(report).expect("UTF-8");
    let version = concat!(env!("CARGO_PKG_VERSION"), " (");
    let (before, after) = report.split_once(version).expect("its version");
    let (_, after) = after.split_once(')').expect("its end");
    format!("{before}{after}")
}

fn set_filter(browser: &Browser, filter: &str) {
    browser.run(&format!("document.getElementById('filter').value = {filter:?}"));
}

#[test]
fn csv_is_what_the_program_writes() {
    let project = Project::new("web-page-csv");
    let Some((browser, page, folder)) = saving(&project) else { return };
    let out = project.path("tables");
    for name in SAMPLES {
        give(&browser, &[&sample(name)]);
        for (view, tables) in [
            ("Summary", ["servers", "masters", "clients", "protocols", "ports"].as_slice()),
            ("Flows", &["flows"]),
            ("Messages", &["messages"]),
            ("Check", &["findings", "verdicts"]),
        ] {
            show(&browser, view);
            choose(&browser, "format", "csv");
            for &table in tables {
                if tables.len() > 1 {
                    choose(&browser, "table", table);
                }
                let csv = ["--no-config", "--format", "csv"];
                let command: &[&str] = match view {
                    "Summary" => &["summary", "--table", table],
                    "Flows" => &["flows"],
                    "Messages" => &["dissect"],
                    _ => &["export", "--tables", table, "-o", &out],
                };
                let line = [command, &csv, &["--", name]].concat();
                let is = match view {
                    "Check" => written(&project, &line, &format!("tables/{table}.csv")),
                    _ => program(&sample(""), &line).into_bytes(),
                };
                let file = format!("gamewire-{table}.csv");
                let saved = saved(&browser, &folder, "#save", &file);
                assert!(is.contains(&b','), "{name} {view} {table}");
                let [saved, is] = [saved, is].map(|it| String::from_utf8(it).expect("UTF-8"));
                assert_eq!(saved, is, "{name} {view} {table}: {}", message(&browser));
                assert_eq!(browser.text("#output"), is, "{name} {view} {table}");
            }
        }
    }
    // The others have no table.
    show(&browser, "Abuse");
    assert_eq!(browser.run("return document.getElementById('format').value"), "text");
    let csv = "return document.querySelector('#format [value=csv]').disabled";
    assert_eq!(browser.run(csv), true);
    is_alone(&browser, &page);
}

#[test]
fn packets_that_the_filter_selects_are_what_the_program_writes() {
    let project = Project::new("web-page-packets");
    let Some((browser, page, folder)) = saving(&project) else { return };
    let out = project.path("some.pcapng");
    let filters = [
        ("a2s-quirks.pcap", "a2s.info_request or rule == A2S030"),
        ("a2s-quirks.pcap", ""),
        ("valve-master-faults.pcap", "valve_master and port == 27010"),
        ("gamespy4-ut3.pcap", "gamespy4"),
        // Streams, with the segments that open and close them.
        ("acr-master-faults.pcap", "acr_master"),
        ("abuse-victim.pcap", "frame < 100"),
        ("abuse-victim.pcap", "frame < 1"),
    ];
    for (name, filter) in filters {
        give(&browser, &[&sample(name)]);
        set_filter(&browser, filter);
        let saved = saved(&browser, &folder, "#packets", "gamewire-packets.pcapng");
        let wanted = if filter.is_empty() { vec![] } else { vec!["-Y", filter] };
        let line = [&["dissect", "--no-config", "-w", &out], &*wanted, &["--", name]].concat();
        let is = written(&project, &line, "some.pcapng");
        assert!(is.starts_with(b"\n\r\r\n"), "{name} {filter}");
        assert!(saved == is, "{name} {filter}: {} bytes, not {}", saved.len(), is.len());
    }
    let files = ["a2s-quirks.pcap", "gamespy4-ut3.pcap"];
    give(&browser, &files.map(sample).each_ref().map(PathBuf::as_path));
    set_filter(&browser, "a2s or frame < 9");
    after(&browser, || browser.click("#merge"));
    let saved = saved(&browser, &folder, "#packets", "gamewire-packets.pcapng");
    let line = ["dissect", "--no-config", "-w", &out, "-Y", "a2s or frame < 9", "--merge", "--"];
    assert!(
        saved == written(&project, &[line.as_slice(), &files].concat(), "some.pcapng"),
        "merged"
    );
    is_alone(&browser, &page);
    set_filter(&browser, "a2s and");
    after(&browser, || browser.click("#packets"));
    assert!(message(&browser).contains("a2s and"), "{}", message(&browser));
}

#[test]
fn report_json_and_copy_are_what_the_program_writes() {
    let project = Project::new("web-page-saves");
    let Some((browser, page, folder)) = saving(&project) else { return };
    // Else its key is random.
    browser.run("crypto.getRandomValues = (bytes) => bytes.map((_, nth) => nth * 7)");
    let key: String = (0..32_u8).map(|nth| format!("{:02x}", nth * 7)).collect();
    let [report, copy] = ["report.html", "copy.pcapng"].map(|name| project.path(name));
    for name in SAMPLES {
        give(&browser, &[&sample(name)]);
        show(&browser, "Report");
        let it = saved(&browser, &folder, "#save", "gamewire-report.html");
        let line = ["report", "--no-config", "-o", &report, "--", name];
        let [it, is] = [it, written(&project, &line, "report.html")].map(without_commit);
        assert!(it == is, "{name}: report");
        let it = saved(&browser, &folder, "#scrub", "gamewire-scrubbed.pcapng");
        let line = ["scrub", "--no-config", "--key", &key, "-o", &copy, "--", name];
        assert!(it == written(&project, &line, "copy.pcapng"), "{name}: copy");
        show(&browser, "Diagnose");
        choose(&browser, "format", "json");
        let it = saved(&browser, &folder, "#save", "gamewire-diagnose.json");
        let line = ["diagnose", "--no-config", "--format", "json", "--", name];
        assert!(it == program(&sample(""), &line).into_bytes(), "{name}: JSON");
    }
    is_alone(&browser, &page);
}
