//! `gamewire report`: the content of the page, and that it is written completely or not at all.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Stdio;

use crate::support::project::Project;
use crate::support::{gamewire, samples, small_recorded_captures};
use captures::exchange::Setting;
use captures::wire::{Capture, Datagram, Link, START};
use serde_json::{Value, json};

/// The data of a page, by its id.
fn data(page: &str, id: &str) -> String {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap();
    rest.split_once("</script>").unwrap().0.to_owned()
}

fn captures(page: &str) -> Vec<Value> {
    let report: Value = serde_json::from_str(&data(page, "report")).unwrap();
    report["captures"].as_array().unwrap().clone()
}

fn messages(capture: &Value) -> Vec<Value> {
    let all = capture["sample"]["messages"].as_array().unwrap().iter();
    all.filter(|message| message.get("icmp").is_none()).cloned().collect()
}

/// A capture of 6,000 requests, each of a client of its own, and their large responses.
fn many_messages(file: &str) {
    let asks = [0xFF, 0xFF, 0xFF, 0xFF, b'V', 0x11, 0x22, 0x33, 0x44];
    let mut rules = b"\xFF\xFF\xFF\xFFE\x3C\0".to_vec();
    (0..60).for_each(|nth| rules.extend(format!("a_rule_of_a_server_{nth}\0{nth}\0").into_bytes()));
    let (mut capture, server) = (Capture::new(Link::Ethernet), "20.0.0.1:27015");
    for nth in 0..6000_u64 {
        let client = format!("10.0.{}.{}:5000", nth >> 8, nth & 255);
        capture.push(START.after_ms(10 * nth), &Datagram::new(&client, server, &asks).packet());
        let responds = Datagram::new(server, &client, &rules).packet();
        capture.push(START.after_ms(10 * nth + 1), &responds);
    }
    std::fs::write(file, capture.pcap()).unwrap();
}

/// The page about a capture.
fn page(project: &Project, arguments: &[&str]) -> String {
    let out = project.path("report.html");
    let run = gamewire([&["report", "--no-config", "-o", &out], arguments].concat());
    assert_eq!((run.code, &*run.out), (0, ""), "{}", run.err);
    project.read("report.html")
}

fn object(command: &str, file: &str) -> Value {
    let run = gamewire([command, "--no-config", "--format", "json", file]);
    serde_json::from_str(&run.out).unwrap()
}

/// Compares the numbers of a page with those of the commands.
fn numbers_are_those_of_the_commands(project: &Project, file: &Path) {
    let file = file.to_str().unwrap();
    let page = page(project, &[file]);
    let capture = captures(&page).remove(0);
    assert_eq!(capture["summary"], object("summary", file), "{file}");
    assert_eq!(capture["check"], object("check", file), "{file}");
    let shown = messages(&capture);
    let copies = shown.iter().filter(|it| it.get("copy_of").is_some()).count();
    assert_eq!(capture["sample"]["seen"], shown.len() - copies, "{file}: copies count nowhere");
    let details = data(&page, "details-0");
    assert_eq!(details.lines().count(), capture["sample"]["messages"].as_array().unwrap().len());
    let dissected = gamewire(["dissect", "--no-config", "--format", "json", "--tree", file]).out;
    let dissected: Vec<Value> =
        dissected.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown.len(), dissected.len(), "{file}");
    let all = capture["sample"]["messages"].as_array().unwrap().iter();
    let trees = all.zip(details.lines()).filter(|(it, _)| it.get("icmp").is_none());
    for ((message, detail), dissected) in trees.zip(&dissected) {
        for key in ["frame", "flow", "src", "dst", "protocol", "message", "time"] {
            assert_eq!(message[key], dissected[key], "{file}");
        }
        let detail: Value = serde_json::from_str(detail).unwrap();
        // Of a message with very many fields, the page has only the first bytes.
        match detail.get("tree") {
            None => assert!(dissected["tree"].to_string().len() > 32 << 10, "{file}: {message}"),
            Some(tree) => assert_eq!(*tree, dissected["tree"], "{file}"),
        }
    }
}

