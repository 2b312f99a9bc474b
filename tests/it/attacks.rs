//! `gamewire abuse` on generated attacks with known senders: seat, target and sources, and that the printed
//! filter drops the attack and not the clients.

#![allow(clippy::disallowed_methods, reason = "a replay uses the system's clock")]

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{gamewire, skip};
use captures::attacks::{self, Scenario, Whose};
use gamewire::capture::{self, Event, Packet};
use gamewire::live::FileFilter;
use serde_json::{Value, json};

/// Writes a scenario's capture.
pub(crate) fn written(scenario: &Scenario) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attacks");
    std::fs::create_dir_all(&folder).unwrap();
    // Tests of one process share scenarios, so each writes its own file.
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let (process, nth) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let file = folder.join(format!("{}-{process}-{nth}.pcap", scenario.name));
    std::fs::write(&file, scenario.capture.pcap()).unwrap();
    file
}

pub(crate) fn run(args: &[&str], file: &Path) -> String {
    let args = ["abuse", "--no-config"].iter().chain(args).copied();
    let run = gamewire(args.chain([file.to_str().unwrap()]));
    assert_eq!(run.code, 0, "{}", run.err);
    run.out
}

pub(crate) fn attacks_of(file: &Path) -> Vec<Value> {
    let capture: Value = serde_json::from_str(&run(&["--format", "json"], file)).unwrap();
    capture["attacks"].as_array().unwrap().clone()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The properties of a packet that firewalls check.
struct Taken {
    time: f64,
    source: IpAddr,
    whose: Whose,
}

/// Gives each packet of a file, and whether a libpcap filter takes it, to `each`. Lines with `#` are comments.
/// `None` if libpcap is not installed.
pub(crate) fn filtered(
    text: &str,
    file: &Path,
    mut each: impl FnMut(&Packet<'_>, bool),
) -> Option<()> {
    let expression: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut filter = match FileFilter::new(&expression.join(" ")) {
        Ok(filter) => filter,
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("libpcap is"), "{error}: {text}");
            skip::skipped("libpcap", &error);
            return None;
        }
    };
    let mut packets = capture::open(file).unwrap();
    while let Some(event) = packets.next() {
        let Event::Packet(packet) = event else { continue };
        each(&packet, filter.takes(&packet).unwrap());
    }
    Some(())
}

/// The packets that a libpcap filter selects; `None` if libpcap is not installed.
fn selected(text: &str, scenario: &Scenario, file: &Path) -> Option<Vec<Taken>> {
    // What a limit is for is in a comment, since libpcap has no limits.
    let lines = text.lines().map(|line| line.strip_prefix("# (").map_or(line, |_| &line[2..]));
    let text = Vec::from_iter(lines).join("\n");
    let (mut taken, mut whose) = (Vec::new(), scenario.whose.iter());
    filtered(&text, file, |packet, takes| {
        let whose = *whose.next().unwrap();
        if takes {
            let source: [u8; 4] = packet.data[26..30].try_into().unwrap();
            taken.push(Taken { time: packet.time as f64 / 1e9, source: source.into(), whose });
        }
    })?;
    assert!(whose.next().is_none());
    Some(taken)
}

/// The packets that a firewall drops: all, or those above the limit of its rule.
fn dropped(rules: &str, taken: Vec<Taken>) -> [u64; 2] {
    let word = |after: &str| {
        let rest = rules.split_once(after)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<f64>().ok()
    };
    let limit = word("limit rate over ").zip(word(" burst "));
    let by_source = rules.contains("add @sources");
    let mask = if rules.contains("saddr & 255.255.255.0") { 24 } else { 32 };
    let (mut buckets, mut dropped): (BTreeMap<u32, (f64, f64)>, _) = (BTreeMap::new(), [0; 2]);
    for packet in taken {
        let is_over = limit.is_none_or(|(rate, burst)| {
            let IpAddr::V4(source) = packet.source else { panic!("IPv4") };
            let key = if by_source { u32::from(source) >> (32 - mask) } else { 0 };
            let (tokens, last) = buckets.entry(key).or_insert((burst, packet.time));
            *tokens = (*tokens + (packet.time - *last) * rate).min(burst);
            *last = packet.time;
            let is_over = *tokens < 1.0;
            *tokens -= f64::from(u8::from(!is_over));
            is_over
        });
        match packet.whose {
            Whose::Attack => dropped[0] += u64::from(is_over),
            Whose::Client => dropped[1] += u64::from(is_over),
            Whose::Other => panic!("a filter selects only packets to the target"),
        }
    }
    dropped
}

