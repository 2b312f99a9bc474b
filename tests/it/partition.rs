//! The results of many processes equal those of one process that reads the same files, merged. Here all run in
//! one process, but exchange the same bytes as separate ones.
#![cfg(feature = "partition")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::support::sides::of_containers;
use crate::support::{gamewire, samples};
use captures::exchange::{self, Setting};
use captures::traffic::{Conversation, Traffic};
use captures::wire::Prng;
use dissectors::catalogue;
use dissectors::kit::Severity;
use gamewire::capture::write::PcapNgWriter;
use gamewire::capture::{self, Packets};
use gamewire::check::{self, Checker, Selection};
use gamewire::limits::{Memory, RunLimits};
use gamewire::partition::{
    Analysis, PartitionRow, Plan, Portion, Portions, Reports, Route, RowKind, Summaries, Survey,
    from_bytes, put_together, survey, to_bytes, verdict,
};
use gamewire::report::TimeStyle;
use gamewire::report::summary::{SummaryOptions, SummaryReport};
use gamewire::tables::{self, Collector, SelectedRows, Sink, Table};
use gamewire::{Decoder, Event, Needs, Options};

const MEMORY: usize = 64 << 20;

/// A row that owns its bytes, as in an engine.
struct Held {
    partition: u32,
    order: (u64, u8, i64, u32, u64),
    kind: RowKind,
    offset: u64,
    numbers: (u16, u32, u32, u8),
    data: Vec<u8>,
}

impl Held {
    fn of(row: &PartitionRow<'_>) -> Held {
        let &PartitionRow {
            partition,
            kind,
            offset,
            link,
            interface,
            original_length,
            digits,
            data,
            ..
        } = row;
        let numbers = (link, interface, original_length, digits);
        Held { partition, order: row.order(), kind, offset, numbers, data: data.to_vec() }
    }

    fn row(&self) -> PartitionRow<'_> {
        let (frame, _, time, file, number) = self.order;
        let (link, interface, original_length, digits) = self.numbers;
        let &Held { partition, kind, offset, ref data, .. } = self;
        PartitionRow {
            partition,
            frame,
            kind,
            time,
            file,
            number,
            offset,
            link,
            interface,
            original_length,
            digits,
            data,
        }
    }
}

/// Files that are read by processes that exchange only bytes.
struct Cluster {
    plan: Vec<u8>,
    /// The rows of each partition, in order.
    rows: BTreeMap<u32, Vec<Held>>,
    /// Numbers of packets and of their rows.
    kept: (u64, usize),
}

/// What is decompressed of a response depends on those before it: not so here.
const LIMIT: &str = "inflated-ratio=100000";

fn options() -> Options {
    let limit = LIMIT.parse().expect("a limit");
    RunLimits::with(Memory::default(), &[limit]).options(Options::default())
}

impl Cluster {
    fn of(files: &[PathBuf], partitions: usize) -> Cluster {
        let surveyed = files.iter().map(|file| {
            let survey = to_bytes(&survey(file, &options(), MEMORY).expect("a capture"));
            let survey: Survey = from_bytes(&survey).expect("what was written");
            (file.to_string_lossy().into_owned(), survey)
        });
        let surveyed = Vec::from_iter(surveyed);
        let packets = surveyed.iter().map(|(_, survey)| survey.packets).sum();
        let plan = to_bytes(&Plan::new(surveyed, partitions));
        let mut rows: BTreeMap<u32, Vec<Held>> = BTreeMap::new();
        for file in 0..files.len() {
            let mut route = Route::new(read(&plan), file, MEMORY).expect("a capture");
            while route.next(&mut |row| rows.entry(row.partition).or_default().push(Held::of(row)))
            {
            }
        }
        rows.values_mut().for_each(|rows| rows.sort_by_key(|row| row.order));
        let is_packet = |row: &&Held| row.kind == RowKind::Packet;
        let kept = (packets, rows.values().flatten().filter(is_packet).count());
        Cluster { plan, rows, kept }
    }