#[test]
fn the_numbers_are_those_of_summary_and_check() {
    let project = Project::new("report-numbers");
    for file in samples().iter().chain(&small_recorded_captures().unwrap_or_default()) {
        numbers_are_those_of_the_commands(&project, file);
    }
}

#[test]
fn the_page_has_the_requests_of_the_summary() {
    let project = Project::new("report-requests");
    let mut compared = 0;
    for name in
        ["a2s-quirks", "silence-unanswered", "silence-icmp", "abuse-answers-from-another-host"]
    {
        let capture = captures(&page(&project, &[&format!("samples/{name}.pcap")])).remove(0);
        let shown = messages(&capture);
        for server in capture["summary"]["servers"].as_array().unwrap() {
            let own = shown.iter().filter(|it| it["dst"] == server["server"]);
            let fared: Vec<_> = own.filter_map(|it| it.get("answered")).collect();
            assert_eq!(server["exchanges"], fared.len(), "{name}: {server}");
            let answered = fared.iter().filter(|it| **it == true).count();
            assert_eq!(server["answered"], answered, "{name}: {server}");
            compared += 1;
        }
    }
    assert!(compared > 5, "{compared}");
}

/// This number of exchanges, one per millisecond, every 500th with a fault.
fn exchanges(count: u64) -> String {
    let mut script = String::new();
    for nth in 0..count {
        let players = if nth % 500 == 250 { "02" } else { "00" };
        let at = nth as f64 / 1000.0;
        write!(
            script,
            "{at:.4} c{} > s FFFFFFFF 55 11223344\n{:.4} s > c{} FFFFFFFF 44 {players}\n",
            nth % 7,
            at + 0.0004,
            nth % 7
        )
        .unwrap();
    }
    script
}

#[test]
fn a_sample_of_many_messages_has_those_with_findings() {
    let project = Project::new("report-sample");
    project.play("many.pcap", &Setting::udp(27015), &exchanges(7000));
    let file = project.path("many.pcap");
    let page_of = |threads: &str| page(&project, &[&file, "--threads", threads]);
    let page = page_of("1");
    assert!(page == page_of("4"), "the same for any number of threads");
    let capture = captures(&page).remove(0);
    let shown = messages(&capture);
    assert_eq!(capture["sample"]["seen"], 14_000);
    assert_eq!(shown.len(), 10_000);
    let frames: BTreeSet<_> = shown.iter().map(|it| it["frame"].as_u64().unwrap()).collect();
    let findings = capture["check"]["findings"].as_array().unwrap();
    let found = findings.iter().filter_map(|it| it["frames"].as_array().unwrap().last());
    let found: Vec<_> = found.map(|frame| frame.as_u64().unwrap()).collect();
    assert!(found.len() >= 14 && found.iter().all(|frame| frames.contains(frame)));
    // Other messages are left out at random; weights compensate for it.
    let certain = shown.iter().filter(|it| it.get("certain").is_some()).count() as f64;
    let weight = capture["sample"]["weight"].as_f64().unwrap();
    let estimated = certain + (10_000.0 - certain) * weight;
    assert!((estimated - 14_000.0).abs() < 1.0, "{estimated}");
    let requests = shown.iter().filter(|it| it["speaker"] == "client").count();
    assert!((4500..5500).contains(&requests), "{requests}");

    let once = gamewire(["report", "--no-config", "-o", &project.path("x.html"), "/dev/null"]);
    assert_eq!(once.code, 2, "{}", once.err);
}