#[test]
fn attacks_are_found_and_crowds_are_not_attacks() {
    for make in attacks::ALL {
        let scenario = make();
        let file = written(&scenario);
        let (found, name) = (attacks_of(&file), scenario.name);
        let Some(seat) = scenario.seat else {
            assert!(found.is_empty(), "{name}: {found:?}");
            continue;
        };
        let [attack] = &found[..] else { panic!("{name}: one attack, not {found:#?}") };
        assert_eq!(attack["seat"], seat, "{name}");
        assert_eq!(attack["targets"], json!(scenario.targets), "{name}");
        assert_eq!(attack["forged"], scenario.forged, "{name}: {}", attack["evidence"]);
        let sources = &attack["sources"];
        let off = (number(&sources["count"]) - scenario.sources as f64).abs();
        let error = number(&sources["error"]) * scenario.sources as f64;
        assert!(off <= 4.0 * error, "{name}: {sources} are {}", scenario.sources);
        let attackers = scenario.of(Whose::Attack).count() as f64;
        let clients = scenario.of(Whose::Client).count() as f64;
        // What players ask between pulses is no part of the attack.
        let least = if name == "pulses" { attackers } else { attackers + clients };
        let packets = number(&attack["packets"]);
        assert!((least..=attackers + clients).contains(&packets), "{name}: {packets}");
        if seat != "victim" {
            let legitimate = &attack["legitimate"]["packets"];
            assert_eq!(number(legitimate), clients, "{name}: {}", attack["legitimate"]);
        }
        evidence_is_specific(name, attack);
        if attack["filters"].as_array().unwrap().is_empty() {
            nothing_is_proposed(&scenario, &file);
        } else {
            the_filter_is_what_it_says(&scenario, attack, &file);
        }
        std::fs::remove_file(file).ok();
    }
}

/// Forged packets that are like players' in all properties that a firewall sees.
fn nothing_is_proposed(scenario: &Scenario, file: &Path) {
    assert!(!scenario.is_distinct, "{}", scenario.name);
    let text = run(&[], file);
    assert!(text.contains("nothing in these packets separates them from the players'"), "{text}");
    assert!(text.contains("of the players' packets"), "what a limit would cost: {text}");
}

fn the_filter_is_what_it_says(scenario: &Scenario, attack: &Value, file: &Path) {
    let (best, name) = (&attack["filters"][0], scenario.name);
    let nft = best["text"].as_str().unwrap();
    let port = attack["targets"][0].as_str().unwrap().rsplit_once(':').unwrap().1;
    assert!(
        nft.contains(" daddr ") && (nft.contains(&format!("dport {port}")) || name == "victim")
    );
    let Some(taken) = selected(&run(&["--emit", "bpf"], file), scenario, file) else { return };
    let [dropped, clients] = dropped(nft, taken);
    let all = |whose| scenario.of(whose).count().max(1) as f64;
    let [drops, collateral] =
        [dropped as f64 / all(Whose::Attack), clients as f64 / all(Whose::Client)];
    // At a victim, responses of services that it sent no requests to are dropped.
    let applied = if name == "victim" { 2 } else { 1 };
    let filters = attack["filters"].as_array().unwrap().iter().take(applied);
    let said: f64 = filters.map(|filter| number(&filter["drops"])).sum();
    assert!((drops - said).abs() <= 0.01, "{name}: drops {drops}, said {said}: {nft}");
    if let Some(said) = best["collateral"].as_f64() {
        let most = if scenario.is_distinct { 0.0 } else { 0.1 };
        assert!(
            (collateral - said).abs() <= most,
            "{name}: costs {collateral}, said {said}: {nft}"
        );
    }
    if name == "victim" {
        assert!(drops >= 0.79, "{name}: all that is ours, and NTP: {drops}");
        assert_eq!(
            (&attack["filters"][2]["kind"], number(&attack["filters"][2]["collateral"])),
            (&json!("source_port"), 1.0),
            "not DNS"
        );
    } else if scenario.is_distinct {
        assert!(drops >= 0.99, "{name}: drops {drops}: {nft}");
        assert!(collateral <= 0.001, "{name}: costs {collateral}: {nft}");
    } else {
        // At most twice the packets of clients pass.
        let taken = scenario.of(Whose::Attack).chain(scenario.of(Whose::Client)).count() as f64;
        let through = taken - (dropped + clients) as f64;
        let most = 2.0 * all(Whose::Client);
        assert!(
            through <= most,
            "{name}: {through} pass, clients send {}: {nft}",
            all(Whose::Client)
        );
        assert!(drops >= 0.95, "{name}: drops {drops}: {nft}");
    }
}

