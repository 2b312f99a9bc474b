use std::collections::BTreeSet;

use dissectors::catalogue;

use super::*;
use crate::capture::{LinkType, Packet};
use crate::session::Options;

/// All metrics, each with a value.
fn full() -> Metrics {
    let metrics = Metrics::new(true);
    metrics.found(catalogue::rules()[0], Severity::Error, 3);
    let attacks: Vec<_> = (0..50).map(attack).collect();
    metrics.attacks(&["victim", "reflector"], &attacks);
    metrics
}

fn attack(n: u8) -> AttackRate {
    AttackRate { seat: "victim", target: ([192, 0, 2, n], 27015).into(), rate: 2.0 }
}

/// Names and types of the metrics on a page.
fn served(page: &str) -> BTreeSet<(String, String)> {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let types = types.map(|line| line.split_once(' ').unwrap());
    types
        .map(|(name, kind)| {
            let suffix = match kind {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            (format!("{name}{suffix}"), kind.to_owned())
        })
        .collect()
}

#[test]
fn the_documentation_lists_all_metrics() {
    let documented = include_str!("../../docs/metrics.md").lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `gamewire_")?.split(" | ");
        let name = format!("gamewire_{}", cells.next()?.trim_end_matches('`'));
        Some((name, cells.next()?.to_owned(), cells.next()?.to_owned()))
    });
    let documented: Vec<_> = documented.collect();
    let page = full().page();
    let names = documented.iter().map(|(name, kind, _)| (name.clone(), kind.clone()));
    assert_eq!(served(&page), names.collect());
    // Each with its labels.
    for (name, kind, labels) in documented {
        let sample = if kind == "histogram" { format!("{name}_count") } else { name };
        let line = page.lines().find(|line| line.starts_with(&sample)).unwrap();
        let shown = line.split_once('{').map_or("", |(_, rest)| rest.split('}').next().unwrap());
        let shown: Vec<_> = shown.split(',').filter_map(|it| it.split('=').next()).collect();
        assert_eq!(labels.replace(['`', ' '], ""), shown.join(","), "{line}");
    }
}

/// Without messages there is nothing to count: 0 would say that nobody asks.
#[test]
fn a_command_without_messages_has_no_metrics_of_messages() {
    use crate::abuse::Abuse;
    assert!(!has_messages(&Abuse::needs()) && !has_messages(&needs(Abuse::needs())));
    assert!(has_messages(&needs(Needs::default())));
    let page = Metrics::new(false).page();
    for absent in ["messages", "requests", "answered", "response_time", "open_flows", "servers"] {
        assert!(!page.contains(&format!("gamewire_{absent}")), "{absent}: {page}");
    }
    assert!(page.contains("gamewire_lost_packets_total{by=\"kernel\"} 0\n"), "{page}");
}

#[test]
fn the_alert_for_floods_of_requests_counts_all_kinds() {
    use dissectors::kit::Purpose;
    let (_, rule) =
        include_str!("../../docs/alerts.yml").split_once("GamewireRequestFlood\n").unwrap();
    let (_, names) = rule.split_once("message=~\".*").unwrap();
    let (names, _) = names.split_once('"').unwrap();
    for (protocol, message) in
        Id::ALL.iter().flat_map(|id| id.info().messages.iter().map(move |it| (id, it)))
    {
        let asks = matches!(
            message.purpose,
            Purpose::Query
                | Purpose::ChallengeRequest
                | Purpose::ListRequest
                | Purpose::Join
                | Purpose::Heartbeat
                | Purpose::Authentication
        );
        let is_counted = names.split('|').enumerate().any(|(at, name)| match at {
            0 => message.name.ends_with(name),
            _ => message.name == name,
        });
        assert!(is_counted || !asks, "{protocol:?} {}", message.name);
    }
}