#[test]
fn a_filter_selects_the_embedded_messages() {
    let project = Project::new("report-filter");
    let file = "samples/a2s-quirks.pcap";
    let filtered = ["-Y", "a2s.rules_response", file];
    let capture = captures(&page(&project, &filtered)).remove(0);
    let shown = messages(&capture);
    assert!(!shown.is_empty() && shown.iter().all(|it| it["message"] == "rules_response"));
    let check = gamewire([&["check", "--no-config", "--format", "json"], &filtered[..]].concat());
    let check: Value = serde_json::from_str(&check.out).unwrap();
    assert_eq!(capture["check"]["findings"], check["findings"]);
    let summary =
        gamewire([&["summary", "--no-config", "--format", "json"], &filtered[..]].concat());
    assert_eq!(capture["summary"], serde_json::from_str::<Value>(&summary.out).unwrap());
}

/// What is listed is of the selected messages; the verdict is not.
#[test]
fn under_a_filter_the_verdict_is_that_of_the_whole_capture() {
    let project = Project::new("report-filter-verdict");
    let file = "samples/valve-master-faults.pcap";
    let conformance = |page: &str| {
        let (_, rest) = above(page).split_once("class=\"conformance ").unwrap();
        let (line, rest) = rest.split_once("</details>").unwrap();
        (line.to_owned(), rest.split("</section>").next().unwrap().to_owned())
    };
    let (whole, none) = conformance(&page(&project, &[file]));
    assert!(whole.contains("Not as specified: 8 errors, 7 warnings, 1 note"), "{whole}");
    assert!(!none.contains("<code>"), "{none}");
    for (filter, named, holds) in [
        (
            &["-Y", "valve_master.reply and frame==4"][..],
            "-Y 'valve_master.reply and frame==4'",
            "",
        ),
        (&["--host", "10.0.1.2"], "--host 10.0.1.2", ""),
        (
            &["-Y", "frame==400"],
            "-Y 'frame==400'",
            " No message matches -Y 'frame==400'; 20 messages of valve_master.",
        ),
    ] {
        let (verdict, note) = conformance(&page(&project, &[filter, &[file][..]].concat()));
        assert_eq!(verdict, whole, "{filter:?}");
        assert!(note.contains(&format!("<code>{named}</code> selects.{holds}</p>")), "{note}");
    }
}

/// Of each rule, only the first findings are kept; its parties are ranked by all of them.
#[test]
fn of_many_findings_the_counts_are_those_of_check() {
    let project = Project::new("report-counts");
    let file = project.path("many.pcap");
    let (asks, claims) = (b"\xFF\xFF\xFF\xFFU\x11\x22\x33\x44", b"\xFF\xFF\xFF\xFFD\x02");
    let mut capture = Capture::new(Link::Ethernet);
    // The servers with most findings come last.
    let servers = [(1, 600), (2, 500), (3, 700), (4, 650)];
    let faults = servers.iter().flat_map(|(server, times)| std::iter::repeat_n(server, *times));
    for (nth, server) in faults.enumerate() {
        let (client, server) =
            (format!("10.0.{}.{}:5000", nth >> 8, nth & 255), format!("20.0.0.{server}:27015"));
        let now = START.after_ms(10 * nth as u64);
        capture.push(now, &Datagram::new(&client, &server, asks).packet());
        capture.push(now, &Datagram::new(&server, &client, claims).packet());
    }
    std::fs::write(&file, capture.pcap()).unwrap();
    let page = page(&project, &[&file]);
    let capture = captures(&page).remove(0);
    let groups = capture["groups"].as_array().unwrap();
    let group = groups.iter().find(|it| it["rule"] == "A2S030").unwrap();
    let party = |nth: u64, count: u64| json!({ "name": format!("20.0.0.{nth}:27015"), "who": "server", "count": count });
    assert_eq!(
        group["parties"],
        json!([party(3, 700), party(4, 650), party(1, 600), party(2, 500)])
    );
    assert_eq!((&group["count"], &group["all"]), (&json!(2450), &json!(4)));
    assert!(above(&page).contains("4 servers broke 1 rule (A2S030 player-count)"));
    let text = gamewire(["check", "--no-config", &file]).out;
    assert!(text.contains("700 x server 20.0.0.3:27015"), "{text}");
}