/// The specific evidence of each attack.
fn evidence_is_specific(name: &str, attack: &Value) {
    let evidence = |what: &str| {
        let all = attack["evidence"].as_array().unwrap();
        assert!(all.iter().any(|it| it.as_str().unwrap().contains(what)), "{what}: {all:?}");
    };
    match name {
        "spoofed-with-challenges" => {
            evidence("none of 10,6");
            evidence("one hop limit (244)");
            evidence("drew ICMP errors");
            assert_eq!(attack["legitimate"]["returned_challenge"], 60);
        }
        "spoofed-without-challenges" => {
            evidence("continues that of another source");
            assert_eq!(attack["legitimate"]["went_on"], 40);
            assert_eq!(attack["legitimate"]["finished_split"], 15);
        }
        "small-network" => evidence("do not fit one source"),
        "lists" => evidence("one IP identification (54321)"),
        "one-source" => {
            evidence("1 source with more than 20 requests");
            // All but its first request, and one of each of the 50 clients.
            assert_eq!(attack["costly"], 14_999 + 50);
        }
        "victim" => {
            let services = &attack["other_services"];
            assert_eq!([&services[0]["name"], &services[1]["name"]], ["DNS (53)", "NTP (123)"]);
            assert_eq!([&services[0]["packets"], &services[1]["packets"]], [1800, 1800]);
            evidence("the sources are real servers");
        }
        "transit" => assert_eq!(attack["also"], "reflector"),
        "carpet" => assert_eq!(attack["network"], "203.0.113.0/24"),
        "pulses" => {
            assert_eq!(attack["pulses"].as_array().unwrap().len(), 3);
            evidence("addresses of the target's own network");
        }
        _ => {}
    }
}

#[test]
fn other_firewalls_get_filters_that_they_support() {
    let scenario = (attacks::ALL[1])();
    let file = written(&scenario);
    let cisco = run(&["--emit", "cisco-flowspec"], &file);
    for line in [
        " match destination-address ipv4 203.0.113.5 255.255.255.255",
        " match destination-port 27015",
        " match packet length 54",
        "  drop",
    ] {
        assert!(cisco.lines().any(|it| it == line), "{line}: {cisco}");
    }
    std::fs::remove_file(file).ok();
}

#[test]
fn collateral_and_prefix_lengths_are_options() {
    let scenario = (attacks::ALL[4])();
    let file = written(&scenario);
    let text = run(&["--prefix", "16"], &file);
    assert!(text.contains("185.12.0.0/16"), "{text}");
    let strict = run(&["--collateral", "0"], &file);
    assert!(strict.contains("0 % of the players' packets"), "{strict}");
    for (option, value) in [("--prefix", "33"), ("--prefix", "24,0"), ("--collateral", "101")] {
        let refused = gamewire(["abuse", option, value, file.to_str().unwrap()]);
        assert_eq!(refused.code, 2, "{option} {value}");
        assert!(refused.err.contains("write it as"), "{}", refused.err);
    }
    std::fs::remove_file(file).ok();
}

/// Names the capture that this program replays when it runs again in its own network namespace.
const INSIDE: &str = "GAMEWIRE_TEST_REPLAYS";

/// Loads rules into nft and iptables, and sends a capture through them: their counters agree with gamewire.
#[test]
fn firewalls_drop_as_many_packets_as_predicted() {
    if std::env::var_os(INSIDE).is_some() {
        return;
    }
    // A drop, and a limit for each network. Each replay takes as long as its capture and mostly
    // sleeps, so all run at the same time.
    std::thread::scope(|threads| {
        for (make, firewall) in [
            (attacks::ALL[0], "nft"),
            (attacks::ALL[0], "iptables"),
            (attacks::ALL[4], "nft"),
            (attacks::ALL[4], "iptables"),
        ] {
            threads.spawn(move || firewall_drops_what_was_said(&make(), firewall));
        }
    });
}