#[test]
fn the_number_of_labels_is_limited() {
    let metrics = full();
    let of = |metrics: &Metrics| {
        let page = metrics.page();
        let lines = page.lines().filter(|line| line.starts_with("gamewire_attack_packets"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of(&metrics).len(), TARGETS + 1);
    let other = "gamewire_attack_packets_per_second{seat=\"victim\",target=\"other\"} 80.0";
    assert!(of(&metrics).iter().any(|line| line == other), "{:?}", of(&metrics));
    // Attacks that have ended are not shown.
    metrics.attacks(&["victim"], &[attack(7)]);
    let line = "gamewire_attack_packets_per_second{seat=\"victim\",target=\"192.0.2.7:27015\"} 2.0";
    assert_eq!(of(&metrics), [line]);
    metrics.attacks(&["victim"], &[]);
    assert!(of(&metrics).is_empty());
    assert!(metrics.page().contains("gamewire_attacks{seat=\"victim\"} 0\n"));
}

#[test]
fn label_values_are_escaped() {
    let metrics = full();
    let target = "a\"b\\c\nd".to_owned();
    metrics.attack_rate.get_or_create(&TargetLabels { seat: "victim", target }).set(1.0);
    assert!(metrics.page().contains(r#"target="a\"b\\c\nd"} 1.0"#), "{}", metrics.page());
}

/// A datagram in IPv4.
fn udp(id: u8, hosts: [[u8; 4]; 2], ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let length = |headers: usize| ((headers + payload.len()) as u16).to_be_bytes();
    let mut packet = vec![0x45, 0];
    packet.extend(length(28));
    packet.extend([0, id, 0, 0, 64, 17, 0, 0]);
    packet.extend(hosts.concat());
    ports.iter().for_each(|port| packet.extend(port.to_be_bytes()));
    packet.extend(length(8));
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

#[test]
fn events_of_a_session_are_counted() {
    let options = Options { needs: needs(Needs::default()), ..Options::default() };
    let (mut decoder, mut metrics) = (Decoder::new(options), Metrics::new(true));
    let ask = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
    let info =
        b"\xFF\xFF\xFF\xFFI\x11Loop\0de_dust2\0cstrike\0Strike\0\x0A\0\x05\x10\0dl\0\x011.0\0";
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    for id in 1..3 {
        let time = 6_000_000 * i64::from(id);
        let data = udp(id, [client, server], [50_000, 27_015], ask);
        decoder.push(&Packet { link: LinkType::RAW, ..Packet::new(time, &data) });
        let data = udp(id, [server, client], [27_015, 50_000], info);
        decoder.push(&Packet { link: LinkType::RAW, ..Packet::new(time + 3_000_000, &data) });
    }
    let mut events = decoder.events();
    while let Some(event) = events.next() {
        metrics.event(&event);
    }
    drop(events);
    let counts = QueueCounts { dropped: 5, missed: 1, downs: 2, ..QueueCounts::default() };
    metrics.capture(counts, 9, &decoder);
    let page = metrics.page();
    for line in [
        "gamewire_packets_total 4",
        "gamewire_lost_packets_total{by=\"kernel\"} 5",
        "gamewire_lost_packets_total{by=\"gamewire\"} 1",
        "gamewire_interface_downs_total 2",
        "gamewire_waiting_packets 9",
        "gamewire_messages_total{protocol=\"a2s\",message=\"info_request\"} 2",
        "gamewire_messages_total{protocol=\"a2s\",message=\"info_response\"} 2",
        "gamewire_requests_total{protocol=\"a2s\"} 2",
        "gamewire_answered_requests_total{protocol=\"a2s\"} 2",
        "gamewire_response_time_seconds_count{protocol=\"a2s\"} 2",
        "gamewire_response_time_seconds_bucket{le=\"0.005\",protocol=\"a2s\"} 2",
        "gamewire_response_time_seconds_bucket{le=\"0.002\",protocol=\"a2s\"} 0",
        "gamewire_servers{protocol=\"a2s\"} 1",
        "gamewire_open_flows 1",
    ] {
        assert!(page.lines().any(|it| it == line), "{line} is not in\n{page}");
    }
    assert!(page.ends_with("# EOF\n"));
}

/// The names of metrics in a text.
fn used(text: &str) -> BTreeSet<String> {
    let parts = text.split("gamewire_").skip(1);
    let names = parts.map(|rest| {
        rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default()
    });
    names.map(|name| format!("gamewire_{name}")).collect()
}

#[test]
fn the_dashboard_and_the_alerts_use_existing_metrics() {
    let dashboard = include_str!("../../docs/grafana-dashboard.json");
    let alerts = include_str!("../../docs/alerts.yml");
    let page = full().page();
    let samples: BTreeSet<_> =
        page.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    for (text, least) in [(dashboard, 14), (alerts, 7)] {
        let used = used(text);
        assert!(used.len() >= least, "{used:?}");
        for name in used {
            assert!(samples.contains(&*name), "there is no {name}");
        }
    }
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    // The label values in alerts exist.
    for (label, value) in [("severity", "error"), ("message", "info_request")] {
        assert!(alerts.contains(label) && page.contains(&format!("{label}=\"{value}\"")));
    }
}