    /// The portions of all partitions, each read by the result of `begin`.
    fn portions<R: Reports>(&self, begin: impl Fn(u32) -> R) -> Vec<Portion> {
        let mut portions = Vec::new();
        for (&partition, rows) in &self.rows {
            let mut analysis = begin(partition);
            for row in rows {
                analysis.row(&row.row(), &mut |portion| portions.push(portion)).expect("a row");
            }
            analysis.finish(&mut |portion| portions.push(portion));
        }
        portions
    }

    /// The output of `check --merge --format json`.
    fn check(&self, complete: bool) -> String {
        let selection = Selection::default();
        let ledger_settings =
            check::ledger_settings(&options().settings, options().settings.limits.remembered);
        let needs = Checker::needs(&selection, &ledger_settings);
        let mut portions = self.portions(|partition| {
            let options = Options { needs, complete, ..options() };
            Portions::new(read(&self.plan), options, partition)
        });
        portions.sort_by_key(|it| (it.from, it.partition, it.number));
        let plan = read(&self.plan);
        let checker = Checker::new(selection, ledger_settings, complete);
        let (outcome, _) =
            verdict(&plan, checker, &mut portions.into_iter()).expect("whole portions");
        let mut json = Vec::new();
        let written =
            gamewire::report::check::json::write(&outcome, &[], Severity::Error, None, &mut json);
        written.expect("memory");
        String::from_utf8(json).expect("text")
    }

    /// The table of servers, merged in this number of tasks; for one task also the output of
    /// `summary --merge --format json`.
    fn servers(&self, tasks: u32) -> (Vec<String>, String) {
        let wanted = wanted();
        let mut portions = self.portions(|partition| {
            let options = Options { needs: wanted.needs(), ..options() };
            let (plan, bytes) = (read(&self.plan), wanted.bytes);
            Summaries::new(plan, options, None, bytes, [partition, tasks])
        });
        portions.sort_by_key(|it| (it.task, it.from, it.partition, it.number));
        let (plan, mut rows, mut json) = (read(&self.plan), Rows::default(), Vec::new());
        for task in 0..tasks {
            let mut own = portions.iter().filter(|portion| portion.task == task).cloned();
            let (summary, totals) =
                put_together(&plan, wanted.bytes, &mut own).expect("whole portions");
            for table in PARTIES {
                tables::rows_of_summary(table, &summary, &plan.names(), &mut rows).expect("room");
            }
            if let Some(totals) = totals {
                let shown = SummaryOptions {
                    table: None,
                    order: None,
                    times: TimeStyle::Utc,
                    top: usize::MAX,
                };
                SummaryReport::new(&summary, &totals, None, shown).json(&mut json);
            }
        }
        rows.0.sort();
        (rows.0, String::from_utf8(json).expect("text"))
    }

    /// All messages, in the order of their packets.
    fn messages(&self) -> Vec<(u64, String)> {
        let mut rows = Vec::new();
        for (&partition, held) in &self.rows {
            let options = Options { needs: Needs::messages_with_fields(), ..options() };
            let mut analysis = Analysis::new(read(&self.plan), options, partition);
            let mut spelled = Spelled::default();
            for row in held {
                analysis.row(&row.row()).expect("a row");
                analysis.events(&mut |event| spelled.event(event, &mut rows)).expect("room");
            }
            analysis.end();
            while analysis.finish() {
                analysis.events(&mut |event| spelled.event(event, &mut rows)).expect("room");
            }
        }
        rows.sort();
        rows
    }
}

fn read(plan: &[u8]) -> Arc<Plan> {
    Arc::new(from_bytes(plan).expect("what was written"))
}

/// Writes all properties of messages as text, with flows identified by the packet of their first message.
#[derive(Default)]
struct Spelled {
    flows: HashMap<u32, u64>,
}