fn firewall_drops_what_was_said(scenario: &Scenario, firewall: &str) {
    let file = written(scenario);
    let rules = file.with_extension(firewall);
    std::fs::write(&rules, run(&["--emit", firewall], &file)).unwrap();
    let best = attacks_of(&file).remove(0)["filters"][0].clone();
    let Some((lost, shown)) = replayed(&file, &rules, firewall) else { return };
    let counted = match firewall {
        "nft" => shown.split_once("counter packets ").map(|(_, rest)| rest),
        _ => shown.lines().find(|line| line.contains("DROP")).map(str::trim_start),
    };
    let counted = counted.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    let counted = counted.unwrap_or_else(|| panic!("a counter: {shown}"));
    let all = |whose| scenario.of(whose).count() as f64;
    let attack = number(&best["drops"]) * all(Whose::Attack);
    let said = attack + number(&best["collateral"]) * all(Whose::Client);
    let (least, most) = (said * 0.98 - lost, said * 1.02);
    let numbers = format!("{counted} dropped, {said} predicted, {lost} lost before");
    assert!((least..=most).contains(&counted), "{}, {firewall}: {numbers}: {shown}", scenario.name);
    std::fs::remove_file(file).ok();
    std::fs::remove_file(rules).ok();
}

/// Loads rules into a new network namespace, sends a capture through it, and returns the firewall's list of
/// rules with their counters, and the number of packets that the kernel dropped before them, as a busy machine
/// may. `None` if this is not possible here.
fn replayed(file: &Path, rules: &Path, firewall: &str) -> Option<(f64, String)> {
    let (load, show) = match firewall {
        "nft" => ("nft -f", "nft list ruleset"),
        _ => ("iptables-restore --noflush", "iptables -t raw -nvxL"),
    };
    let rules = rules.display();
    // The addresses exist only in this namespace: no packet leaves it. Rules are loaded twice: that changes nothing.
    let script = format!(
        "ip link add va address 02:00:00:00:00:01 type veth peer name vb address \
         02:00:00:00:00:02 && ip link set va up && ip link set vb promisc on up || exit 77\n\
         {load} {rules} && {load} {rules} || exit 77\n{INSIDE}={} {} --exact attacks::replays --nocapture >&2 && \
         awk '$1 == \"vb:\" {{ print $5 }}' /proc/net/dev && {show}",
        file.display(),
        std::env::current_exe().unwrap().display()
    );
    let ran = Command::new("unshare").args(["-n", "sh", "-c", &script]).output();
    let ran = ran.map_err(|error| skip::skipped("firewalls", &format!("unshare: {error}"))).ok()?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !ran.status.success() && !said.contains("panicked") {
        skip::skipped("firewalls", &format!("no namespace with {firewall}: {said}"));
        return None;
    }
    assert!(ran.status.success(), "{said}");
    let output = String::from_utf8_lossy(&ran.stdout).into_owned();
    let (lost, list) = output.split_once('\n').expect("two outputs");
    Some((lost.parse().expect("a number"), list.to_owned()))
}

/// Loads these rules one after the other in a new network namespace, and returns the lines of the list of rules,
/// without counters. `None` if this is not possible here.
fn loaded(rules: &[&str], firewall: &str) -> Option<Vec<String>> {
    let (load, show) = match firewall {
        "nft" => ("nft -f -", "nft -s list ruleset"),
        _ => ("iptables-restore --noflush", "iptables -t raw -S"),
    };
    let mut script = String::new();
    for rules in rules {
        script += &format!("{load} <<'END' || exit 77\n{rules}END\n");
    }
    let ran = Command::new("unshare").args(["-n", "sh", "-c", &(script + show)]).output();
    let ran = ran.map_err(|error| skip::skipped("firewalls", &format!("unshare: {error}"))).ok()?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        // Whether the firewall takes the rules is tested elsewhere.
        skip::skipped("firewalls", &format!("no namespace with {firewall}: {said}"));
        return None;
    }
    let lines = String::from_utf8_lossy(&ran.stdout).into_owned();
    Some(lines.lines().map(str::trim).map(str::to_owned).collect())
}