#[test]
fn numbers_in_the_headline_are_grouped() {
    let project = Project::new("report-grouped");
    let file = project.path("servers.pcap");
    let mut capture = Capture::new(Link::Ethernet);
    for nth in 0..1002_u64 {
        let (server, now) =
            (format!("20.0.{}.{}:27015", nth >> 8, nth & 255), START.after_ms(10 * nth));
        let asks = Datagram::new("10.0.0.1:5000", &server, b"\xFF\xFF\xFF\xFFU\x11\x22\x33\x44");
        capture.push(now, &asks.packet());
        if nth > 0 {
            let responds = Datagram::new(&server, "10.0.0.1:5000", b"\xFF\xFF\xFF\xFFD\0");
            capture.push(now.after_ms(1), &responds.packet());
        }
    }
    std::fs::write(&file, capture.pcap()).unwrap();
    let page = page(&project, &[&file]);
    assert!(above(&page).contains("Nothing is wrong with 1,001 of 1,002 servers"));
}

#[test]
fn it_is_written_completely_or_not_at_all() {
    let project = Project::new("report-whole");
    let sample = std::fs::read("samples/a2s-quirks.pcap").unwrap();
    project.write("a.pcap", &sample);
    let file = project.path("a.pcap");
    let report = |out: &str, files: &[&str]| {
        gamewire([&["report", "--no-config", "-o", out], files].concat())
    };
    let onto = report(&file, &[&file]);
    assert!(onto.code == 2 && onto.err.contains("would be destroyed"), "{}", onto.err);
    assert_eq!(std::fs::read(&file).unwrap(), sample);
    let stream = report("-", &[&file]);
    assert!(stream.code == 2 && stream.err.contains("name a file"), "{}", stream.err);
    let nowhere = report(&project.path("no/such/folder.html"), &[&file]);
    assert!(nowhere.code == 2 && nowhere.err.contains("folder.html"), "{}", nowhere.err);
    let missing = report(&project.path("out.html"), &["no-such.pcap"]);
    assert!(missing.code == 2 && missing.err.contains("no-such.pcap"), "{}", missing.err);
    assert_eq!(project.names(), ["a.pcap"], "nothing is left of an attempt");
    // Readable files are in the report, and others are errors.
    let some = report(&project.path("out.html"), &[&file, "no-such.pcap"]);
    assert!(some.code == 2 && some.err.contains("no-such.pcap"), "{}", some.err);
    assert_eq!(captures(&project.read("out.html")).len(), 1);
    assert_eq!(project.names(), ["a.pcap", "out.html"]);
}

#[test]
fn several_captures_are_in_one_page() {
    let project = Project::new("report-several");
    let files = ["samples/a2s-quirks.pcap", "samples/gamespy4-ut3.pcap"];
    let page = page(&project, &files);
    let names: Vec<_> = captures(&page).iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, files);
    assert_eq!(page.matches("data-capture=").count(), 2);
    assert!(page.contains("id=\"details-1\""));
}

/// The static part of a page: everything above its data.
fn above(page: &str) -> &str {
    page.split_once("<script type=\"application/json\"").unwrap().0
}

/// The elements of a class in the static part, as texts without markup.
fn texts(page: &str, class: &str) -> Vec<String> {
    let start = format!("class=\"{class}\">");
    let parts = above(page).split(&start).skip(1);
    let until_end = parts.map(|part| part.split("</p>").next().unwrap().to_owned());
    let plain = |html: String| {
        let texts = html.split('<').map(|it| it.split_once('>').map_or(it, |(_, text)| text));
        let text = texts.collect::<String>();
        text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    };
    until_end.map(plain).collect()
}