impl Spelled {
    fn event(&mut self, event: &Event<'_>, rows: &mut Vec<(u64, String)>) -> Result<(), ()> {
        let Event::Message(m) = event else { return Ok(()) };
        let (payload, context) = (m.payload(), m.context());
        let flow = *self.flows.entry(payload.flow).or_insert(payload.frame);
        let fields = m.field("name").map(|name| name.to_string());
        // For a message that is shown later than its packet, the other values are of another packet.
        let here =
            (context.packet.0 == payload.frame).then_some((context.packet, context.hop_limit));
        let row = format!(
            "{} {flow} {:?} {:?} {:?} {:x} {:?} {:?} {:?} {:?} {fields:?} {:?} {:?} {:?} {:?}",
            m.path(),
            payload.time,
            m.ends(),
            payload.pieces,
            hash(payload.bytes),
            payload.lost,
            m.reply(),
            m.sending(),
            m.length(),
            (context.copy_of, context.roles),
            here,
            m.tree().map(|tree| tree.nodes.len()),
            m.checked().findings,
        );
        rows.push((payload.frame, row));
        Ok(())
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// The same for one process that reads the files merged.
fn one_reads(files: &[PathBuf]) -> Vec<(u64, String)> {
    let mut packets = capture::open_merged(files, MEMORY).expect("captures");
    let options = Options { needs: Needs::messages_with_fields(), ..options() };
    let (mut spelled, mut rows) = (Spelled::default(), Vec::new());
    Decoder::new(options)
        .read(packets.as_mut(), |event| spelled.event(event, &mut rows).expect("room"));
    rows.sort();
    rows
}

const PARTIES: [Table; 3] = [Table::Servers, Table::Masters, Table::Clients];

/// The rows of servers, masters and clients to produce.
fn wanted() -> SelectedRows {
    SelectedRows::of(&PARTIES, &options())
}

/// Rows as text.
#[derive(Default)]
struct Rows(Vec<String>);

impl Sink for Rows {
    fn row(&mut self, capture: &str, row: &dyn tables::AnyRow<'_>) -> io::Result<()> {
        let table = row.table();
        // Which findings are proven, only the whole capture shows.
        let cells = table.of_file().into_iter().filter(|(_, it)| it.name != "findings");
        let cells = cells.map(|(at, _)| format!("{:?}", row.cell(at)));
        self.0.push(format!("{table:?} of {capture}: {}", cells.collect::<Vec<_>>().join(", ")));
        Ok(())
    }
}

fn one_summarizes(files: &[PathBuf]) -> (Vec<String>, String) {
    let mut packets = capture::open_merged(files, MEMORY).expect("captures");
    let (wanted, mut rows) = (wanted(), Rows::default());
    let decoder = Decoder::new(Options { needs: wanted.needs(), ..options() });
    let mut collector = Collector::new(wanted);
    let names = files.iter().map(|file| file.to_string_lossy().into_owned());
    collector.begin(&Vec::from_iter(names.clone()));
    let mut totals =
        decoder.read(packets.as_mut(), |event| collector.event(event, &mut rows).expect("room"));
    collector.end(&mut totals, &mut rows).expect("room");
    rows.0.sort();
    let words =
        ["summary", "--no-config", "--threads=1", "--merge", "--format=json", "--limit", LIMIT];
    let run = gamewire(words.map(str::to_owned).into_iter().chain(names));
    assert!(run.code == 0 && !run.out.is_empty(), "{}", run.err);
    (rows.0, run.out)
}

fn one_checks(files: &[PathBuf], complete: bool) -> String {
    let options = [
        "check",
        "--no-config",
        "--threads=1",
        "--merge",
        "--format=json",
        "--fail-on=never",
        "--limit",
        LIMIT,
    ];
    let complete = complete.then_some("--complete");
    let files = files.iter().map(|file| file.to_string_lossy().into_owned());
    let words = options.into_iter().chain(complete).map(str::to_owned);
    let run = gamewire(words.chain(files));
    assert!(run.code == 0 && !run.out.is_empty(), "{}", run.err);
    run.out
}

/// Asserts that two verdicts are the same except for flow numbers: a flow gets its number when its protocol is
/// identified, which for connections with missing bytes may be when a shard searches for ended flows.
fn is_the_same_verdict(one: &str, many: &str, what: &str) {
    let (mut forth, mut back) = (HashMap::new(), HashMap::new());
    let mut lines = many.split("},{");
    for one in one.split("},{") {
        let many = lines.next().unwrap_or_default();
        let [(one, a), (many, b)] = [one, many].map(|line| {
            let Some((before, after)) = line.split_once("\"flow\":") else {
                return (line.to_owned(), None);
            };
            let (number, after) = after.split_once(',').expect("more than a number");
            (format!("{before}{after}"), Some(number))
        });
        assert_eq!(one, many, "{what}");
        assert_eq!(
            (forth.insert(a, b).unwrap_or(b), back.insert(b, a).unwrap_or(a)),
            (b, a),
            "{what}"
        );
    }
    assert_eq!(lines.next(), None, "{what}");
}

/// Which findings are proven, only the whole capture shows.
fn without_findings(mut summary: serde_json::Value) -> serde_json::Value {
    let tables = summary.as_object_mut().expect("an object").values_mut();
    for row in tables.filter_map(|table| table.as_array_mut()).flatten() {
        row.as_object_mut().map(|row| row.remove("findings"));
    }
    summary
}

fn is_the_same_summary(one: &str, many: &str, what: &str) {
    let [one, many] =
        [one, many].map(|json| serde_json::from_str::<serde_json::Value>(json).expect("JSON"));
    let [one, many] = [one, many].map(without_findings);
    let [one, many] = [&one, &many].map(|it| it.as_object().expect("an object"));
    assert!(one.keys().eq(many.keys()), "{what}");
    for (name, one) in one.iter().filter(|(name, _)| *name != "ports") {
        assert_eq!(one, &many[name], "{name}: {what}");
    }
}

fn comes_to_the_same(name: &str, files: &[PathBuf]) -> (u64, usize) {
    let one = one_reads(files);
    let checked = [false, true].map(|complete| one_checks(files, complete));
    let (servers, summary) = one_summarizes(files);
    let mut kept = (0, 0);
    // With 16, several partitions have hosts of one shard of a session.
    for partitions in [1, 2, 4, 16] {
        let cluster = Cluster::of(files, partitions);
        let what = format!("{name} in {partitions} partitions");
        let many = cluster.messages();
        for (one, many) in one.iter().zip(&many) {
            assert_eq!(one, many, "{what}");
        }
        assert_eq!(one.len(), many.len(), "{what}");
        for (one, complete) in checked.iter().zip([false, true]) {
            let many = cluster.check(complete);
            is_the_same_verdict(one, &many, &format!("{what}, complete: {complete}"));
        }
        // Merged in one task, and in as many as there are partitions.
        let tasks = if partitions.is_multiple_of(4) { partitions as u32 } else { 1 };
        let (many, all) = cluster.servers(tasks);
        assert_eq!(servers, many, "{what}");
        if tasks == 1 {
            is_the_same_summary(&summary, &all, &what);
        }
        kept = cluster.kept;
    }
    kept
}

/// A temporary folder.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gamewire-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a writable folder");
        Folder(path)
    }