/// Rules of several captures are loaded beside each other, and those that are loaded again, or belong to the same
/// target, in place of the older ones.
#[test]
fn rules_replace_older_ones_of_their_target() {
    // A drop, a limit for each network, and filters against several services. The first two have one target.
    let files = [0, 4, 6].map(|at| written(&(attacks::ALL[at])()));
    let [a, b, victim] = &files;
    let targets = files.each_ref().map(|file| attacks_of(file).remove(0)["targets"].clone());
    assert!(targets[0] == targets[1] && targets[0] != targets[2], "{targets:?}");
    let emitted = |firewall: &str, files: &[&Path]| {
        let args = ["abuse", "--no-config", "--emit", firewall].map(str::to_owned);
        let files = files.iter().map(|file| file.display().to_string());
        let run = gamewire(args.into_iter().chain(files));
        assert_eq!(run.code, 0, "{}", run.err);
        run.out
    };
    for (firewall, drops) in [("nft", "counter drop"), ("iptables", "-j DROP")] {
        let [of_a, of_b, of_victim] = files.each_ref().map(|file| emitted(firewall, &[file]));
        let all = emitted(firewall, &[a, b, victim]);
        // The jump to a chain of iptables is there as often as it was loaded.
        let load = |rules: &[&str]| -> Option<Vec<String>> {
            let jumps = |line: &String| !line.starts_with("-A PREROUTING");
            Some(loaded(rules, firewall)?.into_iter().filter(jumps).collect())
        };
        let Some(once) = load(&[&all]) else { continue };
        let dropping = |lines: &[String]| lines.iter().filter(|line| line.contains(drops)).count();
        assert_eq!(dropping(&once), all.matches(drops).count(), "{once:#?}");
        assert!(dropping(&once) >= 4, "{once:#?}");
        let again = load(&[&all, &all, &all]).expect("it was loaded before");
        assert_eq!(again, once, "{firewall}");
        if firewall == "iptables" {
            jumps_replace_older_ones(&all);
        }
        let [only_b, only_victim] = [&of_b, &of_victim].map(|rules| load(&[rules]).expect("again"));
        let both = load(&[&of_a, &of_victim, &of_b]).expect("again");
        assert_eq!(dropping(&both), dropping(&only_b) + dropping(&only_victim), "{both:#?}");
        assert!(only_b.iter().filter(|line| line.contains(drops)).all(|line| both.contains(line)));
    }
    files.iter().for_each(|file| _ = std::fs::remove_file(file));
}

/// The commands in the comments remove the jumps to the chains that are loaded again.
fn jumps_replace_older_ones(rules: &str) {
    let marks = "# If it was loaded before, first: ";
    let commands = rules.lines().filter_map(|line| line.strip_prefix(marks));
    let first = "iptables-restore --noflush <<'END'\n";
    let script = format!(
        "{first}{rules}END\n{}\n{first}{rules}END\niptables -t raw -S PREROUTING",
        Vec::from_iter(commands).join(" && ")
    );
    let Ok(ran) = Command::new("unshare").args(["-n", "sh", "-c", &script]).output() else {
        return;
    };
    let shown = String::from_utf8_lossy(&ran.stdout).into_owned();
    let jumps = |text: &str| text.lines().filter(|it| it.starts_with("-A PREROUTING")).count();
    assert_eq!(jumps(&shown), jumps(rules), "{shown}{}", String::from_utf8_lossy(&ran.stderr));
}

/// Sends a capture into the current namespace at the times of the capture.
#[test]
fn replays() {
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, sendto, socket};
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};
    let Some(file) = std::env::var_os(INSIDE) else { return };
    let mut interfaces = nix::ifaddrs::getifaddrs().unwrap();
    let link = interfaces.find_map(|it| {
        let address = *it.address?.as_link_addr()?;
        (it.interface_name == "va").then_some(address)
    });
    let link = link.expect("the interface that the script made");
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::empty(), None).unwrap();
    let mut packets = capture::open(Path::new(&file)).unwrap();
    let (mut first, begun) = (None, Instant::now());
    while let Some(event) = packets.next() {
        let Event::Packet(packet) = event else { continue };
        let since = packet.time - *first.get_or_insert(packet.time);
        let due = Duration::from_nanos(since.unsigned_abs());
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        // The interface at the other end accepts packets with its own address.
        let mut frame = packet.data.to_vec();
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
        sendto(socket.as_raw_fd(), &frame, &link, MsgFlags::empty()).unwrap();
    }
}