/// Text as `diagnose` writes it, without its wrapping.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_screen_says_what_is_wrong_and_what_to_do() {
    let project = Project::new("report-answer");
    let file = "samples/silence-unanswered.pcap";
    let page = page(&project, &[file]);
    // With a single server, everything about it is shown.
    let server = ["--server", "10.0.0.2:27015", file];
    let told = gamewire([&["diagnose", "--no-config"], &server[..]].concat());
    let told = unwrapped(&told.out);
    let (_, heading) = above(&page).split_once("<h1").unwrap();
    let heading = heading.split_once('>').unwrap().1.split_once("</h1>").unwrap().0;
    let heading = heading.replace("&quot;", "\"");
    assert!(told.starts_with(&heading), "{heading}\n{told}");
    let todo = texts(&page, "todo");
    let advice = todo[0].strip_prefix("What to do: ").unwrap();
    assert!(told.contains(advice), "{todo:?}\n{told}");
    let place = |what: &str| above(&page).find(what).unwrap_or_else(|| panic!("{what}"));
    let order = [
        "What to do",
        "class=\"conformance ",
        "id=\"findings-section\"",
        "id=\"timeline-section\"",
    ];
    assert!(order.map(place).is_sorted(), "the answer comes first: {:?}", order.map(place));
}