    /// Distributes the packets of a capture over this number of recorders in turn, each with this number of files.
    fn deal(&self, capture: &Path, recorders: usize, files: usize) -> Vec<PathBuf> {
        let count = each_packet(capture, &mut |_, _| {});
        let name = capture.file_stem().expect("a name").to_string_lossy().into_owned();
        let paths = Vec::from_iter(
            (0..recorders * files)
                .map(|at| self.0.join(format!("{name}-{}-{:02}.pcapng", at / files, at % files))),
        );
        let mut writers =
            Vec::from_iter(paths.iter().map(|_| PcapNgWriter::new(Vec::new()).expect("memory")));
        each_packet(capture, &mut |at, packet| {
            let place = at % recorders * files + at * files / count;
            writers[place].packet(packet, 0, None, &[]).expect("memory");
        });
        for (path, writer) in paths.iter().zip(writers) {
            fs::write(path, writer.finish().expect("memory")).expect("a writable folder");
        }
        paths
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn each_packet(capture: &Path, each: &mut dyn FnMut(usize, &capture::Packet<'_>)) -> usize {
    let mut packets: Box<dyn Packets + Send> = capture::open(capture).expect("a capture");
    let mut at = 0;
    while let Some(event) = packets.next() {
        if let capture::Event::Packet(packet) = event {
            each(at, &packet);
            at += 1;
        }
    }
    at
}

#[test]
fn samples_divided_into_rotated_files() {
    let folder = Folder::new("partition-samples");
    for sample in samples() {
        let files = folder.deal(&sample, 1, 12);
        comes_to_the_same(&sample.to_string_lossy(), &files);
    }
}

#[test]
fn samples_of_several_recorders() {
    let folder = Folder::new("partition-recorders");
    for sample in samples() {
        let files = folder.deal(&sample, 3, 4);
        comes_to_the_same(&sample.to_string_lossy(), &files);
    }
}

/// The examples of all rules at the same time in one incomplete capture.
fn recording(seed: u64) -> Traffic {
    let rules = catalogue::rules().into_iter();
    let scripts = rules.flat_map(|rule| [(rule, rule.right), (rule, rule.wrong)]);
    let held = scripts.filter(|(_, script)| !script.trim().is_empty());
    let held = held.map(|(rule, script)| Conversation {
        name: rule.code.to_string(),
        script: script.to_owned(),
        setting: Setting::of_rule(&rule.code.to_string()),
    });
    let mut traffic = Traffic::interleaved(&Vec::from_iter(held), seed).expect("good scripts");
    let mut prng = Prng::new(seed);
    match seed % 5 {
        1 => traffic.lose_fragments(&mut prng),
        2 => traffic.lose_segments(&mut prng),
        3 => traffic.drop_packets(&mut prng),
        4 => traffic.one_way(&mut prng),
        _ => {}
    }
    traffic
}

#[test]
fn all_rules_at_once_in_incomplete_captures() {
    for seed in 0..5 {
        let folder = Folder::new(&format!("partition-rules-{seed}"));
        let traffic = recording(seed);
        let (count, mut files) = (traffic.len(), Vec::new());
        for part in 0..12 {
            let mut slice = traffic.clone();
            slice.end_early(count * (part + 1) / 12);
            slice.begin_late(count * part / 12);
            let path = folder.0.join(format!("{part:02}.pcapng"));
            fs::write(&path, slice.pcapng()).expect("a writable folder");
            files.push(path);
        }
        comes_to_the_same(&format!("seed {seed}"), &files);
        let whole = folder.0.join("whole.pcapng");
        fs::write(&whole, traffic.pcapng()).expect("a writable folder");
        comes_to_the_same(&format!("seed {seed} dealt"), &folder.deal(&whole, 2, 3));
    }
}

/// Two servers that one host queries at the same time, and one that many hosts query and whose name changes each
/// time: the rows of servers and hosts combine many host pairs.
#[test]
fn servers_that_many_ask_and_hosts_that_ask_many() {
    let info = |name: &str, map: &str, players: u8| {
        format!(
            "FFFFFFFF 49 11 '{name}' 00 '{map}' 00 'tf' 00 'Team Fortress' 00 le16:440 {players:02X} \
             18 00 'd' 'l' 00 01 '1' 00 00"
        )
    };
    let mut script = String::new();
    // One name for some clients, another one for others, and back; a map that changes; unchanged players. The last
    // client is another one for each server.
    let described = [("A", "x"), ("B", "x"), ("A", "x"), ("A", "x"), ("A", "y")];
    for (round, (name, map)) in described.iter().cycle().take(15).enumerate() {
        for (nth, server) in ["s", "t", "u"].iter().enumerate() {
            let client = ["c", "d", "e", "d", "c", "e", "d"][(round + nth) % 7];
            let time = format!("{round}.{nth}");
            let info = info(name, map, round as u8);
            script += &format!("{time} {client} > {server} FFFFFFFF 54 'Source Engine Query' 00\n");
            script += &format!("+0.02 {server} > {client} {info}\n");
        }
    }
    // A host that queries many servers at the same time, each with another library.
    let asked = |nth: u32| format!("{}{}", ["t", "u"][nth as usize % 2], nth / 2);
    for (at, payload) in [(20, "FFFFFFFF 55 le32:0"), (22, "FFFFFFFF 55 le32:7")] {
        for nth in 0..16 {
            script += &format!(
                "{} d > {} {payload}\n",
                f64::from(at) + 0.01 * f64::from(nth),
                asked(nth)
            );
        }
        for nth in (0..16).filter(|_| at == 20) {
            let time = 21.0 + 0.01 * f64::from(nth);
            script += &format!("{time} {} > d FFFFFFFF 41 le32:7\n", asked(nth));
        }
    }
    script += "30 d > s4 FFFFFFFF 56 le32:0\n30.1 s4 > d FFFFFFFF 41 le32:9\n";
    script += "30.2 d > s4 FFFFFFFF 54 'Source Engine Query' 00 le32:9\n";
    // Truncated responses are reported late; the last protocol of a server does not depend on that.
    let twice = |nth: usize| ["s", "t", "u"].map(|host| format!("{host}:77{nth:02}"));
    for (nth, server) in (0..6).flat_map(|nth| twice(nth).map(|server| (nth, server))) {
        for half in 0..2 {
            let (at, client) = (40 + 2 * nth + half, ["c", "d", "e"][(nth + half) % 3]);
            let [request, response] = match (nth + half) % 2 {
                0 => [r"'\\status\\'", r"'\\hostname\\C\\queryid\\1.1'"],
                _ => [
                    "FEFD 00 0000002B be32:271828182 FFFFFF01",
                    r"00 0000002B 'splitnum' 00 00 00 'hostname\0C\0mapname\0z\0'",
                ],
            };
            script += &format!("{at} {client}{half} > {server} {request}\n");
            script += &format!("{at}.1 {server} > {client}{half} {response}\n");
        }
    }
    let capture = exchange::capture(&script, &Setting::udp(27015)).expect("a script");
    let folder = Folder::new("partition-servers");
    let path = folder.0.join("servers.pcap");
    fs::write(&path, capture.in_time().pcap()).expect("a writable folder");
    comes_to_the_same("servers", &folder.deal(&path, 2, 3));

    let (_, summary) = one_summarizes(&[path]);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let row = |table: &str, key: &str, name: &str| {
        let rows = summary[table].as_array().expect("rows").iter();
        rows.clone().find(|row| row[key] == name).expect("a row of this name").clone()
    };
    let server = row("servers", "server", "10.0.0.2:27015");
    // Name and map change in all rounds except for the first and those that continue with A.
    let names = ["name", "map", "players", "changes"].map(|name| server[name].to_string());
    assert_eq!(names, ["\"A\"", "\"y\"", "14", "11"]);
    let host = row("clients", "client", "10.0.1.1");
    assert_eq!(host["libraries"], serde_json::json!(["python-a2s or ValvePython/steam", "GameQ"]));
    for nth in 0..6 {
        let server = row("servers", "server", &format!("10.0.1.2:77{nth:02}"));
        assert_eq!(server["protocol"], ["gamespy4", "gamespy1"][nth % 2], "{nth}");
    }
}

/// A list with a filter is of other hosts than what its servers say of themselves.
#[test]
fn filtered_lists_and_their_servers() {
    let mut script = "0.0 c > m:27011 31 FF '0.0.0.0:0' 00 '\\\\map\\\\cp_well' 00\n\
                      0.1 m:27011 > c FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015 ip:10.0.2.2:27015 00*6\n"
        .to_owned();
    for (nth, server) in ["s", "t", "u"].into_iter().enumerate() {
        script += &format!("1.{nth} c > {server} FFFFFFFF 54 'Source Engine Query' 00\n");
        script += &format!(
            "+0.02 {server} > c FFFFFFFF 49 11 'A' 00 'cp_{nth}' 00 'tf' 00 'TF' 00 B801 03 18 00 'd' 'l' 00 01 \
             '1' 00 00\n"
        );
    }
    let capture = exchange::capture(&script, &Setting::udp(27015)).expect("a good script");
    let folder = Folder::new("partition-filtered");
    let file = folder.0.join("filtered.pcap");
    fs::write(&file, capture.pcap()).expect("a writable folder");
    assert!(one_checks(std::slice::from_ref(&file), false).contains("later, and 2 more"));
    comes_to_the_same("filtered lists", &[file]);
}

/// The originals of copies may be in another partition.
#[test]
fn datagrams_before_and_behind_nat() {
    let folder = Folder::new("partition-nat");
    let file = folder.0.join("nat.pcap");
    fs::write(&file, of_containers(100).both.pcap()).expect("a writable folder");
    comes_to_the_same("containers", &[file]);
}