#[test]
fn the_answer_is_that_of_diagnose_for_every_capture() {
    let project = Project::new("report-answers");
    let mut seen = 0;
    for file in samples() {
        let file = file.to_str().unwrap();
        let page = page(&project, &[file]);
        let diagnosed = object("diagnose", file);
        let parties = ["servers", "masters", "clients"].map(|it| diagnosed[it].as_array().unwrap());
        let faults = parties.iter().flat_map(|all| all.iter());
        let faults = faults.filter(|it| it["verdict"] == "fault").count();
        let shown = above(&page).matches("class=\"answer fail\"").count();
        let attacks = above(&page).matches("Figures, sources and filters").count();
        assert_eq!(shown - attacks, faults, "{file}");
        let abuse = object("abuse", file);
        assert_eq!(attacks, abuse["attacks"].as_array().unwrap().len(), "{file}");
        // Each condition that is not met is in a checklist.
        let items = parties.iter().flat_map(|all| all.iter()).flat_map(|it| {
            it["items"].as_array().unwrap().iter().filter(|item| item["verdict"] == "no")
        });
        assert!(above(&page).matches("<td>NO</td>").count() <= items.count(), "{file}");
        seen += faults;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn an_attack_is_above_everything_with_its_figures_and_filters() {
    let project = Project::new("report-attack");
    let file = "samples/abuse-query-flood.pcap";
    let page = page(&project, &[file]);
    let (_, heading) = above(&page).split_once("<h1").unwrap();
    assert!(heading.contains(">Under attack: "), "{}", &heading[..200]);
    let abuse = unwrapped(&gamewire(["abuse", "--no-config", file]).out);
    let told = texts(&page, "what");
    let headline = told[0].strip_prefix("Under attack: ").unwrap();
    assert!(abuse.starts_with(headline), "{headline}\n{abuse}");
    let filter = gamewire(["abuse", "--no-config", "--emit", "nft", file]).out;
    let shown = above(&page).replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    assert!(shown.replace("&amp;", "&").contains(filter.trim_end()), "{filter}");
}

#[test]
fn several_captures_begin_with_a_table_of_them_with_the_worst_on_top() {
    let project = Project::new("report-overview");
    let files = [
        "samples/abuse-players.pcap",
        "samples/diagnose-queries-faults.pcap",
        "samples/abuse-query-flood.pcap",
    ];
    let page = page(&project, &files);
    let (_, table) = above(&page).split_once("id=\"overview\"").unwrap();
    let (table, rest) = table.split_once("</table>").unwrap();
    assert!(rest.contains("<h1"), "the table is above the answers");
    let order: Vec<_> = table.split("data-of=\"").skip(1).map(|row| &row[..1]).collect();
    assert_eq!(order, ["0", "1", "2"], "the page is in the order of the table");
    let place = |name: &str| table.find(name).unwrap_or_else(|| panic!("{name}"));
    let places = ["query-flood", "queries-faults", "players"].map(place);
    assert!(places.is_sorted(), "attacks are the worst: {places:?}");
    let check = object("check", files[1]);
    let errors = |check: &Value, severity: &str| -> u64 {
        let rules = check["rules"].as_array().unwrap().iter();
        let own = rules.filter(|rule| rule["severity"] == severity);
        own.map(|rule| rule["failed"].as_u64().unwrap()).sum()
    };
    let row = table.split("data-of=\"1\"").nth(1).unwrap().split("</tr>").next().unwrap();
    for severity in ["error", "warning"] {
        let count = errors(&check, severity);
        assert!(count > 0 && row.contains(&format!(">{count}</td>")), "{severity}: {row}");
    }
    assert!(row.contains("diagnose-queries-faults.pcap") && row.contains("10.0."), "{row}");
    assert!(!above(&self::page(&project, &files[..1])).contains("id=\"overview\""));
}

#[test]
fn notes_are_apart_from_errors_and_warnings() {
    let project = Project::new("report-notes");
    // Information behind a challenge is documented practice: a note.
    let page = page(&project, &["samples/diagnose-queries-faults.pcap"]);
    let (_, notes) = above(&page).split_once("data-notes").unwrap();
    let (before, _) = above(&page).split_once("data-notes").unwrap();
    assert!(notes.contains("rule note") && !notes.contains("rule error"));
    assert!(before.contains("rule error") && !before.contains("rule note"));
    let report: Value = serde_json::from_str(&data(&page, "report")).unwrap();
    let columns = report["columns"]["servers"].as_array().unwrap();
    let names: Vec<_> = columns.iter().filter_map(|it| it["name"].as_str()).collect();
    let at = names.iter().position(|name| *name == "findings").unwrap();
    assert_eq!(names[at + 1], "notes");
    let capture = captures(&page).remove(0);
    let parties = capture["parties"].as_object().unwrap();
    let count = |nth: usize| parties.values().map(|it| it[nth].as_u64().unwrap()).sum::<u64>();
    let findings = capture["check"]["findings"].as_array().unwrap();
    for (nth, severity) in ["error", "warning", "note"].into_iter().enumerate() {
        let own = findings.iter().filter(|it| {
            it["severity"] == severity && it["verdict"] != "inconclusive" && !it["party"].is_null()
        });
        assert_eq!(count(nth), own.count() as u64, "{severity}");
    }
}

#[test]
fn a_page_of_many_messages_stays_small_and_a_pipe_of_them_is_read() {
    let project = Project::new("report-many");
    let file = project.path("many.pcap");
    many_messages(&file);
    let page = page(&project, &[&file]);
    assert!(page.len() < 20 << 20, "{} bytes", page.len());
    let capture = captures(&page).remove(0);
    assert_eq!(capture["sample"]["seen"], 12_000);
    assert_eq!(messages(&capture).len(), 10_000);
    let clients = capture["summary"]["clients"].as_array().unwrap().len() as u64;
    assert_eq!(clients + capture["more"]["clients"].as_u64().unwrap(), 6000);
    // The same from a pipe, of which only the name differs.
    let out = project.path("piped.html");
    let mut input =
        std::process::Command::new("cat").arg(&file).stdout(Stdio::piped()).spawn().unwrap();
    let mut piped = std::process::Command::new(env!("CARGO_BIN_EXE_gamewire"));
    let bytes = input.stdout.take().unwrap();
    let ran = piped.args(["report", "--no-config", "-o", &out, "-"]).stdin(bytes);
    let ran = ran.output().unwrap();
    assert!(input.wait().unwrap().success());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let piped = captures(&project.read("piped.html")).remove(0);
    assert_eq!(piped["sample"], capture["sample"]);
    assert_eq!(piped["summary"], capture["summary"]);
}

/// A named pipe is read as standard input is: once, although the page takes two passes.
#[test]
#[cfg(unix)]
fn named_pipes_of_many_messages_are_read() {
    let project = Project::new("report-named-pipes");
    let file = project.path("many.pcap");
    many_messages(&file);
    let whole = captures(&page(&project, &[&file])).remove(0);
    let [one, other] = ["one", "other"].map(|name| project.path(name));
    let feed = |pipe: &str| {
        let mode = nix::sys::stat::Mode::S_IRWXU;
        nix::unistd::mkfifo(pipe, mode).unwrap();
        let mut fed = std::process::Command::new("cp");
        fed.args([&*file, pipe]).spawn().unwrap()
    };
    for arguments in [&[&*one][..], &[&*one, &*other], &["--merge", &*one, &*other]] {
        let pipes = arguments.iter().filter(|it| !it.starts_with('-'));
        let mut fed = Vec::from_iter(pipes.clone().map(|pipe| feed(pipe)));
        let piped = captures(&page(&project, arguments));
        assert!(fed.iter_mut().all(|it| it.wait().unwrap().success()));
        match piped.len() {
            1 if fed.len() == 1 => {
                assert_eq!(piped[0]["name"], one);
                assert_eq!(piped[0]["sample"], whole["sample"]);
                assert_eq!(piped[0]["summary"], whole["summary"]);
            }
            // The same datagrams from another recorder are copies.
            1 => assert_eq!(piped[0]["sample"]["seen"], 12_000),
            _ => assert!(piped.iter().all(|it| it["summary"] == whole["summary"])),
        }
        pipes.for_each(|pipe| std::fs::remove_file(pipe).unwrap());
    }
    // What is no capture is named by the pipe's name.
    nix::unistd::mkfifo(&*one, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut fed = std::process::Command::new("cp").args(["README.md", &one]).spawn().unwrap();
    let ran = gamewire(["report", "--no-config", "-o", &project.path("x.html"), &one]);
    assert!(fed.wait().unwrap().success());
    assert!(ran.code == 2 && ran.err.contains(&one), "{}", ran.err);
}

/// Which requests were not answered is no question of the rules that were chosen.
#[test]
fn the_page_marks_the_requests_that_a_ladder_marks() {
    let project = Project::new("report-silent");
    let without = project.path("without.toml");
    let ignored = ["A2S062", "VM026", "VM047", "GS4031", "GS1030"]
        .map(|rule| format!("[[ignore]]\nrule = \"{rule}\"\nreason = \"silence is known here\"\n"));
    std::fs::write(&without, ignored.concat()).unwrap();
    let mut marks = 0;
    for file in samples() {
        let file = file.to_string_lossy().into_owned();
        let ran = gamewire(["follow", "--no-config", "--format", "json", &file]);
        let ladder: Value = serde_json::from_str(&ran.out).unwrap();
        let silent = |messages: &[Value]| {
            let all = messages.iter().filter(|it| it["answered"] == false);
            BTreeSet::from_iter(all.map(|it| it["frame"].as_u64().unwrap()))
        };
        let expected = silent(ladder["steps"].as_array().unwrap());
        marks += expected.len();
        let out = project.path("report.html");
        for rules in [&["--no-config"][..], &["--config", &without]] {
            let run = gamewire([&["report", "-o", &*out, &*file], rules].concat());
            assert_eq!(run.code, 0, "{}", run.err);
            let shown = messages(&captures(&project.read("report.html")).remove(0));
            assert_eq!(silent(&shown), expected, "{rules:?} {file}");
        }
    }
    assert!(marks > 50, "{marks}");
}

/// Also parties of which nothing shows whether they are clients or servers, and many sources, of which none is named.
#[test]
fn conformance_names_all_who_broke_rules() {
    let project = Project::new("report-who");
    for (sample, says) in [
        ("gamespy1-faults", "1 host broke 1 rule (GS1005 validate-code): 10.0.0.1:50001."),
        (
            "abuse-query-flood",
            "Many sources together broke 1 rule (SEC006 query-flood): 3646 sources toward 23.17.34.51:27015.",
        ),
    ] {
        let page = page(&project, &[&format!("samples/{sample}.pcap")]);
        assert!(page.contains(says), "{sample}");
        let parties = captures(&page).remove(0)["parties"].clone();
        assert!(parties.get("100.64.0.0").is_none(), "{parties}");
    }
}
